"""A campaign on a small family tree, whose people know the truth, so that something can be learnt from its runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from kgtrec.collection.questions import build_questions
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.collection import Collection
from kgtrec.data.run import Run
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.pooling.pool_runs import known_answers_of, pool_runs
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import baseline_blocks
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of

SYSTEMS = ("inverse", "neighbours", "popularity", "rules")


def judged(campaign: Campaign, verdict) -> Campaign:
    """The campaign in which both annotators have given these verdicts; -1: none."""
    events = [
        (row, name, "annotator", "NY"[says]) for row, says in enumerate(verdict) if says >= 0 for name in ("ann", "bob")
    ]
    return replace(campaign, judgements=judgements_of(events))


@cache
def family() -> tuple[Campaign, Collection, np.ndarray]:
    """A campaign with all verdicts, its collection, and whether each triple is true."""
    tree = family_tree(60, seed=1)
    hidden = hide_facts(tree.facts, hidden=0.3, density=0.2, seed=1)
    collection = build_questions(hidden.splits.train, hidden.splits.valid, hidden.splits.test)
    pool = pool_runs(collection, _runs(collection), depth=5)
    facts = tree.facts.recoded(entities=pool.questions.entities, relations=pool.questions.relations)
    truth = np.isin(pool.triples.keys(), facts.keys())
    who = people_of(("ann", "annotator", True), ("bob", "annotator", True))
    campaign = Campaign(
        pool,
        known_answers_of(pool, collection),
        Automatic.none(len(pool)),
        who,
        Assignments.none(who.names),
        judgements_of([]),
    )
    return judged(campaign, truth.astype(int)), collection, truth


@cache
def _runs(collection: Collection) -> list[Run]:
    return [
        rank_scores(
            collection, baseline_blocks(name, collection), questions=collection, entities=collection, name=name
        ).run
        for name in SYSTEMS
    ]


def runs() -> list[Run]:
    """Those that were pooled."""
    return _runs(family()[1])

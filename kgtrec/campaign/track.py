"""The progress of a campaign, and its next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import cell_counts, decisions_of, waiting
from kgtrec.campaign.tasks import relations_without_template
from kgtrec.data.campaign import MANAGER, Campaign
from kgtrec.data.judgements import (
    ANNOTATOR,
    CONFLICT,
    DOUBTED,
    NO,
    OPEN,
    STATES,
    UNDRAWN,
    UNSURE,
    VERDICTS,
    YES,
    Decisions,
)
from kgtrec.data.questions import SIDES
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import plain

STEPS = ("init", "people", "assign", "judge", "adjudicate", "qrels")  # the next step is the first that is not done


@dataclass(frozen=True, slots=True, eq=False)
class CampaignProgress(Result):
    """Triples by state, in total, per relation and per side, and the work of each annotator."""

    #: how many triples, by state, and settled as Y and as N: of all, then of each relation, in byte order
    relations: pa.Table
    sides: pa.Table  # the same by SIDES: the side that a triple's question asks for
    annotators: pa.Table  # everyone who is listed or has judged as one, in byte order
    without_template: tuple[str, ...]  # relations that people are asked about in general words
    step: str  # one of STEPS
    per_triple: int  # how many annotators a triple should have
    any_host: bool = False  # no verified source is listed, so that a page of any host proves a verdict
    managers: tuple[str, ...] = ()  # the active ones, who judge nothing, in byte order

    @property
    def waiting(self) -> int:
        """How many triples wait for an adjudicator."""
        return sum(self.relations[STATES[state]][0].as_py() for state in (CONFLICT, DOUBTED))

    @property
    def to_do(self) -> dict[str, int]:
        """How many assigned tasks each annotator has not judged."""
        return {row["annotator"]: row["to_do"] for row in self.annotators.to_pylist()}

    def tables(self) -> tuple[Table, ...]:
        """Make tables of the ``states`` of all triples, also by ``relations`` and ``sides``, and ``annotators``."""
        total = (Column("relation", " "), *map(Column, self.relations.column_names[1:]))
        columns = (
            Column("annotator"),
            Column("active", names={"True": "yes", "False": "no"}),
            *map(Column, ("assigned", "judged")),
            Column("to_do", "to do"),
            *(Column(VERDICTS[verdict], form="share", digits=1) for verdict in (YES, NO, UNSURE)),
        )
        return (
            Table("states", "", "", self.relations.slice(0, 1), total),
            Table("relations", "", "", self.relations),
            Table("annotators", "", "", self.annotators, columns),
            Table("sides", "", "", self.sides),
        )


def _by_state(name: str, labels: Sequence[str], row: NDArray[np.intp], decisions: Decisions) -> pa.Table:
    """All triples, and those of each label, by state, and how many are settled as Y and as N."""
    is_settled = decisions.verdict >= 0
    states = cell_counts(row, decisions.state, (len(labels), len(STATES)))
    verdicts = cell_counts(row[is_settled], decisions.verdict[is_settled], (len(labels), 2))
    counts = np.column_stack([states.sum(axis=1), states, verdicts[:, ::-1]])
    counts = np.vstack([counts.sum(axis=0), counts])
    named = {name: pa.array(["all", *labels], pa.string())}
    table = pa.table(named | dict(zip(("triples", *STATES, "Y", "N"), counts.T, strict=True)))
    return table if states[:, UNDRAWN].any() else table.drop_columns(STATES[UNDRAWN])


def track(campaign: Campaign) -> CampaignProgress:
    """Count the triples of a campaign by state, and the tasks of its annotators, and find the next step.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.

    Examples
    --------
    >>> from kgtrec.data.campaign import Assignments, Automatic, People
    >>> from kgtrec.data.judgements import Judgements
    >>> from kgtrec.data.pool import Pool
    >>> from kgtrec.data.qrels import Qrels
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples = Triples.of([("ann", "knows", "bob")])
    >>> zero, nobody, texts = np.zeros(1, np.int32), Vocabulary.of([]), triples.relations.labels[:0]
    >>> asked = Questions(Vocabulary.of(["tail0"]), zero > 0, zero, zero, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, zero, zero, zero, zero + 1, ["mine"], asked)
    >>> none = zero[:0]
    >>> campaign = Campaign(
    ...     pool, Qrels(none, none, none, asked.ids, asked.entities), Automatic.none(1),
    ...     People.none(), Assignments.none(nobody),
    ...     Judgements(none, none, none, none, texts, texts, texts, nobody),
    ... )
    >>> progress = track(campaign)
    >>> progress.relations["open"].to_pylist(), progress.without_template, progress.step
    ([1, 1], ('knows',), 'init')
    """
    pool, people, judgements = campaign.pool, campaign.people, campaign.judgements
    decisions = decisions_of(campaign)

    triples = plain(pool.triples)
    ordered = triples.relations.byte_order[triples.relation]
    _, first, relation = np.unique(ordered, return_index=True, return_inverse=True)
    labels = triples.relations.decode(triples.relation[first]).to_pylist()
    group = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)
    side = (~pool.questions.is_head[group]).astype(np.intp)

    named = people.names.extended(judgements.annotators.labels)
    latest = judgements.take(judgements.role == ANNOTATOR).latest()
    judge = named.encode(judgements.annotators.labels)[latest.annotator]
    asked = named.encode(campaign.assignments.annotators.labels)[campaign.assignments.annotator]
    key = asked.astype(np.int64) * len(pool) + campaign.assignments.triple
    is_waiting = ~np.isin(key, judge.astype(np.int64) * len(pool) + latest.triple)
    is_active = np.zeros(len(named), np.bool_)
    is_active[people.person[(people.role == ANNOTATOR) & people.is_active]] = True
    shown = np.unique(np.concatenate([people.person[people.role == ANNOTATOR], judge, asked]))
    shown = shown[np.argsort(named.byte_order[shown])]
    waiting = is_waiting & is_active[asked]
    about = np.concatenate([campaign.assignments.triple[waiting], latest.triple])
    managers = people.person[(people.role == MANAGER) & people.is_active]
    verdicts = cell_counts(judge, latest.verdict, (len(named), len(VERDICTS)))[shown]
    judged = verdicts.sum(axis=1)
    shares = verdicts / np.where(judged > 0, judged, np.nan)[:, None]
    annotators = {
        "annotator": named.decode(shown),
        "active": pa.array(is_active[shown]),
        "assigned": np.bincount(asked, minlength=len(named))[shown],
        "judged": judged,
        "to_do": np.bincount(asked[waiting], minlength=len(named))[shown],
    } | {VERDICTS[verdict]: shares[:, verdict] for verdict in (YES, NO, UNSURE)}
    return CampaignProgress(
        relations=_by_state("relation", labels, relation, decisions),
        sides=_by_state("side", SIDES, side, decisions),
        annotators=pa.table(annotators),
        without_template=tuple(sorted(relations_without_template(campaign), key=str.encode)),
        step=_step(campaign, decisions, np.bincount(about, minlength=len(pool)), int(is_active.sum())),
        per_triple=campaign.per_triple,
        any_host=not campaign.sources,
        managers=tuple(sorted((people.names[code] for code in managers), key=str.encode)),
    )


def _step(campaign: Campaign, decisions: Decisions, n_asked: NDArray[np.int64], n_active: int) -> str:
    is_open = decisions.state == OPEN
    if not is_open.any():
        return "adjudicate" if len(waiting(decisions.state)) else "qrels"
    if len(campaign.people) == 0:
        return "init"
    # superfluous ones, as after an interrupted change of annotators per triple, are removed by assigning
    if np.all(n_asked[is_open] == campaign.per_triple):
        return "judge"
    return "people" if n_active < campaign.per_triple else "assign"

"""Ranks of facts with a time under each filter, against loops over facts, and against TGB's evaluator written down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import FILTERS, SPLITS, Triples
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.rank import rank_scores

# few labels, so that facts are repeated at several times, and are in several splits
_quads = st.lists(st.tuples(*map(st.sampled_from, ("abcd", "rs", "abcd", ("1", "2", "10")))), min_size=1, max_size=14)


def ranked(train, valid, test, random, filtered_by):
    """The collection, its scores as question -> entity -> score, and the answer ranks."""
    collection = build_questions(*map(Triples.of, (train, valid, test)))
    scores = np.array([[random.randint(0, 4) for _ in collection.entities] for _ in collection.questions.ids], float)
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, filtered_by=filtered_by)
    rows = zip(collection.questions.ids, scores.tolist(), strict=True)
    by_label = {question: dict(zip(collection.entities, row, strict=True)) for question, row in rows}
    return collection, by_label, ranks.answer_ranks


def completions(facts, side, relation, anchor):
    """(entity, time) of the facts of an anchor and a relation."""
    for head, own, tail, time in facts:
        if own == relation and (tail if side == "head" else head) == anchor:
            yield (head if side == "head" else tail), time


@pytest.mark.parametrize("filtered_by", [(), SPLITS, FILTERS, ("test",)])
@given(_quads, _quads, _quads, st.randoms(use_true_random=False))
def test_ranks_under_each_filter_equal_loops(filtered_by, train, valid, test, random):
    """Raw, time-aware, static, and by some splits only: how many candidates are above an answer, and how many tie."""
    collection, scores, ranks = ranked(train, valid, test, random, filtered_by)
    facts = {"train": train, "valid": valid, "test": test}
    above, tied = [], []
    for row in collection.questions.to_frame().itertuples():
        relation, _, time = row.relation.partition(" @ ")
        asked = row.side, relation, row.anchor
        removed = {
            entity
            for split in SPLITS
            for entity, when in completions(facts[split], *asked)
            if (split in filtered_by and when == time) or "other-times" in filtered_by
        }
        own = scores[row.question]
        for answer in {entity for entity, when in completions(test, *asked) if when == time}:
            others = [score for entity, score in own.items() if entity != answer and entity not in removed]
            above.append(sum(score > own[answer] for score in others))
            tied.append(sum(score == own[answer] for score in others))
    for ties, share in (("optimistic", 0), ("realistic", 0.5), ("pessimistic", 1)):
        rank = 1 + np.array(above) + share * np.array(tied)
        values = evaluate(collection, ranks, "micro.MRR micro.MR", ties=ties).values.ravel()
        assert values.tolist() == pytest.approx([(1 / rank).mean(), rank.mean()])


@given(_quads, _quads, _quads, st.randoms(use_true_random=False))
def test_the_filter_of_one_split_and_realistic_ties_are_those_of_tgb(train, valid, test, random):
    """Conflicts by (time, source, relation) of the test edges with inverses, each edge a rank, single precision."""
    test = sorted(set(test))
    collection, scores, ranks = ranked(train, valid, test, random, ("test",))
    number = {label: code for code, label in enumerate(collection.entities)}
    relations = {"r": 0, "s": 1}
    edges = [(number[head], relations[relation], number[tail], time) for head, relation, tail, time in test]
    edges += [(tail, relation + len(relations), head, time) for head, relation, tail, time in edges]
    conflicts = {}
    for source, relation, destination, time in edges:
        conflicts.setdefault((time, source, relation), set()).add(destination)
    ids = {
        (number[row.anchor], relations[row.relation[0]] + 2 * (row.side == "head"), row.relation[4:]): row.question
        for row in collection.questions.to_frame().itertuples()
    }
    reciprocal, hits = [], []
    for source, relation, destination, time in edges:
        own = np.array(list(scores[ids[source, relation, time]].values()))
        negatives = np.delete(own, sorted(conflicts[time, source, relation]))
        optimistic, pessimistic = (negatives > own[destination]).sum(), (negatives >= own[destination]).sum()
        rank = 0.5 * (optimistic + pessimistic) + 1
        reciprocal.append(1 / np.float32(rank))
        hits.append(np.float32(rank <= 10))
    values = evaluate(collection, ranks, "micro.MRR micro.Hits@10", ties="realistic").values.ravel()
    assert values.tolist() == pytest.approx([np.mean(reciprocal), np.mean(hits)], rel=1e-6)

"""Small collections and embeddings for tests of other programs' models, and the ranks that these should get."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import FormatError
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import read_system

ENTITIES = [f"e{number}" for number in range(9)]
RELATIONS = ["r0", "r1", "r2"]


def world(rng, entities=ENTITIES, relations=RELATIONS):
    """A collection in which all labels occur in train, in an order that is not theirs."""
    n, m = len(entities), len(relations)
    chosen = rng.permutation(n * m * n)[:60]
    rows = [(entities[code // (m * n)], relations[code // n % m], entities[code % n]) for code in chosen]
    whole = [(entities[place], relations[place % m], entities[place - 1]) for place in rng.permutation(n)]
    return build_questions(Triples.of(whole + rows[:30]), Triples.of(rows[30:40]), Triples.of(rows[40:]))


def exact(rng, *shape):
    """Quarters of small whole numbers, whose sums and products are exact, so that ties are ties."""
    return (rng.integers(-6, 7, shape) / 4).astype(np.float32)


def scores_of(collection, score, entities=ENTITIES, relations=RELATIONS):
    """(questions, entities) what ``score(head, relation, tail)`` says, number by number, in the collection's order."""
    questions = collection.questions
    candidates = [entities.index(label) for label in collection.entities]
    found = []
    for is_head, kind, anchor in zip(questions.is_head, questions.relation, questions.anchor, strict=True):
        own = entities.index(collection.entities[anchor])
        relation = relations.index(collection.relations[kind])
        found.append([score(each, relation, own) if is_head else score(own, relation, each) for each in candidates])
    return np.array(found, np.float64)


def assert_ranked_by(collection, system, score, **labels):
    """The system's ranks are those of the scores, ties and all."""
    expected = rank_scores(
        collection, scores_of(collection, score, **labels), questions=collection, entities=collection
    ).answer_ranks
    for block in (None, 2):
        found = rank_system(collection, system, block=block).answer_ranks
        assert len(found.above) == len(expected.above) > 0
        np.testing.assert_array_equal(found.question, expected.question)
        np.testing.assert_array_equal(found.entity, expected.entity)
        np.testing.assert_array_equal(found.above, expected.above)
        np.testing.assert_array_equal(found.tied, expected.tied)


def refused(message, source, *arguments, **options):
    """The error with which reading a source ends: in one line, which has these words."""
    with pytest.raises(FormatError, match=message) as told:
        read_system(source, *arguments, **options)
    assert "\n" not in str(told.value)
    return str(told.value)


def lists_in(source, *arguments, **options):
    """(side, anchor, relation, answer, entities, levels from 0) of each list."""
    found = read_system(source, *arguments, **options)
    name = found.entities.__getitem__
    return [
        (
            "head" if found.is_head[row] else "tail",
            name(found.anchor[row]),
            found.relations[found.relation[row]],
            name(found.answer[row]) if found.answer[row] >= 0 else None,
            [name(code) for code in found.entity[first:last]],
            (found.level[first:last] - found.level[first:last][:1]).tolist(),
        )
        for row, (first, last) in enumerate(zip(found.start[:-1], found.start[1:], strict=True))
    ]

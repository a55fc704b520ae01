"""Counts of the facts of train in which an entity stands."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.popularity import degrees, degrees_under, inverse_popularity
from kgtrec.data.triples import Triples

facts = st.lists(st.tuples(*(st.sampled_from(labels) for labels in ("abcd", "rs", "abcd"))), min_size=1, max_size=12)


@given(rows=facts)
def test_degrees_are_the_ends_of_facts_that_a_loop_counts(rows: list[tuple[str, str, str]]):
    """In all, and under each relation; those of an entity under all relations add up to its degree."""
    train = Triples.of(rows)
    ends = [(head, relation) for head, relation, _ in rows] + [(tail, relation) for _, relation, tail in rows]
    degree = degrees(train)
    assert degree.sum() == 2 * len(rows)
    assert degree.tolist() == [sum(end == entity for end, _ in ends) for entity in train.entities]
    entity, relation = (
        code.ravel().astype(np.int32) for code in np.indices((len(train.entities), len(train.relations)))
    )
    under = degrees_under(train, entity, relation)
    pairs = zip(entity, relation, strict=True)
    assert under.tolist() == [ends.count((train.entities[int(e)], train.relations[int(r)])) for e, r in pairs]
    assert under.reshape(len(train.entities), -1).sum(axis=1).tolist() == degree.tolist()


def test_without_facts_every_degree_is_0():
    """As for a collection that was made of a test set alone."""
    train = Triples.of([("a", "r", "b")])
    none = train.take(np.zeros(1, bool))
    assert degrees(none).tolist() == [0, 0]
    assert degrees_under(none, np.array([0, 1], np.int32), np.array([0, 0], np.int32)).tolist() == [0, 0]


def test_an_unknown_entity_is_in_no_fact():
    """Its code -1 is neither the last entity nor that of the relation before."""
    train = Triples.of([("a", "r", "z"), ("a", "s", "z"), ("b", "s", "z")])
    entity, relation = train.entities.encode(["b", "nowhere"]), train.relations.encode(["s", "s"])
    assert degrees_under(train, entity, relation).tolist() == [1, 0]
    assert inverse_popularity(train, entity, relation, 1.0, relations=False).tolist() == [1 / 2, 1.0]
    # (1 + d) (1 + share): the least above 0 are those of b
    assert inverse_popularity(train, entity, relation, 1.0).tolist() == [1 / 2 / 2, 1.0]

"""Questions that are looked up among others, and triples that are put together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary

names = st.lists(st.sampled_from("abcde"), unique=True, min_size=1)
rows = st.lists(st.tuples(st.booleans(), st.sampled_from("abcde"), st.sampled_from("abcde")), unique=True)


def questions_of(asked: list[tuple[bool, str, str]], entities: list[str], relations: list[str]) -> Questions:
    """Those whose labels there are."""
    own = [row for row in asked if row[1] in relations and row[2] in entities]
    is_head = np.array([row[0] for row in own], np.bool_)
    known, kinds = Vocabulary.of(entities), Vocabulary.of(relations)
    ids = Vocabulary.of([f"q{place}" for place in range(len(own))])
    return Questions(
        ids, is_head, kinds.encode([row[1] for row in own]), known.encode([row[2] for row in own]), known, kinds
    )


def labels_of(questions: Questions) -> list[tuple[bool, str, str]]:
    return [
        (bool(is_head), questions.relations[relation], questions.entities[anchor])
        for is_head, relation, anchor in zip(questions.is_head, questions.relation, questions.anchor, strict=True)
    ]


@given(rows, names, names, rows, names, names)
def test_a_question_is_found_by_its_labels_or_not_at_all(some, entities, relations, others, other_entities, kinds):
    """Whatever order the vocabularies have, and whichever labels the others lack."""
    asked, among = questions_of(some, entities, relations), questions_of(others, other_entities, kinds)
    there = labels_of(among)
    assert asked.rows_in(among).tolist() == [there.index(row) if row in there else -1 for row in labels_of(asked)]


def test_triples_are_joined_in_their_order():
    """A triple that is in both is there twice."""
    every = Triples.of([("a", "r", "b"), ("b", "r", "a"), ("a", "s", "b")])
    both = every.take(np.array([2, 0])).joined(every.take(np.array([], int)), every.take(np.array([0])))
    assert both.to_frame().to_numpy().tolist() == [["a", "s", "b"], ["a", "r", "b"], ["a", "r", "b"]]

"""What a fingerprint is of: sets of triples by split; and what the order of lines decides: the ids of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names, renumbered
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError
from kgtrec.ranking.rank import rank_scores

Rows = Sequence[tuple[str, str, str]]
NAMES = ("a", "b", "ä", "c d")
some = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["r", "s"]), st.sampled_from(NAMES)), max_size=6, unique=True
)
OPTIONS: list[dict[str, Any]] = [{}, {"sample": 1, "seed": 3}, {"sample": 0.5}, {"unseen_entities": "drop"}]


def built(train: Rows, valid: Rows, test: Rows, **options: Any) -> Collection:
    return build_questions(*map(Triples.of, (train, valid, test)), ids=True, **options)


def content(collection: Collection, *, ids: bool) -> set[tuple[Any, ...]]:
    """Answers and filtered answers by labels; ``ids``: and by what questions and entities are called."""
    asked, names = collection.questions, entity_names(collection)
    rows = [(collection.qrels.question, collection.qrels.entity, collection.qrels.grade + 10)]
    rows.append((collection.filtered.question, collection.filtered.entity, collection.filtered.split))
    found = set()
    for question, entity, kind in zip(*map(np.concatenate, zip(*rows, strict=True)), strict=True):
        what = bool(asked.is_head[question]), asked.relations[asked.relation[question]], names[asked.anchor[question]]
        called = (asked.ids[question], collection.entities[entity]) if ids else ()
        found.add((*what, names[entity], int(kind), *called))
    return found


@given(some, some, some.filter(len), st.sampled_from(OPTIONS), st.randoms())
def test_the_order_of_train_and_valid_changes_nothing(train, valid, test, options, random):
    """Nor does a repeated line: the same questions under the same ids, the same entities under the same names."""
    before = built([*train, *test], valid, test, **options)
    train, valid = random.sample([*train, *test, *test], len(train) + 2 * len(test)), random.sample(valid, len(valid))
    after = built(train, valid, test, **options)
    assert after.stamp == before.stamp
    assert content(after, ids=True) == content(before, ids=True)


@given(some, some, some.filter(len), st.sampled_from(OPTIONS), st.randoms())
def test_the_order_of_test_triples_decides_the_ids_alone(train, valid, test, options, random):
    """The fingerprint stays, and so does all that is asked and answered; a sample is of the same triples."""
    before, after = (built([*train, *test], valid, rows, **options) for rows in (test, random.sample(test, len(test))))
    assert after.fingerprint == before.fingerprint
    assert content(after, ids=False) == content(before, ids=False)
    same_ids = content(after, ids=True) == content(before, ids=True)
    assert (after.numbering == before.numbering) == same_ids
    back = renumbered(after.qrels, before, named(after))
    assert back.collection == before.stamp
    assert back.to_dict() == before.qrels.to_dict()


def named(collection: Collection) -> Any:
    """The questions with their entities under their labels, as in a topics file beside entities.tsv."""
    return replace(collection.questions, entities=entity_names(collection))


A_TRIPLE = st.sampled_from([("a", "r", "b"), ("b", "r", "a"), ("a", "s", "a")])
few = st.lists(A_TRIPLE, max_size=2)


@given(*[st.tuples(few, few, st.lists(A_TRIPLE, min_size=1, max_size=2))] * 2)
def test_two_collections_have_one_fingerprint_if_their_sets_are_the_same(one, other):
    """By split; here without options that leave triples out."""
    same = all(set(first) == set(second) for first, second in zip(one, other, strict=True))
    assert (built(*one).fingerprint == built(*other).fingerprint) == same


ONE = [("a", "r", "b"), ("b", "r", "c")], [("c", "r", "a")], [("a", "s", "b"), ("b", "s", "c")]


@pytest.mark.parametrize(
    "other",
    [
        built(ONE[0], [], ONE[2]),
        built(ONE[0], [("c", "r", "b")], ONE[2]),
        built([*ONE[0], *ONE[1]], [], ONE[2]),
        built(ONE[0], ONE[1], [("a", "s", "c"), ("b", "s", "b")]),  # the same questions
        built(*ONE, sample=Triples.of([("a", "s", "b")])),
        built([*ONE[0], ("d", "r", "a")], ONE[1], ONE[2]),
    ],
)
def test_each_triple_and_each_left_out_one_is_in_the_fingerprint(other):
    """Also a valid triple that completes no question."""
    assert other.fingerprint != built(*ONE).fingerprint


def test_entity_ids_are_in_the_numbering():
    """The same triples with labels and with ids are one content, whose runs name other entities."""
    ids, labels = (build_questions(*map(Triples.of, ONE), ids=each) for each in (True, False))
    assert ids.fingerprint == labels.fingerprint
    assert ids.numbering != labels.numbering


def test_options_that_change_no_question_are_not_in_the_fingerprint():
    """How repeated triples are counted, and what the categories of relations are."""
    assert built(*ONE, repeated="keep", threshold=3.0, categories_from=["train"]).stamp == built(*ONE).stamp


def test_a_run_gets_the_ids_of_its_questions_elsewhere():
    """Scores of the same model give the same lists under either numbering."""
    old, new = (build_questions(Triples.of(ONE[0]), test=Triples.of(test)) for test in (ONE[2], ONE[2][::-1]))
    lists = []
    for collection in (old, new):
        scores = np.array(
            [
                [hash_of(collection, row, entity) for entity in range(len(collection.entities))]
                for row in range(len(collection.questions))
            ]
        )
        lists.append(rank_scores(collection, scores, questions=collection, entities=collection, depth=3).run)
    assert lists[0].to_dict() != lists[1].to_dict()
    assert renumbered(lists[0], new, old.questions).to_dict() == lists[1].to_dict()


def hash_of(collection: Collection, question: int, entity: int) -> float:
    """A score that depends on labels alone."""
    asked = collection.questions
    text = f"{asked.is_head[question]} {asked.entities[asked.anchor[question]]} {asked.entities[entity]}"
    return float(sum(map(ord, text)) % 7)


def test_what_cannot_be_renumbered_is_refused():
    """Topics of other questions, other topics than the ids are of, an id or an entity that is in neither."""
    old, new = (build_questions(Triples.of(ONE[0]), test=Triples.of(test)) for test in (ONE[2], ONE[2][::-1]))
    more = build_questions(Triples.of(ONE[0]), test=Triples.of([*ONE[2], ("c", "s", "a")]))
    with pytest.raises(CollectionError, match="found 2 others"):
        renumbered(old.qrels, new, more.questions)
    with pytest.raises(CollectionError, match=f"expected the topics of collection {old.stamp}, which the ids are of"):
        renumbered(old.qrels, new, new.questions)
    one, score = np.zeros(1, np.int32), np.ones(1)
    for question, entity, what in (("tail9", "a", "'tail9'"), ("tail0", "e", "'e'")):
        run = Run.of("m", one, one, score, Vocabulary.of([question]), Vocabulary.of([entity]))
        with pytest.raises(CollectionError, match=f"to be one of .*, found {what}"):
            renumbered(run, new, old.questions)

"""Types of rows: length, rows taken, joined and recoded follow from the declared columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.judgements import Judgements
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from tests.campaign_folders import people_of


def labels(triples: Triples) -> list[tuple[str, ...]]:
    columns = (triples.decoded(name).to_pylist() for name in ("head", "relation", "tail"))
    return list(zip(*columns, strict=True))


@pytest.fixture
def triples() -> Triples:
    return Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("ann", "knows", "bob")])


@pytest.fixture
def events() -> Judgements:
    codes, texts = np.array([0, 1, 0], np.int32), pa.array(["a", "b", "c"])
    kinds = np.zeros(3, np.int8)
    return Judgements(codes, codes, kinds, kinds, texts, texts, texts, Vocabulary.of(["eve", "ann"]))


@pytest.mark.parametrize("rows", [[2, 0], [True, False, True]])
def test_rows_are_taken_by_number_and_by_mask(triples, events, rows):
    """Columns of numpy and of Arrow alike; vocabularies stay."""
    chosen = np.arange(3)[rows]
    assert labels(triples.take(np.array(rows))) == [labels(triples)[row] for row in chosen]
    assert events.take(np.array(rows)).note.to_pylist() == [["a", "b", "c"][row] for row in chosen]
    assert events.take(np.array(rows)).annotators is events.annotators


def test_joined_rows_have_the_labels_of_all(triples):
    """Codes of the first part stay, and the others' labels follow."""
    others = Triples.of([("cid", "likes", "tea"), ("tea", "with", "jam")])
    joined = triples.joined(others, triples)
    assert labels(joined) == [*labels(triples), *labels(others), *labels(triples)]
    assert list(joined.entities) == ["ann", "tea", "bob", "jam", "cid"]
    assert len(joined) == 8


def test_a_label_that_is_lacking_has_the_code_minus_1(triples):
    """A vocabulary that is not named stays."""
    found = triples.recoded(entities=Vocabulary.of(["tea", "ann"]))
    assert (found.head.tolist(), found.tail.tolist()) == ([1, -1, 1], [0, -1, -1])
    assert found.relations is triples.relations


def test_a_mask_that_some_parts_lack_is_false_there():
    """Answer ranks of cut lists beside whole ones; None where no part has it."""
    one, ids = np.zeros(1, np.int32), Vocabulary.of(["q"])
    whole = AnswerRanks("a", one, one, one == 0, one, one, one, np.zeros(1), ids, ids, (), "")
    both = whole.joined(replace(whole, cut=np.array([True])))
    assert both.cut is not None
    assert both.cut.tolist() == [False, True]
    assert whole.joined(whole).cut is None


def test_events_before_none_are_these(events):
    """The judges of a file without events are not among those of the whole."""
    assert list(Judgements.none(Vocabulary.of(["zoe"])).joined(events).annotators) == ["eve", "ann"]


def test_questions_keep_their_ids(triples):
    """Ids are no codes, and are taken too."""
    is_head, codes = np.array([True, False, False]), np.arange(3, dtype=np.int32)
    asked = Questions(Vocabulary.of(["q0", "q1", "q2"]), is_head, codes * 0, codes, triples.entities, triples.relations)
    some = asked.take(np.array([False, True, True]))
    assert (list(some.ids), some.anchor.tolist(), len(some)) == (["q1", "q2"], [1, 2], 2)


def test_codes_of_anchors_and_people_follow_their_labels():
    """Questions under other vocabularies, and people of two campaigns in one."""
    codes = np.array([False]), np.array([0]), np.array([1])
    asked = Questions(Vocabulary.of(["q1"]), *codes, Vocabulary.of("ab"), Vocabulary.of("r"))
    moved = asked.recoded(entities=Vocabulary.of("cba"))
    assert [moved.entities[code] for code in moved.anchor] == ["b"]
    both = people_of(("ann", "annotator", True)).joined(people_of(("bob", "annotator", False)))
    assert [both.names[code] for code in both.person] == ["ann", "bob"]
    assert both.is_active.tolist() == [True, False]

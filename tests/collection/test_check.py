"""Files of one evaluation held against each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.check import check_together
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Topics
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary

QUESTIONS, ENTITIES = ["q0", "q1", "q2", "q3", "q4"], ["e0", "e1", "e2"]


def a_run(questions: list[str], entity: str = "e0") -> Run:
    # the vocabulary has every question, used or not
    codes = Vocabulary.of(QUESTIONS).encode(questions)
    entities = Vocabulary.of([entity])
    return Run.of("s", codes, np.zeros_like(codes), np.ones(len(codes)), Vocabulary.of(QUESTIONS), entities)


def some_qrels(questions: list[str], entity: str = "e0") -> Qrels:
    codes = Vocabulary.of(QUESTIONS).encode(questions)
    entities = Vocabulary.of([entity])
    return Qrels.of(codes, np.zeros_like(codes), np.ones_like(codes), Vocabulary.of(QUESTIONS), entities)


def some_topics(questions: list[str]) -> Topics:
    return Topics(Vocabulary.of(questions), pa.array(["e1"] * len(questions)), pa.array(["r"] * len(questions)))


def messages(*given: dict) -> list[str]:
    return [f"{finding.source}: {finding.message}" for finding in check_together(*given)]


def test_everything_that_does_not_fit_is_found():
    """Each kind of finding, with what was expected and found."""
    found = messages(
        {"run": a_run(["q0", "q3", "q4"], "x")},
        {"qrels": some_qrels(["q0", "q4"], "y")},
        {"topics": some_topics(["q0", "q1", "q2"])},
        {"entities": Vocabulary.of(["e0"])},
    )
    assert found == [
        "run: expected only questions of topics, found 2 others: 'q3', 'q4'",
        "run: expected all questions of topics, found 2 missing: 'q1', 'q2'",
        "run: expected only entities of entities, found 1 other: 'x'",
        "qrels: expected only questions of topics, found 1 other: 'q4'",
        "qrels: expected judgements for every topic of topics, found 2 missing: 'q1', 'q2'",
        "qrels: expected only entities of entities, found 1 other: 'y'",
        "topics: expected only anchors of entities, found 1 other: 'e1'",
    ]


def test_a_run_is_held_against_the_qrels_where_there_are_no_topics():
    """Long lists are cut."""
    found = messages({"run": a_run(["q0"])}, {"qrels": some_qrels(QUESTIONS[1:])}, {}, {})
    assert found == [
        "run: expected only questions of qrels, found 1 other: 'q0'",
        "run: expected all questions of qrels, found 4 missing: 'q1', 'q2', 'q3' and 1 more",
    ]


@given(st.lists(st.sampled_from(QUESTIONS), min_size=1, unique=True))
def test_what_belongs_together_yields_no_finding(questions):
    """In any order of questions, and for any subset of the arguments."""
    run, judged, topics = a_run(questions), some_qrels(questions[::-1]), some_topics(questions)
    graph = Vocabulary.of(ENTITIES)
    full = ({"run": run}, {"qrels": judged}, {"topics": topics}, {"entities": graph})
    assert messages(*full) == []
    for left_out in range(4):
        assert messages(*({} if place == left_out else given for place, given in enumerate(full))) == []

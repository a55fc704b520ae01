"""What is known of the asked questions, and where systems rank it, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgtrec.openworld.known_answers import KnownAnswers, Placings
from kgtrec.openworld.theory import named_weights
from tests.openworld.test_estimate import qrels, run


@pytest.fixture
def answers() -> KnownAnswers:
    """Labels b x, a y; judged of a: x true, z wrong, each for three; of c, which is not asked, x; u known otherwise."""
    judged = qrels(a="-zx", c="x")
    return KnownAnswers.of(qrels(b="x", a="y"), judged, np.full(len(judged), 3.0), qrels(b="u"), qrels(a="xyv", b="x"))


def test_rows_are_in_order_of_bytes_and_of_questions_with_a_label(answers):
    pairs = zip(answers.qrels.question, answers.qrels.entity, strict=True)
    labels = [f"{answers.qrels.questions[q]} {answers.qrels.entities[e]}" for q, e in pairs]
    assert labels == ["a v", "a x", "a y", "a z", "b u", "b x"]
    assert answers.qrels.grade.tolist() == [1, 1, 1, 0, 1, 1]
    assert answers.labelled.tolist() == [False, False, True, False, False, True]
    assert answers.judged.tolist() == [False, True, True, True, True, True]
    assert answers.known.tolist() == [False, True, True, False, True, True]
    assert answers.true.tolist() == [True, True, True, False, False, True]
    # what is judged stands for more, labels and what is known do not
    assert answers.weight.tolist() == [1, 3, 1, 3, 1, 1]


def test_places_are_those_of_the_list_and_worth_is_filtered(answers):
    """a: z x y v, b: w x, u not listed; to rank 2 there are 4 candidates, of which w is not judged; z stands for it."""
    found = Placings.of(answers, [run("one", a="zxyv", b="wx")], 2)
    assert found.systems == ("one",)
    assert found.rank.tolist() == [[4, 2, 3, 1, np.inf, 2]]
    assert found.found.tolist() == [[False, True, False, True, False, True]]
    assert found.judged.tolist() == [1]
    once = replace(answers, weight=np.ones(6))
    assert Placings.of(once, [run("one", a="zxyv", b="wx")], 2).judged.tolist() == [3 / 4]
    weights = named_weights("MRR Hits@1")
    question = answers.qrels.question
    assert found.worth(weights, question, answers.labelled).tolist() == [[[1 / 3, 1 / 2]], [[0, 0]]]
    assert found.worth(weights, question, answers.known).tolist() == [[[1 / 2, 1 / 2, 0, 1 / 2]], [[0, 0, 0, 0]]]


@pytest.mark.parametrize("one", ["x=yz", "y=xz"])
def test_ties_of_a_run_go_by_label(one):
    """As kgtrec evaluate takes them: by label downwards, so that y stands before x, whichever is listed first."""
    answers = KnownAnswers.of(qrels(a="xy"), qrels(a="z"), None, None, None)
    placed = Placings.of(answers, [run("one", a=one)], 3)
    assert placed.rank[0, :2].tolist() == [2, 1]  # x, y

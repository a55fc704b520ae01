"""Errors of estimates from labels: their variance against every labelling of small worlds, and values by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.capture_recapture import (
    BESIDE,
    FOUND_PAIRS,
    FoundAnswers,
    question_sums,
    standing_for_more,
)
from kgtrec.kernels.sampling.recapture_errors import chao_variance, error_variances, positive_interval
from tests.examples import examples


def require_unbiased(world, alpha, pull):
    """The mean of the estimated variance is the mean squared error over all labellings, and errors are 0 on average.

    A world is a list of questions of (fact, found, value); the two answers of a fact have one label. What is neither
    labelled nor found is not known, and questions without a label are not asked.
    """
    odds = (1 - alpha) / alpha
    rows = [(number, *answer) for number, question in enumerate(world) for answer in question]
    facts = sorted({row[1] for row in rows})
    error = square = estimated = 0.0
    for labelled in itertools.product((False, True), repeat=len(facts)):
        has = dict(zip(facts, labelled, strict=True))
        asked = {row[0] for row in rows if has[row[1]]}
        used = [row for row in rows if row[0] in asked and (has[row[1]] or row[2])]
        answers = FoundAnswers(
            np.array([row[0] for row in used], np.intp),
            np.array([has[row[1]] for row in used], bool),
            np.array([int(row[2]) for row in used], np.int64),
            np.ones(len(used)),
        )
        twins = ([n for n, other in enumerate(used) if other[1] == row[1] and other[0] != row[0]] for row in used)
        twin = np.array([own[0] if own else -1 for own in twins], np.intp)
        value = np.array([row[3] for row in used], float)
        missing = sum(row[3] for row in rows if row[0] in asked and not has[row[1]] and not row[2])
        sums = question_sums(answers, len(world)).sum(axis=0)
        stands = standing_for_more(answers, len(world))
        own = odds * value[stands].sum() - missing + pull * (sums[BESIDE] - odds * sums[FOUND_PAIRS])
        probability = np.prod([alpha if one else 1 - alpha for one in labelled])
        error += probability * own
        square += probability * own**2
        twin = twin if (twin >= 0).any() else None
        variance = error_variances(answers, len(world), odds, np.stack([value]), np.array([pull]), twin)
        estimated += probability * variance[0]
    assert error == pytest.approx(0, abs=1e-9 * (1 + square))
    assert estimated == pytest.approx(square, rel=1e-9, abs=1e-12)


FACTS = [
    [("a", True, 1.0), ("b", True, 0.5), ("c", False, 0.2), ("d", True, 0.0)],
    [("a", True, 0.7), ("e", False, 0.2), ("f", True, 0.1)],
    [("b", False, 0.75), ("g", True, 0.6)],
    [("c", False, 0.1), ("h", False, 0.4)],
]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.95])
@pytest.mark.parametrize("pull", [0.0, 0.3, 2.0])
def test_variances_where_two_answers_have_their_labels_together_are_unbiased(alpha, pull):
    """Facts found on both sides, on one, and on none; all answers worth 1, and worth what they are."""
    require_unbiased(FACTS, alpha, pull)
    require_unbiased([[(fact, found, 1.0) for fact, found, _ in own] for own in FACTS], alpha, pull)


ANSWER = st.tuples(st.booleans(), st.floats(-2, 2))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(ANSWER, min_size=1, max_size=4), min_size=1, max_size=2), st.floats(0.1, 0.9), st.floats(-2, 2)
)
def test_variances_of_any_small_world_are_unbiased(world, alpha, pull):
    """Each answer is a fact of its own."""
    numbered = [[((q, n), *answer) for n, answer in enumerate(question)] for q, question in enumerate(world)]
    require_unbiased(numbered, alpha, pull)


def test_what_a_sample_of_the_judgements_adds():
    """One missing answer of two was judged, by chance: w (w - 1) (v + S pull)^2 = 2 (1 + 2 . 0.5)^2 = 8."""
    labelled, times = np.array([True, True, False]), np.array([0, 0, 1])
    question, value, pull = np.zeros(3, np.intp), np.ones((1, 3)), np.array([0.5])

    def variance(weight, odds):
        answers = FoundAnswers(question, labelled, times, np.array([1.0, 1.0, weight]))
        return error_variances(answers, 1, odds, value, pull)[0]

    assert variance(1.0, 0.0) == 0
    assert variance(2.0, 0.0) == pytest.approx(8)


def test_chao_variance_by_hand():
    """2 systems, 3 answers found by one: 1/2 . 6/2 + 1/4 . 3 . 25/4, and nothing of answers found by two."""
    assert chao_variance(3, 0, 2) == pytest.approx(1.5 + 18.75 / 4)
    assert chao_variance(0, 7, 3) == 0


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.floats(0.5, 0.99))
def test_intervals_of_what_is_positive_hold_it_and_stay_positive(value, variance, confidence):
    """They are as far from it as a quotient below as above, and wider with fewer pairs of labels."""
    low, high = positive_interval(np.array(value), np.array(variance), confidence)
    assert 0 < low <= value <= high
    assert low * high == pytest.approx(value**2)
    fewer = positive_interval(np.array(value), np.array(variance), confidence, pairs=3)
    assert fewer[1] >= high


@pytest.mark.filterwarnings("error")
def test_without_a_value_or_an_error_there_is_no_interval():
    value, variance = np.array([0.0, 1.0, np.nan, 1.0]), np.array([1.0, 0.0, 1.0, np.nan])
    assert np.isnan(positive_interval(value, variance, 0.95)).all()

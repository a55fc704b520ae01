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


def labellings(world, alpha):
    """Every labelling of a world, a list of questions of (found, value): probability, answers, values, missing worth.

    What is neither labelled nor found is not known, and questions without a label are not asked.
    """
    flat = [(number, found, value) for number, question in enumerate(world) for found, value in question]
    for labelled in itertools.product((False, True), repeat=len(flat)):
        asked = {row[0] for row, has in zip(flat, labelled, strict=True) if has}
        used = [(row, has) for row, has in zip(flat, labelled, strict=True) if row[0] in asked and (has or row[1])]
        missing = sum(
            row[2] for row, has in zip(flat, labelled, strict=True) if row[0] in asked and not has and not row[1]
        )
        answers = FoundAnswers(
            np.array([row[0] for row, _ in used], np.intp),
            np.array([has for _, has in used], bool),
            np.array([int(row[1]) for row, _ in used], np.int64),
            np.ones(len(used)),
        )
        probability = np.prod([alpha if has else 1 - alpha for has in labelled])
        yield probability, answers, np.array([row[2] for row, _ in used], float), missing


def require_unbiased(world, alpha, pull):
    """The mean of the estimated variance is the mean squared error over all labellings, and errors are 0 on average."""
    odds = (1 - alpha) / alpha
    error = square = estimated = 0.0
    for probability, answers, value, missing in labellings(world, alpha):
        sums = question_sums(answers, len(world)).sum(axis=0)
        stands = standing_for_more(answers, len(world))
        own = odds * value[stands].sum() - missing + pull * (sums[BESIDE] - odds * sums[FOUND_PAIRS])
        error += probability * own
        square += probability * own**2
        estimated += probability * error_variances(answers, len(world), odds, value[None], np.array([pull]))[0]
    assert error == pytest.approx(0, abs=1e-9 * (1 + square))
    assert estimated == pytest.approx(square, rel=1e-9, abs=1e-12)


WORLD = [
    [(True, 1.0), (True, 0.5), (False, 0.2), (False, 0.0)],
    [(False, 0.7), (False, 0.2)],
    [(True, 0.75)],
    [(False, 0.1)],
    [(True, 0.3), (False, 0.25)],
]


def require_unbiased_by_fact(world, alpha, pull):
    """As `require_unbiased`, of questions of (fact, found, value), where the two answers of a fact have one label."""
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
        twin = np.array(
            [
                next((place for place, other in enumerate(used) if other[1] == row[1] and other[0] != row[0]), -1)
                for row in used
            ],
            np.intp,
        )
        value = np.array([row[3] for row in used], float)
        missing = sum(row[3] for row in rows if row[0] in asked and not has[row[1]] and not row[2])
        sums = question_sums(answers, len(world)).sum(axis=0)
        stands = standing_for_more(answers, len(world))
        own = odds * value[stands].sum() - missing + pull * (sums[BESIDE] - odds * sums[FOUND_PAIRS])
        probability = np.prod([alpha if one else 1 - alpha for one in labelled])
        error += probability * own
        square += probability * own**2
        estimate = error_variances(answers, len(world), odds, np.stack([value]), np.array([pull]), twin)[0]
        estimated += probability * estimate
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
    require_unbiased_by_fact(FACTS, alpha, pull)
    require_unbiased_by_fact([[(fact, found, 1.0) for fact, found, _ in own] for own in FACTS], alpha, pull)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.1, 1 / 3, 0.95])
@pytest.mark.parametrize("pull", [0.0, 0.3, 2.0])
def test_variances_of_five_questions_are_unbiased(alpha, pull):
    """1,024 labellings, of answers that are worth what they are, and of answers that are worth 1 each."""
    require_unbiased(WORLD, alpha, pull)
    require_unbiased([[(found, 1.0) for found, _ in question] for question in WORLD], alpha, pull)


ANSWER = st.tuples(st.booleans(), st.floats(-2, 2))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(ANSWER, min_size=1, max_size=4), min_size=1, max_size=2), st.floats(0.1, 0.9), st.floats(-2, 2)
)
def test_variances_of_any_small_world_are_unbiased(world, alpha, pull):
    require_unbiased(world, alpha, pull)


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

"""The public face of the closed forms: names, domain, orders that come out wrong, numbers of questions."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from kgtrec.errors import KgtrecError, MeasureError
from kgtrec.openworld.theory import (
    OpenWorld,
    correlation_range,
    expected_score,
    logarithmic_approximation,
    question_variance,
    questions_needed,
    questions_needed_by_logarithm,
    score_slope,
    wrong_order_probability,
)
from tests.examples import examples

AVERAGES = ["labels", "questions", "lemma"]


def by_counts(n, missing, strength):
    """MRR of the lemma and of questions with a label in fractions, over numbers of labels and of found missing ones."""
    lemma = scored = share = Fraction(0)
    for labels in range(n + 1):
        chance = math.comb(n, labels) * (1 - missing) ** labels * missing ** (n - labels)
        value = Fraction(0)
        for found in range(n - labels + 1):
            ways = math.comb(n - labels, found) * strength**found * (1 - strength) ** (n - labels - found)
            value += ways * strength * sum(Fraction(1, rank) for rank in range(1, found + 2)) / (found + 1)
        lemma += chance * value
        if labels:
            scored += chance * value
            share += chance
    return lemma, scored / share


def test_worked_values_in_fractions():
    """N = 5, beta = 1/2, l = 4/5: 2261216/4359375 = .51870 of questions with a label, .51409 of the lemma."""
    lemma, scored = by_counts(5, Fraction(1, 2), Fraction(4, 5))
    assert scored == Fraction(2261216, 4359375)
    world = OpenWorld(5, 0.5)
    assert expected_score(world, "MRR", 0.8, average="questions") == pytest.approx(float(scored), rel=1e-14)
    assert expected_score(world, "MRR", 0.8, average="lemma") == pytest.approx(float(lemma), rel=1e-14)
    assert round(expected_score(world, "MRR", 0.8, average="lemma"), 4) == 0.5141
    assert round(expected_score(world, "MRR", 0.8), 4) == 0.5534


@pytest.mark.parametrize("name", ["MRR", "Hits@3", "logMRR", "pMRR(p=0.3)"])
@pytest.mark.parametrize("average", AVERAGES)
def test_a_measure_and_its_function_of_ranks_are_the_same(name, average):
    functions = {
        "MRR": np.reciprocal,
        "Hits@3": lambda rank: rank <= 3,
        "logMRR": lambda rank: 1 / np.log2(rank + 1),
        "pMRR(p=0.3)": lambda rank: rank**-0.3,
    }
    world, strength = OpenWorld(12, 0.4, 0.05), [0.3, 0.6]
    found = expected_score(world, f"micro.{name}", strength, average=average)
    np.testing.assert_allclose(found, expected_score(world, functions[name], strength, average=average), rtol=1e-14)
    np.testing.assert_allclose(found, expected_score(world, name, strength, average=average), rtol=0)


@pytest.mark.parametrize("average", AVERAGES)
def test_slopes_are_numeric_derivatives(average):
    world, step = OpenWorld(9, 0.6, -0.2), 1e-6
    at = np.array([0.35, 0.6])
    for name in ("MRR", "Hits@2", "logMRR", "pMRR"):
        after, before = (expected_score(world, name, at + way, average=average) for way in (step, -step))
        np.testing.assert_allclose(
            score_slope(world, name, at, average=average), (after - before) / 2 / step, rtol=1e-7
        )


def test_slopes_have_their_closed_forms():
    """MRR: (1 - (1 - l beta)^(N + 1)) / (l beta (N + 1)); Hits@K: the chance of less than K of N found, l beta each."""
    from scipy.stats import binom

    n, missing, strength = 30, 0.4, 0.7
    p = missing * strength
    found = score_slope(OpenWorld(n, missing), "MRR", strength, average="lemma")
    assert found == pytest.approx((1 - (1 - p) ** (n + 1)) / (p * (n + 1)), rel=1e-12)
    found = score_slope(OpenWorld(n, missing), "Hits@5", strength, average="lemma")
    assert found == pytest.approx(binom.cdf(4, n, p), rel=1e-12)


def test_many_answers_are_summed_exactly():
    """MRR of 100,000 answers: l times the mean of H(m + 1) / (m + 1), m binomial."""
    from scipy.stats import binom

    n, missing, strength = 100_000, 0.5, 0.7
    m = np.arange(n + 1)
    expected = strength * (binom.pmf(m, n, missing * strength) * np.cumsum(1 / (m + 1)) / (m + 1)).sum()
    assert expected_score(OpenWorld(n, missing), "MRR", strength, average="lemma") == pytest.approx(expected, rel=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 200), st.floats(0.001, 0.95), st.floats(0.02, 0.98), st.floats(-0.99, 0.99))
def test_the_correlated_logarithm_is_within_its_bounds(n, missing, strength, share):
    low, high = correlation_range(missing, strength)
    world = OpenWorld(n, missing, share * (high if share > 0 else -low))
    exact = expected_score(world, "MRR", strength, average="lemma")
    found = logarithmic_approximation(world, strength)
    slack = 1e-9 * (1 + abs(found.value[0]))
    assert found.value[0] + found.low[0] - slack <= exact <= found.value[0] + found.high[0] + slack


@pytest.mark.parametrize("average", ["labels", "questions"])
def test_chance_of_a_wrong_order_and_the_number_of_questions_are_inverse(average):
    """One question less than needed is not enough; the number itself is."""
    world = OpenWorld(20, 0.5, 0.05)
    for shared in (False, True):
        options = {"average": average, "shared_labels": shared}
        needed = questions_needed(world, "MRR", 0.5, 0.55, p=0.01, **options)
        assert wrong_order_probability(world, "MRR", 0.5, 0.55, needed, **options) <= 0.01
        assert wrong_order_probability(world, "MRR", 0.5, 0.55, needed - 1, **options) > 0.01


def test_shared_labels_make_the_order_safer():
    """What is good for one system's score is good for the other's."""
    world = OpenWorld(6, 0.5)
    for average in ("labels", "questions"):
        safe, other = (
            wrong_order_probability(world, "MRR", 0.6, 0.7, 100, average=average, shared_labels=shared)
            for shared in (True, False)
        )
        assert safe < other < 0.5


def test_the_published_number_of_questions_by_its_algebra():
    """N_q is 2 V (beta l (N + 1) z / dl)^2: c / dl^2 with c = 4.6524 is 1,861 at .05, a quarter of it at .1."""
    world, strength = OpenWorld(43, 0.5), 0.6
    z = norm.isf(0.05)
    variance = 4.6524 / (2 * (0.5 * 0.6 * 44 * z) ** 2)
    assert questions_needed_by_logarithm(world, strength, 0.05, variance=variance) == 1861
    assert questions_needed_by_logarithm(world, strength, 0.1, variance=variance) == math.ceil(4.6524 / 0.01)
    assert questions_needed_by_logarithm(world, strength, 0.05, variance=2 * variance) == math.ceil(
        2 * 4.6524 / 0.05**2
    )


def test_the_published_number_is_near_the_exact_one_where_the_logarithm_is_good():
    """Many answers, half of them missing, two systems close to each other with labels of their own."""
    world = OpenWorld(2000, 0.5)
    exact = questions_needed(world, "MRR", 0.6, 0.601, average="questions", shared_labels=False)
    assert questions_needed_by_logarithm(world, 0.6, 0.001) == pytest.approx(exact, rel=0.01)


def test_nothing_missing_leaves_the_strength():
    """beta = 0: every answer has its label and rank 1 if found; a question is worth the share of its found answers."""
    for average in AVERAGES:
        assert expected_score(OpenWorld(9, 0.0), "MRR", 0.3, average=average) == pytest.approx(0.3)
        assert score_slope(OpenWorld(9, 0.0), "MRR", 0.3, average=average) == pytest.approx(1)
    for average in ("labels", "questions"):
        assert question_variance(OpenWorld(9, 0.0), "MRR", 0.3, average=average) == pytest.approx(0.3 * 0.7 / 9)


def test_a_single_answer_is_never_outranked():
    """N = 1: what is labelled has no missing one above it."""
    for average in ("labels", "questions"):
        assert expected_score(OpenWorld(1, 0.9), "MRR", 0.4, average=average) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(((number, 0.5), "n_answers") for number in (0, 2.5)),
        *(((5, missing), "share of missing labels") for missing in (1.0, -0.1, math.nan)),
        ((5, 0.5, 1.5), "correlation"),
    ],
)
def test_a_world_out_of_its_domain_is_refused(arguments, message):
    with pytest.raises(KgtrecError, match=message):
        OpenWorld(*arguments)


@pytest.mark.parametrize("strength", [-0.1, 1.1, math.nan, [0.5, 2], [[0.5]], [], "strong"])
def test_a_strength_that_is_no_probability_is_refused(strength):
    with pytest.raises(KgtrecError, match=r"expected (a )?strength"):
        expected_score(OpenWorld(5, 0.5), "MRR", strength)


def test_a_correlation_that_no_joint_distribution_has_names_the_range():
    with pytest.raises(KgtrecError) as found:
        expected_score(OpenWorld(5, 0.2, 0.4), "MRR", [0.5, 0.7])
    assert str(found.value) == (
        "expected a correlation from -0.763762615826 to 0.327326835354 for a strength of 0.7 with a share of 0.2 "
        "missing, found 0.4"
    )
    with pytest.raises(KgtrecError, match="expected a correlation from 0 to 0 for a strength of 1"):
        score_slope(OpenWorld(5, 0.2, 0.1), "MRR", 1.0)
    with pytest.raises(KgtrecError, match="with a share of 0 missing"):
        expected_score(OpenWorld(5, 0.0, 0.1), "MRR", 0.5)


def test_the_ends_that_an_error_tells_are_allowed():
    with pytest.raises(KgtrecError) as found:
        expected_score(OpenWorld(5, 0.2, 0.4), "MRR", 0.7)
    for end in re.findall(r"-?0\.\d+", str(found.value))[:2]:
        assert 0 < expected_score(OpenWorld(5, 0.2, float(end)), "MRR", 0.7) < 1


def test_the_number_of_questions_of_the_published_example():
    """N = 43, beta = l = .5, p = 5%: c / dl^2 with c = 2.85, which is the published constant; 1,139 at dl = .05."""
    world = OpenWorld(43, 0.5)
    variance = question_variance(world, "MRR", 0.5, average="questions")
    assert round(2 * variance * (0.5 * 0.5 * 44 * norm.isf(0.05)) ** 2, 2) == 2.85
    assert questions_needed_by_logarithm(world, 0.5, 0.05) == 1139


def test_numbers_beyond_double_precision_are_told():
    for gap in (1e-300, 5e-324):
        with pytest.raises(KgtrecError, match="expected a larger difference between the two systems"):
            questions_needed_by_logarithm(OpenWorld(5, 0.5), 0.5, gap)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("missing", [1e-308, 1e-100, 1 - 1e-16])
@pytest.mark.parametrize("strength", [1e-308, 1e-100, 1.0])
def test_probabilities_next_to_nothing_count_as_nothing(missing, strength):
    """Of few answers nothing missing is found that could stand above a label, up to what doubles can tell."""
    world = OpenWorld(2, missing)
    found = expected_score(world, "MRR", strength)
    assert found == pytest.approx(strength * (1 - missing * strength / 4), rel=1e-12)
    assert question_variance(world, "MRR", strength) >= 0
    assert score_slope(world, "MRR", strength, average="questions") > 0
    if missing * strength < 1e-100:
        with pytest.raises(KgtrecError, match="the logarithm is not defined there"):
            logarithmic_approximation(world, strength)


def test_the_ends_of_the_range_are_allowed():
    """There the system finds all or nothing of what is missing, or of what is labelled."""
    for missing, strength in ((0.2, 0.7), (0.5, 0.5), (0.9, 0.05)):
        for end in correlation_range(missing, strength):
            found = expected_score(OpenWorld(7, missing, end), "MRR", strength, average="questions")
            assert 0 <= found <= 1


@pytest.mark.parametrize("measure", ["MR", "macro.MRR", "AMRI", "GMR", "pykeen.macro.MRR", "nDCG@10"])
def test_a_measure_that_is_no_mean_of_weights_is_refused(measure):
    with pytest.raises(MeasureError):
        expected_score(OpenWorld(5, 0.5), measure, 0.5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rank: 1.0, "found shape"),
        (lambda rank: rank * math.nan, "NaN or infinity"),
        (math.sqrt, "expected a function from an array"),
    ],
)
def test_a_function_that_gives_no_weights_is_refused(function, message):
    with pytest.raises(MeasureError, match=message):
        expected_score(OpenWorld(5, 0.5), function, 0.5)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda world: expected_score(world, "MRR", 0.5, average="micro"), "average"),
        (lambda world: question_variance(world, "MRR", 0.5, average="lemma"), '"lemma"'),
        (lambda world: wrong_order_probability(world, "MRR", 0.7, 0.5, 100), "weaker"),
        (lambda world: wrong_order_probability(world, "MRR", 0.5, 0.7, 0), "n_questions"),
        (lambda world: questions_needed(world, "MRR", 0.5, 0.7, p=0.7), "wrong order"),
        (lambda _: logarithmic_approximation(OpenWorld(5, 0.0), 0.5), "logarithm"),
        (lambda _: questions_needed_by_logarithm(OpenWorld(5, 0.5, 0.1), 0.5, 0.05), "correlation"),
        (lambda world: questions_needed(world, np.zeros_like, 0.5, 0.7), "no number of questions"),
    ],
)
def test_what_has_no_answer_says_so(ask, message):
    with pytest.raises(KgtrecError, match=message):
        ask(OpenWorld(5, 0.5))

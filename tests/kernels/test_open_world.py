"""What missing labels do to a measure: the closed forms against every case written out, and against mpmath."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.open_world import (
    correlated_strengths,
    correlation_bounds,
    harmonic_approximation,
    mean_per_label,
    mean_per_question,
    second_moments,
    slope,
)


def reciprocal(rank):
    return 1 / rank


def hits_at_2(rank):
    return (rank <= 2).astype(float)


def logarithmic(rank):
    return 1 / np.log2(rank + 1)


WEIGHTS = [reciprocal, hits_at_2, logarithmic]


def cases(n, missing, on_missing, on_labelled):
    """Every way in which n answers can be labelled and found, as (probability, labelled, found)."""
    for labelled in itertools.product((False, True), repeat=n):
        for found in itertools.product((False, True), repeat=n):
            probability = 1.0
            for has_label, is_found in zip(labelled, found, strict=True):
                strength = on_labelled if has_label else on_missing
                probability *= (1 - missing if has_label else missing) * (strength if is_found else 1 - strength)
            yield probability, labelled, found


def values_of_orders(weights, labelled, found):
    """The value of each label, (n,), 0 for one that is not found, for every order of the found answers."""
    rows = [row for row, is_found in enumerate(found) if is_found]
    for order in itertools.permutations(rows):
        value, missing_above = np.zeros(len(labelled)), 0
        for row in order:
            if labelled[row]:
                value[row] = weights(np.array([1.0 + missing_above]))[0]
            else:
                missing_above += 1
        yield value


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("missing", "strength", "correlation"), [(0.5, 0.8, 0.0), (0.3, 0.5, 0.2), (0.6, 0.4, -0.3)])
def test_means_are_those_of_every_case_written_out(weights, missing, strength, correlation):
    """Four answers: all labellings, all sets of found answers, all their orders."""
    n = 4
    one, other = correlated_strengths(np.array([strength]), missing, correlation)
    total = labels = scored = question = square = 0.0
    for probability, labelled, found in cases(n, missing, one[0], other[0]):
        orders = list(values_of_orders(weights, labelled, found))
        if not any(labelled):
            continue
        scored += probability
        sums = np.array([order.sum() for order in orders])
        total += probability * sums.mean()
        labels += probability * sum(labelled)
        question += probability * (sums / sum(labelled)).mean()
        square += probability * ((sums / sum(labelled)) ** 2).mean()
    found = mean_per_label(weights, n, missing, one, other)[0]
    assert found == pytest.approx(total / labels, rel=1e-12)
    conditional = mean_per_question(weights, n, missing, one, other, conditional=True)[0]
    assert conditional == pytest.approx(question / scored, rel=1e-12)
    mean, moment, _ = second_moments(weights, n, missing, one, other)
    assert mean[0] == pytest.approx(question / scored, rel=1e-12)
    assert moment[0] == pytest.approx(square / scored, rel=1e-12)


def test_shared_labels_are_those_of_every_case_written_out():
    """Two systems that see the same labels: the mean product of their values."""
    n, missing, strengths = 3, 0.4, (0.7, 0.3)
    expected = scored = 0.0
    for labelled in itertools.product((False, True), repeat=n):
        if not any(labelled):
            continue
        probability = np.prod([1 - missing if has else missing for has in labelled])
        scored += probability
        product = probability
        for strength in strengths:
            mean = 0.0
            for found in itertools.product((False, True), repeat=n):
                chance = np.prod([strength if is_found else 1 - strength for is_found in found])
                orders = [value.sum() / sum(labelled) for value in values_of_orders(reciprocal, labelled, found)]
                mean += chance * np.mean(orders)
            product *= mean
        expected += product
    strength = np.array(strengths)
    shared = second_moments(reciprocal, n, missing, strength, strength)[2]
    assert shared[0, 1] == pytest.approx(expected / scored, rel=1e-12)


def test_worked_values_of_five_answers():
    """N = 5, beta = .5, l = .8: the lemma .5141, per label .5534."""
    half = np.array([0.8])
    assert mean_per_question(reciprocal, 5, 0.5, half, half, conditional=False)[0] == pytest.approx(0.5141, abs=5e-5)
    assert mean_per_label(reciprocal, 5, 0.5, half, half)[0] == pytest.approx(0.5534, abs=5e-5)


def test_worked_value_of_few_missing_labels():
    """N = 43, beta = .01, l = .7: .651, where the logarithm says -1.31."""
    strength = np.array([0.7])
    assert mean_per_question(reciprocal, 43, 0.01, strength, strength, conditional=False)[0] == pytest.approx(
        0.651, abs=5e-4
    )
    assert harmonic_approximation(43, 0.01, strength)[0][0] == pytest.approx(-1.31, abs=5e-3)


@pytest.mark.parametrize("missing", [1e-6, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_nothing_is_lost_for_many_answers_and_few_missing(n, missing):
    """MRR of the lemma to 1e-9, against (ln p + H_n + sum of q^j / j for j > n) / (beta n) in 50 digits."""
    strength = 0.7
    found = mean_per_question(reciprocal, n, missing, *(np.array([strength]),) * 2, conditional=False)[0]
    with mpmath.workdps(50):
        beta = mpmath.mpf(missing)
        p, draws = beta * mpmath.mpf(strength), n + 1
        # sum of q^j / j over j > n is the Lerch transcendent
        tail = (1 - p) ** (draws + 1) * mpmath.lerchphi(1 - p, 1, draws + 1)
        exact = (mpmath.log(p) + mpmath.harmonic(draws) + tail) / (beta * draws)
    assert found == pytest.approx(float(exact), rel=1e-9)


@given(st.integers(1, 300), st.floats(0.001, 0.95), st.floats(0.02, 1))
def test_the_logarithm_is_within_its_bounds(n, missing, strength):
    half = np.array([strength])
    exact = mean_per_question(reciprocal, n, missing, half, half, conditional=False)[0]
    approximation, low, high = (part[0] for part in harmonic_approximation(n, missing, half))
    slack = 1e-9 * (1 + abs(approximation))
    assert approximation + low - slack <= exact <= approximation + high + slack


@pytest.mark.parametrize("weights", [reciprocal, logarithmic, hits_at_2])
@pytest.mark.parametrize("correlation", [0.0, 0.1, -0.1])
def test_slopes_are_numeric_derivatives(weights, correlation):
    n, missing, strength, step = 12, 0.4, np.array([0.3, 0.6]), 1e-6

    def mean(at):
        return mean_per_question(
            weights, n, missing, *correlated_strengths(at, missing, correlation), conditional=False
        )

    numeric = (mean(strength + step) - mean(strength - step)) / (2 * step)
    np.testing.assert_allclose(slope(weights, n, missing, strength, correlation), numeric, rtol=1e-7)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_correlations_within_their_bounds_give_probabilities(missing, strength):
    """At the bounds one of the strengths is 0 or 1, and beyond them it is none."""
    at = np.array([strength])
    for bound in correlation_bounds(at, missing):
        both = np.concatenate(correlated_strengths(at, missing, bound[0]))
        assert (both >= -1e-9).all()
        assert (both <= 1 + 1e-9).all()
        assert np.minimum(np.abs(both), np.abs(1 - both)).min() < 1e-9
        beyond = np.concatenate(correlated_strengths(at, missing, bound[0] * 1.01))
        assert (beyond < 0).any() or (beyond > 1).any()


def test_all_labelled_leaves_the_strength():
    """beta = 0: every found answer has rank 1."""
    strength = np.array([0.0, 0.3, 1.0])
    for conditional in (False, True):
        np.testing.assert_allclose(
            mean_per_question(reciprocal, 9, 0.0, strength, strength, conditional=conditional), strength
        )

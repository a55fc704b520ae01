"""What missing labels do to a measure: the closed forms against every case written out, and against mpmath."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.openworld import moments as kernel
from kgtrec.kernels.openworld.moments import (
    correlated_strengths,
    correlation_bounds,
    mean_score,
    mixed_mean,
    moments,
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


def linear_part(weights, n, missing, on_missing, on_labelled, mean):
    """Mean square of (sum of a question's values - mean * its labels)."""
    square = 0.0
    for probability, labelled, found in cases(n, missing, on_missing, on_labelled):
        apart = [order.sum() - mean * sum(labelled) for order in values_of_orders(weights, labelled, found)]
        square += probability * np.mean(np.square(apart))
    return square


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
    found = mean_score(weights, n - 1, missing, one, other)[0]
    assert found == pytest.approx(total / labels, rel=1e-12)
    conditional = mean_score(weights, n, missing, one, other, conditional=True)[0]
    assert conditional == pytest.approx(question / scored, rel=1e-12)
    of_question = moments(weights, n, missing, one, other, per_label=False)
    assert of_question.mean[0] == pytest.approx(question / scored, rel=1e-12)
    assert of_question.variance[0] == pytest.approx(square / scored - (question / scored) ** 2, rel=1e-12)
    # the average over labels: the ratio's linear part, (sum - mean * labels) / mean number of labels
    of_label = moments(weights, n, missing, one, other, per_label=True)
    assert of_label.mean[0] == pytest.approx(total / labels, rel=1e-12)
    assert of_label.variance[0] == pytest.approx(
        linear_part(weights, n, missing, one[0], other[0], total / labels) * scored / labels**2, rel=1e-12
    )


@pytest.mark.parametrize("missing", [1e-6, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_nothing_is_lost_for_many_answers_and_few_missing(n, missing):
    """MRR of the lemma to 1e-9, against (ln p + H_n + sum of q^j / j for j > n) / (beta n) in 50 digits."""
    strength = 0.7
    found = mean_score(reciprocal, n, missing, *(np.array([strength]),) * 2, conditional=False)[0]
    with mpmath.workdps(50):
        beta = mpmath.mpf(missing)
        p, draws = beta * mpmath.mpf(strength), n + 1
        # sum of q^j / j over j > n is the Lerch transcendent
        tail = (1 - p) ** (draws + 1) * mpmath.lerchphi(1 - p, 1, draws + 1)
        exact = (mpmath.log(p) + mpmath.harmonic(draws) + tail) / (beta * draws)
    assert found == pytest.approx(float(exact), rel=1e-9)


def exact_mean(weight, n_draws, missing, found, scored):
    """E[A(m)] and E[w(m + 1)] in 60 digits, summed over m until nothing is left, by the ratio of successive chances.

    With ``scored``, of cases in which one of the ``n_draws`` answers is labelled, divided by their share.
    """
    beta, one = mpmath.mpf(missing), mpmath.mpf(found)
    p = beta * one
    q = (1 - beta) / (1 - p)
    ratio, chance = p / (1 - p), (1 - p) ** n_draws
    cumulated, mean, alone, mode = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), int(n_draws * p)
    none = (1 - q) ** n_draws
    for m in range(n_draws + 1):
        own = weight(m + 1)
        cumulated += own
        part = chance * (1 - none) if scored else chance
        mean += part * cumulated / (m + 1)
        alone += part * own
        if m > mode and chance < mpmath.mpf(10) ** -40:
            break
        chance *= ratio * (n_draws - m) / (m + 1)
        none /= 1 - q
    share = 1 - beta**n_draws if scored else 1
    return mean / share, alone / share


IN_DIGITS = {
    "MRR": (reciprocal, lambda rank: mpmath.mpf(1) / rank),
    "Hits@10": (lambda rank: (rank <= 10).astype(float), lambda rank: mpmath.mpf(rank <= 10)),
    "logMRR": (logarithmic, lambda rank: 1 / mpmath.log(rank + 1, 2)),
    "pMRR": (lambda rank: rank**-0.5, lambda rank: 1 / mpmath.sqrt(rank)),
}


@pytest.mark.slow
@pytest.mark.parametrize("measure", IN_DIGITS)
@pytest.mark.parametrize(
    ("n", "missing", "strength", "correlation"),
    [
        (100_000, 1e-6, 0.7, 0.0),
        (100_000, 1e-6, 0.7, 2e-4),
        (100_000, 1e-4, 0.4, -5e-3),
        (100_000, 0.02, 0.6, 0.05),
        (1_000, 0.3, 0.5, -0.2),
        (7, 1 - 1e-6, 0.3, 1e-4),
    ],
)
def test_nothing_is_lost_under_correlation_either(measure, n, missing, strength, correlation):
    """Means and slopes of every measure to 1e-9, against sums in 60 digits; slopes by their derivative's definition."""
    weights, weight = IN_DIGITS[measure]
    at = np.array([strength])
    one, other = correlated_strengths(at, missing, correlation)
    with mpmath.workdps(60):

        def strengths(at):
            beta, rho = mpmath.mpf(missing), mpmath.mpf(correlation)
            spread, odds = rho * mpmath.sqrt(at * (1 - at)), mpmath.sqrt((1 - beta) / beta)
            return at + spread * odds, at - spread / odds

        exact = {}
        for draws, scored in ((n - 1, False), (n, False), (n, True)):
            center = mpmath.mpf(strength)
            step = mpmath.mpf(10) ** -12
            (on_missing, on_labelled) = strengths(center)
            mean = on_labelled * exact_mean(weight, draws, missing, on_missing, scored)[0]
            before, after = (
                part[1] * exact_mean(weight, draws, missing, part[0], scored)[0]
                for part in (strengths(center - step), strengths(center + step))
            )
            exact[draws, scored] = float(mean), float((after - before) / (2 * step))
    assert mean_score(weights, n - 1, missing, one, other)[0] == pytest.approx(exact[n - 1, False][0], rel=1e-9)
    for scored in (False, True):
        found = mean_score(weights, n, missing, one, other, conditional=scored)[0]
        assert found == pytest.approx(exact[n, scored][0], rel=1e-9)
        found = slope(weights, n, missing, at, correlation, conditional=scored)[0]
        assert found == pytest.approx(exact[n, scored][1], rel=1e-9)
    found = slope(weights, n - 1, missing, at, correlation)[0]
    assert found == pytest.approx(exact[n - 1, False][1], rel=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("near", [0.0, 1e-12, 1e-8, 1e-4])
@pytest.mark.parametrize(("missing", "strength"), [(0.2, 0.7), (0.5, 0.5), (0.9, 0.05), (0.25, 0.5)])
def test_slopes_where_hardly_anything_missing_is_found(near, missing, strength):
    """At the least correlation and next to it: MRR of three answers, two others of which may be missing and found."""
    correlation = float(correlation_bounds(np.array([strength]), missing)[0][0]) * (1 - near)
    with mpmath.workdps(40):
        beta, rho = mpmath.mpf(missing), mpmath.mpf(correlation)

        def mean(at):
            spread = rho * mpmath.sqrt(at * (1 - at))
            p = beta * at + spread * mpmath.sqrt(beta * (1 - beta))  # of an answer that is missing and found
            labelled = at - spread * mpmath.sqrt(beta / (1 - beta))
            return labelled * ((1 - p) ** 2 + 2 * p * (1 - p) * mpmath.mpf(3) / 4 + p**2 * mpmath.mpf(11) / 18)

        exact = float(mpmath.diff(mean, mpmath.mpf(strength)))
    assert slope(reciprocal, 2, missing, np.array([strength]), correlation)[0] == pytest.approx(exact, rel=1e-9)


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


def mixture(sizes, share, missing, strength):
    """Every case of questions with a label of several sizes: (probability, number of labels, sums of the orders)."""
    total = sum(share)
    for n, part in zip(sizes, share, strict=True):
        for probability, labelled, found in cases(n, missing, strength, strength):
            if any(labelled):
                sums = np.array([order.sum() for order in values_of_orders(reciprocal, labelled, found)])
                yield part / total * probability / (1 - missing**n), sum(labelled), sums


@pytest.mark.parametrize(("missing", "strength"), [(0.5, 0.8), (0.2, 0.3), (0.9, 0.6)])
def test_mixtures_of_sizes_are_those_of_every_case_written_out(missing, strength):
    """Questions of 1, 2 and 4 answers, 5 : 2 : 3 of those with a label: means and variances of both averages."""
    sizes, share, at = np.array([1, 2, 4]), np.array([5.0, 2, 3]), np.array([strength])
    every = list(mixture(sizes, share, missing, strength))
    labels = sum(p * a for p, a, _ in every)
    per_label = sum(p * sums.mean() for p, _, sums in every) / labels
    per_question = sum(p * sums.mean() / a for p, a, sums in every)
    variances = {
        True: sum(p * ((sums - per_label * a) ** 2).mean() for p, a, sums in every) / labels**2,
        False: sum(p * ((sums / a - per_question) ** 2).mean() for p, a, sums in every),
    }
    for of_labels, mean in ((True, per_label), (False, per_question)):
        assert mixed_mean(reciprocal, sizes, share, missing, at, at, per_label=of_labels)[0] == pytest.approx(
            mean, rel=1e-12
        )
        found = moments(reciprocal, sizes, missing, at, at, per_label=of_labels, share=share)
        assert found.mean[0] == pytest.approx(mean, rel=1e-12)
        assert found.variance[0] == pytest.approx(variances[of_labels], rel=1e-11)


def test_the_covariance_of_a_mixture_is_that_of_every_labelling():
    """Two systems over questions of 1 and 3 answers: what a labelling is worth to each, apart from the mean."""
    sizes, share, missing, strength = np.array([1, 3]), np.array([1.0, 2.0]), 0.4, np.array([0.7, 0.3])
    for of_labels in (True, False):
        found = moments(reciprocal, sizes, missing, strength, strength, per_label=of_labels, share=share)
        product = labels = 0.0
        for n, part in zip(sizes.tolist(), (share / share.sum()).tolist(), strict=True):
            for a in range(1, n + 1):
                probability = np.exp(_log_binomial(n, a)) * (1 - missing) ** a * missing ** (n - a) / (1 - missing**n)
                ways = np.arange(n - a + 1)
                chance = np.exp([_log_binomial(n - a, m) for m in ways])[:, None] * (
                    strength ** ways[:, None] * (1 - strength) ** (n - a - ways[:, None])
                )
                once = strength * (chance * np.array([np.mean(1 / np.arange(1, m + 2)) for m in ways])[:, None]).sum(0)
                apart = a * (once - found.mean) if of_labels else once - found.mean
                product += part * probability * apart[0] * apart[1]
                labels += part * probability * a
        expected = product / labels**2 if of_labels else product
        assert found.covariance[0, 1] == pytest.approx(expected, rel=1e-11)
        assert found.covariance[1, 0] == pytest.approx(expected, rel=1e-11)


def _log_binomial(n, k):
    return float(mpmath.log(mpmath.binomial(n, k)))


@given(
    st.integers(1, 40),
    st.floats(0.0, 0.98),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3),
    st.floats(0.1, 100),
    st.booleans(),
)
def test_a_mixture_of_one_size_is_that_size(n, missing, strengths, share, of_labels):
    """And so is one in parts."""
    at = np.array(strengths)
    plain = (
        mean_score(logarithmic, n - 1, missing, at, at)
        if of_labels
        else mean_score(logarithmic, n, missing, at, at, conditional=True)
    )
    for sizes, parts in ((np.array([n]), np.array([share])), (np.array([n, n]), np.array([share, 1.0]))):
        mean = mixed_mean(logarithmic, sizes, parts, missing, at, at, per_label=of_labels)
        np.testing.assert_allclose(mean, plain, rtol=1e-12, atol=1e-300)
        found = moments(logarithmic, sizes, missing, at, at, per_label=of_labels, share=parts)
        alone = moments(logarithmic, n, missing, at, at, per_label=of_labels)
        for part, own in zip(found, alone, strict=True):
            np.testing.assert_allclose(part, own, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("n", [0, 1, 2, 17, 200, 1024])
@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("missing", [0.0, 1e-6, 0.3, 0.95, 1 - 1e-9])
def test_few_answers_are_looked_at_all_at_once_or_in_windows(monkeypatch, n, scored, missing):
    """Both ways are the same to 1e-13, at certainties too."""
    strength = np.array([0.0, 1e-9, 0.2, 0.9, 1.0])
    values = np.stack([1 / np.arange(1.0, n + 2), np.ones(n + 1)])
    at_once = kernel._means(values, n, missing, strength, scored=scored)
    monkeypatch.setattr(kernel, "_FEW", -1)
    in_windows = kernel._means(values, n, missing, strength, scored=scored)
    np.testing.assert_allclose(at_once, in_windows, rtol=1e-13, atol=1e-15)
    if not scored or missing == 0:
        np.testing.assert_allclose(at_once[1], 1.0, rtol=1e-12)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True), st.floats(0.0, 0.99))
def test_a_mixed_mean_rises_from_0_to_its_greatest_value_with_the_strength(sizes, missing):
    """What strengths are solved by."""
    at, share = np.linspace(0.0, 1.0, 21), np.ones(len(sizes))
    for of_labels in (False, True):
        curve = mixed_mean(reciprocal, np.array(sizes), share, missing, at, at, per_label=of_labels)
        assert curve[0] == 0
        assert (np.diff(curve) > 0).all()

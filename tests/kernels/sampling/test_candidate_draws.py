"""Laws of sampled ranks against scipy, enumeration of all samples and simulation; bounds against laws that fit."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import beta, binom, hypergeom

from kgtrec.kernels.lists.answer_measures import hit, identity, reciprocal
from kgtrec.kernels.ranking.positions import TIES, rank_among
from kgtrec.kernels.sampling.candidate_draws import (
    above_law,
    cumulative_band,
    exact_interval,
    law_bounds,
    mean_share_above,
    sampled_moments,
)

VALUES = [reciprocal, lambda rank: hit(rank, 2), identity]


@given(st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_the_number_above_is_hypergeometric(case):
    """To a relative 1e-9, where scipy's own digits end."""
    above, candidates, draws = case
    found = above_law(np.array([above]), np.array([candidates]), draws, replace=False)[0]
    expected = hypergeom(candidates, above, draws).pmf(np.arange(draws + 1))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-200)


@given(st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, 600))))
def test_with_replacement_it_is_binomial(case):
    """Also where all candidates, or none, are above."""
    above, candidates, draws = case
    found = above_law(np.array([above]), np.array([candidates]), draws, replace=True)[0]
    expected = binom(draws, above / candidates).pmf(np.arange(draws + 1))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-200)


small = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(1, 3))


@given(small, st.sampled_from(TIES), st.booleans())
def test_moments_are_those_over_all_samples(case, ties, replace):
    """Every sample is enumerated: 2 above, 1 below, 0 tied."""
    above, tied, below, draws = case
    others = [2] * above + [0] * tied + [1] * below
    assume(others and (replace or len(others) >= draws))
    samples = np.array(list(product(others, repeat=draws) if replace else combinations(others, draws)))
    rank = rank_among((samples == 2).sum(axis=1), (samples == 0).sum(axis=1), ties)
    counts = (np.array([count]) for count in (above, tied, len(others)))
    found = sampled_moments(*counts, draws, VALUES, replace=replace, ties=ties)[:, :, 0]
    of_rank = np.array([value(rank) for value in VALUES])
    np.testing.assert_allclose(found, [of_rank.mean(axis=1), of_rank.var(axis=1)], atol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_moments_and_bounds_are_the_same_in_small_pieces(monkeypatch, replace):
    """Laws of 60 draws in pieces of one row."""
    above, tied, n = np.array([0, 9, 30]), np.array([5, 20, 0]), np.full(3, 80)
    band = np.array([[0.2, 0.5], [0.6, 0.9]])

    def found():
        moments = sampled_moments(above, tied, n, 60, VALUES, replace=replace, ties="realistic")
        at = np.array([0, 20])
        return moments, law_bounds(at, band, n, 60, [reciprocal], replace=replace, falls=False)

    whole = found()
    monkeypatch.setattr("kgtrec.kernels.sampling.candidate_draws._CELLS", 1)
    for one, other in zip(whole, found(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.slow
def test_moments_of_large_samples_with_ties_take_little_memory():
    """Of 30,000 draws with replacement, less than 200 MB; the mean rank and its variance are those of a multinomial."""
    tracemalloc.start()
    counts = (np.array([count]) for count in (300, 400, 1_000))
    found = sampled_moments(*counts, 30_000, [identity], replace=True, ties="realistic")[:, 0, 0]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx([1 + 30_000 * 0.5, 30_000 * (0.3 + 0.4 / 4 - 0.5**2)])
    assert most < 200e6


def test_moments_do_not_depend_on_the_order_of_answers():
    """Answers with equal counts are computed once, and each gets its own."""
    rng = np.random.default_rng(0)
    above, tied = rng.integers(0, 6, (2, 40))
    candidates = above + tied + rng.integers(6, 9, 40)
    order = rng.permutation(40)
    whole = sampled_moments(above, tied, candidates, 5, VALUES, replace=False, ties="realistic")
    turned = sampled_moments(above[order], tied[order], candidates[order], 5, VALUES, replace=False, ties="realistic")
    np.testing.assert_array_equal(whole[:, :, order], turned)


def test_ultras_formula_is_the_binomial_one():
    """hits@10_50: at most 9 of 49 candidates, drawn with replacement, are above."""
    rank, candidates = np.array([1, 40, 700, 14_541]), np.array([14_540, 14_000, 13_000, 14_540])
    rate, expected = (rank - 1) / candidates, np.zeros(4)
    for i in range(10):
        ways = factorial(49) / factorial(i) / factorial(49 - i)
        expected += ways * rate**i * (1 - rate) ** (49 - i)
    none = np.zeros(4, int)
    value = [lambda rank: hit(rank, 10)]
    found = sampled_moments(rank - 1, none, candidates, 49, value, replace=True, ties="pessimistic")
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-12)


def test_a_rank_of_1000_among_millions_is_first_in_most_samples():
    """The chance that none of 500 is above: 0.82."""
    found = above_law(np.array([999]), np.array([2_500_603]), 500, replace=False)
    assert found[0, 0] == pytest.approx(0.8189, abs=1e-4)


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_independent_draws_is_clopper_and_pearsons(case):
    """With the binomial variance."""
    x, n = case
    share = np.array([x / n])
    low, high = exact_interval(share, share * (1 - share) / n, n, n, 0.9)[:, 0]
    assert low == pytest.approx(0 if x == 0 else beta.ppf(0.05, x, n - x + 1))
    assert high == pytest.approx(1 if x == n else beta.ppf(0.95, x + 1, n - x))


def test_the_mean_share_is_unbiased_and_its_variance_too():
    """Over all samples of 3 of 6 candidates, for two answers of which one has ties."""
    others = np.array([[2, 2, 0, 0, 1, 1], [2, 1, 1, 1, 1, 1]])
    samples = np.array(list(combinations(range(6), 3)))
    shares, widths = [], []
    for one, two in product(samples, repeat=2):
        drawn = np.stack([others[0, one], others[1, two]])
        above, tied = (drawn == 2).sum(axis=1), (drawn == 0).sum(axis=1)
        share, low, high = mean_share_above(above, tied, np.array([6, 6]), 3, None, 0.95, replace=False)
        assert low <= share <= high
        y = above + tied / 2
        widths.append((((above + tied / 4 - y**2 / 3) / 2 / 3) * 0.5).sum() / 4)
        shares.append(share)
    assert np.mean(shares) == pytest.approx((3 / 6 + 1 / 6) / 2)
    assert np.mean(widths) == pytest.approx(np.var(shares))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=9), st.lists(st.integers(0, 20), max_size=9))
def test_samples_of_all_candidates_add_nothing_to_the_width(whole, drawn):
    """20 of 20 candidates beside 20 of 90: the interval is that of the others, moved and scaled; alone, a point."""
    above, n = np.array([*whole, *drawn]), np.repeat([20, 90], [len(whole), len(drawn)])
    found = mean_share_above(above, 0 * above, n, 20, None, 0.95, replace=False)
    expected = np.zeros(3)
    if drawn:
        own = np.array(drawn)
        expected = (
            90 * len(drawn) * np.array(mean_share_above(own, 0 * own, n[-len(own) :], 20, None, 0.95, replace=False))
        )
    np.testing.assert_allclose(np.array(found) * n.sum(), sum(whole) + expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [3, 300, 5_000])
def test_intervals_of_the_mean_rank_cover(scale):
    """Of 2,000 repetitions at least 93.5%, also where nearly nothing is above; and far from all where much is."""
    rng = np.random.default_rng(scale)
    candidates = rng.integers(10_000, 14_000, 300)
    above = np.minimum(rng.exponential(scale, 300).astype(int), candidates)
    truth = above.sum() / candidates.sum()
    hits = 0
    for _ in range(2_000):
        drawn = rng.hypergeometric(above, candidates - above, 100)
        _, low, high = mean_share_above(drawn, np.zeros(300, int), candidates, 100, None, 0.95, replace=False)
        hits += low <= truth <= high
    assert hits >= 1_870
    assert scale == 3 or hits <= 1_950


@pytest.mark.slow
def test_intervals_of_shared_samples_cover():
    """All answers of a question are compared with one sample: without its codes the interval is too narrow."""
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(40), 10)
    above, candidates = rng.integers(0, 1_000, 400), np.full(400, 2_000)
    hits = np.zeros(2)
    for _ in range(400):
        place = np.array([rng.choice(2_000, 100, replace=False) for _ in range(40)])
        drawn = (place[question] < above[:, None]).sum(axis=1)
        for row, sample in enumerate((question, None)):
            _, low, high = mean_share_above(drawn, 0 * drawn, candidates, 100, sample, 0.95, replace=False)
            hits[row] += low <= above.mean() / 2_000 <= high
    assert hits[0] >= 375
    assert hits[1] < 300


laws = st.lists(st.tuples(st.integers(0, 40), st.integers(40, 46)), min_size=1, max_size=12)


@settings(max_examples=max(10, settings.default.max_examples // 2), deadline=None)
@given(laws, st.integers(1, 20), st.booleans())
def test_bounds_hold_every_law_whose_expected_sample_is_in_the_band(cases, draws, replace):
    """Numbers of candidates differ, and the band is narrow."""
    above, candidates = np.array(cases).T
    law = above_law(above, candidates, draws, replace=replace).cumsum(axis=1).mean(axis=0)
    at = np.arange(draws)
    band = np.stack([law[at] - 1e-6, law[at] + 1e-6])
    values = [reciprocal, lambda rank: hit(rank, 3)]
    found = law_bounds(at, band, candidates, draws, values, replace=replace, falls=False)
    for value, (low, high) in zip(values, found, strict=True):
        truth = value(above + 1.0).mean()
        assert low - 1e-6 <= truth <= high + 1e-6


@settings(max_examples=max(10, settings.default.max_examples // 4), deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=5), st.integers(1, 30))
def test_bounds_hold_laws_that_fall(tops, draws):
    """A mixture of uniform laws on the best ranks falls; the bounds lie within those of all laws."""
    above = np.concatenate([np.arange(top) for top in tops])
    weight = np.concatenate([np.full(top, 900 * 899 // top) for top in tops])
    candidates = np.full(len(above), 900)
    law = np.average(above_law(above, candidates, draws, replace=False).cumsum(axis=1), axis=0, weights=weight)
    truth = np.average(1 / (above + 1.0), weights=weight)
    at, band = np.arange(draws), np.stack([law[:draws] - 1e-5, law[:draws] + 1e-5])
    free, falls = (
        law_bounds(at, band, candidates, draws, [reciprocal], replace=False, falls=falls)[0] for falls in (False, True)
    )
    assert free[0] - 1e-6 <= falls[0] <= truth + 1e-6
    assert truth - 1e-6 <= falls[1] <= free[1] + 1e-6


@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_bounds_are_those_of_a_program_over_single_ranks(falls, replace):
    """Written anew with scipy's laws, for 40 candidates and 9 drawn: the same to nine digits."""
    rng, n, m = np.random.default_rng(2), 40, 9
    above = np.minimum(rng.geometric(0.1, 90) - 1, n)
    drawn = rng.binomial(m, above / n) if replace else rng.hypergeometric(above, n - above, m)
    at, band = cumulative_band(drawn, m, None, 0.95)
    found = law_bounds(at, band, np.full(90, n), m, [reciprocal], replace=replace, falls=falls)[0]
    ranks = np.arange(1, n + 2)
    chance = [(binom(m, (ranks - 1) / n) if replace else hypergeom(n, ranks - 1, m)).cdf(j) for j in at]
    rows, limits = [*chance, *np.negative(chance)], [*band[1], *-band[0]]
    if falls:
        rows, limits = [*rows, *(np.eye(n + 1)[1:] - np.eye(n + 1)[:-1])], [*limits, *np.zeros(n)]
    solved = [linprog(sign / ranks, rows, limits, [np.ones(n + 1)], [1]) for sign in (1, -1)]
    assert all(each.status == 0 for each in solved)
    assert found == pytest.approx([solved[0].fun, -solved[1].fun], rel=1e-9)


def test_a_sample_of_all_candidates_determines_everything():
    """The band of no width leaves one law."""
    above, n = np.array([0, 0, 3, 5]), np.full(4, 8)
    at = np.arange(8)
    share = (above[:, None] <= at).mean(axis=0)
    low, high = law_bounds(at, np.stack([share, share]), n, 8, [reciprocal], replace=False, falls=False)[0]
    assert (low, high) == pytest.approx(((2 + 1 / 4 + 1 / 6) / 4,) * 2)


def test_the_law_of_one_draw_leaves_the_best_case_by_hand():
    """One candidate of 4 is drawn, and is above half of the answers, so that the mean of those above is 2.

    MRR is least where all have 2 above, 1/3, and greatest where half have none and half 4: (1 + 1/5) / 2.
    """
    band = np.array([[0.5], [0.5]])
    found = law_bounds(np.array([0]), band, np.full(2, 4), 1, [reciprocal], replace=False, falls=False)
    np.testing.assert_allclose(found, [[1 / 3, 0.6]], atol=1e-9)


def test_no_law_agrees_with_an_impossible_sample():
    """A share with at most 0 above that exceeds that with at most 1."""
    band = np.array([[0.9, 0.1], [0.95, 0.2]])
    found = law_bounds(np.array([0, 1]), band, np.full(9, 50), 5, [reciprocal], replace=False, falls=False)
    assert np.isnan(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [1, 2, 3, 5, 10])
def test_the_band_of_few_shared_samples_has_all_expected_shares(n_samples):
    """With the variance between samples alone, two samples had them in 70% of repetitions, five in 85%."""
    rng = np.random.default_rng(5)
    question = np.repeat(np.arange(n_samples), 40)
    above, n = np.minimum(rng.geometric(0.01, len(question)) - 1, 2_000), np.full(len(question), 2_000)
    expected = above_law(above, n, 50, replace=False).cumsum(axis=1).mean(axis=0)
    hits = 0
    for _ in range(300):
        place = np.array([rng.choice(2_000, 50, replace=False) for _ in range(n_samples)])
        drawn = (place[question] < above[:, None]).sum(axis=1)
        at, (low, high) = cumulative_band(drawn, 50, question, 0.95)
        hits += bool(((low <= expected[at]) & (expected[at] <= high)).all())
    assert hits >= 300 * (0.95 - 3 * np.sqrt(0.95 * 0.05 / 300))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_the_band_has_all_expected_shares(shared):
    """At once, in at least 95% of 400 repetitions, less three standard errors."""
    rng = np.random.default_rng(1)
    question = np.repeat(np.arange(150), 4)
    above, candidates = rng.geometric(0.01, 600) - 1, np.full(600, 5_000)
    expected = above_law(above, candidates, 100, replace=False).cumsum(axis=1).mean(axis=0)
    hits = 0
    for _ in range(400):
        if shared:
            place = np.array([rng.choice(5_000, 100, replace=False) for _ in range(150)])
            drawn = (place[question] < above[:, None]).sum(axis=1)
        else:
            drawn = rng.hypergeometric(above, candidates - above, 100)
        at, (low, high) = cumulative_band(drawn, 100, question if shared else None, 0.95)
        hits += bool(((low <= expected[at]) & (expected[at] <= high)).all())
    assert hits >= 400 * (0.95 - 3 * np.sqrt(0.95 * 0.05 / 400))

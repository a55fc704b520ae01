from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgtrec.kernels.statistics import correlation
from kgtrec.kernels.statistics.correlation import kendall_tau_b, rank_biased_overlap, spearman_rho, tau_ap
from tests.examples import examples

CORRELATIONS = (kendall_tau_b, spearman_rho, tau_ap)
ALL = (*CORRELATIONS, rank_biased_overlap)


@st.composite
def pairs(draw: st.DrawFn, *, least: int = 2, most: int = 7, levels: int = 4):
    """Two score vectors of the same items, with ties, neither of them constant."""
    n = draw(st.integers(least, most))
    scores = st.lists(st.integers(0, levels - 1), min_size=n, max_size=n).filter(lambda v: len(set(v)) > 1)
    return np.array(draw(scores), float), np.array(draw(scores), float)


def orders(scores):
    """Every ranking (best first) that sorts the items by score."""
    groups = [np.flatnonzero(scores == value).tolist() for value in sorted(set(scores.tolist()), reverse=True)]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield list(itertools.chain.from_iterable(parts))


def obvious_tau_ap(ranking, reference):
    """Yilmaz et al.'s eq. 1, one place after the other."""
    n = len(ranking)
    total = 0.0
    for i in range(1, n):
        right = sum(reference.index(above) < reference.index(ranking[i]) for above in ranking[:i])
        total += right / i
    return 2 / (n - 1) * total - 1


def obvious_rbo(one, other, p):
    """Webber et al.'s eq. 23 for two full rankings of the same items."""
    n = len(one)
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, n + 1)]
    return agreement[-1] * p**n + (1 - p) / p * sum(a * p**d for d, a in enumerate(agreement, start=1))


@given(pairs(most=12))
def test_tau_b_and_rho_are_scipys(pair):
    """scipy's kendalltau (variant b) and spearmanr, on vectors with ties."""
    x, y = pair
    assert kendall_tau_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman_rho(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


@settings(max_examples=examples(40))
@given(pairs(most=5), st.sampled_from([0.3, 0.9]))
def test_ties_give_the_mean_over_all_orders(pair, p):
    """tau_AP and RBO of tied scores are the plain means over every order of either side."""
    x, y = pair
    both = list(itertools.product(orders(x), orders(y)))
    assert tau_ap(x, y) == pytest.approx(np.mean([obvious_tau_ap(a, b) for a, b in both]))
    assert rank_biased_overlap(x, y, p) == pytest.approx(np.mean([obvious_rbo(a, b, p) for a, b in both]))


@given(st.permutations(range(8)), st.integers(2, 8))
def test_equal_orders_give_one_and_reversed_ones_minus_one(order, n):
    """Whatever the scores, only their order counts; a reversed order is the worst for all but RBO."""
    scores = np.array(order[:n], float)
    for function in ALL:
        assert function(scores, np.exp(scores)) == pytest.approx(1)
    for function in CORRELATIONS:
        assert function(scores, -scores) == pytest.approx(-1)
    assert 0 <= rank_biased_overlap(scores, -scores) < 1


@given(pairs())
def test_values_stay_in_range_and_only_tau_ap_tells_its_sides_apart(pair):
    """-1 to 1, for RBO 0 to 1; all but tau_AP, unless it is asked to, are the same either way round."""
    x, y = pair
    for function in ALL:
        assert (0 if function is rank_biased_overlap else -1) <= function(x, y) <= 1
        if function is not tau_ap:
            assert function(x, y) == pytest.approx(function(y, x), abs=1e-12)
    assert tau_ap(x, y, symmetric=True) == pytest.approx(tau_ap(y, x, symmetric=True), abs=1e-12)


@given(st.integers(3, 12), st.data())
def test_tau_ap_and_rbo_punish_a_swap_near_the_top_more(n, data):
    """Of two swaps of neighbours the upper one costs more; tau-b and rho cannot tell them apart."""
    upper = data.draw(st.integers(0, n - 3))
    lower = data.draw(st.integers(upper + 1, n - 2))
    reference = np.arange(n, 0, -1.0)
    swapped = np.tile(reference, (2, 1))
    for row, place in enumerate((upper, lower)):
        swapped[row, [place, place + 1]] = swapped[row, [place + 1, place]]
    for function in (tau_ap, rank_biased_overlap):
        high, low = function(swapped, reference)
        assert high < low
    for function in (kendall_tau_b, spearman_rho):
        high, low = function(swapped, reference)
        assert high == low


@given(st.integers(0, 5), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_many_pairs_at_once_are_one_after_the_other(n_rows, n_items, seed):
    """Rows against rows, rows against one vector, and one vector against rows."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, (2, n_rows, n_items)).astype(float)
    for function in ALL:
        each = [function(a, b) for a, b in zip(x, y, strict=True)]
        np.testing.assert_array_equal(function(x, y), np.array(each, float))
        np.testing.assert_array_equal(function(x, y[0]) if n_rows else [], [function(a, y[0]) for a in x])
        np.testing.assert_array_equal(function(y[0], x) if n_rows else [], [function(y[0], a) for a in x])


def test_leading_axes_are_broadcast():
    """(2, 1, n) against (3, n) gives (2, 3)."""
    x, y = np.random.default_rng(0).random((2, 1, 5)), np.random.default_rng(1).random((3, 5))
    for function in ALL:
        found = function(x, y)
        assert found.shape == (2, 3)
        assert found[1, 2] == function(x[1, 0], y[2])


def test_blocks_change_nothing(monkeypatch):
    """Few comparisons at a time give the same."""
    x, y = np.random.default_rng(0).integers(0, 4, (2, 40, 6)).astype(float)
    whole = [function(x, y) for function in ALL]
    monkeypatch.setattr(correlation, "_CELLS", 70)
    for function, expected in zip(ALL, whole, strict=True):
        np.testing.assert_array_equal(function(x, y), expected)


def test_no_ranking_no_correlation():
    """A constant vector, NaN among the scores, a single item: NaN, without a warning of numpy's."""
    ranking = np.array([1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in ALL:
            for other in (np.ones(3), np.array([1.0, np.nan, 2.0])):
                assert np.isnan(function(ranking, other))
                assert np.isnan(function(other, ranking))
            assert np.isnan(function(np.array([1.0]), np.array([2.0])))
            assert function(np.zeros((0, 3)), ranking).shape == (0,)
            assert np.isnan(function(np.zeros((2, 1, 0)), np.zeros((3, 0)))).tolist() == [[True] * 3] * 2


def test_infinite_scores_are_scores():
    """An infinite score ranks first, and equal ones tie."""
    x, y = np.array([np.inf, np.inf, 0.0]), np.array([2.0, 2.0, 1.0])
    assert kendall_tau_b(x, y) == spearman_rho(x, y) == 1


def test_what_does_not_fit_is_refused():
    """Other items, or no persistence."""
    with pytest.raises(ValueError, match=r"found shapes \(3,\) and \(4,\)"):
        kendall_tau_b(np.zeros(3), np.zeros(4))
    for p in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="p between 0 and 1"):
            rank_biased_overlap(np.arange(3), np.arange(3), p)

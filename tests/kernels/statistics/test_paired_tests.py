"""Tests of the difference between systems, against scipy and statsmodels, and held to their level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgtrec.kernels.statistics.paired_tests import (
    clustered_errors,
    clustered_mean_errors,
    differences,
    effect_sizes,
    holm,
    outcomes,
    pairs,
    t_test,
)
from tests.kernels.statistics.whole_tests import achieved_significance


def scores(seed, systems=4, n=60, shift=0.0):
    rng = np.random.default_rng(seed)
    quality = rng.random(n)
    value = quality + rng.normal(0, 0.2, (systems, n))
    value[0] += shift
    return value


def test_every_pair_comes_once_in_the_order_of_the_systems():
    first, second = pairs(4)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 40))
def test_t_tests_are_those_of_scipy(seed, systems, n):
    """scipy.stats.ttest_rel, pair by pair."""
    value = scores(seed, systems, n)
    mean, deviation = differences(value)
    t, p = t_test(mean, deviation / np.sqrt(n), n - 1)
    for pair, (one, other) in enumerate(zip(*pairs(systems), strict=True)):
        expected = stats.ttest_rel(value[one], value[other])
        assert t[pair] == pytest.approx(expected.statistic, rel=1e-9)
        assert p[pair] == pytest.approx(expected.pvalue, rel=1e-9)


def test_p_is_undefined_without_variance():
    """Equal systems, and systems that differ by the same on every item, give no test; 0.1 + 0.2 does not hide it."""
    base = np.array([0.1, 0.2, 0.3])
    mean, deviation = differences(np.array([base, base, np.full(3, 0.3), np.full(3, 0.1)]))
    assert deviation[0] == 0
    assert deviation[5] == 0
    assert np.isnan(t_test(mean, deviation, 2)[1][[0, 5]]).all()


def test_one_item_has_no_deviation():
    assert np.isnan(differences(np.array([[1.0], [0.0]]))[1]).all()
    assert np.isnan(t_test(np.array([1.0]), np.array([np.nan]), 0)[1]).all()


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_clustered_errors_are_those_of_statsmodels(seed, n_clusters):
    """A regression on a constant with cluster-robust covariance."""
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(seed)
    value = scores(seed, 3, 50)
    cluster = np.append(np.arange(n_clusters), rng.integers(0, n_clusters, 50 - n_clusters))
    error, found = clustered_errors(value, cluster)
    assert found == n_clusters
    for pair, (one, other) in enumerate(zip(*pairs(3), strict=True)):
        fit = api.OLS(value[one] - value[other], np.ones(50)).fit(cov_type="cluster", cov_kwds={"groups": cluster})
        assert error[pair] == pytest.approx(fit.bse[0], rel=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_error_of_one_mean_is_that_of_the_difference_from_zeros(seed, n_clusters):
    """NaN for one cluster; 0 for equal values, however large those of other rows are."""
    value, cluster = scores(seed, 2, 30), np.arange(30) % n_clusters
    value = np.vstack([value, np.full(30, 1e-17), value * 1e20])
    known = [clustered_errors(np.stack([row, np.zeros(30)]), cluster)[0][0] for row in value]
    np.testing.assert_array_equal(clustered_mean_errors(value, cluster), known)
    assert np.isnan(known).all() if n_clusters == 1 else known[2] == 0


@given(st.integers(0, 10_000))
def test_clusters_of_one_item_give_the_plain_error(seed):
    value = scores(seed, 3, 20)
    error, n_clusters = clustered_errors(value, np.random.default_rng(seed).permutation(20) * 7)
    assert n_clusters == 20
    np.testing.assert_allclose(error, differences(value)[1] / np.sqrt(20))


def test_items_repeated_within_clusters_add_no_certainty():
    """Every item twice: the plain error shrinks by the root of 2, the clustered one stays."""
    value = scores(3, 2, 40)
    twice = np.repeat(value, 2, axis=1)
    error, _ = clustered_errors(twice, np.repeat(np.arange(40), 2))
    np.testing.assert_allclose(error, differences(value)[1] / np.sqrt(40))
    assert differences(twice)[1][0] / np.sqrt(80) < 0.72 * error[0]


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    np.testing.assert_allclose(holm(np.array(p)), multitest.multipletests(p, method="holm")[1], atol=1e-15)


def test_holm_leaves_undefined_values_out():
    np.testing.assert_allclose(holm(np.array([0.01, np.nan, 0.04])), [0.02, np.nan, 0.04])


def test_questions_that_cancel_out_leave_no_variance():
    """Differences of +0.1 and -0.1 (or 0.3 and 0.1) in every question: each says the same, and rounding is no proof."""
    cluster = np.repeat(np.arange(30), 2)
    base = np.random.default_rng(0).random(60)
    for swing in (0.0, 0.2):
        value = np.array([base + np.tile([0.1 + swing, -0.1 + swing], 30), base])
        error, n_clusters = clustered_errors(value, cluster)
        assert error[0] == 0
        assert np.isnan(t_test(differences(value)[0], error, n_clusters - 1)[1]).all()
        assert np.isnan(achieved_significance(value, cluster, 20, seed=0)).all()


def test_effect_sizes_of_one_shift():
    """Shifted by 0.5 with no noise: d_z has nothing to divide by, d pooled is the shift over the spread."""
    base = np.random.default_rng(0).random(50)
    d_z, d_pooled = effect_sizes(np.array([base + 0.5, base]))
    assert np.isnan(d_z[0])
    assert d_pooled[0] == pytest.approx(0.5 / base.std(ddof=1))


@given(st.integers(0, 10_000), st.integers(2, 30))
def test_d_z_is_t_over_the_root_of_n(seed, n):
    value = scores(seed, 3, n)
    mean, deviation = differences(value)
    np.testing.assert_allclose(effect_sizes(value)[0] * np.sqrt(n), t_test(mean, deviation / np.sqrt(n), n - 1)[0])


VALUES = st.sampled_from([0.0, 1.0, -1.0, 0.3, 0.1 + 0.2, math.inf, -math.inf, math.nan])


@given(st.lists(st.tuples(VALUES, VALUES, st.integers(0, 3)), max_size=30))
def test_counts_are_those_of_a_loop(rows: list[tuple[float, float, int]]):
    """Value by value; what only rounding sets apart is the same; NaN counts nowhere."""
    first, second = (np.array([row[place] for row in rows], float) for place in (0, 1))
    group = np.array([row[2] for row in rows], int)
    expected = np.zeros((3, 4), int)
    for a, b, own in rows:
        if math.isnan(a) or math.isnan(b):
            continue
        same = a == b or (math.isfinite(a) and math.isfinite(b) and math.isclose(a, b, rel_tol=1e-14))
        expected[2 if same else int(a < b), own] += 1
    np.testing.assert_array_equal(outcomes(first, second, group, 4), expected)

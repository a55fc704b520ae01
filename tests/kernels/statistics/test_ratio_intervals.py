"""Intervals of quotients of two sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.statistics.ratio_intervals import Quotients, Units, quotients, t_interval
from tests.examples import examples

FREE = (-np.inf, np.inf)
VALUES = st.floats(0.01, 1)


def of_one_group(unit: np.ndarray) -> Units:
    return Units.of(unit, np.zeros(len(unit), np.int32), 1)


def test_by_hand():
    """Values 1, 0 | 1: the mean is 2/3, the units' parts are -1/9 and 1/9, the error is sqrt(2 / 1 * 2 / 81)."""
    found = quotients(of_one_group(np.array([5, 5, 2])), np.array([1.0, 0.0, 1.0]), np.ones(3))
    assert found.value == pytest.approx([2 / 3])
    assert found.error == pytest.approx([2 / 9])
    assert found.effective == pytest.approx([2])


def test_the_effective_number_by_hand():
    """Parts 3, -1, -1, -1: (9 + 3)**2 / (81 + 3)."""
    found = quotients(of_one_group(np.arange(4)), np.array([4.0, 0.0, 0.0, 0.0]), np.ones(4))
    assert found.effective == pytest.approx([144 / 84])


def test_items_of_their_own_are_a_sample():
    """The error of a mean is scipy's, the interval Student's with the degrees of freedom of the effective number."""
    value = np.random.default_rng(1).gamma(0.5, size=200)
    found = quotients(of_one_group(np.arange(200)), value, np.ones(200))
    assert found.error == pytest.approx([scipy.stats.sem(value)])
    expected = scipy.stats.t.interval(0.9, found.effective[0] - 1, value.mean(), scipy.stats.sem(value))
    assert t_interval(found, 0.9, FREE)[:, 0] == pytest.approx(expected)


def test_the_error_of_a_quotient_is_that_of_a_bootstrap():
    """Of 300 clusters of unequal sizes, within a twentieth."""
    rng = np.random.default_rng(2)
    size = rng.integers(1, 6, 300)
    total = rng.normal(size, size)
    drawn = scipy.stats.bootstrap(
        (total, size),
        lambda y, x, axis=-1: y.sum(axis) / x.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        method="BCa",
        random_state=np.random.default_rng(3),
    )
    found = quotients(of_one_group(np.arange(300)), total, size.astype(float))
    assert found.error == pytest.approx([drawn.standard_error], rel=0.05)
    assert t_interval(found, 0.95, FREE)[:, 0] == pytest.approx(list(drawn.confidence_interval), rel=0.02)


@given(st.lists(st.tuples(st.integers(0, 5), VALUES, VALUES), min_size=2, max_size=30), st.floats(0.1, 9))
def test_laws_of_quotients(rows, factor):
    """No order, scale or split of a unit's items matters; the effective number lies between 1 and that of the units."""
    unit, above, below = (np.array(column) for column in zip(*rows, strict=True))
    found = quotients(of_one_group(unit), above, below)
    turned = quotients(of_one_group(unit[::-1]), factor * above[::-1], factor * below[::-1])
    split = quotients(of_one_group(np.r_[unit, unit]), np.r_[above, above] / 2, np.r_[below, below] / 2)
    for other in (turned, split):
        assert other.value == pytest.approx(found.value)
        if found.error[0] > 1e-9:
            assert other.error == pytest.approx(found.error, rel=1e-6)
            assert other.effective == pytest.approx(found.effective, rel=1e-5)
    if not np.isnan(found.effective[0]):
        assert 1 - 1e-9 <= found.effective[0] <= len(np.unique(unit)) + 1e-9


@given(st.floats(0.02, 0.98), st.floats(1e-3, 0.5), st.floats(1.5, 500), st.floats(0.5, 0.98))
def test_laws_of_intervals(value, error, effective, confidence):
    """They hold the value, stay within the bounds, grow with the confidence, and mirror as the value does."""
    found = Quotients(np.array([value]), np.array([error]), np.array([effective]))
    mirrored = Quotients(np.array([1 - value]), np.array([error]), np.array([effective]))
    for bounds in ((0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0), FREE):
        low, high = t_interval(found, confidence, bounds)[:, 0]
        wider = t_interval(found, 0.99, bounds)[:, 0]
        assert bounds[0] <= wider[0] <= low <= value <= high <= wider[1] <= bounds[1]
        turned = t_interval(mirrored, confidence, (1 - bounds[1], 1 - bounds[0]))[:, 0]
        assert turned == pytest.approx([1 - high, 1 - low], rel=1e-6, abs=1e-9)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(30))
def test_groups_do_not_see_each_other(size, seed):
    """Each has what it would have alone."""
    rng = np.random.default_rng(seed)
    unit, group, value = rng.integers(0, 9, 60), rng.integers(0, size, 60).astype(np.int32), rng.random(60)
    every = quotients(Units.of(unit, group, size), value, np.ones(60))
    for own in range(size):
        rows = group == own
        alone = quotients(of_one_group(unit[rows]), value[rows], np.ones(rows.sum()))
        for name in ("value", "error", "effective"):
            assert getattr(every, name)[own] == pytest.approx(getattr(alone, name)[0], nan_ok=True)


def test_without_spread_there_is_no_error():
    """Equal items, a single unit, nothing below the line: NaN, whatever the rounding."""
    for value in (0.1, 1 / 3, 1e9):
        found = quotients(of_one_group(np.arange(7)), np.full(7, value * 0.7), np.full(7, 0.7))
        assert np.isnan([found.error, found.effective]).all()
    single = quotients(of_one_group(np.zeros(3, int)), np.array([1.0, 0.0, 0.0]), np.ones(3))
    nothing = quotients(of_one_group(np.arange(2)), np.zeros(2), np.zeros(2))
    assert np.isnan([single.error, single.effective, nothing.value, nothing.error]).all()
    assert np.isnan(t_interval(single, 0.95, (0.0, 1.0))).all()


def test_a_value_at_its_bound_has_no_interval():
    """Though its units, weighted, show a spread."""
    full = Quotients(np.array([1.0]), np.array([0.1]), np.array([9.0]))
    assert np.isnan(t_interval(full, 0.95, (0.0, 1.0))).all()
    assert not np.isnan(t_interval(full, 0.95, (0.0, np.inf))).any()


@pytest.mark.parametrize("n", [50, 500])
def test_coverage_of_skewed_clusters(n):
    """Clusters of dependent lognormal values, 2,000 times: 95% intervals hold the mean in 93 to 97.5% of them."""
    rng = np.random.default_rng(4)
    sets, sizes = 2000, np.array([1, 1, 2, 5])
    shape = (sets, n)
    size = sizes[rng.integers(0, 4, shape)]
    mean = rng.lognormal(0, 1, shape) * (1 + size / 4)  # larger clusters have larger values
    truth = np.exp(0.5) * np.mean(sizes * (1 + sizes / 4)) / np.mean(sizes)
    units = Units.of(np.tile(np.arange(n), sets), np.repeat(np.arange(sets), n).astype(np.int32), sets)
    low, high = t_interval(quotients(units, (mean * size).ravel(), size.ravel().astype(float)), 0.95, (0.0, np.inf))
    assert 0.93 < np.mean((low <= truth) & (truth <= high)) < 0.975

"""Tests by resampling: against slow ones, held to their level, and the same in any parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.statistics import resampled_tests, resampling
from kgtrec.kernels.statistics.paired_tests import pairs
from kgtrec.kernels.statistics.resampled_tests import BootstrapTest, TukeyTest
from tests.examples import examples
from tests.kernels.statistics.test_paired_tests import scores
from tests.kernels.statistics.whole_tests import achieved_significance, randomised_tukey


def test_significance_level_is_that_of_a_slow_bootstrap():
    """Sakai's figure 2 sample by sample, on the same draws."""
    value = scores(5, 3, 30, shift=0.06)
    repeats = 200
    rng = np.random.default_rng(9)
    draws = [rng.integers(0, 30, 30) for _ in range(repeats)]
    expected = []
    for one, other in zip(*pairs(3), strict=True):
        z = value[one] - value[other]
        observed = abs(z.mean()) / (z.std(ddof=1) / np.sqrt(30))
        w = z - z.mean()
        samples = [w[draw] for draw in draws]
        t = [abs(sample.mean()) / (sample.std(ddof=1) / np.sqrt(30)) for sample in samples]
        expected.append(np.mean(np.array(t) >= observed))
    np.testing.assert_allclose(achieved_significance(value, None, repeats, seed=9), expected)


def test_significance_level_is_undefined_where_systems_do_not_differ():
    base = np.linspace(0, 1, 10)
    assert np.isnan(achieved_significance(np.array([base, base, base + 1]), None, 50, seed=0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("test", [achieved_significance, randomised_tukey])
def test_resampling_tests_hold_their_level_and_reach_power(test):
    """Of 200 pairs of equal systems about 5% come out below 0.05 (within 4 standard errors); of shifted ones most."""
    null = [test(scores(seed, 2, 50), None, 200, seed)[0] for seed in range(200)]
    assert 0.05 - 4 * np.sqrt(0.05 * 0.95 / 200) <= np.mean(np.array(null) < 0.05)
    assert np.mean(np.array(null) < 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)
    shifted = [test(scores(seed, 2, 50, shift=0.2), None, 200, seed)[0] for seed in range(40)]
    assert np.mean(np.array(shifted) < 0.05) > 0.9


def test_tukey_keeps_the_chance_of_any_false_alarm_among_many_systems():
    """Six equal systems, 15 pairs: all pairs together are wrong at most about 5% of the time."""
    alarms = [randomised_tukey(scores(seed, 6, 30), None, 100, seed).min() < 0.05 for seed in range(150)]
    assert np.mean(alarms) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


def test_clusters_are_shuffled_and_drawn_as_one():
    """Each item ten times over: the p-values of the items once."""
    value = scores(2, 3, 25, shift=0.1)
    often = np.repeat(value, 10, axis=1)
    cluster = np.repeat(np.arange(25), 10)
    for test in (achieved_significance, randomised_tukey):
        np.testing.assert_allclose(test(often, cluster, 100, 4), test(value, None, 100, 4))


@pytest.mark.parametrize("n", [50, 2_000])
def test_tukey_counts_a_tie_with_the_data_whatever_rounding_says(n):
    """Two systems that differ on one item are as far apart however their names are shuffled: p is 1."""
    value = np.tile(np.random.default_rng(1).random(n), (2, 1))
    value[1, 3] += 1e-3
    assert randomised_tukey(value, None, 100, seed=0).tolist() == [1.0]
    assert randomised_tukey(np.repeat(value, 2, axis=1), np.repeat(np.arange(n), 2), 100, seed=0).tolist() == [1.0]


@pytest.mark.parametrize("test", [achieved_significance, randomised_tukey])
def test_a_seed_gives_the_same_p_values(test):
    value = scores(1, 3, 30)
    np.testing.assert_array_equal(test(value, None, 50, seed=5), test(value, None, 50, seed=5))
    assert not np.array_equal(test(value, None, 200, seed=5), test(value, None, 200, seed=6))


@pytest.mark.parametrize(
    ("test", "whole"),
    [(BootstrapTest, achieved_significance), (TukeyTest, randomised_tukey)],
    ids=["bootstrap", "tukey"],
)
@settings(max_examples=examples(20))
@given(st.integers(0, 99), st.integers(1, 60), st.integers(1, 400), st.booleans())
def test_parts_in_any_order_add_up_to_the_whole(test, whole, seed, repeats, cells, clustered):
    """By copies of the test, and however many samples are held at a time."""
    value = scores(seed, 3, 20)
    cluster = np.random.default_rng(seed).integers(0, 9, 20) if clustered else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "_CELLS", cells)
        patch.setattr(resampled_tests, "_SHUFFLED", cells)
        shape = 3, 20 if cluster is None else len(np.unique(cluster))
        parts = list(test.parts(shape, repeats, seed, several=True))
        assert sum(many for _, many in parts) == repeats
        order = np.random.default_rng(seed).permutation(len(parts))
        beyond = sum(test.of(value, cluster).beyond(*parts[place]) for place in order)
        np.testing.assert_array_equal(beyond / repeats, whole(value, cluster, repeats, seed))


def test_streams_of_shuffles_differ(monkeypatch):
    """Each part shuffles in its own way; more parts leave the first ones as they are."""
    monkeypatch.setattr(resampled_tests, "_SHUFFLED", 60)
    few, many = (list(TukeyTest.parts((3, 20), repeats, 7, several=True)) for repeats in (4, 9))
    first = [np.random.default_rng(start).integers(0, 1 << 62) for start, _ in many]
    assert len(set(first)) == 9
    assert [np.random.default_rng(start).integers(0, 1 << 62) for start, _ in few] == first[:4]

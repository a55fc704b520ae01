"""From items to one number."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.measures.aggregate import LINKS, MedianRanks, Medians, aggregate_groups


def aggregate(value, how="mean"):
    """One number for all items."""
    return float(aggregate_groups(value, np.zeros(len(value), np.int32), 1, how)[0])


values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_geometric_mean_counts_zero_as_a_hundred_thousandth():
    """sqrt(1e-5 * 0.1), as trec_eval's gm_map."""
    assert aggregate(np.array([0.0, 0.1]), "floored geometric mean") == pytest.approx(1e-3)


def test_nothing_has_no_mean_and_a_sum_of_zero():
    """NaN says that there is no such number."""
    assert math.isnan(aggregate(np.array([])))
    assert math.isnan(aggregate(np.array([]), "floored geometric mean"))
    assert aggregate(np.array([]), "sum") == 0.0


def test_an_undefined_item_makes_its_group_undefined():
    """And only its own group."""
    found = aggregate_groups(np.array([np.nan, 1.0, 0.5]), np.array([0, 0, 1], np.int32), 2)
    assert math.isnan(found[0])
    assert found[1] == 0.5
    assert math.isnan(aggregate(np.array([np.nan, 1.0]), "floored geometric mean"))


@given(values)
def test_geometric_mean_is_at_most_the_mean(drawn):
    """Where no value is below the floor."""
    value = np.maximum(np.array(drawn), 1e-5)
    assert aggregate(value, "floored geometric mean") <= aggregate(value) + 1e-12


@given(values, st.sampled_from(["mean", "floored geometric mean"]))
def test_repeating_all_items_changes_no_mean(drawn, how):
    """Weighting all items alike is not weighting."""
    value = np.array(drawn)
    assert aggregate(np.tile(value, 3), how) == pytest.approx(aggregate(value, how), rel=1e-9, abs=1e-12)


ranks = st.lists(st.floats(1, 1e6), min_size=1, max_size=12)


@given(ranks, st.data())
def test_a_whole_weight_is_a_repetition(numbers, data):
    """A weight of 3 is three items, for every aggregate that takes weights."""
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(numbers), max_size=len(numbers)))
    value, weight = np.array(numbers), np.array(times, float)
    group = np.zeros(len(value), np.int32)
    for how in (*LINKS, "median"):
        repeated = aggregate(np.repeat(value, times), how)
        assert aggregate_groups(value, group, 1, how, weight)[0] == pytest.approx(repeated, rel=1e-9)


@given(ranks)
def test_aggregates_of_ranks_are_those_of_scipy_and_numpy(numbers):
    """Median, geometric and harmonic mean have oracles; the inverses are one over them."""
    value = np.array(numbers)
    expected = {
        "mean": np.mean(value),
        "median": np.median(value),
        "geometric mean": scipy.stats.gmean(value),
        "harmonic mean": scipy.stats.hmean(value),
        "inverse mean": 1 / np.mean(value),
        "inverse geometric mean": 1 / scipy.stats.gmean(value),
    }
    assert {how: aggregate(value, how) for how in expected} == pytest.approx(expected, rel=1e-9)


def test_a_median_counts_nothing_that_has_no_weight():
    """Ranks 1, 2, 9 with weights 1, 0, 1: midway between 1 and 9; a group without weight has none."""
    group = np.array([0, 0, 0, 1], np.int32)
    medians = Medians(np.array([1.0, 2.0, 9.0, 5.0]), group, 3)
    np.testing.assert_array_equal(medians(np.array([1.0, 0.0, 1.0, 0.0])), [5.0, np.nan, np.nan])
    np.testing.assert_array_equal(medians(np.array([1.0, 0.0, 3.0, 2.0])), [9.0, 5.0, np.nan])


def test_a_median_does_not_hang_on_the_scale_of_the_weights():
    """Of 1 and 2, the second with a little more weight, it is 2, not the midpoint, at any scale."""
    for scale in (1.0, 1e-9, 1e12):
        weight = scale * np.array([1.0, 1.001])
        assert aggregate_groups(np.array([1.0, 2.0]), np.zeros(2, np.int32), 1, "median", weight)[0] == 2.0


open_ranks = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=8)


@given(open_ranks, st.integers(1, 3), st.data())
def test_a_median_of_open_ranks_is_that_of_every_rank_there_could_be(answers, size, data):
    """Each answer written out sixty times, evenly over its ranks, and as often again as its weight says."""
    best = np.array([first for first, _, _ in answers])
    worst = best + np.array([more for _, more, _ in answers])
    weight = np.array([times for _, _, times in answers], float)
    group = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=len(best), max_size=len(best))), np.int32)
    found = MedianRanks(best, worst, group, size)(1e-3 * weight)
    for own in range(size):
        ranks = [
            rank
            for first, last, times, place in zip(best, worst, weight, group, strict=True)
            if place == own
            for rank in range(first, last + 1)
            for _ in range(int(60 * times) // (last + 1 - first))
        ]
        assert found[own] == (np.median(ranks) if ranks else pytest.approx(np.nan, nan_ok=True))


def test_a_median_of_long_ties():
    """One answer anywhere from 1 to 10 ** 8: midway; with another at 3, which half of the weight reaches, at 3."""
    best, worst = np.array([1, 3]), np.array([10**8, 3])
    assert MedianRanks(best[:1], worst[:1], np.zeros(1, np.int32), 1)(np.ones(1))[0] == (1 + 10**8) / 2
    assert MedianRanks(best, worst, np.zeros(2, np.int32), 1)(np.ones(2))[0] == 3

"""From items to one number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.measures.aggregate import aggregate, aggregate_groups

values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_geometric_mean_counts_zero_as_a_hundred_thousandth():
    """sqrt(1e-5 * 0.1), as trec_eval's gm_map."""
    assert aggregate(np.array([0.0, 0.1]), "geometric mean") == pytest.approx(1e-3)


def test_nothing_has_no_mean_and_a_sum_of_zero():
    """NaN says that there is no such number."""
    assert math.isnan(aggregate(np.array([])))
    assert math.isnan(aggregate(np.array([]), "geometric mean"))
    assert aggregate(np.array([]), "sum") == 0.0


def test_an_undefined_item_makes_its_group_undefined():
    """And only its own group."""
    found = aggregate_groups(np.array([np.nan, 1.0, 0.5]), np.array([0, 0, 1], np.int32), 2)
    assert math.isnan(found[0])
    assert found[1] == 0.5
    assert math.isnan(aggregate(np.array([np.nan, 1.0]), "geometric mean"))


@given(values)
def test_geometric_mean_is_at_most_the_mean(drawn):
    """Where no value is below the floor."""
    value = np.maximum(np.array(drawn), 1e-5)
    assert aggregate(value, "geometric mean") <= aggregate(value) + 1e-12


@given(values, st.sampled_from(["mean", "geometric mean"]))
def test_repeating_all_items_changes_no_mean(drawn, how):
    """Weighting all items alike is not weighting."""
    value = np.array(drawn)
    assert aggregate(np.tile(value, 3), how) == pytest.approx(aggregate(value, how), rel=1e-9, abs=1e-12)

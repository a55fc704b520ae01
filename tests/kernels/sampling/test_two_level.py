"""Rates of judging: of the mean that was asked for, at most 1, and otherwise in proportion to the changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgtrec.kernels.sampling.two_level import rates

amounts = st.lists(st.floats(0, 100), min_size=1, max_size=30).map(np.array)


@given(amounts, st.floats(0.01, 1.0), st.floats(0.01, 1.0))
@example(np.array([5e-324]), 0.5, 1.0)
@example(np.array([5e-324, 2e-323]), 0.5, 0.01)
def test_rates_have_the_mean_and_the_proportions(change, mean, floor):
    """Those below 1 are the same multiple of their changes, of which none counts as less than the floor."""
    rate = rates(change, mean, floor)
    assert rate.max() <= 1.0
    assert rate.mean() == pytest.approx(mean, rel=1e-6)
    change = change * 2.0**500  # the same proportions, far from the smallest floats
    raised = np.maximum(change, floor * change.mean())
    below = rate < 1.0 - 1e-6
    if below.any() and raised.max() > 0:
        scale = rate[below] / raised[below]
        assert scale == pytest.approx(scale[0], rel=1e-6)
        assert (raised[~below] * scale[0] >= 1.0 - 1e-6).all()


@given(amounts)
def test_all_is_judged_where_all_is_asked_for(change):
    """However different the changes are."""
    assert rates(change, 1.0, 0.3) == pytest.approx(1.0)

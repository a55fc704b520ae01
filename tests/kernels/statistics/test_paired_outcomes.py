"""Wins, losses and ties, beside an obvious loop."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.statistics.paired_outcomes import outcomes

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

"""Fits of one score against another, and pairs in the wrong order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.statistics.curve_fits import fitted, wrong_pairs
from tests.examples import examples


@given(st.integers(3, 12), st.integers(0, 10_000))
@settings(max_examples=examples(50), deadline=None)
def test_a_fit_is_that_of_numpy_and_its_errors_those_of_points_left_out(n, seed):
    """Slope and intercept by polyfit; r2 by fitting n times without one point."""
    rng = np.random.default_rng(seed)
    x, y = rng.random(n), rng.random(n)
    fit = fitted(x, y)
    assert (fit.slope, fit.intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)), rel=1e-6)
    left_out = [y[i] - np.polyval(np.polyfit(np.delete(x, i), np.delete(y, i), 1), x[i]) for i in range(n)]
    assert fit.r2 == pytest.approx(1 - np.sum(np.square(left_out)) / np.sum((y - y.mean()) ** 2), rel=1e-4, abs=1e-6)


def test_what_has_no_fit_is_nan():
    for x, y in (([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, np.nan, 2.0], [1.0, 2.0, 3.0])):
        assert np.isnan(fitted(np.array(x), np.array(y))).all()


def test_pairs_that_the_first_score_does_not_tell_apart_do_not_count():
    """Of three pairs one is tied in the first score, one turned round, and one tied in the second."""
    found = wrong_pairs(np.array([0.2, 0.2, 0.1]), np.array([0.3, 0.1, 0.3]), np.ones((3, 3), np.bool_))
    assert (found.pairs, found.wrong, found.tied) == (2, 1, 1)
    assert found.max_gap == pytest.approx(0.1)

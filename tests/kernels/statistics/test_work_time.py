"""Times for questions and candidates: worked by hand, recovered exactly, and those of least squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from kgtrec.kernels.statistics.work_time import PAUSE, fit_work_times


def test_two_steps_give_both_times():
    """50 s for a new question with one candidate, 60 s for two more: 20 s and 30 s."""
    found = fit_work_times(np.array([50.0, 60.0]), np.array([True, False]), np.array([1, 2]))
    assert found == (pytest.approx(20), pytest.approx(30), 2)


@given(st.floats(0, 100), st.floats(1, 300), st.lists(st.tuples(st.booleans(), st.integers(1, 5)), min_size=2))
def test_times_that_all_steps_have_are_found(opening, candidate, steps):
    """If both can be told apart."""
    steps = [(True, 1), (False, 2), *steps]
    opened, candidates = (np.array(part) for part in zip(*steps, strict=True))
    found = fit_work_times(opening * opened + candidate * candidates, opened, candidates)
    assert found == (pytest.approx(opening, abs=1e-6), pytest.approx(candidate), len(steps))


@given(st.integers(0, 1000))
def test_breaks_change_nothing(seed):
    """More than ten minutes a candidate, and steps without time."""
    rng = np.random.default_rng(seed)
    seconds, opened, candidates = rng.uniform(1, 500, 20), rng.random(20) < 0.5, rng.integers(1, 4, 20)
    breaks = np.array([PAUSE * 2 + 1, 0.0, 1e6])
    more = np.r_[seconds, breaks], np.r_[opened, True, False, True], np.r_[candidates, 2, 1, 1]
    assert fit_work_times(*more) == fit_work_times(seconds, opened, candidates)


@given(st.integers(0, 1000))
def test_the_fit_is_that_of_bounded_least_squares(seed):
    """As scipy's lsq_linear finds it."""
    rng = np.random.default_rng(seed)
    seconds, opened, candidates = rng.gamma(1, 60, 40), rng.random(40) < 0.3, rng.integers(1, 5, 40)
    kept = seconds <= PAUSE * candidates
    parts = np.stack([opened, candidates], axis=1)[kept].astype(float)
    other = lsq_linear(parts, seconds[kept], (0, np.inf), method="bvls").x
    np.testing.assert_allclose(fit_work_times(seconds, opened, candidates)[:2], other, atol=1e-6)


def test_no_work_is_refused():
    """One break alone."""
    with pytest.raises(ValueError, match="none"):
        fit_work_times(np.array([5000.0]), np.array([True]), np.array([1]))

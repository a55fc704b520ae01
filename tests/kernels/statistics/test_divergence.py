"""Kullback-Leibler divergence of counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from kgtrec.kernels.statistics.divergence import kl_divergence

counts = st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any)


@given(counts, counts)
def test_equals_scipy(p, q):
    """scipy.stats.entropy with a reference."""
    p, q = np.array(p), np.array(q)
    assert kl_divergence(p, q) == pytest.approx(entropy(p, q), abs=1e-12)


@given(counts, st.integers(1, 9))
def test_zero_for_the_same_distribution_at_any_size(p, times):
    """Only shares count."""
    assert kl_divergence(np.array(p), np.array(p) * times) == pytest.approx(0, abs=1e-12)


@given(counts, st.data())
def test_finite_and_not_negative_for_a_sample_of_the_reference(q, data):
    """So no smoothing is needed there."""
    p = np.array([data.draw(st.integers(0, n)) for n in q])
    if p.any():
        assert 0 <= kl_divergence(p, np.array(q)) < np.inf

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.kernels import resampling
from kgtrec.kernels.resampling import bootstrap_counts, percentile_interval


def drawn(n: int, repeats: int, seed: int) -> np.ndarray:
    return np.concatenate(list(bootstrap_counts(n, repeats, seed)))


def test_every_sample_has_the_size_of_the_whole():
    """Counts are whole, not negative, and sum to n."""
    counts = drawn(7, 50, 1)
    assert counts.shape == (50, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()


def test_a_seed_gives_the_same_samples_however_many_are_held(monkeypatch: pytest.MonkeyPatch):
    """Blocks of one sample or of all are the same samples; another seed gives others."""
    whole = drawn(11, 20, 3)
    monkeypatch.setattr(resampling, "_CELLS", 11)
    np.testing.assert_array_equal(drawn(11, 20, 3), whole)
    assert (drawn(11, 20, 4) != whole).any()


def test_counts_are_multinomial():
    """Mean 1, variance 1 - 1/n, within four standard errors."""
    counts = drawn(20, 20_000, 0)
    assert abs(counts[:, 0].mean() - 1) < 4 * np.sqrt(0.95 / 20_000)
    assert counts.var() == pytest.approx(0.95, rel=0.02)


def test_the_interval_cuts_equal_tails():
    """5% on either side of 0..100; one column at a time; samples without a value are left out."""
    some = np.r_[np.arange(51.0), np.full(50, np.nan)]
    samples = np.stack([np.arange(101.0), np.full(101, np.nan), some], axis=1)
    interval = percentile_interval(samples, 0.9)
    assert interval[:, 0].tolist() == pytest.approx([5, 95])
    assert np.isnan(interval[:, 1]).all()
    assert interval[:, 2].tolist() == pytest.approx([2.5, 47.5])

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.statistics import resampling
from kgtrec.kernels.statistics.resampling import (
    BootstrapSamples,
    _exact_parts,
    bootstrap_counts,
    percentile_interval,
    resampled_quotients,
)
from tests.examples import examples


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


@pytest.mark.parametrize("kept", [0, 1 << 28])
def test_samples_are_the_same_at_every_use(kept: int, monkeypatch: pytest.MonkeyPatch):
    """Kept or drawn anew, and where a count exceeds what a byte holds."""
    monkeypatch.setattr(resampling, "_KEPT", kept)
    monkeypatch.setattr(resampling, "_CELLS", 30)
    samples = BootstrapSamples(11, 20, 3)
    for _ in range(3):
        np.testing.assert_array_equal(np.concatenate(list(samples)), drawn(11, 20, 3))
    assert next(iter(samples)).dtype == np.uint8


def test_counts_above_a_byte_are_kept(monkeypatch: pytest.MonkeyPatch):
    """One of two items 300 times."""
    monkeypatch.setattr(resampling, "bootstrap_counts", lambda *_: iter([np.array([[300.0, 0.0]])]))
    assert np.concatenate(list(BootstrapSamples(2, 1, 0))).tolist() == [[300, 0]]


items = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.floats(0, 9), st.floats(0.1, 9)), min_size=1, max_size=12
)


@settings(max_examples=examples(40))
@given(items, st.integers(1, 20))
def test_quotients_are_those_of_a_slow_sum(items, how_many: int):
    """Item by item and sample by sample, for any number of columns; clusters may spread over groups."""
    cluster, group, above, below = (np.array(column) for column in zip(*items, strict=True))
    samples = BootstrapSamples(6, 7, 1)
    columns = [above * (1 + place) for place in range(how_many)]
    found = resampled_quotients(samples, cluster, group.astype(np.int32), 4, columns, [below] * how_many)
    assert found.shape == (how_many, 7, 4)
    for sample, counts in enumerate(drawn(6, 7, 1)):
        for own in range(4):
            top = sum(counts[c] * a for c, g, a, _ in items if g == own)
            bottom = sum(counts[c] * b for c, g, _, b in items if g == own)
            expected = [(1 + place) * top / bottom if bottom else np.nan for place in range(how_many)]
            np.testing.assert_allclose(found[:, sample, own], expected, rtol=1e-12, atol=2.0**-80)


@settings(max_examples=examples(40))
@given(st.integers(0, 99), st.integers(1, 3000), st.sampled_from([1e-255, 1e-9, 1.0, 1e15, 1e300]))
def test_sums_of_both_parts_are_exact_in_any_order(seed: int, n: int, scale: float):
    """The whole differs from the items by less than can be seen; a column that is not finite stays what it is."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n, 3)) * scale * 10.0 ** rng.integers(-9, 1, (n, 3))
    items[0, 2] = -np.inf
    counts, order = np.bincount(rng.integers(0, n, n), minlength=n), rng.permutation(n)
    parts = _exact_parts(items, n)
    with np.errstate(invalid="ignore"):
        left_out = (items - parts[0] - parts[1])[:, :2]
    assert (np.abs(left_out) <= np.abs(items[:, :2]).max(axis=0) * n**2 * 2.0**-104).all()
    for part in parts:
        assert (counts @ part[:, :2] == counts[order] @ part[order, :2]).all()
        assert [math.fsum(np.repeat(column, counts)) for column in part[:, :2].T] == (counts @ part[:, :2]).tolist()
    assert (parts[0][:, 2] == items[:, 2]).all()
    assert not parts[1][:, 2].any()


def test_the_interval_cuts_equal_tails():
    """5% on either side of 0..100; one column at a time; samples without a value are left out."""
    some = np.r_[np.arange(51.0), np.full(50, np.nan)]
    samples = np.stack([np.arange(101.0), np.full(101, np.nan), some], axis=1)
    interval = percentile_interval(samples, 0.9)
    assert interval[:, 0].tolist() == pytest.approx([5, 95])
    assert np.isnan(interval[:, 1]).all()
    assert interval[:, 2].tolist() == pytest.approx([2.5, 47.5])


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 9))
def test_samples_that_are_drawn_together_are_those_drawn_one_by_one(n: int, repeats: int, seed: int):
    """The generator's stream is the same, so every interval of earlier versions is."""
    rng = np.random.default_rng(seed)
    expected = [np.bincount(rng.integers(0, n, n), minlength=n).tolist() for _ in range(repeats)]
    assert np.concatenate(list(bootstrap_counts(n, repeats, seed))).tolist() == expected

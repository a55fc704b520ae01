"""Resampling with replacement: how often each item is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 23  # counts held at a time, 64 MB


def bootstrap_counts(n: int, repeats: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each of ``n`` items is drawn in bootstrap samples of size ``n``.

    Parameters
    ----------
    n : int
        Items, at least 1.
    repeats : int
        Samples.
    seed : int
        Sample i depends on the seed and i alone, not on how many samples are held at a time.

    Yields
    ------
    (b, n) float array
        Counts of some samples; each row sums to n. Memory is bounded, and all blocks together have ``repeats`` rows.

    References
    ----------
    Efron, Tibshirani (1993). An Introduction to the Bootstrap.

    Examples
    --------
    >>> [block.sum(axis=1).tolist() for block in bootstrap_counts(5, 3, seed=0)]
    [[5.0, 5.0, 5.0]]
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // n)
    for first in range(0, repeats, at_once):
        counts = np.empty((min(at_once, repeats - first), n))
        for row in counts:
            row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
        yield counts


def percentile_interval(samples: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """(2, ...) the percentile interval of bootstrap values, samples along the first axis.

    Samples without a value (of a small group that none of its members was drawn of) are left out; NaN where all are.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.9)
    array([ 5., 95.])
    """
    outside = (1 - confidence) / 2
    quantiles = [outside, 1 - outside]
    if not np.isnan(samples).any():
        interval: NDArray[np.float64] = np.quantile(samples, quantiles, axis=0)
        return interval
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a column of nothing but NaN, which gives NaN
        of_those_known: NDArray[np.float64] = np.nanquantile(samples, quantiles, axis=0)
        return of_those_known

"""Resampling with replacement: how often each item is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 21  # counts in memory at a time, 16 MB
_KEPT = 1 << 28  # counts kept for further use, a byte each
_COLUMNS = 16  # quotients that are computed together


#: a seed, or where a generator is in its stream
Start = int | Mapping[str, Any]


def bootstrap_blocks(n: int, repeats: int, seed: int) -> Iterator[tuple[Start, int]]:
    """Return where the generator begins each block of :func:`bootstrap_counts`, and how many samples that has.

    So that anybody can draw any block: ``bootstrap_counts(n, many, start)``.

    Examples
    --------
    >>> [many for _, many in bootstrap_blocks(1_000_000, 5, seed=0)]
    [2, 2, 1]
    """
    rng = np.random.default_rng(seed)
    start: Start = seed
    at_once = max(1, _CELLS // n)
    for first in range(0, repeats, at_once):
        many = min(at_once, repeats - first)
        yield start, many
        if first + many < repeats:
            rng.integers(0, n, (many, n))
            start = rng.bit_generator.state


def bootstrap_counts(n: int, repeats: int, seed: Start) -> Iterator[NDArray[np.float64]]:
    """Return how often each of ``n`` items is drawn in bootstrap samples of size ``n``.

    Parameters
    ----------
    n : int
        Items, at least 1.
    repeats : int
        Samples.
    seed : int
        Sample i depends on the seed and i alone, not on how many samples are in memory at a time. Or what
        :func:`bootstrap_blocks` gives for a block.

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
    rng = np.random.default_rng(0 if isinstance(seed, Mapping) else seed)
    if isinstance(seed, Mapping):
        rng.bit_generator.state = seed
    at_once = max(1, _CELLS // n)
    for first in range(0, repeats, at_once):
        many = min(at_once, repeats - first)
        cells = rng.integers(0, n, (many, n)) + n * np.arange(many)[:, None]
        yield np.bincount(cells.ravel(), minlength=many * n).reshape(many, n).astype(np.float64)


class BootstrapSamples:
    """The samples of :func:`bootstrap_counts` for any number of uses: drawn once if they are few enough to keep.

    Parameters
    ----------
    n, repeats, seed : int
        As for :func:`bootstrap_counts`.

    Examples
    --------
    >>> samples = BootstrapSamples(5, 3, seed=0)
    >>> [block.sum(axis=1).tolist() for block in samples] == [block.sum(axis=1).tolist() for block in samples]
    True
    """

    def __init__(self, n: int, repeats: int, seed: int) -> None:
        self.n, self.repeats = n, repeats
        self._seed = seed
        self._kept: list[NDArray[np.unsignedinteger]] = []

    def __iter__(self) -> Iterator[NDArray[np.unsignedinteger]]:
        """Blocks of (b, n) counts, as small integers."""
        if self._kept:
            yield from self._kept
            return
        drawn = []
        for block in bootstrap_counts(self.n, self.repeats, self._seed):
            small = block.astype(np.min_scalar_type(int(block.max())))
            if self.n * self.repeats <= _KEPT:
                drawn.append(small)
            yield small
        self._kept = drawn


def resampled_quotients(
    samples: BootstrapSamples,
    cluster: NDArray[np.intp],
    group: NDArray[np.int32],
    size: int,
    above: Sequence[NDArray[np.float64]],
    below: Sequence[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Quotients of two sums over the items of each group, in every sample.

    Parameters
    ----------
    samples : BootstrapSamples
        Of clusters of items.
    cluster, group : (n,) int arrays
        The cluster and the group of each item; a cluster may have items of several groups.
    size : int
        How many groups there are.
    above, below : k (n,) float arrays each
        The items of the sums in the numerator and the denominator.

    Returns
    -------
    (k, repeats, size) float array
        NaN where a sample has no item of a group.

    Examples
    --------
    >>> one = np.ones(3)
    >>> quotients = resampled_quotients(BootstrapSamples(3, 2, seed=0), np.arange(3), np.zeros(3, int), 1, [one], [one])
    >>> quotients.tolist()
    [[[1.0], [1.0]]]
    """
    # items of one cluster and one group are drawn together: they are added up first
    pairs, place = np.unique(group.astype(np.int64) * samples.n + cluster, return_inverse=True)
    own_group, own_cluster = np.divmod(pairs, samples.n)
    filled, starts = np.unique(own_group, return_index=True)
    ends = np.append(starts[1:], len(pairs))
    quotients = np.full((len(above), samples.repeats, size), np.nan)
    for first in range(0, len(above), _COLUMNS):
        last = min(first + _COLUMNS, len(above))
        columns = [np.bincount(place, weights=items) for items in (*above[first:last], *below[first:last])]
        high, low = _exact_parts(np.stack(columns, axis=1), samples.n)
        both, row = np.hstack([high, low]), 0
        for block in samples:
            counts = block[:, own_cluster].astype(np.float64)
            for number, start, end in zip(filled, starts, ends, strict=True):
                products = counts[:, start:end] @ both[start:end]
                totals = products[:, : len(columns)] + products[:, len(columns) :]
                with np.errstate(divide="ignore", invalid="ignore"):
                    quotient = totals[:, : last - first] / totals[:, last - first :]
                quotients[first:last, row : row + len(block), number] = quotient.T
            row += len(block)
    return quotients


def _exact_parts(items: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two parts of the items of each column, whose sums over ``n`` draws are exact in whatever order they are added.

    Which order that is depends on the number of threads. Each part is a whole number of some power of 2, so large that
    a sum has at most 53 bits. What both leave out is less than n**2 * 2**-104 of the largest item. A column that is not
    finite, or near the ends of what a float can hold, is the first part itself.
    """
    with np.errstate(over="ignore"):
        most = np.abs(items).max(axis=0, initial=0.0) * n
    _, bits = np.frexp(np.where(np.isfinite(most), most, 0.0))
    parted = np.isfinite(most) & (bits > -900)
    unit = np.where(parted, bits - 52, 0)
    finer = unit - 53 + (n - 1).bit_length()
    with np.errstate(invalid="ignore", over="ignore"):
        high = np.where(parted, np.ldexp(np.rint(np.ldexp(items, -unit)), unit), items)
        low = np.where(parted, np.ldexp(np.rint(np.ldexp(items - high, -finer)), finer), 0.0)
    return high, low


def percentile_interval(samples: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """(2, ...) the percentile interval of bootstrap values, samples along the first axis.

    Samples without a value (for a small group, none of whose members was drawn) are left out; NaN where all are.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.9)
    array([ 5., 95.])
    """
    outside = (1 - confidence) / 2
    quantiles = [outside, 1 - outside]
    if not np.isnan(samples).any():
        return np.quantile(samples, quantiles, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for a column of only NaN, which gives NaN
        return np.nanquantile(samples, quantiles, axis=0)

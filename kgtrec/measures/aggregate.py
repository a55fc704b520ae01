"""From values of items to one number: the one place where a mean is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.exact_sums import group_sums
from kgtrec.measures.record import Aggregate

_MIDDLE = np.array([[0.5 - 5e-13], [0.5 + 5e-13]])  # just half and more than half of a sum of weights, which is rounded
GEOMETRIC_FLOOR = 1e-5  # trec_eval's MIN_GEO_MEAN: the value that 0 counts as in its geometric means

Floats = NDArray[np.float64]


def _log_floored(value: Floats) -> Floats:
    return np.log(np.maximum(value, GEOMETRIC_FLOOR))  # keeps NaN


@dataclass(frozen=True, slots=True)
class Link:
    """A mean of linked values and its inverse: covers mean, geometric and harmonic mean, and their inverses."""

    to: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]


LINKS: Mapping[Aggregate, Link] = {
    "mean": Link(lambda value: value, lambda mean: mean),
    "geometric mean": Link(np.log, np.exp),
    "floored geometric mean": Link(_log_floored, np.exp),
    "harmonic mean": Link(lambda value: 1.0 / value, lambda mean: 1.0 / mean),
    "inverse mean": Link(lambda value: value, lambda mean: 1.0 / mean),
    "inverse geometric mean": Link(np.log, lambda mean: np.exp(-mean)),
}


def aggregate_groups(
    value: Floats,
    group: NDArray[np.int32],
    size: int,
    how: Aggregate = "mean",
    weight: Floats | None = None,
    *,
    in_order: bool = False,
) -> Floats:
    """Aggregate the values of each group of items to one number.

    Parameters
    ----------
    value : (n,) float array
        One value per item; NaN makes its group's number NaN.
    group : (n,) int array
        The group of each item, from 0 to ``size - 1``.
    size : int
        How many groups there are.
    how : str
        "mean", "median", "sum", or one of the other ``LINKS``. A floored geometric mean counts values below 0.00001
        as 0.00001, as trec_eval does.
    weight : (n,) float array, optional
        Weights of at least 0, on any scale. The median is then the lowest value that half of the weight does not
        exceed, or the midpoint of two where it is exactly half. Sums take no weights.
    in_order : bool
        Whether the items are in the same order for the same labels, as questions are: in byte order of their ids. They
        are added one by one then, as in trec_eval, whose last digits this gives; else by ``group_sums``, which gives
        the same bytes in any order.

    Returns
    -------
    (size,) float array
        NaN for a group without items, or without weight, unless sums are asked for.

    References
    ----------
    trec_eval, meas_avg.c, for the floored geometric mean.

    Examples
    --------
    >>> aggregate_groups(np.array([1.0, 0.0, 3.0]), np.array([0, 0, 1]), 3)
    array([0.5, 3. , nan])
    >>> aggregate_groups(np.array([1.0, 0.0, 3.0]), np.array([0, 0, 1]), 3, "sum")
    array([1., 3., 0.])
    >>> aggregate_groups(np.array([1.0, 4.0]), np.array([0, 0]), 1, "geometric mean", np.array([3.0, 1.0])).round(6)
    array([1.414214])
    """
    if how == "sum":
        return _sums(group, value, size, in_order)
    if how == "median":
        return Medians(value, group, size)(np.ones(len(value)) if weight is None else weight)
    linked = LINKS[how].to(value)
    total = _sums(group, linked if weight is None else linked * weight, size, in_order)
    whole = np.bincount(group, minlength=size) if weight is None else _sums(group, weight, size, in_order)
    mean = np.full(size, np.nan)
    np.divide(total, whole, out=mean, where=whole > 0)
    return LINKS[how].back(mean)


def _sums(group: NDArray[np.int32], value: Floats, size: int, in_order: bool) -> Floats:
    if not in_order:
        return group_sums(group, value, size)
    return np.bincount(group, weights=value, minlength=size).astype(np.float64, copy=False)


class Medians:
    """Medians of groups of items, which are sorted once for any number of weights.

    Parameters
    ----------
    value : (n,) float or int array
        NaN makes its group's median NaN.
    group : (n,) int array
        The group of each item, from 0 to ``size - 1``.
    size : int
    """

    def __init__(self, value: NDArray[Any], group: NDArray[np.int32], size: int) -> None:
        self._order = np.lexsort((value, group))
        self._value = value[self._order].astype(np.float64)
        self._bounds = np.searchsorted(group[self._order], np.arange(size + 1))

    def __call__(self, weight: Floats) -> Floats:
        """(size,) medians under (n,) weights of at least 0; NaN for a group without weight."""
        return self.at(weight, _MIDDLE).mean(axis=0)

    def at(self, weight: Floats, shares: Floats) -> Floats:
        """(k, size) the lowest values that (k, size) shares of each group's weight do not exceed; NaN for NaN."""
        weight, size = weight[self._order], len(self._bounds) - 1
        shares = np.broadcast_to(shares, (len(shares), size))
        values = np.full(shares.shape, np.nan)
        for own in np.flatnonzero(np.diff(self._bounds)):  # groups, not items
            part = slice(self._bounds[own], self._bounds[own + 1])
            value, cumulated = self._value[part], np.cumsum(weight[part])
            if cumulated[-1] > 0 and not np.isnan(value[-1]):
                row = np.searchsorted(cumulated, cumulated[-1] * shares[:, own])
                values[:, own] = value[np.minimum(row, len(value) - 1)]
        return np.where(np.isnan(shares), np.nan, values)


class MedianRanks:
    """Medians of ranks under ties: each answer has any rank from its best to its worst, equally likely.

    It is the median of all these ranks together; those of one answer share its weight.

    Parameters
    ----------
    best, worst : (n,) int arrays
        The optimistic and the pessimistic rank, 1-based.
    group : (n,) int array
        The group of each answer, from 0 to ``size - 1``.
    size : int

    Examples
    --------
    >>> best, worst = np.array([1, 1]), np.array([1, 4])  # half of the weight is at 1, an eighth at each of 1 to 4
    >>> MedianRanks(best, worst, np.zeros(2, np.int32), 1)(np.ones(2))
    array([1.])
    >>> MedianRanks(best[1:], worst[1:], np.zeros(1, np.int32), 1)(np.ones(1))
    array([2.5])
    """

    def __init__(self, best: NDArray[np.int64], worst: NDArray[np.int64], group: NDArray[np.int32], size: int) -> None:
        self._best, self._length, self._group, self._size = best, worst - best + 1, group, size
        self._of_best, self._of_worst = Medians(best, group, size), Medians(worst, group, size)

    def __call__(self, weight: Floats) -> Floats:
        """(size,) medians under (n,) weights of at least 0; NaN for a group without weight."""
        return self.at(weight, _MIDDLE).mean(axis=0)

    def at(self, weight: Floats, shares: Floats) -> Floats:
        """(k, size) the lowest ranks that (k, size) shares of each group's weight do not exceed; NaN for NaN."""
        # the weight at or below a rank is at most that of the best ranks there, and at least that of the worst
        ends = self._of_best.at(weight, shares), self._of_worst.at(weight, shares)
        known = np.isfinite(ends[0])
        first, last = (np.where(known, end, 0.0).astype(np.int64) for end in ends)
        whole = np.where(known, shares, 0.0) * np.bincount(self._group, weight, self._size)
        ranks = [self._least(*row, weight) for row in zip(whole, first, last, strict=True)]
        return np.where(known, ranks, np.nan)

    def _least(
        self, least: Floats, low: NDArray[np.int64], high: NDArray[np.int64], weight: Floats
    ) -> NDArray[np.int64]:
        """(size,) the lowest rank from ``low`` to ``high`` at or below which there is so much weight."""
        rank = low  # usually it is the lowest one
        while np.any(low < high):
            inside = np.clip(rank[self._group] - self._best + 1, 0, self._length)
            reached = np.bincount(self._group, weight * (inside / self._length), self._size) >= least
            high, low = np.where(reached, rank, high), np.where(reached, low, rank + 1)
            low = np.minimum(low, high)
            rank = (low + high) // 2
        return high

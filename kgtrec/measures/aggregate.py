"""From values of items to one number: the one place where a mean is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.measures.record import Aggregate

_JUST_HALF, _MORE_THAN_HALF = 0.5 - 5e-13, 0.5 + 5e-13  # of a sum of weights, which is rounded
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
    value: Floats, group: NDArray[np.int32], size: int, how: Aggregate = "mean", weight: Floats | None = None
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
        return _sums(group, value, size)
    if how == "median":
        return Medians(value, group, size)(np.ones(len(value)) if weight is None else weight)
    linked = LINKS[how].to(value)
    total = _sums(group, linked if weight is None else linked * weight, size)
    whole = np.bincount(group, weights=weight, minlength=size)
    mean = np.full(size, np.nan)
    np.divide(total, whole, out=mean, where=whole > 0)
    return LINKS[how].back(mean)


def _sums(group: NDArray[np.int32], value: Floats, size: int) -> Floats:
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
        low, high = self.middle(weight)
        return (low + high) / 2.0

    def middle(self, weight: Floats) -> tuple[Floats, Floats]:
        """(size,) each: the lowest values that half of the weight, and more than half, does not exceed."""
        weight = weight[self._order]
        ends = np.full((2, len(self._bounds) - 1), np.nan)
        for own in np.flatnonzero(np.diff(self._bounds)):  # groups, not items
            part = slice(self._bounds[own], self._bounds[own + 1])
            values, cumulated = self._value[part], np.cumsum(weight[part])
            if not cumulated[-1] > 0 or np.isnan(values[-1]):
                continue
            ends[0, own] = values[np.searchsorted(cumulated, cumulated[-1] * _JUST_HALF)]
            ends[1, own] = values[np.searchsorted(cumulated, cumulated[-1] * _MORE_THAN_HALF)]
        return ends[0], ends[1]

    def at(self, weight: Floats, share: Floats) -> Floats:
        """(size,) the lowest value that this share of its group's weight does not exceed; NaN where the share is."""
        weight = weight[self._order]
        values = np.full(len(self._bounds) - 1, np.nan)
        for own in np.flatnonzero((np.diff(self._bounds) > 0) & ~np.isnan(share)):  # groups, not items
            part = slice(self._bounds[own], self._bounds[own + 1])
            cumulated = np.cumsum(weight[part])
            place = np.searchsorted(cumulated, cumulated[-1] * share[own])
            values[own] = self._value[part][min(int(place), len(cumulated) - 1)]
        return values


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
        # the weight at or below a rank is at most that of the best ranks there, and at least that of the worst
        low, high = self._of_best.middle(weight)[0], self._of_worst.middle(weight)[1]
        known = np.isfinite(low)
        first, last = (np.where(known, end, 0.0).astype(np.int64) for end in (low, high))
        whole = _sums(self._group, weight, self._size)
        below = self._least(whole * _JUST_HALF, weight, first, last)
        above = self._least(whole * _MORE_THAN_HALF, weight, below, last)
        return np.where(known, (below + above) / 2.0, np.nan)

    def at(self, weight: Floats, share: Floats) -> Floats:
        """(size,) the lowest rank that the (size,) share of its group's weight does not exceed; NaN where it is NaN."""
        low, high = self._of_best.at(weight, share), self._of_worst.at(weight, share)
        known = np.isfinite(low)
        first, last = (np.where(known, end, 0.0).astype(np.int64) for end in (low, high))
        whole = _sums(self._group, weight, self._size)
        return np.where(known, self._least(whole * np.where(known, share, 0.0), weight, first, last), np.nan)

    def _least(
        self, least: Floats, weight: Floats, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(size,) the lowest rank from ``low`` to ``high`` at or below which there is so much weight."""
        place = low  # usually it is the lowest one
        while np.any(low < high):
            inside = np.clip(place[self._group] - self._best + 1, 0, self._length)
            reached = _sums(self._group, weight * (inside / self._length), self._size) >= least
            high, low = np.where(reached, place, high), np.where(reached, low, place + 1)
            low = np.minimum(low, high)
            place = (low + high) // 2
        return high

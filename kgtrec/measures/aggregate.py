"""From values of items to one number: the one place where a mean is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.measures.record import Aggregate

GEOMETRIC_FLOOR = 1e-5  # trec_eval's MIN_GEO_MEAN: what a value of 0 counts as in its geometric means

Floats = NDArray[np.float64]


def _log_floored(value: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(value, GEOMETRIC_FLOOR))  # keeps NaN
    return logs


@dataclass(frozen=True, slots=True)
class Link:
    """A mean of linked values, brought back: mean, geometric and harmonic mean, and their inverses are all this."""

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
    """One number for each group of items.

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
        as that, as trec_eval does.
    weight : (n,) float array, optional
        Positive weights, of any scale. The median is then the least value that half of the weight does not exceed, or
        the midpoint of two where it is exactly half. Sums take none.

    Returns
    -------
    (size,) float array
        NaN for a group without items, unless sums are asked for.

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
        return _medians(value, group, size, np.ones(len(value)) if weight is None else weight)
    linked = LINKS[how].to(value)
    total = _sums(group, linked if weight is None else linked * weight, size)
    whole = np.bincount(group, weights=weight, minlength=size)
    mean = np.full(size, np.nan)
    np.divide(total, whole, out=mean, where=whole > 0)
    return LINKS[how].back(mean)


def aggregate(value: Floats, how: Aggregate = "mean") -> float:
    """All items as one number, see :func:`aggregate_groups`.

    Examples
    --------
    >>> aggregate(np.array([1.0, 0.25]), "geometric mean")
    0.5
    """
    return float(aggregate_groups(value, np.zeros(len(value), np.int32), 1, how)[0])


def _sums(group: NDArray[np.int32], value: Floats, size: int) -> Floats:
    return np.bincount(group, weights=value, minlength=size).astype(np.float64, copy=False)


def _medians(value: Floats, group: NDArray[np.int32], size: int, weight: Floats) -> Floats:
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    starts = np.searchsorted(group, np.arange(size))
    ends = np.searchsorted(group, np.arange(size), side="right")
    medians = np.full(size, np.nan)
    for own in np.flatnonzero(ends > starts):  # groups, not items
        values, cumulated = value[starts[own] : ends[own]], np.cumsum(weight[starts[own] : ends[own]])
        half = cumulated[-1] / 2
        low = min(int(np.searchsorted(cumulated, half * (1 - 1e-12))), len(values) - 1)
        # where exactly half lies below, the next value counts as much
        high = low + 1 if np.isclose(cumulated[low], half, rtol=1e-12) and low + 1 < len(values) else low
        medians[own] = np.nan if np.isnan(values[-1]) else (values[low] + values[high]) / 2
    return medians

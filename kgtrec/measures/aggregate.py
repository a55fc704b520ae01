"""From values of items to one number: the one place where a mean is taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.measures.record import Aggregate

GEOMETRIC_FLOOR = 1e-5  # trec_eval's MIN_GEO_MEAN: what a value of 0 counts as in a geometric mean


def aggregate_groups(
    value: NDArray[np.float64], group: NDArray[np.int32], size: int, how: Aggregate = "mean"
) -> NDArray[np.float64]:
    """One number for each group of items.

    Parameters
    ----------
    value : (n,) float array
        One value per item; NaN makes its group's number NaN.
    group : (n,) int array
        The group of each item, from 0 to ``size - 1``.
    size : int
        How many groups there are.
    how : {"mean", "sum", "geometric mean"}
        A geometric mean counts values below 0.00001 as that, as trec_eval does.

    Returns
    -------
    (size,) float array
        NaN for a group without items, unless sums are asked for.

    References
    ----------
    trec_eval, meas_avg.c, for the geometric mean.

    Examples
    --------
    >>> aggregate_groups(np.array([1.0, 0.0, 3.0]), np.array([0, 0, 1]), 3)
    array([0.5, 3. , nan])
    >>> aggregate_groups(np.array([1.0, 0.0, 3.0]), np.array([0, 0, 1]), 3, "sum")
    array([1., 3., 0.])
    """
    if how == "geometric mean":
        value = np.log(np.maximum(value, GEOMETRIC_FLOOR))  # keeps NaN
    total = np.bincount(group, weights=value, minlength=size).astype(np.float64, copy=False)
    if how == "sum":
        return total
    count = np.bincount(group, minlength=size)
    mean = np.full(size, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return np.exp(mean) if how == "geometric mean" else mean


def aggregate(value: NDArray[np.float64], how: Aggregate = "mean") -> float:
    """All items as one number, see :func:`aggregate_groups`.

    Examples
    --------
    >>> aggregate(np.array([1.0, 0.25]), "geometric mean")
    0.5
    """
    return float(aggregate_groups(value, np.zeros(len(value), np.int32), 1, how)[0])

"""On how many items one system is better than another, worse, or as good."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
_ROUNDING = 8 * np.finfo(np.float64).eps


def outcomes(
    first: NDArray[np.float64], second: NDArray[np.float64], group: NDArray[Any], size: int
) -> tuple[Counts, Counts, Counts]:
    """Return how often the first value is higher, lower, and the same, in each group of items.

    Parameters
    ----------
    first, second : (n,) float arrays
        NaN is neither higher nor lower nor the same. Values that differ by rounding only are the same.
    group : (n,) int array
        From 0 to ``size - 1``.
    size : int
        How many groups there are.

    Returns
    -------
    higher, lower, same : (size,) int arrays

    Examples
    --------
    >>> first, second = np.array([1.0, 0.0, 0.1 + 0.2]), np.array([0.5, 0.5, 0.3])
    >>> [part.tolist() for part in outcomes(first, second, np.array([0, 0, 1]), 2)]
    [[1, 0], [1, 0], [0, 1]]
    """
    with np.errstate(invalid="ignore"):  # of infinities that are the same
        near = np.abs(first - second) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second))
    same = (near & np.isfinite(first) & np.isfinite(second)) | (first == second)
    known = ~(np.isnan(first) | np.isnan(second))
    kinds = (known & ~same & (first > second), known & ~same & (first < second), known & same)
    higher, lower, equal = (np.bincount(group[kind], minlength=size) for kind in kinds)
    return higher, lower, equal

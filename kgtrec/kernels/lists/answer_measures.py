"""Measures of one answer's rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def identity(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank itself, (n,), 1-based; its mean is the mean rank."""
    return rank


def reciprocal(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / rank, (n,), in (0, 1]; 0 where the rank is infinite.

    Examples
    --------
    >>> reciprocal(np.array([1.0, 4.0, np.inf]))
    array([1.  , 0.25, 0.  ])
    """
    return 1.0 / rank


def hit(rank: NDArray[np.float64], cutoff: int) -> NDArray[np.float64]:
    """1 where the rank is at most ``cutoff``, else 0; a success, not a precision.

    Examples
    --------
    >>> hit(np.array([1.0, 10.0, 10.5]), cutoff=10)
    array([1., 1., 0.])
    """
    return (rank <= cutoff).astype(np.float64)


def log_reciprocal(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / log2(rank + 1), (n,), in (0, 1]: nDCG's discount.

    Examples
    --------
    >>> log_reciprocal(np.array([1.0, 3.0]))
    array([1. , 0.5])
    """
    return 1.0 / np.log2(rank + 1.0)


def power_above_last(rank: NDArray[np.float64], candidates: NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """Rank ** -alpha, scaled so that the best rank has 1 and the last one 0: (n,), in [0, 1].

    (r ** -alpha - N ** -alpha) / (1 - N ** -alpha) among N candidates; in the limit alpha = 0, 1 - ln r / ln N. Of an
    only candidate, for which the quotient is undefined, it is 1.

    References
    ----------
    Moon, Kang, Ko (2026), arXiv:2606.08921, eq. 2: PROBE's rank transformer.

    Examples
    --------
    >>> power_above_last(np.array([1.0, 2.0, 4.0]), np.array([4, 4, 4]), alpha=1.0).round(6)
    array([1.      , 0.333333, 0.      ])
    >>> power_above_last(np.array([2.0, 2.0]), np.array([4, 3]), alpha=-1.0).round(6)
    array([0.666667, 0.5     ])
    """
    alpha, most = alpha or 1e-100, np.log(np.maximum(candidates, 2))  # an only candidate has rank 1 and so 1
    return np.expm1(alpha * (most - np.log(rank))) / np.expm1(alpha * most)


def power(rank: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Rank ** -p, (n,), in (0, 1].

    Examples
    --------
    >>> power(np.array([1.0, 4.0]), p=0.5)
    array([1. , 0.5])
    """
    return rank**-p

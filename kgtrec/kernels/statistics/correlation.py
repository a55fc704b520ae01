"""Similarity of two rankings of the same items: Kendall's tau-b, tau_AP, Spearman's rho and rank-biased overlap.

Every function takes scores, higher is better, with the ranked items along the last axis, and correlates as many pairs
of score vectors at once as there are, in bounded memory. The correlation is NaN, which the caller has to report,
where one of the two scores all items equally, where a score is NaN, and where there are fewer than two items.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 22  # comparisons in memory at a time

_Kernel = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def kendall_tau_b(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    r"""Compute Kendall's tau-b, :math:`(C - D) / \sqrt{(C + D + T_x)(C + D + T_y)}`.

    Of all pairs of items, C are in the same order in both, D in opposite order, :math:`T_x` tied in y only and
    :math:`T_y` tied in x only; so without ties it is the share of pairs in the same order minus that of pairs in
    opposite order.

    Parameters
    ----------
    x, y : (..., n_items) arrays, scores
        Leading axes are broadcast: many vectors against one, or pairwise.

    Returns
    -------
    (...) float array, dimensionless, in [-1, 1]

    Raises
    ------
    ValueError
        If the last axes differ, or the leading ones cannot be broadcast.

    See Also
    --------
    kgtrec.meta.tau_ap : With weight on the top.
    kgtrec.meta.spearman_rho : From ranks.
    kgtrec.meta.rank_biased_overlap : With weight on the top, of lists.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems, Biometrika 33(3).

    Examples
    --------
    >>> kendall_tau_b(np.array([[1, 2, 3], [3, 2, 1], [1, 3, 2]]), np.array([0.1, 0.2, 0.3]))
    array([ 1.        , -1.        ,  0.33333333])
    """
    return _in_blocks(_tau_b, x, y)


def tau_ap(scores: NDArray[Any], reference: NDArray[Any], *, symmetric: bool = False) -> NDArray[np.float64]:
    r"""Compute the AP correlation, :math:`\frac{2}{n-1} \sum_{i=2}^{n} \frac{C(i)}{i-1} - 1`.

    It is Kendall's tau with weight on the top. C(i) is how many of the items above position i of the *ranking by
    scores* are above that item in the *reference* too. So the two have different roles: positions, and with them
    weights, are those of the ranking that is judged, and the reference only says which order is right. ``symmetric``
    gives the mean of both directions.

    With ties it is the expected value when every order of the tied items is equally likely, in the two rankings
    independently; so it stays below 1 for a ranking with ties, also against itself.

    Parameters
    ----------
    scores : (..., n_items) array
        The rankings that are judged.
    reference : (..., n_items) array, scores
        The right order. Leading axes are broadcast.
    symmetric : bool
        Take the mean of both directions. Default: ``reference`` is the reference.

    Returns
    -------
    (...) float array, dimensionless, in [-1, 1]

    Raises
    ------
    ValueError
        As :func:`kendall_tau_b`.

    References
    ----------
    Yilmaz, Aslam, Robertson (2008), A new rank correlation coefficient for information retrieval, SIGIR, eq. 1 and
    section 4.2 for the symmetric form; Urbano, Marrero (2017), The treatment of ties in AP correlation, ICTIR.

    Examples
    --------
    A swap at the top costs more than one at the bottom, and a top item put last costs differently in the two
    directions.

    >>> reference = np.array([4, 3, 2, 1])
    >>> tau_ap(np.array([[3, 4, 2, 1], [4, 3, 1, 2], [1, 4, 3, 2]]), reference).round(4)
    array([0.3333, 0.7778, 0.3333])
    >>> round(float(tau_ap(reference, np.array([1, 4, 3, 2]))), 4)
    -0.2222
    """
    one_way = _in_blocks(_tau_ap, scores, reference)
    return (one_way + _in_blocks(_tau_ap, reference, scores)) / 2 if symmetric else one_way


def spearman_rho(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Compute Spearman's rho: Pearson's correlation of the ranks, tied items at the mean of their ranks.

    Parameters
    ----------
    x, y : (..., n_items) arrays, scores
        Leading axes are broadcast.

    Returns
    -------
    (...) float array, dimensionless, in [-1, 1]

    Raises
    ------
    ValueError
        As :func:`kendall_tau_b`.

    References
    ----------
    Kendall, Gibbons (1990), Rank Correlation Methods, 5th ed., sections 1.13 and 3.8.

    Examples
    --------
    >>> spearman_rho(np.array([[1, 2, 3], [1, 3, 2]]), np.array([0.1, 0.2, 0.3]))
    array([1. , 0.5])
    """
    return _in_blocks(_rho, x, y)


def rank_biased_overlap(x: NDArray[Any], y: NDArray[Any], p: float = 0.9) -> NDArray[np.float64]:
    r"""Compute extrapolated rank-biased overlap, :math:`p^n + \frac{1-p}{p} \sum_{d=1}^{n} \frac{X_d}{d} p^d`.

    X_d is how many items the two rankings have in common among their first d. Both rank the same n items, so that the
    agreement at depth n, which the extrapolation continues with, is 1. A reader who continues after each position with
    probability p sees this agreement on average: the first 10 positions have 86% of the weight at p = 0.9.

    Unlike the other three it measures similarity, not correlation: 1 for equal orders, but above 0 for reversed ones.
    With ties it is the expected value when every order of the tied items is equally likely, in the two rankings
    independently; so it stays below 1 for a ranking with ties, also against itself.

    Parameters
    ----------
    x, y : (..., n_items) arrays, scores
        Leading axes are broadcast.
    p : float, in (0, 1)
        Persistence.

    Returns
    -------
    (...) float array, dimensionless, in [0, 1]

    Raises
    ------
    ValueError
        If p is not between 0 and 1, or as :func:`kendall_tau_b`.

    References
    ----------
    Webber, Moffat, Zobel (2010), A similarity measure for indefinite rankings, ACM TOIS 28(4), eq. 23; Corsi, Urbano
    (2024), The treatment of ties in rank-biased overlap, SIGIR.

    Examples
    --------
    >>> rank_biased_overlap(np.array([[3, 2, 1], [2, 3, 1]]), np.array([3, 2, 1]), p=0.5)
    array([1. , 0.5])
    """
    if not 0 < p < 1:
        raise ValueError(f"expected a persistence p between 0 and 1, found {p}")
    return _in_blocks(partial(_rbo, p=p), x, y)


def _in_blocks(kernel: _Kernel, x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """``kernel`` of (rows, n) and (rows or 1, n) arrays, as many rows at a time as n * n comparisons of each allow."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"expected scores of the same items along the last axes, found shapes {x.shape} and {y.shape}")
    shape, n_items = np.broadcast_shapes(x.shape[:-1], y.shape[:-1]), x.shape[-1]
    n_rows = math.prod(shape)
    # a single vector stays one row, so that its comparisons are made once
    left, right = (
        array.reshape(1, n_items)
        if math.prod(array.shape[:-1]) == 1
        else np.broadcast_to(array, (*shape, n_items)).reshape(n_rows, n_items)
        for array in (x, y)
    )
    values = np.empty(n_rows)
    step = max(1, _CELLS // max(1, n_items**2))
    for first in range(0, n_rows, step):
        a, b = (rows if len(rows) == 1 else rows[first : first + step] for rows in (left, right))
        values[first : first + step] = kernel(a, b)
        values[first : first + step][_is_no_ranking(a) | _is_no_ranking(b)] = np.nan
    return values.reshape(shape)


def _is_no_ranking(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(b,) which rows score all items equally, or have NaN."""
    if scores.shape[1] < 2:
        return np.ones(len(scores), np.bool_)
    return np.all(scores == scores[:, :1], axis=1) | np.any(np.isnan(scores), axis=1)


def _tau_b(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    first, second = np.triu_indices(x.shape[1], 1)
    signs = [
        (scores[:, first] > scores[:, second]).astype(np.float32) - (scores[:, first] < scores[:, second])
        for scores in (x, y)
    ]
    # sums of whole numbers, exact in 32 bits up to 2^24 pairs and added in parts beyond
    kind = np.float32 if len(first) < 1 << 24 else np.float64
    total = np.einsum("bp,bp->b", *np.broadcast_arrays(*signs), dtype=kind).astype(np.float64)
    untied = [np.count_nonzero(sign, axis=1).astype(np.float64) for sign in signs]
    with np.errstate(invalid="ignore"):  # where there is no ranking
        return _within_one(total / np.sqrt(untied[0] * untied[1]))


def _rho(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = _centred_ranks(x), _centred_ranks(y)
    products = [np.einsum("bi,bi->b", *np.broadcast_arrays(*pair)) for pair in ((a, b), (a, a), (b, b))]
    with np.errstate(invalid="ignore"):
        return _within_one(products[0] / np.sqrt(products[1] * products[2]))


def _centred_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """(b, n) the number of items below each minus the number above it: twice its mean rank, counted from the middle."""
    one, other = scores[:, :, None], scores[:, None, :]
    return np.asarray(np.count_nonzero(one > other, axis=2) - np.count_nonzero(one < other, axis=2), np.float64)


def _tau_ap(scores: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    n = scores.shape[1]
    above, size = _above_and_size(scores)
    # how many of the items strictly above each one are above it in the reference too; a tie there counts a half
    right = (reference[:, :, None] > reference[:, None, :]) + 0.5 * (reference[:, :, None] == reference[:, None, :])
    like = np.einsum("bde,bde->be", *np.broadcast_arrays(scores[:, :, None] > scores[:, None, :], right))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    # a group of g items below a others takes the positions a+1 to a+g, each item each of them equally often; the sum
    # over these positions i of 1 / (i-1), without position 1
    inverse = harmonic[above + size - 1] - harmonic[np.maximum(above - 1, 0)]
    # among the items of a group every order is equally likely: half of the k-1 before its k-th position agree, and
    # the sum over the positions of (k-1) / (i-1) is this
    within = np.where(above > 0, size - above * inverse, size - 1)
    return np.asarray(2 / max(n - 1, 1) * np.sum((like * inverse + within / 2) / size, axis=1) - 1, np.float64)


def _rbo(x: NDArray[np.float64], y: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    n = x.shape[1]
    depth = np.arange(1, n + 1)
    # an item of a group of g below a others is among the first d in (d-a)/g of the orders
    among = []
    for scores in (x, y):
        above, size = _above_and_size(scores)
        among.append(np.clip((depth - above[:, :, None]) / size[:, :, None], 0, 1))
    in_common = np.einsum("bid,bid->bd", *np.broadcast_arrays(*among))
    weights = (1 - p) * p ** (depth - 1.0)
    return np.asarray(np.clip(np.sum(in_common / depth * weights, axis=1) + p**n, 0, 1), np.float64)


def _above_and_size(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(b, n) per item: how many score higher, and how many score the same, itself included."""
    one, other = scores[:, :, None], scores[:, None, :]
    return np.count_nonzero(other > one, axis=2), np.maximum(np.count_nonzero(other == one, axis=2), 1)


def _within_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounding may put a perfect correlation slightly above 1."""
    return np.clip(values, -1, 1)

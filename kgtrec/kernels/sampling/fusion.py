r"""Scores that order the candidates of a question by several ranked lists.

A function here turns a candidate's rank or score in one list into points; :func:`fused` adds the points of all lists.
They are added as whole multiples of :math:`2^{-40}`, which is exact: equal scores stay equal, and the result depends
neither on the order of lists nor on the last bits of a machine's floating-point numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
_UNIT = 2.0**40


def fused(candidate: NDArray[Any], points: Points, n_candidates: int) -> NDArray[np.int64]:
    """Sum of the points of each candidate.

    Parameters
    ----------
    candidate : (m,) int array
        Which candidate each row is about.
    points : (m,) float array
        Finite; below 2**20 in absolute value.
    n_candidates : int

    Returns
    -------
    (n_candidates,) int array, in units of 2**-40

    Examples
    --------
    >>> fused(np.array([0, 1, 0]), np.array([0.5, 1.0, 0.5]), 2).tolist() == [2**40, 2**40]
    True
    """
    total = np.zeros(n_candidates, np.int64)
    np.add.at(total, candidate, np.rint(points * _UNIT).astype(np.int64))
    return total


def least_rank(rank: NDArray[np.int32], candidate: NDArray[Any], n_candidates: int) -> NDArray[np.int64]:
    """(n_candidates,) minus the best (lowest) rank of a candidate in any list, in the units of :func:`fused`.

    Examples
    --------
    >>> (least_rank(np.array([3, 1, 2]), np.array([0, 1, 0]), 2) / 2**40).tolist()
    [-2.0, -1.0]
    """
    least = np.full(n_candidates, np.iinfo(np.int32).max, np.int64)
    np.minimum.at(least, candidate, rank)
    return -least * int(_UNIT)


def reciprocal_rank_points(rank: NDArray[np.int32], k: float = 60) -> Points:
    r"""Reciprocal rank fusion, :math:`1 / (k + r)`.

    Parameters
    ----------
    rank : (m,) int array, from 1
    k : float
        The larger, the less weight the top of a list has.

    References
    ----------
    Cormack, Clarke, Buettcher (2009), SIGIR.

    Examples
    --------
    >>> reciprocal_rank_points(np.array([1, 2]), k=1).round(3).tolist()
    [0.5, 0.333]
    """
    return np.reciprocal(k + rank.astype(np.float64))


def rank_biased_points(rank: NDArray[np.int32], p: float = 0.8) -> Points:
    """Weight of a rank in rank-biased precision, ``(1 - p) p ** (rank - 1)``: the probability that a user stops there.

    Parameters
    ----------
    rank : (m,) int array, from 1
    p : float
        Persistence, 0 <= p < 1: the probability that a user who sees a candidate continues to the next.

    References
    ----------
    Moffat, Webber, Zobel (2007), SIGIR, method A: the candidates of the greatest total weight over all systems are
    judged first.

    Examples
    --------
    >>> rank_biased_points(np.array([1, 2, 3]), p=0.5).tolist()
    [0.5, 0.25, 0.125]
    """
    return (1.0 - p) * np.power(p, rank.astype(np.float64) - 1.0)


def borda_points(rank: NDArray[np.int32], list_length: NDArray[np.int64], n_candidates: NDArray[np.int64]) -> Points:
    r"""Points of the Borda count, minus those of a candidate that the list leaves out.

    With c candidates, rank r gets :math:`c - r + 1`, and the :math:`c - m` that a list of length m leaves out share
    the remaining points evenly: each gets :math:`(c - m + 1) / 2`. As every list gives the latter to all that it leaves
    out, the difference :math:`(c + m + 1) / 2 - r` orders a question's candidates in the same way.

    Parameters
    ----------
    rank : (m,) int array, from 1
    list_length : (m,) int array
        Length of the list that the row is in.
    n_candidates : (m,) int array
        Distinct candidates of the question in all lists.

    References
    ----------
    Aslam, Montague (2001), SIGIR.

    Examples
    --------
    Four candidates, a list of two: 4 and 3 points, and 1.5 for each of those left out.

    >>> borda_points(np.array([1, 2]), np.array([2, 2]), np.array([4, 4])).tolist()
    [2.5, 1.5]
    """
    return (n_candidates + list_length + 1) / 2.0 - rank


def min_max_points(score: Points, of: NDArray[Any]) -> Points:
    r"""Scores of each list scaled to 0..1, :math:`(s - \min) / (\max - \min)`; their sum is CombSUM.

    A list whose scores are all equal gives every candidate 1. Infinite scores become 0 and 1, and the finite ones are
    scaled by their own minimum and maximum.

    Parameters
    ----------
    score : (m,) float array
    of : (m,) int array
        Which list each row is in.

    References
    ----------
    Fox, Shaw (1994), TREC-2; Lee (1997), SIGIR, for the normalisation.

    Examples
    --------
    >>> min_max_points(np.array([9.0, 5.0, 1.0, 7.0]), np.array([0, 0, 0, 1])).tolist()
    [1.0, 0.5, 0.0, 1.0]
    """
    finite, n_lists = np.isfinite(score), int(of.max(initial=-1)) + 1
    least, most = np.full(n_lists, np.inf), np.full(n_lists, -np.inf)
    np.minimum.at(least, of[finite], score[finite])
    np.maximum.at(most, of[finite], score[finite])
    points = (score > 0).astype(np.float64)  # right for infinite ones
    # halves, since the span of two finite numbers may be infinite
    low, span = least[of[finite]] / 2, most[of[finite]] / 2 - least[of[finite]] / 2
    stretched = np.ones(len(span))
    np.divide(score[finite] / 2 - low, span, out=stretched, where=span > 0)
    points[finite] = stretched
    return points

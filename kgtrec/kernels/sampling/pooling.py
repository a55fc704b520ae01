"""The first candidates of ranked lists, with ties broken at random by a key, and samples of strata.

A list is a stretch of rows, score descending. Only rows down to the cut are read: as many as the depth, and more for
lists in which rows were left out or tie at the cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

_LOOK_AHEAD = 2  # rows beyond the depth that are read first
_NOTHING = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.int32)


def first_candidates(
    first: Index,
    length: Index,
    score: NDArray[np.float64],
    depth: int,
    left_out: Callable[[Index], NDArray[np.bool_]],
    key: Callable[[Index], Keys],
) -> tuple[Index, NDArray[np.int32]]:
    """The first ``depth`` candidates of each list, and their ranks.

    Parameters
    ----------
    first, length : (n_lists,) int arrays
        Where each list begins, and how many rows it has.
    score : (n_rows,) float array
        Never increasing within a list.
    depth : int
    left_out : function of (m,) rows to (m,) bool
        Which rows are not candidates; they take no rank.
    key : function of (m,) rows to (m,) uint64
        Order of rows of equal score, the lowest first; called for tied rows only.

    Returns
    -------
    row : (c,) int array
        By list and rank.
    rank : (c,) int array, from 1

    Examples
    --------
    >>> score, none = np.array([9.0, 5.0, 5.0, 1.0]), lambda rows: np.zeros(len(rows), bool)
    >>> late = lambda rows: (9 - rows).astype(np.uint64)
    >>> row, rank = first_candidates(np.array([0]), np.array([4]), score, 2, none, late)
    >>> row.tolist(), rank.tolist()
    ([0, 2], [1, 2])
    """
    parts = []
    active, width = np.flatnonzero(length), depth + _LOOK_AHEAD
    while len(active):
        begin, size = first[active], np.minimum(length[active], width)
        row = np.repeat(begin - np.cumsum(size) + size, size) + np.arange(int(size.sum()))
        kept = ~left_out(row)
        row, of = row[kept], np.repeat(np.arange(len(active)), size)[kept]
        n_kept = np.bincount(of, minlength=len(active))
        before = np.cumsum(n_kept) - n_kept
        # the list's score at the cut; no row below it is included
        at_cut = np.full(len(active), -np.inf)
        is_full = n_kept >= depth
        at_cut[is_full] = score[row[before[is_full] + depth - 1]]
        is_done = size == length[active]
        is_done |= is_full & (at_cut > score[begin + size - 1])
        chosen = is_done[of] & (score[row] >= at_cut[of])
        parts.append(_ranked(row[chosen], active[of[chosen]], score, depth, key))
        active, width = active[~is_done], 2 * width
    of, row, rank = (np.concatenate(column) for column in zip(_NOTHING, *parts, strict=True))
    if len(parts) > 1:  # lists that were read further come after the others
        order = np.argsort(of, kind="stable")
        row, rank = row[order], rank[order]
    return row, rank


def _ranked(
    row: Index, of: Index, score: NDArray[np.float64], depth: int, key: Callable[[Index], Keys]
) -> tuple[Index, Index, NDArray[np.int32]]:
    """The rows in the order of their lists and ranks, down to ``depth``: list, row and rank."""
    n = len(row)
    own = score[row]
    new_list = np.ones(n, np.bool_)
    np.not_equal(of[1:], of[:-1], out=new_list[1:])
    like_above = np.zeros(n, np.bool_)
    np.equal(own[1:], own[:-1], out=like_above[1:])
    like_above &= ~new_list
    if like_above.any():
        tied = like_above.copy()
        tied[:-1] |= like_above[1:]
        places = np.flatnonzero(tied)
        group = np.cumsum(~like_above)[places]
        row = row.copy()
        row[places] = row[places][np.lexsort((key(row[places]), group))]
    start = np.flatnonzero(new_list)
    rank = np.arange(1, n + 1) - np.repeat(start, np.diff(np.append(start, n)))
    kept = rank <= depth
    return of[kept], row[kept], rank[kept].astype(np.int32)


def first_distinct(codes: NDArray[Any], n: int) -> NDArray[np.intp]:
    """(min(n, distinct),) the first ``n`` distinct values, ascending.

    Examples
    --------
    >>> first_distinct(np.array([4, 2, 4, 9]), 2).tolist()
    [2, 4]
    """
    distinct, first = np.unique(codes, return_index=True)
    return np.sort(distinct[np.argsort(first, kind="stable")[:n]])


def stratum_of(depth: NDArray[np.int32], bounds: tuple[int, ...]) -> NDArray[np.intp]:
    """(n,) the stratum of each depth; ``bounds`` are the last ranks of the strata, ascending.

    Examples
    --------
    >>> stratum_of(np.array([1, 10, 11]), (10, 100)).tolist()
    [0, 0, 1]
    """
    return np.searchsorted(np.array(bounds), depth)


def sampled(
    stratum: NDArray[np.intp], fraction: NDArray[np.float64], least: int, key: Keys
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    r"""A simple random sample of each stratum, without replacement, and each item's probability of being in it.

    From a stratum of N items, n are taken: its fraction of N, rounded, and at least ``least``, or all if it has fewer.
    So every item is in the sample with probability :math:`\pi = n / N`, which is the fraction apart from rounding; the
    probabilities of all items sum to the size of the sample, and :math:`\sum 1 / \pi` over the sample to the number of
    items.

    Parameters
    ----------
    stratum : (n,) int array, from 0
    fraction : (n_strata,) float array, in (0, 1]
    least : int, from 1
    key : (n,) uint64 array
        Random key of each item: the lowest keys of a stratum are taken.

    Returns
    -------
    is_in : (n,) bool array
    probability : (n,) float array, in (0, 1]
        Of every item, in the sample or not.

    References
    ----------
    Yilmaz, Kanoulas, Aslam (2008), SIGIR, for stratified samples of pools; Cochran (1977), Sampling Techniques,
    chapter 5.

    Examples
    --------
    >>> keys = np.array([9, 8, 7, 6], np.uint64)
    >>> is_in, probability = sampled(np.array([0, 1, 1, 1]), np.array([1.0, 0.5]), 1, keys)
    >>> is_in.tolist(), probability.round(3).tolist()
    ([True, False, True, True], [1.0, 0.667, 0.667, 0.667])
    """
    items = np.bincount(stratum, minlength=len(fraction))
    taken = np.minimum(np.maximum(np.floor(items * fraction + 0.5).astype(np.int64), least), items)
    order = np.lexsort((key, stratum))
    place = np.empty(len(stratum), np.int64)
    place[order] = np.arange(len(stratum)) - np.repeat(np.cumsum(items) - items, items)
    probability = np.divide(taken, items, out=np.ones(len(items)), where=items > 0)
    return place < taken[stratum], probability[stratum]

"""Ranks of entities among many subsets of the candidates at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import ranges
from kgtrec.kernels.ranking.answer_ranks import Scores, contiguous
from kgtrec.kernels.ranking.pairs import Index, Pairs

_PAIRS_AT_A_TIME = 256
_CACHED_BYTES = 4 << 20  # of products of flags and members: they are computed, counted and dropped in the cache
#: above, tied and n_other -> (pairs, subsets)
SubsetCounts = dict[str, NDArray[np.int32]]


def count_within_subsets(scores: Scores, pairs: Pairs, uncounted: Pairs, members: NDArray[np.bool_]) -> SubsetCounts:
    """Return how many are above and tied, among the members of each of many subsets of entities.

    Each score is compared with the pair's own once. The resulting flags, and the members of each subset, are
    packed 64 to a word; the set bits that a pair's words and a subset's have in common are then counted. That is exact,
    and took an eighth of the time of a float32 matrix product of the two.

    Parameters
    ----------
    scores : (n_rows, n_entities) float or integer array
        A block of scores without NaN, higher is better.
    pairs : Pairs of (n,)
        Those to rank. A pair never counts itself.
    uncounted : Pairs of (m,), sorted by (row, entity), each pair once
        Entities that are not counted in their row: filtered ones and other answers.
    members : (n_entities, k) bool array
        Whether an entity is a member of the subset.

    Returns
    -------
    dict of (n, k) int arrays
        For each pair and subset ``above``, the counted members that score higher, ``tied``, those that score the same,
        and ``n_other``, all counted members.

    Examples
    --------
    >>> members, none = np.array([[1, 1], [1, 0], [1, 1]]) == 1, np.zeros(0, np.intp)
    >>> third, none = Pairs(np.array([0]), np.array([2])), Pairs(none, none)
    >>> counts = count_within_subsets(np.array([[1.0, 3.0, 2.0]]), third, none, members)
    >>> counts["above"].tolist(), counts["n_other"].tolist()
    ([[1, 0]], [[2, 1]])
    """
    n, k = len(pairs.row), members.shape[1]
    above, tied, n_other = (np.zeros((n, k), np.int32) for _ in range(3))
    sizes = members.sum(axis=0, dtype=np.int32)
    words = _words(members.T)
    low, high = (np.searchsorted(uncounted.row, pairs.row, side=side) for side in ("left", "right"))
    for first in range(0, n, _PAIRS_AT_A_TIME):
        part = slice(first, first + _PAIRS_AT_A_TIME)
        row, entity = pairs.row[part], pairs.entity[part]
        pair, place = ranges(low[part], (high - low)[part])
        aside = np.r_[pair, np.arange(len(row))], np.r_[uncounted.entity[place], entity]
        strip, own = contiguous(scores[row]), contiguous(scores[row, entity])
        above[part] = _counted(strip > own[:, None], aside, words)
        tied[part] = _counted(strip == own[:, None], aside, words)
        n_other[part] = sizes - _members_aside(*aside, members, len(row))
    return {"above": above, "tied": tied, "n_other": n_other}


def _counted(flags: NDArray[np.bool_], aside: tuple[Index, Index], members: NDArray[np.uint64]) -> NDArray[np.int32]:
    """(n, k) how many flags of each row are set at members of each subset, without the uncounted ones."""
    flags[aside] = False
    some = np.flatnonzero(flags.any(axis=1))  # ties are rare: most rows need no counting
    words = _words(flags[some])
    counts = np.zeros((len(flags), members.shape[1]), np.int32)
    step = max(1, _CACHED_BYTES // max(members.nbytes, 1))
    for first in range(0, len(some), step):
        common = words[:, first : first + step, None] & members[:, None, :]
        counts[some[first : first + step]] = np.add.reduce(np.bitwise_count(common), axis=0, dtype=np.int32)
    return counts


def _words(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """(n_words, n_rows): the flags of each row, 64 to a word, padded with zeros."""
    packed = np.packbits(flags, axis=1)
    padded = np.zeros((len(flags), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def _members_aside(pair: Index, uncounted: Index, members: NDArray[np.bool_], n: int) -> NDArray[np.int32]:
    """(n, k) how many of the entities that a pair does not count are members; one named twice counts once."""
    keys = np.unique(pair.astype(np.int64) * len(members) + uncounted)
    pair, uncounted = np.divmod(keys, len(members))
    # every pair names itself at least, so that no group is empty
    return np.add.reduceat(members[uncounted], np.searchsorted(pair, np.arange(n)), axis=0, dtype=np.int32)

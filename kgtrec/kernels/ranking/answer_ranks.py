"""Ranks of chosen entities in their rows of a score block, by counting instead of sorting."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import begins, is_among_sorted
from kgtrec.kernels.ranking.pairs import Aside, Index, Pairs, aside_counts

Scores = NDArray[Any]

# A strip of rows is compared, counted and dropped while it is still in the processor's second-level cache.
_STRIP_BYTES = 1 << 20
# From about this many pairs in a row, one sort and a bisection per pair cost less than two comparisons per pair.
_SORT_FROM = 12


class ScoreError(ValueError):
    """A score is NaN or +inf; ``row`` is the first row of the block with one, ``entity`` its column."""

    def __init__(self, row: int, entity: int, score: float) -> None:
        super().__init__(f"expected numbers as scores, found {score_in_words(score)} in row {row}, column {entity}")
        self.row = row
        self.entity = entity
        self.score = score


def score_in_words(score: float) -> str:
    """Name a score that is not allowed: NaN or an infinity.

    Examples
    --------
    >>> score_in_words(float("nan")), score_in_words(float("inf"))
    ('NaN', '+inf')
    """
    return "NaN" if np.isnan(score) else f"{score:+}"


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What :func:`count_above_and_tied` finds, one row per pair."""

    above: NDArray[np.int32]  # (n,) counted entities that score higher
    tied: NDArray[np.int32]  # (n,) counted entities that score the same
    n_other: NDArray[np.int32]  # (n,) counted entities in all
    score: Scores  # (n,) the pair's own score, in the block's type


def count_above_and_tied(scores: Scores, pairs: Pairs, uncounted: Aside) -> Counts:
    """Return how many entities of a pair's row score higher, and the same, without some of the row's entities.

    Everything in the row is counted first and the left-out entities are then subtracted, so that the block is neither
    masked nor copied. Equal means ``==`` in the block's own type; all ``-inf`` tie.

    Parameters
    ----------
    scores : (n_rows, n_entities) float or integer array
        A block of scores, higher is better.
    pairs : Pairs of (n,)
        Those to rank. A pair never counts itself.
    uncounted : Pairs of (m,), sorted by (row, entity), each pair once; or a mask, (n_rows, n_entities)
        Entities that are not counted in their row: filtered ones and other answers.

    Returns
    -------
    Counts
        One row per pair.

    Raises
    ------
    ScoreError
        If a score is NaN or +inf, whether or not it would be counted.

    Examples
    --------
    >>> first, third = (Pairs(np.array([0]), np.array([entity])) for entity in (0, 2))
    >>> counts = count_above_and_tied(np.array([[4, 3, 2, 2, 1]]), third, uncounted=first)
    >>> int(counts.above[0]), int(counts.tied[0]), int(counts.n_other[0])
    (1, 1, 3)
    """
    require_numbers(scores)
    own = scores[pairs]
    above, tied = count_against(scores, pairs.row, own, uncounted)
    return without_themselves(above, tied, own, pairs, uncounted, scores.shape)


def without_themselves(above: Index, tied: Index, own: Scores, pairs: Pairs, uncounted: Aside, shape: Any) -> Counts:
    """Counts of pairs, of which each is still among its own tied candidates unless it is set aside."""
    n_rows, width = shape
    if isinstance(uncounted, Pairs):
        counts_itself = ~is_among_sorted(*(own.row * width + own.entity for own in (pairs, uncounted)))
    else:
        counts_itself = ~uncounted[pairs]
    n_uncounted = aside_counts(uncounted, n_rows)[pairs.row]
    return Counts(
        above=above.astype(np.int32),
        tied=(tied - counts_itself).astype(np.int32),
        n_other=(width - n_uncounted - counts_itself).astype(np.int32),
        score=own,
    )


def count_against(scores: Scores, row: Index, own: Scores, uncounted: Aside) -> tuple[Index, Index]:
    """Return how many entities of a row score higher than a value, and the same, without some of the row's entities.

    The counts of several blocks, each with other entities of the same questions, add up.

    Parameters
    ----------
    scores : (n_rows, n_entities) float or integer array, without NaN and +inf
        A block of scores, higher is better.
    row : (n,) int array, ascending
    own : (n,) array of the block's type
        The value to compare a row with.
    uncounted : Pairs of (m,), sorted by (row, entity), each pair once; or a mask, (n_rows, n_entities)
        Entities that are not counted in their row.

    Returns
    -------
    above, tied : (n,) int arrays
        An entity whose own score is the value is among the tied, unless it is left out.

    Examples
    --------
    >>> none = Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp))
    >>> above, tied = count_against(np.array([[4, 3, 2, 2]]), np.array([0]), np.array([2]), none)
    >>> int(above[0]), int(tied[0])
    (2, 2)
    """
    if not isinstance(uncounted, Pairs):
        # what is left out becomes the lowest score, which is above nothing, and ties with it alone
        kind = scores.dtype
        lowest = kind.type(-np.inf if kind.kind == "f" else np.iinfo(kind).min)
        above, tied = _counts_in_whole_rows(np.where(uncounted, lowest, scores), row, own)
        return above, tied - np.where(own == lowest, aside_counts(uncounted, len(scores))[row], 0)
    above, tied = _counts_in_whole_rows(scores, row, own)
    aside_above, aside_tied = _counts_in_groups(uncounted.row, scores[uncounted], row, own)
    return above - aside_above, tied - aside_tied


def require_numbers(scores: Scores) -> None:
    """Raise :class:`ScoreError` where a block has a score that is NaN or +inf."""
    if scores.dtype.kind != "f" or scores.size == 0:
        return
    for first in range(0, len(scores), step := strip_rows(scores)):
        strip = contiguous(scores[first : first + step])
        # a maximum is NaN exactly where an element is; a flag per score would cost an array of the block's size
        wrong = np.flatnonzero(~(strip.max(axis=1) < np.inf))
        if len(wrong):
            row = strip[wrong[0]]
            place = int(np.argmin(row < np.inf))
            raise ScoreError(first + int(wrong[0]), place, float(row[place]))


def strip_rows(scores: Scores) -> int:
    """Return how many rows of a block make a strip that fits the cache."""
    row_bytes = int(scores.shape[1]) * max(scores.dtype.itemsize, 4)
    return max(1, _STRIP_BYTES // max(row_bytes, 1))


def contiguous(strip: Scores) -> Scores:
    """The strip with rows in one piece, native byte order, and halves widened (exactly) to what processors compare."""
    dtype = np.dtype(np.float32) if strip.dtype == np.float16 else strip.dtype.newbyteorder("=")
    return np.ascontiguousarray(strip, dtype)


def order_code(values: Scores) -> NDArray[np.uint64]:
    """Whole numbers from 1 below 2**32 in the order of ``values``, equal exactly where the values are equal.

    Examples
    --------
    >>> code = order_code(np.array([-np.inf, -1, -0.0, 0.0, 2], np.float32))
    >>> bool(np.all(np.diff(code)[[0, 1, 3]] > 0)), bool(code[2] == code[3])
    (True, True)
    """
    if values.dtype == np.float16 or values.dtype == np.float32:
        # adding zero turns -0.0 into 0.0; positive floats are then in the order of their bits, negative ones reversed
        bits = (contiguous(values) + np.float32(0)).view(np.int32)
        return (bits ^ (bits >> 31 | np.int32(-(2**31)))).view(np.uint32).astype(np.uint64)
    inverse = np.unique(values, return_inverse=True)[1]
    return inverse.reshape(values.shape).astype(np.uint64) + np.uint64(1)


def _counts_in_whole_rows(scores: Scores, row: Index, own: Scores) -> tuple[Index, Index]:
    """(n,) above and (n,) tied of each pair over its whole row, including itself among the tied."""
    above, tied = np.zeros(len(row), np.intp), np.zeros(len(row), np.intp)
    many = np.bincount(row, minlength=len(scores))[row] >= _SORT_FROM
    pairs = np.flatnonzero(many)
    for first, last in _strips_of_rows(row[pairs], strip_rows(scores)):
        place = pairs[first:last]
        above[place], tied[place] = _by_bisection(scores, row[place], own[place])
    is_first = begins(row)
    # first pairs of all rows, then the further ones: strips of the former need no gathering where each row has a pair
    pairs = np.concatenate([np.flatnonzero(~many & is_first), np.flatnonzero(~many & ~is_first)])
    counter = _RowCounter(min(strip_rows(scores), len(pairs)), scores.shape[1])
    for first in range(0, len(pairs), max(counter.n_rows, 1)):
        place = pairs[first : first + counter.n_rows]
        above[place], tied[place] = counter.count(_gathered(scores, row[place]), contiguous(own[place]))
    return above, tied


def _gathered(scores: Scores, row: Index) -> Scores:
    start, stop = int(row[0]), int(row[-1]) + 1
    ascending = stop - start == len(row) and bool(np.all(row[1:] > row[:-1]))
    return contiguous(scores[start:stop] if ascending else scores[row])


class _RowCounter:
    """Counts true comparisons per row: eight flags to a 64-bit word, at most 255 words added per lane of eight bits."""

    def __init__(self, n_rows: int, width: int) -> None:
        n_words = -(-width // 8)
        n_groups = max(1, -(-n_words // 255))
        n_words = n_groups * -(-n_words // n_groups)  # groups of one size; the padding stays False
        self.n_rows = n_rows
        self._flags = np.zeros((2, n_rows, n_words * 8), np.bool_)
        self._target = self._flags[:, :, :width]
        self._words = self._flags.view(np.uint64).reshape(2, n_rows, n_groups, n_words // n_groups)

    def count(self, strip: Scores, own: Scores) -> NDArray[np.int64]:
        """(2, len(strip)): how many scores of each row are above ``own``, and how many equal it."""
        n = len(strip)
        np.greater(strip, own[:, None], out=self._target[0, :n])
        np.equal(strip, own[:, None], out=self._target[1, :n])
        lanes = np.add.reduce(self._words[:, :n], axis=3).view(np.uint8)
        return lanes.sum(axis=2, dtype=np.int64)


def _strips_of_rows(row: Index, n_rows: int) -> list[tuple[int, int]]:
    """Spans of ``row`` (ascending) that hold at most ``n_rows`` different rows each."""
    return list(itertools.pairwise([*np.flatnonzero(begins(row))[::n_rows].tolist(), len(row)]))


def _by_bisection(scores: Scores, row: Index, own: Scores) -> tuple[Index, Index]:
    rows, place = np.unique(row, return_inverse=True)
    ordered = np.sort(contiguous(scores[rows]), axis=1)
    own = contiguous(own)
    at_most = _bisect(ordered, place, own, np.less_equal)
    return ordered.shape[1] - at_most, at_most - _bisect(ordered, place, own, np.less)


def _bisect(ordered: Scores, row: Index, value: Scores, before: np.ufunc) -> Index:
    """(n,) how many elements of each ascending row are before ``value``; all pairs take each step together."""
    low, high = np.zeros(len(row), np.intp), np.full(len(row), ordered.shape[1], np.intp)
    for _ in range(ordered.shape[1].bit_length()):
        middle = (low + high) // 2
        open_ = low < high
        is_before = open_ & before(ordered[row, np.minimum(middle, ordered.shape[1] - 1)], value)
        low = np.where(is_before, middle + 1, low)
        high = np.where(open_ & ~is_before, middle, high)
    return low


def _counts_in_groups(group: Index, member: Scores, row: Index, own: Scores) -> tuple[Index, Index]:
    """(n,) members of the pair's group that are above it, and that equal it."""
    code = order_code(np.concatenate([member, own]))
    member_key = np.sort(_key(group, code[: len(member)]))
    key = _key(row, code[len(member) :])
    end = np.searchsorted(member_key, _key(row + 1, np.uint64(0)))
    at_most = np.searchsorted(member_key, key, side="right")
    below = np.searchsorted(member_key, key, side="left")
    return end - at_most, at_most - below


def _key(row: Index, code: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    return (row.astype(np.uint64) << np.uint64(32)) | code

"""The best k entities of each row of a score block, exactly, without sorting whole rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.ranking.answer_ranks import Scores, contiguous, order_code, strip_rows
from kgtrec.kernels.ranking.pairs import Aside, Index, aside_counts, aside_of_rows

# One score in this many is sampled for the threshold. A larger sample costs more than its tighter threshold saves.
_SAMPLE_EVERY = 16
# Below this width, and for lists longer than a quarter of the row, a sorted row costs less than its threshold.
_LEAST_WIDTH = 1024
# Entities that were added are sorted in when there are this many times as many as the lists have.
_ADDED = 4


class TopK(NamedTuple):
    """Ranked lists of the rows of a block, one row per listed entity, in list order, rows of the block ascending."""

    row: Index  # (m,)
    entity: Index  # (m,)
    score: Scores  # (m,) in the block's type


def top_k(scores: Scores, k: int, left_out: Aside, tie_order: NDArray[np.int32]) -> TopK:
    """The ``k`` best entities of each row, score descending; equal scores by ``tie_order`` descending.

    Only the few scores above a threshold from a sample of the row are sorted. If they are too few, the whole row is
    sorted, so the result never depends on the sample: it is a prefix of the list for a larger ``k``.

    Parameters
    ----------
    scores : (n_rows, n_entities) float or integer array, without NaN
        A block of scores, higher is better.
    k : int
        Length of a list; a row with fewer candidates gives them all.
    left_out : Pairs of (m,), each pair once; or a mask, (n_rows, n_entities)
        Entities that are not candidates in their row.
    tie_order : (n_entities,) int array
        Each entity's order among equal scores, a permutation; the highest comes first.

    Returns
    -------
    TopK
        At most ``n_rows * k`` rows.

    Examples
    --------
    >>> from kgtrec.kernels.ranking.pairs import Pairs
    >>> none = Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp))
    >>> best = top_k(np.array([[1.0, 5.0, 5.0, 2.0]]), 3, none, np.arange(4, dtype=np.int32))
    >>> best.entity.tolist()
    [2, 1, 3]
    """
    at_place = np.empty(len(tie_order), np.intp)
    at_place[tie_order] = np.arange(len(tie_order))
    tie_key = tie_order.astype(np.uint64)
    step = strip_rows(scores)
    passes = np.zeros((min(step, len(scores)), scores.shape[1]), np.bool_)
    parts = []
    for first in range(0, len(scores), step):
        strip = contiguous(scores[first : first + step])
        through = _let_through(strip, k, aside_of_rows(left_out, first, first + step), passes[: len(strip)])
        row, entity = _sorted_lists(strip, k, *through, tie_key, at_place)
        row += first
        parts.append((row, entity, scores[row, entity]))
    if not parts:
        return TopK(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, scores.dtype))
    return TopK(*map(np.concatenate, zip(*parts, strict=True)))


class RunningTopK:
    """The best ``k`` of each row of a block that comes in several pieces, each with other entities.

    After the first pieces only entities that score as high as a row's ``k`` th one so far are looked at. The lists are
    those of :func:`top_k` on the whole block, in whatever order the pieces come.

    Parameters
    ----------
    n_rows, k : int
    tie_order : (n_entities,) int array
        As for :func:`top_k`, of all entities.

    Examples
    --------
    >>> from kgtrec.kernels.ranking.pairs import Pairs
    >>> running, none = RunningTopK(1, 2, np.arange(4, dtype=np.int32)), Pairs(*np.zeros((2, 0), np.intp))
    >>> running.add(np.array([[1.0, 5.0]]), np.array([0, 1]), none)
    >>> running.add(np.array([[5.0, 2.0]]), np.array([2, 3]), none)
    >>> running.best().entity.tolist()
    [2, 1]
    """

    def __init__(self, n_rows: int, k: int, tie_order: NDArray[np.int32]) -> None:
        self.n_rows, self.k, self._tie_order = n_rows, k, tie_order
        self._lists: list[TopK] = []  # the best so far, in order, and what was added since in no order
        self._n_added = 0  # since then
        self._floor: Scores | None = None  # (n_rows,) a score that k entities of the row reach; None: not all rows have

    def add(self, scores: Scores, entity: Index, left_out: Aside) -> None:
        """Take in a piece.

        Parameters
        ----------
        scores : (n_rows, n_columns) array, without NaN
            The pieces of one block have one type.
        entity : (n_columns,) int array
            What the columns are about; no entity comes twice.
        left_out : Pairs of (m,) rows and columns, each pair once; or a mask of them
            Entities that are not candidates in their row.
        """
        if self._floor is None:
            order = np.empty(len(entity), np.int32)
            order[np.argsort(self._tie_order[entity])] = np.arange(len(entity), dtype=np.int32)
            best = top_k(scores, min(self.k, len(entity)), left_out, order)
            self.merge(TopK(best.row, entity[best.entity], best.score))
            return
        step = strip_rows(scores)
        for first in range(0, len(scores), step):
            strip = scores[first : first + step]
            flags = strip >= self._floor[first : first + step, None]
            flags[aside_of_rows(left_out, first, first + step)] = False
            row, column = np.nonzero(flags)
            self._add(TopK(row + first, entity[column], strip[row, column]))

    def merge(self, *lists: TopK) -> None:
        """Take in lists, in the order of :func:`top_k`, of which none has an entity of another one in the same row."""
        lists = self._promising(lists)
        if not self._lists and lists:
            self._hold(lists[0])
            lists = lists[1:]
        for each in lists:
            self._add(each)

    def _promising(self, lists: tuple[TopK, ...]) -> tuple[TopK, ...]:
        """The lists, if all are of ``k``, without the entities that score lower than the ``k`` th of all."""
        if len(lists) < 2 or any(len(each.row) < self.n_rows * self.k for each in lists):
            return lists
        scores = np.concatenate([each.score.reshape(self.n_rows, self.k) for each in lists], axis=1)
        least = np.partition(scores, -self.k, axis=1)[:, -self.k, None]
        kept = [np.flatnonzero(each.score.reshape(self.n_rows, self.k) >= least) for each in lists]
        return tuple(TopK(*(column[rows] for column in each)) for each, rows in zip(lists, kept, strict=True))

    def best(self) -> TopK:
        """The lists of what has come."""
        self._sort()
        return self._lists[0] if self._lists else TopK(*(np.zeros(0, np.intp),) * 2, np.zeros(0))

    def _add(self, listed: TopK) -> None:
        """Keep entities for later; many are sorted in at once."""
        if len(listed.row):
            self._lists.append(listed)
            self._n_added += len(listed.row)
            if self._n_added > _ADDED * self.n_rows * self.k:
                self._sort()

    def _sort(self) -> None:
        if self._n_added == 0:
            return
        every = TopK(*map(np.concatenate, zip(*self._lists, strict=True)))
        in_rows = np.argsort(every.row, kind="stable")  # fast, since each list is sorted
        counts = np.bincount(every.row, minlength=self.n_rows)
        # one 64-bit key per entity, score above tie order; padding is 0 and comes first
        keys = np.zeros((self.n_rows, int(counts.max(initial=0))), np.uint64)
        tie_key = self._tie_order[every.entity[in_rows]].astype(np.uint64)
        keys[np.arange(keys.shape[1]) < counts[:, None]] = (order_code(every.score[in_rows]) << np.uint64(32)) | tie_key
        best = np.argsort(keys, axis=1)[:, ::-1][:, : self.k]
        listed = np.arange(best.shape[1]) < counts[:, None]
        kept = in_rows[((np.cumsum(counts) - counts)[:, None] + best)[listed]]
        self._hold(TopK(*(column[kept] for column in every)))

    def _hold(self, best: TopK) -> None:
        """Keep sorted lists, and nothing else."""
        self._lists, self._n_added = [best], 0
        if len(best.row) == self.n_rows * self.k:
            self._floor = best.score[self.k - 1 :: self.k]


def _let_through(strip: Scores, k: int, left_out: Aside, flags: NDArray[np.bool_]) -> tuple[Index, Index]:
    """Positions in the strip of candidates that include each row's best k and all ties at the cut, and their rows.

    Parameters
    ----------
    flags : (n_rows, width) bool array
        Room to work in.

    Returns
    -------
    positions : (m,) int array, ascending
    bounds : (n_rows + 1,) int array
        The positions of row i are those from ``bounds[i]`` to ``bounds[i + 1]``.
    """
    n_rows, width = strip.shape
    ends = np.arange(n_rows + 1) * width
    n_left_out = aside_counts(left_out, n_rows)
    # entities left out may be the best of the row, so the threshold must allow for them too
    wanted = k + n_left_out
    if width < _LEAST_WIDTH or 4 * k > width:
        flags[:] = True
    else:
        sample = np.sort(strip[:, ::_SAMPLE_EVERY], axis=1)
        expected = wanted / _SAMPLE_EVERY
        # three standard deviations of a Poisson count: about one row in a thousand of randomly ordered entities has
        # too few
        place = sample.shape[1] - np.ceil(expected + 3 * np.sqrt(expected) + 2).astype(np.intp)
        threshold = sample[np.arange(n_rows), np.maximum(place, 0)]
        np.greater_equal(strip, threshold[:, None], out=flags)
        flags[place < 0] = True
    flags[left_out] = False
    flat = np.flatnonzero(flags)
    bounds = np.searchsorted(flat, ends)
    short = np.diff(bounds) < np.minimum(k, width - n_left_out)
    if short.any():
        flags[short] = True
        flags[left_out] = False
        flat = np.flatnonzero(flags)
        bounds = np.searchsorted(flat, ends)
    return flat, bounds


def _sorted_lists(
    strip: Scores, k: int, flat: Index, bounds: Index, tie_key: NDArray[np.uint64], at_place: Index
) -> tuple[Index, Index]:
    """(m,) row and (m,) entity of the first k per row, of the positions that :func:`_let_through` gives."""
    n_rows, width = strip.shape
    counts = np.diff(bounds)
    entity = flat - np.repeat(np.arange(n_rows) * width, counts)
    # one 64-bit key per entity, score above tie order, so that one sort without indices orders by both
    keys = np.zeros((n_rows, int(counts.max(initial=0))), np.uint64)
    score_key = order_code(strip.reshape(-1)[flat]) << np.uint64(32)
    keys[np.arange(keys.shape[1]) < counts[:, None]] = score_key | tie_key[entity]
    keys.sort(axis=1)  # a flagged entity's key is never 0, so the padding comes first and is cut off below
    best = keys[:, ::-1][:, :k]
    listed = np.arange(best.shape[1]) < counts[:, None]
    place = (best[listed] & np.uint64(2**32 - 1)).astype(np.intp)
    return np.repeat(np.arange(n_rows), np.minimum(counts, best.shape[1])), at_place[place]

"""Subsamples of a test set: what remains when some answers are discarded, without reading the scores.

Answers of all systems are numbered in the same way, so a subsample is one mask over them. The position of each answer
among all judged ones gives its position when only those of the subsample are judged: no list is sorted again unless
ties require it. Every result depends on its own subsample alone, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking
from kgtrec.kernels.ranking.positions import Ties, rank_among
from kgtrec.kernels.sampling.random_order import hashed

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def drawn(hashes: NDArray[np.uint64], size: int, seed: int, repeat: int) -> Mask:
    """A random subset of ``size`` of some things, each of which has a hash.

    Parameters
    ----------
    hashes : (n,) uint64 array
        Distinct, such as hashes of labels.
    size : int
        From 1 to n.
    seed, repeat : int
        The subset depends on these, the size and the hashes only: neither the order of the things nor other subsets
        matter.

    Returns
    -------
    (n,) bool array, ``size`` of them True

    Examples
    --------
    >>> subset = drawn(np.array([5, 6, 7], np.uint64), 2, seed=0, repeat=0)
    >>> again = drawn(np.array([7, 6, 5], np.uint64), 2, seed=0, repeat=0)
    >>> int(subset.sum()), (subset == again[::-1]).all()
    (2, np.True_)
    """
    keys = hashed(seed, size, repeat, hashes)
    kept = np.zeros(len(hashes), np.bool_)
    kept[np.argpartition(keys, size - 1)[:size]] = True
    return kept


def subsample_means(kept: Mask, value: Floats) -> Floats:
    """Means of several columns of values over each of several subsamples.

    Parameters
    ----------
    kept : (b, n) bool array
        At least one of each row is kept.
    value : (n, k) float array

    Returns
    -------
    (b, k) float array
        Values are added in the order of the rows, which fixes the last bit.

    Examples
    --------
    >>> subsample_means(np.array([[True, True], [False, True]]), np.array([[1.0, 0.0], [3.0, 1.0]]))
    array([[2. , 0.5],
           [3. , 1. ]])
    """
    counts = np.count_nonzero(kept, axis=1)
    return sums_of_rows(np.nonzero(kept)[1], counts, value) / counts[:, None]


def sums_of_rows(row: NDArray[np.intp], counts: Counts, value: Floats) -> Floats:
    """Sums of several columns over several selections of rows.

    Parameters
    ----------
    row : (m,) int array
        The rows of each selection, one selection after the other.
    counts : (b,) int array
        How many rows each has.
    value : (n, k) float array

    Returns
    -------
    (b, k) float array
        Rows are added in the order in which they are named; other rows do not matter, even if they are NaN.

    Examples
    --------
    >>> sums_of_rows(np.array([0, 2, 2]), np.array([2, 1]), np.array([[1.0], [np.nan], [3.0]]))
    array([[4.],
           [3.]])
    """
    from scipy.sparse import csr_array

    bounds = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(counts), len(value))
    return csr_array((np.ones(len(row)), row, bounds), shape=shape) @ value


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """The rows of the qrels, sorted by question; a subsample is a mask over them."""

    question: NDArray[np.int32]  # (j,) never decreasing
    grade: NDArray[np.int32]  # (j,)
    n_questions: int

    @property
    def num_relevant(self) -> Counts:
        """(n_questions,) relevant rows of each question."""
        return np.bincount(self.question[self.grade >= 1], minlength=self.n_questions)

    def part(self, questions: NDArray[np.intp]) -> Part:
        """The rows of some questions, in the given order, each as often as it is named and with new numbers.

        Examples
        --------
        >>> rows = JudgedRows(np.array([0, 0, 1]), np.array([1, 0, 1]), 2)
        >>> part = rows.part(np.array([1, 0, 1]))
        >>> part.row, part.rows.question
        (array([2, 0, 1, 2]), array([0, 1, 1, 2], dtype=int32))
        """
        row, question = _stretches(self.question, self.n_questions, questions)
        return Part(JudgedRows(question, self.grade[row], len(questions)), questions, row)

    def copies(self, n: int) -> JudgedRows:
        """The rows ``n`` times; the numbers of each copy's questions continue those of the copy before."""
        question = np.arange(n, dtype=np.int32)[:, None] * np.int32(self.n_questions) + self.question
        return JudgedRows(question.astype(np.int32).ravel(), np.tile(self.grade, n), n * self.n_questions)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some questions of judged rows, see :meth:`JudgedRows.part`."""

    rows: JudgedRows
    questions: NDArray[np.intp]  # (n_questions of `rows`,) original question of each
    row: NDArray[np.intp]  # (j,) original row of each


def _stretches(
    question: NDArray[np.int32], n_questions: int, asked: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Rows of each asked question in turn, and the index of each row's question; ``question`` is sorted."""
    of_all = np.bincount(question, minlength=n_questions)
    size = of_all[asked]
    number = np.repeat(np.arange(len(asked), dtype=np.int32), size)
    shift = _starts(of_all)[asked] - _starts(size)
    return np.arange(len(number)) + shift[number], number


def _starts(size: Counts) -> Counts:
    """The start of each of several consecutive stretches of these sizes."""
    return np.cumsum(size) - size


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One subsample: the rows of the qrels that are kept, and the questions that remain."""

    kept: Mask  # (j,) relevant rows that were drawn, and all other rows of their questions
    questions: NDArray[np.intp]  # (q,) the questions that have a relevant row left
    number: NDArray[np.int32]  # (n_questions,) index of each of them among those that are left
    judged_question: NDArray[np.int32]  # (k,) of each kept row, as numbered here
    judged_grade: NDArray[np.int32]  # (k,)
    num_relevant: Counts  # (q,) relevant rows that each of the questions has left

    def copies(self, n: int) -> Sample:
        """Repeat the subsample, as :meth:`JudgedRows.copies` does the rows."""
        copy = np.arange(n, dtype=np.int32)[:, None]
        q, n_questions = np.int32(len(self.questions)), len(self.number)
        return Sample(
            np.tile(self.kept, n),
            (copy * n_questions + self.questions).ravel(),
            (copy * q + self.number).ravel(),
            (copy * q + self.judged_question).ravel(),
            np.tile(self.judged_grade, n),
            np.tile(self.num_relevant, n),
        )


def sample_of(rows: JudgedRows, chosen: Mask) -> Sample:
    """The subsample that has the relevant rows (grade at least 1) of ``chosen``, (j,).

    A row judged wrong is kept as long as its question is.

    Examples
    --------
    >>> rows = JudgedRows(np.array([0, 0, 1]), np.array([1, 0, 1]), 2)
    >>> sample_of(rows, np.array([True, False, False])).kept
    array([ True,  True, False])
    """
    relevant = rows.grade >= 1
    is_left = np.zeros(rows.n_questions, np.bool_)
    is_left[rows.question[chosen & relevant]] = True
    kept = np.where(relevant, chosen, is_left[rows.question])
    number = (np.cumsum(is_left) - 1).astype(np.int32)
    questions, of_each = np.flatnonzero(is_left), np.bincount(rows.question[kept & relevant], minlength=len(is_left))
    return Sample(kept, questions, number, number[rows.question[kept]], rows.grade[kept], of_each[questions])


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The stretch of listed rows that each row belongs to: where it begins and where it ends."""

    first: NDArray[np.intp]  # (m,)
    end: NDArray[np.intp]  # (m,)

    def before(self, counted: Mask) -> Counts:
        """(m,) counted rows before the row's stretch."""
        return _running(counted)[self.first]

    def inside(self, counted: Mask) -> Counts:
        """(m,) counted rows in the row's stretch."""
        sums = _running(counted)
        return sums[self.end] - sums[self.first]


def _parts(new: Mask) -> _Parts:
    first = np.flatnonzero(new)
    part = np.cumsum(new) - 1
    return _Parts(first[part], np.append(first[1:], len(new))[part])


def _running(counted: Mask) -> Counts:
    """(m + 1,) how many of the first 0, 1, ..., m rows are counted."""
    sums = np.zeros(len(counted) + 1, np.int64)
    np.cumsum(counted, out=sums[1:])
    return sums


class ListedRows:
    """The judged rows that one system returned, and their positions in any subsample.

    Parameters
    ----------
    rows : JudgedRows
    row : (m,) int array
        The row of the qrels that each returned one is.
    first, size : (m,) int arrays
        First position of the group of candidates tied with it, and the size of that group.
    position : (m,) float array
        Its position.
    label_order : (m,) int array
        Position of its label in byte order.
    num_retrieved : (n_questions,) int array
        Length of each list.
    ties : {"realistic", "optimistic", "pessimistic"}, optional
        The rule that ``position`` follows; None: candidates have one order that does not depend on judgements.
    removable : (m,) bool array
        Whether the row is removed from the list if it is relevant and a subsample discards it; else it stays, unjudged.
    is_sorted : bool
        Whether the rows are in the order of another object of this class.
    """

    def __init__(
        self,
        rows: JudgedRows,
        row: NDArray[np.intp],
        first: Counts,
        size: Counts,
        position: Floats,
        label_order: NDArray[np.int32],
        num_retrieved: Counts,
        ties: Ties | None,
        *,
        removable: Mask,
        is_sorted: bool = False,
    ) -> None:
        if ties is None:
            first, size = position.astype(np.int64), np.ones(len(row), np.int64)
        grade = rows.grade[row]
        order: NDArray[np.intp] | slice = slice(None)
        if not is_sorted:
            # within a group the order of places_in_tied_groups (kernels.ranking.positions), which a subsample keeps
            by_grade = {"optimistic": -grade, "pessimistic": grade}.get(ties or "", np.zeros(len(row), np.int32))
            order = np.lexsort((-label_order, by_grade, grade < 1, first, rows.question[row]))
        self._rows, self._ties, self._num_retrieved = rows, ties, num_retrieved
        self.row = row[order]
        listed = np.full(len(rows.question), -1)
        listed[self.row] = np.arange(len(row))
        self._by_row = listed[listed >= 0]
        self._first, self._size, self._position = first[order], size[order], position[order]
        self._label_order = label_order[order]
        self._question, self._grade = rows.question[self.row], grade[order]
        self._relevant = self._grade >= 1
        self._removable = self._relevant & removable[order]
        new = np.ones((3, len(row)), np.bool_)
        new[0, 1:] = self._question[1:] != self._question[:-1]
        new[1, 1:] = new[0, 1:] | (self._first[1:] != self._first[:-1])
        new[2, 1:] = new[1, 1:] | (self._relevant[1:] != self._relevant[:-1])
        self._of_question, self._group, self._kind = map(_parts, new)
        several = self._kind.end - self._kind.first > 1
        is_shared = ties is not None and bool(np.any(several & self._relevant))
        self._fixed = not is_shared and not self._removable.any()
        # relevant and other rows of one group are mixed
        self._interleaved = not np.array_equal(new[1], new[2])

    def part(self, part: Part) -> ListedRows:
        """The lists of some questions."""
        listed, number = _stretches(self._question, self._rows.n_questions, part.questions)
        old, new = (_starts(np.bincount(r.question, minlength=r.n_questions)) for r in (self._rows, part.rows))
        row = self.row[listed] + (new - old[part.questions])[number]
        return ListedRows(
            part.rows,
            row,
            self._first[listed],
            self._size[listed],
            self._position[listed],
            self._label_order[listed],
            self._num_retrieved[part.questions],
            self._ties,
            removable=self._removable[listed],
            is_sorted=True,
        )

    @staticmethod
    def stacked(lists: Sequence[ListedRows]) -> ListedRows:
        """The lists of several systems as those of one system, on :meth:`JudgedRows.copies` of their common rows.

        All must follow one rule for ties.
        """
        rows = lists[0]._rows
        return ListedRows(
            rows.copies(len(lists)),
            np.concatenate([own.row + copy * len(rows.question) for copy, own in enumerate(lists)]),
            np.concatenate([own._first for own in lists]),
            np.concatenate([own._size for own in lists]),
            np.concatenate([own._position for own in lists]),
            np.concatenate([own._label_order for own in lists]),
            np.concatenate([own._num_retrieved for own in lists]),
            lists[0]._ties,
            removable=np.concatenate([own._removable for own in lists]),
            is_sorted=True,
        )

    def ranking(self, sample: Sample) -> JudgedRanking:
        """The system's list when only the rows of the sample are judged."""
        kept = sample.kept[self.row]
        listed = np.flatnonzero(kept)
        position = (self._position if self._fixed else self._places(kept))[listed]
        question, grade = sample.number[self._question[listed]], self._grade[listed]
        if self._interleaved:
            order = np.lexsort((-grade, position, question))
            question, grade, position = question[order], grade[order], position[order]
        return JudgedRanking(position=position, **self._common(sample, kept, question, grade))

    def tied_ranking(self, sample: Sample) -> TiedRanking:
        """Return the same list while the order of ties is left open."""
        kept = sample.kept[self.row]
        listed = np.flatnonzero(kept)
        first, size = self._groups(kept)
        common = self._common(sample, kept, sample.number[self._question[listed]], self._grade[listed])
        return TiedRanking(first=first[listed], size=size[listed], **common)

    def _common(
        self, sample: Sample, kept: Mask, question: NDArray[np.int32], grade: NDArray[np.int32]
    ) -> dict[str, Any]:
        """The fields that both kinds of rankings have."""
        discarded = self._question[self._removable & ~kept]
        length = self._num_retrieved - np.bincount(discarded, minlength=len(self._num_retrieved))
        return {
            "n_questions": len(sample.questions),
            "num_retrieved": length[sample.questions],
            "question": question,
            "grade": grade,
            "judged_question": sample.judged_question,
            "judged_grade": sample.judged_grade,
        }

    def _groups(self, kept: Mask) -> tuple[Counts, Counts]:
        """(m,) each: first place and size of the group of every row, kept or not."""
        discarded = self._removable & ~kept
        return (
            self._first - (self._group.before(discarded) - self._of_question.before(discarded)),
            self._size - self._group.inside(discarded),
        )

    def _places(self, kept: Mask) -> Floats:
        """(m,) the position of every kept row; arbitrary for the others."""
        first, size = self._groups(kept)
        if self._ties is None:
            return first.astype(np.float64)
        index = _running(kept)[:-1] - self._kind.before(kept)
        room = size - self._kind.inside(kept)
        shift = room * {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[self._ties]
        return first + index + np.where(self._relevant, shift, room - shift)

    def come_back(self, sample: Sample) -> tuple[Counts, Counts, Counts]:
        """Discarded relevant rows that are not removed, and so compete with each kept one as candidates.

        Returns
        -------
        above, tied, others : (r,) int arrays
            Discarded relevant rows of the question that score higher, that score the same, and in total; in the order
            of the qrels.
        """
        kept = sample.kept[self.row]
        discarded = self._relevant & ~self._removable & ~kept
        asked = self._by_row[(kept & self._relevant)[self._by_row]]
        above = self._group.before(discarded) - self._of_question.before(discarded)
        counts = above, self._group.inside(discarded), self._of_question.inside(discarded)
        return counts[0][asked], counts[1][asked], counts[2][asked]


@dataclass(frozen=True, slots=True, eq=False)
class MicroRanks:
    """Ranks of answers, rows in the order of the relevant rows of the qrels."""

    rank: Floats  # (r,) from 1
    candidates: Counts  # (r,) how many it was ranked among, itself included
    best: Counts  # (r,) the optimistic rank
    worst: Counts  # (r,) the pessimistic rank

    def take(self, rows: NDArray[np.intp] | Mask) -> MicroRanks:
        """Take some rows."""
        return MicroRanks(self.rank[rows], self.candidates[rows], self.best[rows], self.worst[rows])

    def among(self, above: Counts, tied: Counts, others: Counts, ties: Ties | None) -> MicroRanks:
        """The ranks with so many more candidates that score higher, that score the same, and in total.

        ``ties`` is None where candidates have one order, without ties.
        """
        best, worst = self.best + above, self.worst + above + tied
        rank = self.rank + above if ties is None else rank_among(best - 1, worst - best, ties)
        return MicroRanks(rank, self.candidates + others, best, worst)

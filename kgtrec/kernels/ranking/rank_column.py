"""Whether the ranks in a file agree with the scores beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import begins


@dataclass(frozen=True, slots=True)
class OffPlace:
    """Rows whose position by rank is impossible for their score."""

    row: NDArray[np.intp]  # (n,) ascending
    by_rank: NDArray[np.int64]  # (n,) 1-based position among the rows of the question
    by_score: NDArray[np.int64]  # (n,) the best position that the score could have


def off_place(question: NDArray[np.int32], rank: NDArray[np.float64], score: NDArray[np.float64]) -> OffPlace:
    """The rows whose order by rank contradicts that by score.

    Only the order matters, not the numbers: ranks may begin at 0 and have gaps. Rows of one score may be in any order,
    and so may rows of one rank.

    Parameters
    ----------
    question : (n,) int array
        In any order; fast where the rows of a question are together and in order.
    rank, score : (n,) float arrays, without NaN
        A lower rank is better, and so is a higher score.

    Returns
    -------
    OffPlace

    Examples
    --------
    >>> found = off_place(np.array([0, 0, 0]), np.array([1.0, 2.0, 3.0]), np.array([0.7, 0.9, 0.1]))
    >>> found.row.tolist(), found.by_rank.tolist(), found.by_score.tolist()
    ([0, 1], [1, 2], [2, 1])
    """
    rows = _of_questions_out_of_order(question, rank, score)
    q, r, s = question[rows], rank[rows], score[rows]
    n = len(rows)
    by_rank = np.empty(n, np.int64)
    ranked = np.lexsort((-s, r, q))
    starts = np.flatnonzero(begins(q[ranked]))
    of_question = np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n]))
    by_rank[ranked] = of_question
    scored = np.lexsort((-s, q))  # rows of a question are at the same indices in either order
    first = np.flatnonzero(begins(q[scored], s[scored]))
    size = np.diff(np.r_[first, n])
    best, last = np.empty(n, np.int64), np.empty(n, np.int64)
    best[scored] = np.repeat(of_question[first], size)
    last[scored] = np.repeat(of_question[first] + size - 1, size)
    off = np.flatnonzero((by_rank < best) | (by_rank > last))
    return OffPlace(rows[off], by_rank[off] + 1, best[off] + 1)


def _of_questions_out_of_order(
    question: NDArray[np.int32], rank: NDArray[np.float64], score: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Rows, ascending, of the questions whose rows are not together with ranks rising and scores never rising."""
    if len(question) == 0:
        return np.zeros(0, np.intp)
    same = question[1:] == question[:-1]
    suspect = np.zeros(int(question.max()) + 1, np.bool_)
    suspect[question[1:][same & ((rank[1:] <= rank[:-1]) | (score[1:] > score[:-1]))]] = True
    begun = question[np.r_[True, ~same]]
    suspect[np.bincount(begun, minlength=len(suspect)) > 1] = True
    return np.flatnonzero(suspect[question])

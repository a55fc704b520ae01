"""Shared by the measures over questions: the relevant candidates of a ranking, numbered within their question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking, Ranking, number_within
from kgtrec.kernels.lists.tied_ranking import tied_ranking_of


@dataclass(frozen=True, slots=True, eq=False)
class RelevantRows:
    """The retrieved relevant candidates, in list order."""

    question: NDArray[np.int32]  # (m,)
    position: NDArray[np.float64]  # (m,) 1-based position in the list
    nth: NDArray[np.int64]  # (m,) 1 for the first relevant candidate of its question, 2 for the second, ...


def relevant_rows(ranking: JudgedRanking, rel: int = 1, cutoff: float | None = None) -> RelevantRows:
    """The relevant candidates that were retrieved, down to position ``cutoff``.

    Parameters
    ----------
    ranking : JudgedRanking
    rel : int
        Lowest grade that counts as relevant.
    cutoff : float, optional
        Last position that counts.

    Examples
    --------
    >>> relevant_rows(ranking_of([[1, None, 0, 2], [1]])).nth
    array([1, 2, 1])
    """
    relevant = ranking.grade >= rel
    if cutoff is not None:
        relevant &= ranking.position <= cutoff
    question = ranking.question[relevant]
    return RelevantRows(question, ranking.position[relevant], number_within(question, ranking.n_questions))


def running_sum(
    value: NDArray[np.float64] | NDArray[np.bool_], question: NDArray[np.int32], n_questions: int
) -> NDArray[np.float64]:
    """(m,) sum of ``value`` over the rows of the same question up to and including each; ``question`` never decreases.

    Examples
    --------
    >>> running_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2)
    array([1., 3., 4.])
    """
    everything = np.concatenate([[0.0], np.cumsum(value, dtype=np.float64)])
    size = np.bincount(question, minlength=n_questions)
    first = np.cumsum(size) - size
    return everything[1:] - everything[first[question]]


def ratio(
    part: NDArray[np.float64] | NDArray[np.int64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """``part / whole``, and 0 where ``whole`` is 0: a question with nothing to count scores 0.

    Examples
    --------
    >>> ratio(np.array([1, 0]), np.array([4, 0]))
    array([0.25, 0.  ])
    """
    quotient = np.zeros(len(part))
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient


def ranking_of(
    lists: Sequence[Sequence[int | None]], not_retrieved: Sequence[Sequence[int]] | None = None
) -> JudgedRanking:
    """A ranking written out by hand, for examples and tests.

    Parameters
    ----------
    lists : sequence of sequences
        Per question the grade at each position, None for an unjudged candidate, negative for one in the pool
        but unjudged.
    not_retrieved : sequence of sequences, optional
        Per question the grades of the judged candidates that are not in the list.

    Examples
    --------
    >>> ranking = ranking_of([[None, 1], []], [[1], [2]])
    >>> ranking.position, ranking.num_relevant()
    (array([2.]), array([2, 1]))
    """
    tied = tied_ranking_of([[[grade] for grade in grades] for grades in lists], not_retrieved)
    columns = {column.name: getattr(tied, column.name) for column in fields(Ranking)}
    return JudgedRanking(position=tied.first.astype(np.float64), **columns)

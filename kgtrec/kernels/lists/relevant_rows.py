"""Shared by the measures over questions: the relevant candidates of a ranking, numbered within their question."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking

Ranking = TypeVar("Ranking", JudgedRanking, TiedRanking)


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


def number_within(question: NDArray[np.int32], n_questions: int) -> NDArray[np.int64]:
    """(m,) 1, 2, ... within each question; ``question`` never decreases.

    Examples
    --------
    >>> number_within(np.array([0, 0, 2]), 3)
    array([1, 2, 1])
    """
    size = np.bincount(question, minlength=n_questions)
    first = np.cumsum(size) - size
    return np.arange(1, len(question) + 1, dtype=np.int64) - first[question]


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


def only_judged(ranking: JudgedRanking) -> JudgedRanking:
    """The ranking without its unjudged candidates, the others moved up; trec_eval's ``-J``.

    Examples
    --------
    >>> only_judged(ranking_of([[None, 1, -1, 0]])).position
    array([1., 2.])
    """
    judged = ranking.grade >= 0
    question = ranking.question[judged]
    position = number_within(question, ranking.n_questions).astype(np.float64)
    return dataclasses.replace(
        ranking,
        num_retrieved=ranking.per_question(question),
        question=question,
        position=position,
        grade=ranking.grade[judged],
    )


def regraded(ranking: Ranking, gains: Mapping[int, int] | None) -> Ranking:
    """The ranking with other grades; a grade that is not in ``gains`` is kept.

    Examples
    --------
    >>> regraded(ranking_of([[2, 0, 1]]), {2: 5}).grade
    array([5, 0, 1], dtype=int32)
    """
    if not gains:
        return ranking
    return dataclasses.replace(
        ranking, grade=_mapped(ranking.grade, gains), judged_grade=_mapped(ranking.judged_grade, gains)
    )


def _mapped(grade: NDArray[np.int32], gains: Mapping[int, int]) -> NDArray[np.int32]:
    mapped = grade.copy()
    for old, new in gains.items():
        mapped[grade == old] = new
    return mapped


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
    missing = [[] for _ in lists] if not_retrieved is None else not_retrieved
    rows = [
        (question, place, grade)
        for question, grades in enumerate(lists)
        for place, grade in enumerate(grades, 1)
        if grade is not None
    ]
    judged = [
        (question, grade)
        for question, (grades, others) in enumerate(zip(lists, missing, strict=True))
        for grade in [*grades, *others]
        if grade is not None
    ]
    place = np.array([row[1] for row in rows], np.float64)
    return JudgedRanking(
        n_questions=len(lists),
        num_retrieved=np.array([len(grades) for grades in lists], np.int64),
        question=np.array([row[0] for row in rows], np.int32),
        position=place,
        grade=np.array([row[2] for row in rows], np.int32),
        judged_question=np.array([row[0] for row in judged], np.int32),
        judged_grade=np.array([row[1] for row in judged], np.int32),
    )

"""The input of a ranking measure for one system: the positions of the judged candidates of each question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranking(ABC):
    """Grades of the judged candidates that a system returned, question by question, in list order.

    Both a TREC run and an answer-rank table become one of these, so each measure is written once; the subclasses say
    where each candidate is. Unjudged candidates are the gaps between the others.
    """

    n_questions: int
    num_retrieved: Counts  # (n_questions,) length of the list; 0 where the system returned nothing
    question: NDArray[np.int32]  # (m,) never decreasing
    grade: NDArray[np.int32]  # (m,) negative = in the qrels but unjudged
    judged_question: NDArray[np.int32]  # (j,) every row of the qrels, retrieved or not; never decreasing
    judged_grade: NDArray[np.int32]  # (j,)

    @abstractmethod
    def count(self, rel: int, place: Counts | int | None = None) -> NDArray[np.float64]:
        """Count the retrieved candidates of grade ``rel`` or more, (n_questions,).

        Parameters
        ----------
        rel : int
        place : int or (n_questions,) int array, optional
            Last position that counts, for all questions or for each.
        """

    @abstractmethod
    def only_judged(self) -> Self:
        """Leave out the unjudged candidates, so that the others move up; trec_eval's ``-J``."""

    def regraded(self, gains: Mapping[int, int] | None) -> Self:
        """Replace grades; a grade that is not in ``gains`` is kept."""
        if not gains:
            return self

        def mapped(grade: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.select([grade == old for old in gains], list(gains.values()), grade).astype(np.int32)

        return replace(self, grade=mapped(self.grade), judged_grade=mapped(self.judged_grade))

    def num_relevant(self, rel: int = 1) -> Counts:
        """(n_questions,) how many candidates the qrels give a grade of at least ``rel``."""
        return self.per_question(self.judged_question[self.judged_grade >= rel])

    def length(self, cutoff: int | None) -> Counts:
        """(n_questions,) length of the list, or of its part down to ``cutoff``."""
        return self.num_retrieved if cutoff is None else np.minimum(self.num_retrieved, cutoff)

    def per_question(self, question: NDArray[np.int32]) -> Counts:
        """(n_questions,) how often each question occurs in ``question``."""
        return np.bincount(question, minlength=self.n_questions).astype(np.int64, copy=False)

    def total(self, question: NDArray[np.int32], value: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_questions,) the sum of ``value`` over the rows of each question, added in list order."""
        return np.bincount(question, weights=value, minlength=self.n_questions).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedRanking(Ranking):
    """A ranking whose candidates have positions, which may be halves (realistic ranks of tied candidates)."""

    position: NDArray[np.float64]  # (m,) 1-based position in the list; increasing within a question
    _best: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)  # used by many measures

    def count(self, rel: int, place: Counts | int | None = None) -> NDArray[np.float64]:
        """Count the candidates of grade ``rel`` or more, down to a position."""
        counted = self.grade >= rel
        if place is not None:
            counted &= self.position <= (place[self.question] if isinstance(place, np.ndarray) else place)
        return self.per_question(self.question[counted]).astype(np.float64)

    def only_judged(self) -> Self:
        """Leave out the unjudged candidates.

        Examples
        --------
        >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
        >>> ranking_of([[None, 1, -1, 0]]).only_judged().position
        array([1., 2.])
        """
        judged = self.grade >= 0
        question = self.question[judged]
        return replace(
            self,
            num_retrieved=self.per_question(question),
            question=question,
            position=number_within(question, self.n_questions).astype(np.float64),
            grade=self.grade[judged],
        )

    def best_rank(self, rel: int = 1) -> NDArray[np.float64]:
        """(n_questions,) position of the first relevant candidate; inf where none was retrieved."""
        if rel not in self._best:
            relevant = np.flatnonzero(self.grade >= rel)
            question = self.question[relevant]
            is_first = np.ones(len(relevant), np.bool_)
            np.not_equal(question[1:], question[:-1], out=is_first[1:])
            best = np.full(self.n_questions, np.inf)
            best[question[is_first]] = self.position[relevant[is_first]]
            best.flags.writeable = False
            self._best[rel] = best
        return self._best[rel]


def number_within(question: NDArray[np.int32], n_questions: int) -> Counts:
    """(m,) 1, 2, ... within each question; ``question`` never decreases.

    Examples
    --------
    >>> number_within(np.array([0, 0, 2]), 3)
    array([1, 2, 1])
    """
    size = np.bincount(question, minlength=n_questions)
    first = np.cumsum(size) - size
    return np.arange(1, len(question) + 1, dtype=np.int64) - first[question]

"""The input of a ranking measure for one system: the positions of the judged candidates of each question."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanking:
    """Positions and grades of the judged candidates that a system returned, question by question, in list order.

    Both a TREC run and an answer-rank table become one of these, so each measure is written once. Unjudged
    candidates are the gaps between positions. A position may be a half (realistic ranks of tied candidates).
    """

    n_questions: int
    num_retrieved: NDArray[np.int64]  # (n_questions,) length of the list; 0 where the system returned nothing
    question: NDArray[np.int32]  # (m,) never decreasing
    position: NDArray[np.float64]  # (m,) 1-based position in the list; increasing within a question
    grade: NDArray[np.int32]  # (m,) negative = in the qrels but unjudged
    judged_question: NDArray[np.int32]  # (j,) every row of the qrels, retrieved or not; never decreasing
    judged_grade: NDArray[np.int32]  # (j,)
    _best: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)  # used by many measures

    def num_relevant(self, rel: int = 1) -> NDArray[np.int64]:
        """(n_questions,) how many candidates the qrels give a grade of at least ``rel``."""
        return self.per_question(self.judged_question[self.judged_grade >= rel])

    def per_question(self, question: NDArray[np.int32]) -> NDArray[np.int64]:
        """(n_questions,) how often each question occurs in ``question``."""
        return np.bincount(question, minlength=self.n_questions).astype(np.int64, copy=False)

    def total(self, question: NDArray[np.int32], value: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_questions,) the sum of ``value`` over the rows of each question, added in list order."""
        return np.bincount(question, weights=value, minlength=self.n_questions).astype(np.float64, copy=False)

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

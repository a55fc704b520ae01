"""Questions of few answers on subsamples, all of whose cases are scored beforehand.

A question's score depends on which of its own answers are kept. A question of three answers has seven cases in which
at least one is left; once each case is scored, a subsample looks its number up. Most questions of a knowledge graph
have few answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import number_within
from kgtrec.kernels.sampling.subsamples import Counts, JudgedRows, Mask, Part


class KeptPatterns:
    """The cases of the questions of some judged rows that have 1 to ``most`` answers (rows of grade 1 or more).

    Parameters
    ----------
    rows : JudgedRows
    most : int
        From 0 to 8, so that a byte can number the cases.

    Attributes
    ----------
    n_cases : int
        2 ** R - 1 for each question of R answers.

    Examples
    --------
    >>> patterns = KeptPatterns(JudgedRows(np.array([0, 0, 1, 2, 2, 2]), np.ones(6, int), 3), most=2)
    >>> patterns.n_cases  # either answer or both of question 0, and the one of question 1
    4
    >>> patterns.of(np.array([[True, True, False, True, True, True], [True, False, True, False, False, False]]))
    (array([2, 0, 3]), array([1, 2]))
    """

    def __init__(self, rows: JudgedRows, most: int) -> None:
        size = rows.num_relevant
        self._rows, self._few = rows, (size >= 1) & (size <= most)
        answered = rows.question[rows.grade >= 1]
        self._answer = np.flatnonzero(self._few[answered])
        nth = number_within(answered[self._answer], rows.n_questions) - 1
        self._bit = (1 << nth).astype(np.uint8)
        self._starts = np.flatnonzero(nth == 0)
        cases = (1 << size[self._few]) - 1
        self._cases = cases
        self._before = np.cumsum(cases) - cases - 1  # case 1 of a question is the first one after those of the others
        self.n_cases = int(cases.sum())

    @staticmethod
    def count(rows: JudgedRows, most: int) -> int:
        """Return how many cases there are."""
        size = rows.num_relevant
        return int(((1 << size[size <= most]) - 1).sum())

    def cases(self) -> tuple[Part, Mask]:
        """Each case as a question of its own: its rows, and which of the relevant ones are kept."""
        question = np.repeat(np.arange(len(self._cases)), self._cases)
        pattern = np.arange(self.n_cases) - self._before[question]
        part = self._rows.part(np.flatnonzero(self._few)[question])
        relevant = np.flatnonzero(part.rows.grade >= 1)
        case = part.rows.question[relevant]
        chosen = np.zeros(len(part.row), np.bool_)
        chosen[relevant] = pattern[case] >> (number_within(case, self.n_cases) - 1) & 1
        return part, chosen

    def of(self, kept: Mask) -> tuple[NDArray[np.intp], Counts]:
        """The cases of several subsamples.

        Parameters
        ----------
        kept : (b, r) bool array
            Which of all the answers each subsample keeps, in the order of the rows.

        Returns
        -------
        case : (m,) int array
            Those of the first subsample in the order of the questions, those of the second, ...; a question without
            kept answers has none.
        counts : (b,) int array
            How many each subsample has.
        """
        bits = np.where(kept[:, self._answer], self._bit, np.uint8(0))
        pattern = np.add.reduceat(bits, self._starts, axis=1, dtype=np.uint8)
        is_left = pattern > 0
        return (pattern + self._before)[is_left], np.count_nonzero(is_left, axis=1)

    def others(self) -> tuple[Part, NDArray[np.intp]]:
        """The questions of more answers, and which of all the answers (r,) belong to them."""
        size = self._rows.num_relevant
        many = (size >= 1) & ~self._few
        answered = self._rows.question[self._rows.grade >= 1]
        return self._rows.part(np.flatnonzero(many)), np.flatnonzero(many[answered])

"""The random sample of a pool that people judge, and how likely each of its parts was drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns

#: the designs: a part of the triples in a part of the questions, or all triples of a part of the questions
DESIGNS = ("two-level", "whole-questions")
#: how likely a triple is taken to be true before anybody has judged
PRIOR = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Design(Columns):
    """One row per question and triple that answers it and no rule has judged, sorted by (question, triple).

    Questions are opened at random; in an opened question triples are drawn, independently of each other and of the
    draws of their other question.
    """

    question: NDArray[np.int32]  # (n,) row in the pool's questions
    triple: NDArray[np.int32]  # (n,) row in the pool's triples
    theta: NDArray[np.float64]  # (n,) probability that the question is opened
    pi: NDArray[np.float64]  # (n,) probability that the triple is drawn for this question
    is_opened: NDArray[np.bool_]  # (n,) whether the question was opened
    is_drawn: NDArray[np.bool_]  # (n,) whether the triple was drawn for this question

    def asked(self, n_triples: int) -> NDArray[np.bool_]:
        """Return whether people are asked to judge each triple of the pool, (n_triples,)."""
        asked = np.zeros(n_triples, np.bool_)
        asked[self.triple[self.is_drawn]] = True
        return asked

    def chance(self, n_triples: int) -> NDArray[np.float64]:
        """Return how likely people are asked about each triple of the pool, for any of its questions, (n_triples,).

        The questions of a triple are opened nearly independently of each other; 1 for a triple that a rule has judged.

        Examples
        --------
        >>> two, half, none = np.array([0, 1]), np.full(2, 0.5), np.zeros(2, bool)
        >>> Design(two, np.zeros(2, int), half, half, none, none).chance(2)
        array([0.75, 1.  ])
        """
        missed = np.ones(n_triples)
        np.multiply.at(missed, self.triple, 1.0 - self.pi)
        return np.where(missed < 1.0, 1.0 - missed, 1.0)

    def __repr__(self) -> str:
        n, opened = (len(np.unique(self.question[rows])) for rows in (slice(None), self.is_opened))
        return f"<Design: {self.is_drawn.sum():,} of {len(self):,} pairs drawn in {opened:,} of {n:,} questions>"

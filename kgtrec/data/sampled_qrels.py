"""Judgements of a designed sample of a pool, from which the values of the whole pool are estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class SampledQrels(Columns):
    """One row per pair that the whole pool would judge, sorted by (question, entity).

    Some questions were opened, a simple random sample of those with a pair to judge; in these some pairs were judged,
    independently of each other.
    """

    question: NDArray[np.int32]  # (n,) row in questions
    entity: NDArray[np.int32]  # (n,) row in entities
    label: NDArray[np.float64]  # (n,) 1 or 0; NaN: not judged
    rate: NDArray[np.float64]  # (n,) probability of being judged once the question is opened; 1 if known before
    prediction: NDArray[np.float64]  # (n,) probability of the label 1; the label itself if known before
    is_uncertain: NDArray[np.bool_]  # (n,) False: the label was known before anybody judged
    is_opened: NDArray[np.bool_]  # (n,) whether the question was opened
    questions: Vocabulary
    entities: Vocabulary
    collection: str = ""  # stamp of the collection that the ids are of

    @property
    def pairs(self) -> Qrels:
        """All pairs, each with grade 1, to be matched with systems."""
        ones = np.ones(len(self), np.int32)
        return Qrels.of(self.question, self.entity, ones, self.questions, self.entities, collection=self.collection)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """(n,) whether people judged the pair as a part of the sample."""
        return self.is_uncertain & ~np.isnan(self.label)

    def __repr__(self) -> str:
        own = self.is_uncertain
        n, opened = (len(np.unique(self.question[rows])) for rows in (own, own & self.is_opened))
        judged = f"{self.judged.sum():,} of {own.sum():,} pairs judged"
        return f"<SampledQrels: {judged} in {opened:,} of {n:,} questions>"

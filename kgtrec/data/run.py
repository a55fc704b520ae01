"""What one system returned."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.frames import frame_labels, frame_of, frame_values
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd


_ROWS_AT_A_TIME = 1 << 17
_TABLE_BITS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads neighbouring keys (Fibonacci hashing)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Per question a list of scored entities, in trec_eval's order.

    Rows are sorted by question, then score descending, then the entity label descending in byte order of its UTF-8.
    Each (question, entity) stands once; scores are float64 and never NaN.
    """

    name: str
    question: NDArray[np.int32]  # (n,) row in questions, never decreasing
    entity: NDArray[np.int32]  # (n,) row in entities
    score: NDArray[np.float64]  # (n,) higher is better
    questions: Vocabulary
    entities: Vocabulary

    @classmethod
    def of(
        cls,
        name: str,
        question: NDArray[np.int32],
        entity: NDArray[np.int32],
        score: NDArray[np.float64],
        questions: Vocabulary,
        entities: Vocabulary,
    ) -> Run:
        """A run of rows in any order: checked, and sorted unless it is already in order.

        Raises
        ------
        KgtrecError
            If a score is NaN or a pair is repeated; the message names it.
        """
        wrong = np.flatnonzero(np.isnan(score))
        if len(wrong):
            pair = questions[question[wrong[0]]], entities[entity[wrong[0]]]
            raise KgtrecError(f"expected a number as score, found NaN for ({pair[0]}, {pair[1]})")
        order = _order(question, score, entity, entities)
        if order is not None:
            question, entity, score = question[order], entity[order], score[order]
        row = repeated_row(question, entity, len(entities))
        if row is not None:
            pair = questions[question[row]], entities[entity[row]]
            raise KgtrecError(f"expected each pair once, found ({pair[0]}, {pair[1]}) more than once")
        return cls(name, question, entity, score, questions, entities)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str = "run") -> Run:
        """A run of a data frame with ir-measures' columns ``query_id, doc_id, score``."""
        questions, question = Vocabulary.encoding(frame_labels(frame, "query_id"))
        entities, entity = Vocabulary.encoding(frame_labels(frame, "doc_id"))
        return cls.of(name, question, entity, frame_values(frame, "score"), questions, entities)

    def to_frame(self) -> pd.DataFrame:
        """A data frame with ir-measures' columns ``query_id, doc_id, score``, in the run's order."""
        return frame_of(
            query_id=self.questions.decode(self.question), doc_id=self.entities.decode(self.entity), score=self.score
        )

    def __len__(self) -> int:
        return len(self.question)

    def renamed(self, name: str) -> Run:
        """The same run under another name."""
        return replace(self, name=name)


def _order(
    question: NDArray[np.int32], score: NDArray[np.float64], entity: NDArray[np.int32], entities: Vocabulary
) -> NDArray[np.intp] | None:
    """The rows in a run's order; None where they stand in it already.

    Most runs come sorted but for the order of ties, so only the stretches that are out of order are sorted.
    """
    if np.any(question[1:] < question[:-1]):
        return np.lexsort((-entities.byte_order[entity], -score, question))
    same = question[1:] == question[:-1]
    rising = same & (score[1:] > score[:-1])
    same_score = same & (score[1:] == score[:-1])
    wrong = rising.copy()
    tied = np.flatnonzero(same_score)
    wrong[tied] = entities.byte_order[entity[tied]] < entities.byte_order[entity[tied + 1]]
    if not wrong.any():
        return None
    # a stretch is a question, or only some tied rows of one where all scores are in order
    stretch = np.cumsum(np.r_[0, ~(same if rising.any() else same_score)], dtype=np.int32)
    is_wrong = np.zeros(int(stretch[-1]) + 1, np.bool_)
    is_wrong[stretch[1:][wrong]] = True
    rows = np.flatnonzero(is_wrong[stretch])
    order = np.arange(len(question))
    order[rows] = rows[np.lexsort((-entities.byte_order[entity[rows]], -score[rows], stretch[rows]))]
    return order


def repeated_row(question: NDArray[np.int32], entity: NDArray[np.int32], n_entities: int) -> int | None:
    """A row whose pair stands in an earlier row too, or None; rows must be grouped by question.

    Every pair writes its row into a table at the place of its hash, and reads it back: who reads another row has met
    an equal pair or a collision, and only those few are compared. Linear, where a sort is not.
    """
    table = np.empty(1 << _TABLE_BITS, np.int32)
    n = len(question)
    # whole questions at a time, about as many rows as keep collisions few
    ends = np.append(np.flatnonzero(question[1:] != question[:-1]) + 1, n)
    bounds = np.unique(np.r_[0, ends[np.searchsorted(ends, np.arange(0, n, _ROWS_AT_A_TIME))], n])
    for first, last in itertools.pairwise(bounds):
        key = question[first:last].astype(np.uint64) * np.uint64(n_entities) + entity[first:last].view(np.uint32)
        place = ((key * _MIX) >> np.uint64(64 - _TABLE_BITS)).view(np.int64)
        rows = np.arange(last - first, dtype=np.int32)
        table[place] = rows
        found = table[place]
        lost = np.flatnonzero(found != rows)
        ordered = np.sort(key[lost])
        if np.any(key[found[lost]] == key[lost]) or np.any(ordered[1:] == ordered[:-1]):
            order = np.argsort(key, kind="stable")
            again = order[1:][key[order][1:] == key[order][:-1]]
            return int(first + again.min())
    return None

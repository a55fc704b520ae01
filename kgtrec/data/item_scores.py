"""What several systems scored on the same items under one measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import frame_of
from kgtrec.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """A value per system and item; column i is the same answer, or question, for every system.

    Answers stand in the order of the qrels; questions in byte order of their ids. NaN where a measure has no value for
    an item. How values become one number is told by ``aggregate`` and ``weight``: see ``kgtrec.evaluation.item_scores.totals``.
    """

    measure: str  # as the caller spelled it
    items: Literal["answers", "questions"]
    higher_is_better: bool
    aggregate: str  # "mean", "median", "geometric mean", ...: how the values of the items become one number
    systems: tuple[str, ...]
    value: NDArray[np.float64]  # (systems, n)
    question: NDArray[np.int32]  # (n,) row in questions; answers of one question are not independent
    questions: Vocabulary
    entity: NDArray[np.int32] | None = None  # (n,) row in entities; None where items are questions
    entities: Vocabulary | None = None
    weight: NDArray[np.float64] | None = None  # (n,) of at least 0, of any scale; None: each item counts the same

    def __len__(self) -> int:
        return len(self.question)

    def __repr__(self) -> str:
        return f"<ItemScores: {self.measure}, {len(self.systems)} systems x {len(self):,} {self.items}>"

    def to_frame(self) -> pd.DataFrame:
        """The long form: system, measure, question, entity (of answers), value, weight (if any); items innermost."""
        n_systems, n = self.value.shape
        place = np.tile(np.arange(n), n_systems)
        columns: dict[str, Any] = {
            "system": np.repeat(np.array(self.systems, object), n),
            "measure": np.full(n_systems * n, self.measure, object),
            "question": self.questions.decode(self.question).take(arrow_of(place)),
        }
        if self.entity is not None and self.entities is not None:
            columns["entity"] = self.entities.decode(self.entity).take(arrow_of(place))
        columns["value"] = self.value.ravel()
        if self.weight is not None:
            columns["weight"] = self.weight[place]
        return frame_of(**columns)

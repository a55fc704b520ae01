"""Where the judgements of some qrels came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = ("question", "triple")


@dataclass(frozen=True, slots=True, eq=False)
class QrelsReport:
    """What was judged, by whom, and how much each depth of the pool added.

    Positives and negatives are counted in triples, each once, also where it is judged for both its questions;
    ``judgements`` are the rows of the qrels.
    """

    level: str  # of LEVELS
    depth: int  # pooled triples down to this one count
    questions: int
    never_pooled: int  # of them: nobody put anything forward for them on purpose
    pooled_questions: int  # questions that the pool was made for
    nothing_pooled: int  # of these: no run put anything in for them
    without_positive: int  # of these: no positive answers them, so that the triple level does not have them
    judgements: int
    positives_from: Mapping[str, int]  # seeds, agreed, adjudicated
    negatives_from: Mapping[str, int]  # agreed, adjudicated: people; "rule: NAME": no person
    unjudged: Mapping[str, int]  # pooled triples that are not settled, by what they wait for
    pooled_at: NDArray[np.int64]  # (depth + 1,) triples whose pool depth is 0 (none), 1, 2, ...
    judged_at: NDArray[np.int64]  # (depth + 1,) of them, settled
    positive_at: NDArray[np.int64]  # (depth + 1,) of them, positive; at 0 the seeds
    negative_at: NDArray[np.int64]  # (depth + 1,) of them, negative
    questions_at: NDArray[np.int64]  # (depth + 1,) questions of the qrels down to each depth

    @property
    def positives(self) -> int:
        """Positive triples, seeds included."""
        return sum(self.positives_from.values())

    @property
    def negatives(self) -> int:
        """Negative triples."""
        return sum(self.negatives_from.values())

    @property
    def new_positives(self) -> NDArray[np.int64]:
        """(depth,) positives that the pool found down to depth 1, 2, ...: cumulative, without the seeds."""
        total: NDArray[np.int64] = np.cumsum(self.positive_at[1:])
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "level": self.level,
            "depth": self.depth,
            "questions": self.questions,
            "never_pooled": self.never_pooled,
            "pooled_questions": self.pooled_questions,
            "nothing_pooled": self.nothing_pooled,
            "without_positive": self.without_positive,
            "judgements": self.judgements,
            "positives": self.positives,
            "positives_from": dict(self.positives_from),
            "negatives": self.negatives,
            "negatives_from": dict(self.negatives_from),
            "unjudged": dict(self.unjudged),
            "depths": [
                {
                    "depth": depth,
                    "pooled": int(self.pooled_at[depth]),
                    "judged": int(self.judged_at[depth]),
                    "positive": int(self.positive_at[depth]),
                    "negative": int(self.negative_at[depth]),
                    "new_positives_down_to": int(self.new_positives[depth - 1]) if depth else 0,
                    "questions": int(self.questions_at[depth]),
                }
                for depth in range(self.depth + 1)
            ],
        }

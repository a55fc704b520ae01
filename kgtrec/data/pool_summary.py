"""What a pool holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PoolSummary:
    """Counts of a pool; triples are distinct wherever they are counted."""

    triples: int
    stood_for: float  # how many triples there were to sample from; that of triples where nothing was sampled
    contributions: int
    questions: int
    seeds: int  # triples that were known before to answer them
    empty_questions: int  # with nothing in the pool
    per_question: tuple[int, float, int]  # least, median and largest number of triples of a question
    new_by_depth: NDArray[np.int64]  # (d,) triples whose least rank is 1, 2, ...
    automatic: Mapping[str, int]  # rule -> triples judged N by it
    runs: tuple[str, ...]
    families: tuple[str, ...]  # per run, "" for none
    size: NDArray[np.int64]  # (r,) triples that each run put in
    unique: NDArray[np.int64]  # (r,) those that no other run did
    shared: NDArray[np.int64]  # (r, r) triples that both runs put in; on the diagonal, size
    by_runs: NDArray[np.int64]  # (r,) triples that 1, 2, ... runs put in

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        least, median, most = self.per_question
        return {
            "triples": self.triples,
            "stood_for": self.stood_for,
            "contributions": self.contributions,
            "questions": self.questions,
            "seeds": self.seeds,
            "empty_questions": self.empty_questions,
            "triples_per_question": {"min": least, "median": median, "max": most},
            "new_by_depth": self.new_by_depth.tolist(),
            "triples_by_number_of_runs": self.by_runs.tolist(),
            "automatic": dict(self.automatic),
            "runs": [
                {
                    "run": run, "family": family, "triples": int(size), "unique": int(unique),
                    "shared": dict(zip(self.runs, shared.tolist(), strict=True)),
                }
                for run, family, size, unique, shared in zip(
                    self.runs, self.families, self.size, self.unique, self.shared, strict=True
                )
            ],
        }  # fmt: skip

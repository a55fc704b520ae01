"""What a judged sample says of the pool that it was drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of


@dataclass(frozen=True, slots=True, eq=False)
class PositiveEstimates:
    """How many positive triples the whole pool holds, estimated from a sample, one row per group of triples."""

    by: str  # what the groups are
    groups: pa.StringArray  # (g,) their labels
    judged: NDArray[np.int64]  # (g,) judged triples of the sample
    found: NDArray[np.int64]  # (g,) positives among them
    positives: NDArray[np.float64]  # (g,) estimated, in the whole pool
    error: NDArray[np.float64]  # (g,) standard error; NaN where a stratum has one judged triple of several

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return f"<PositiveEstimates: {len(self)} by {self.by}>"

    def to_table(self) -> pa.Table:
        """One row per group."""
        numbers = {name: arrow_of(getattr(self, name)) for name in ("judged", "found", "positives", "error")}
        return pa.table({self.by: self.groups} | numbers)

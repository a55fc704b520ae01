"""Labels that an expert is asked to give again, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import frame_of_table
from kgtrec.data.judgements import NO, YES

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSample:
    """Settled triples drawn for an expert, in the order of the pool; the strata are the labels N and Y."""

    triple: NDArray[np.int32]  # (n,) row in the pool's triples, ascending
    verdict: NDArray[np.int8]  # (n,) the label when it was drawn: 0 = N, 1 = Y
    probability: NDArray[np.float64]  # (n,) of being drawn: drawn / settled in the stratum

    def __len__(self) -> int:
        return len(self.triple)

    def __repr__(self) -> str:
        n_no, n_yes = self.drawn
        return f"<ExpertSample: {n_yes:,} Y of {self.population[YES]:,}, {n_no:,} N of {self.population[NO]:,}>"

    @property
    def drawn(self) -> NDArray[np.int64]:
        """(2,) triples drawn of N and of Y."""
        return np.bincount(self.verdict, minlength=2)

    @property
    def population(self) -> NDArray[np.int64]:
        """(2,) triples that were settled as N and as Y when the sample was drawn."""
        each = np.bincount(self.verdict, weights=1 / self.probability, minlength=2)
        return np.rint(each).astype(np.int64)


#: as :func:`kgtrec.campaign.sample_report` explains them
SAMPLE_STATISTICS = (
    "agreement on Y", "agreement on N", "agreement in the sample", "agreement in the pool", "positives missed",
    "recall of positives", "prevalence in the pool",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SampleReport:
    """How good the labels are, by an expert; one value per name in ``SAMPLE_STATISTICS``, NaN where it has none."""

    values: NDArray[np.float64]  # (statistics,)
    low: NDArray[np.float64]  # (statistics,) lower ends of confidence intervals
    high: NDArray[np.float64]  # (statistics,) upper ends
    population: NDArray[np.int64]  # (2,) settled as N and as Y when the sample was drawn
    drawn: NDArray[np.int64]  # (2,) of them for the expert
    judged: NDArray[np.int64]  # (2,) of those, to which the expert said Y or N
    agreed: NDArray[np.int64]  # (2,) of those, to which the expert said the same
    unsure: NDArray[np.int64]  # (2,) drawn, and the expert could not tell
    confidence: float

    def __repr__(self) -> str:
        return f"<SampleReport: {self.agreed.sum():,} of {self.judged.sum():,} labels agree>"

    def value(self, statistic: str) -> float:
        """One of ``SAMPLE_STATISTICS``."""
        return float(self.values[SAMPLE_STATISTICS.index(statistic)])

    def to_table(self) -> pa.Table:
        """A row per statistic: statistic, value, low, high."""
        ends = {"value": self.values, "low": self.low, "high": self.high}
        columns = {"statistic": pa.array(SAMPLE_STATISTICS, pa.string())}
        return pa.table(columns | {name: arrow_of(end) for name, end in ends.items()})

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

"""How far annotators agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import frame_of_table
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd

#: prevalence is no agreement, but without it none of the others can be read
STATISTICS = ("prevalence", "raw", "positive", "negative", "kappa", "AC1", "alpha")


@dataclass(frozen=True, slots=True, eq=False)
class AgreementReport:
    """One row per group (one where nothing is broken down), one column per statistic; NaN where one has no value."""

    statistics: tuple[str, ...]
    values: NDArray[np.float64]  # (groups, statistics)
    triples: NDArray[np.int64]  # (groups,) judged by at least two annotators
    pairs: NDArray[np.int64]  # (groups,) pairs of verdicts on one triple
    annotators: NDArray[np.int64]  # (groups,) people who gave these verdicts
    questions: NDArray[np.int64]  # (groups,) with which these triples were judged
    groups: Mapping[str, pa.Array] = field(default_factory=dict)  # column name -> (groups,) labels; empty = one total
    low: NDArray[np.float64] | None = None  # (groups, statistics) lower ends of intervals; NaN where one cannot be told
    high: NDArray[np.float64] | None = None  # (groups, statistics) upper ends
    unsure: str = "own category"  # what became of the verdict "unsure"
    resample: str = "question"  # what was drawn for the intervals
    confidence: float | None = None

    def __repr__(self) -> str:
        per = f" per {', '.join(self.groups)} ({len(self.pairs):,})" if self.groups else ""
        return f"<AgreementReport: {len(self.statistics)} statistics{per}>"

    def value(self, statistic: str) -> float:
        """One statistic of all annotators.

        Raises
        ------
        KgtrecError
            If the report is broken down, so that there are several.
        """
        if self.groups:
            raise KgtrecError(f"expected totals, found agreement per {', '.join(self.groups)}; use to_frame()")
        return float(self.values[0, self.statistics.index(statistic)])

    def to_table(self) -> pa.Table:
        """A row per group and statistic: its columns, triples, questions, pairs, statistic, value, and the interval."""
        n_groups, n_statistics = self.values.shape
        place = arrow_of(np.repeat(np.arange(n_groups), n_statistics))
        columns: dict[str, pa.Array] = {name: labels.take(place) for name, labels in self.groups.items()}
        sizes = {"triples": self.triples, "questions": self.questions, "pairs": self.pairs}
        columns |= {name: arrow_of(size).take(place) for name, size in sizes.items()}
        columns |= {"statistic": pa.array(self.statistics * n_groups, pa.string())}
        ends = {"value": self.values, "low": self.low, "high": self.high}
        return pa.table(columns | {name: arrow_of(end.ravel()) for name, end in ends.items() if end is not None})

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

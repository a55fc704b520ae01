"""Labels that an expert is asked to judge again, and how well the two agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import NO, VERDICTS, YES
from kgtrec.data.rows import Rows
from kgtrec.data.table import Column, Result, Table, interval_columns


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSample(Rows):
    """Decided triples sampled for an expert, in the order of the pool; the strata are the labels N and Y."""

    triple: NDArray[np.int32]  # (n,) row in the pool's triples, ascending
    verdict: NDArray[np.int8]  # (n,) the label when the sample was drawn: 0 = N, 1 = Y
    probability: NDArray[np.float64]  # (n,) of being in the sample: drawn / settled in the stratum

    def __repr__(self) -> str:
        n_no, n_yes = self.drawn
        return f"<ExpertSample: {n_yes:,} Y of {self.population[YES]:,}, {n_no:,} N of {self.population[NO]:,}>"

    @property
    def drawn(self) -> NDArray[np.int64]:
        """(2,) triples in the sample that were labelled N, and Y."""
        return np.bincount(self.verdict, minlength=2)

    @property
    def population(self) -> NDArray[np.int64]:
        """(2,) triples that had been settled as N, and as Y, when the sample was drawn."""
        each = np.bincount(self.verdict, weights=1 / self.probability, minlength=2)
        return np.rint(each).astype(np.int64)


#: as :func:`kgtrec.campaign.sample_report` explains them
SAMPLE_STATISTICS = (
    "agreement on Y",
    "agreement on N",
    "agreement in the sample",
    "agreement in the pool",
    "positives missed",
    "recall of positives",
    "prevalence in the pool",
)
_COUNTS = ("positives missed",)  # those that are numbers of triples, not shares


@dataclass(frozen=True, slots=True, eq=False)
class SampleReport(Framed, Result):
    """Quality of the labels by an expert; one value per name in ``SAMPLE_STATISTICS``, NaN where undefined."""

    values: NDArray[np.float64]  # (statistics,)
    low: NDArray[np.float64]  # (statistics,) lower ends of confidence intervals
    high: NDArray[np.float64]  # (statistics,) upper ends
    population: NDArray[np.int64]  # (2,) settled as N, and as Y, when the sample was drawn
    drawn: NDArray[np.int64]  # (2,) of those, in the sample
    judged: NDArray[np.int64]  # (2,) of those, judged Y or N by the expert
    agreed: NDArray[np.int64]  # (2,) of those, given the same label by the expert
    unsure: NDArray[np.int64]  # (2,) in the sample, and the expert was unsure
    confidence: float
    pooled: int | None = None  # triples of the pool, if some were still undecided when the sample was drawn

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

    def labels_table(self) -> pa.Table:
        """A row per label, Y and N: label, drawn_from, drawn, judged, agree, disagree, unsure."""
        counts = {
            "drawn_from": self.population,
            "drawn": self.drawn,
            "judged": self.judged,
            "agree": self.agreed,
            "disagree": self.judged - self.agreed,
            "unsure": self.unsure,
        }
        columns = {"label": pa.array([VERDICTS[label] for label in (YES, NO)], pa.string())}
        return pa.table(columns | {name: arrow_of(count[[YES, NO]]) for name, count in counts.items()})

    def tables(self) -> tuple[Table, ...]:
        """``statistics``, the estimates, and ``labels``, how many of each label were drawn and judged."""
        of = int(self.population.sum())
        caption = (
            ""
            if self.pooled is None or of >= self.pooled
            else (
                f"Drawn from {of:,} of the pool's {self.pooled:,} triples, those that had been settled by then; "
                'here "the pool" means these.'
            )
        )
        digits = [0 if name in _COUNTS else 4 for name in SAMPLE_STATISTICS]
        ends = [replace(column, digits=digits) for column in interval_columns(self.confidence)]
        columns = (Column("statistic"), Column("value", digits=digits), *ends)
        labels = self.labels_table()
        counts = tuple(Column(name, name.replace("_", " ")) for name in labels.column_names)
        return Table("statistics", "", caption, self.to_table(), columns), Table("labels", "", "", labels, counts)

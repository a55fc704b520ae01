"""Values that measures have by chance on one data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import Framed
from kgtrec.data.table import Column, Result, Table
from kgtrec.errors import KgtrecError


@dataclass(frozen=True, slots=True, eq=False)
class ChanceTable(Framed, Result):
    """Expectation and variance of measures, one row per measure and side."""

    measure: tuple[str, ...]
    side: tuple[str, ...]  # "both", "head" or "tail"
    items: NDArray[np.int64]  # (n,) answers or questions that the value is a mean over
    expectation: NDArray[np.float64]  # (n,)
    variance: NDArray[np.float64]  # (n,)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, int, float, float]]) -> ChanceTable:
        """The table of (measure, side, items, expectation, variance) rows."""
        measure, side, items, expectation, variance = zip(*rows, strict=True)
        return cls(measure, side, np.array(items), np.array(expectation), np.array(variance))

    def level(self, measure: str, side: str) -> tuple[float, float]:
        """Expectation and variance of one measure on one side.

        Raises
        ------
        KgtrecError
            If the table has no such row.
        """
        for place, own in enumerate(zip(self.measure, self.side, strict=True)):
            if own == (measure, side):
                return float(self.expectation[place]), float(self.variance[place])
        raise KgtrecError(f"the chance table has no row for {measure} on side {side!r}")

    def to_table(self) -> pa.Table:
        """Columns ``measure, side, items, expectation, variance``."""
        labels = {"measure": pa.array(self.measure, pa.string()), "side": pa.array(self.side, pa.string())}
        numbers = {"items": self.items, "expectation": self.expectation, "variance": self.variance}
        return pa.table(labels | {name: arrow_of(values) for name, values in numbers.items()})

    def tables(self) -> tuple[Table]:
        """``chance``, shown with the standard deviation in place of the variance."""
        table = self.to_table()
        columns = (
            Column("measure"),
            Column("side"),
            Column("items"),
            Column("expectation", digits="measure"),
            Column("std", form="significant", digits=3),
        )
        view = table.append_column("std", arrow_of(np.sqrt(self.variance)))
        return (Table("chance", "", "", table, columns, view=view),)

    def __len__(self) -> int:
        return len(self.measure)

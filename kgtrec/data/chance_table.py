"""What measures come to by chance on one data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.frames import frame_of
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ChanceTable:
    """Expectation and variance of measures, one row per measure and side."""

    measure: tuple[str, ...]
    side: tuple[str, ...]  # "both", "head" or "tail"
    items: NDArray[np.int64]  # (n,) answers or questions that the number is taken over
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

    def to_frame(self) -> pd.DataFrame:
        """A data frame with columns ``measure, side, items, expectation, variance``."""
        return frame_of(
            measure=list(self.measure), side=list(self.side), items=self.items, expectation=self.expectation,
            variance=self.variance,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.measure)

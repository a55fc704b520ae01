"""The same measures under every policy for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.frames import frame_of_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class TieComparison:
    """How often each system's answers tie, and what every policy for ties makes of it; NaN where one is not possible.

    A group is all candidates of a question that have one score, in the list in which the other answers stay.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as the caller spelled them
    policies: tuple[str, ...]
    values: NDArray[np.float64]  # (systems, measures, policies)
    tied: NDArray[np.float64]  # (systems,) share of the relevant, retrieved entities that tie with another candidate
    mean_group: NDArray[np.float64]  # (systems,) mean size of the groups that those stand in; NaN where none ties
    largest_group: NDArray[np.int64]  # (systems,) size of the largest group that holds a relevant entity

    @property
    def apart(self) -> NDArray[np.float64]:
        """(systems, measures) how far the optimistic and the pessimistic value lie apart."""
        ends = [self.policies.index(name) for name in ("optimistic", "pessimistic")]
        distance: NDArray[np.float64] = np.abs(self.values[:, :, ends[0]] - self.values[:, :, ends[1]])
        return distance

    def value(self, system: str, measure: str, ties: str) -> float:
        """One number."""
        place = self.systems.index(system), self.measures.index(measure), self.policies.index(ties)
        return float(self.values[place])

    def to_table(self) -> pa.Table:
        """A row per system and measure: system, tied, mean_group, largest_group, measure, each policy, apart."""
        n = len(self.measures)
        columns: dict[str, Any] = {
            "system": [system for system in self.systems for _ in range(n)],
            "tied": np.repeat(self.tied, n).tolist(),
            "mean_group": np.repeat(self.mean_group, n).tolist(),
            "largest_group": np.repeat(self.largest_group, n).tolist(),
            "measure": list(self.measures) * len(self.systems),
        }
        columns |= {name: self.values[:, :, place].ravel().tolist() for place, name in enumerate(self.policies)}
        return pa.table(columns | {"apart": self.apart.ravel().tolist()})

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

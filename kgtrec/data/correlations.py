"""How alike systems are ranked under several labels, or by several measures, and which pairs change places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.frames import frame_of_table

if TYPE_CHECKING:
    import pandas as pd

COEFFICIENTS = ("tau", "tau_ap", "spearman", "rbo")


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Rank correlations, one row per pair of rankings of the systems; NaN where one of the two is no ranking."""

    rows: Mapping[str, tuple[str, ...]]  # column -> (n,) what was compared: first, second, measure (or labels), keys
    coefficients: tuple[str, ...]  # among COEFFICIENTS
    value: NDArray[np.float64]  # (n, coefficients)
    systems: tuple[str, ...]  # that were ranked
    left_out: tuple[str, ...] = ()  # systems that only one of the two has
    confidence: float | None = None  # share of the samples that the ranges hold
    low: NDArray[np.float64] | None = None  # (n, coefficients) ends of resampling ranges, questions drawn
    high: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Correlations: {len(self)} rows x {', '.join(self.coefficients)}, {len(self.systems)} systems>"

    def of(self, coefficient: str = "tau", **row: str) -> float:
        """One value: ``of("tau", measure="micro.MRR", Depth="2")``.

        Raises
        ------
        KeyError
            If no row or more than one is meant.
        """
        found = [
            place
            for place in range(len(self))
            if all(self.rows[column][place] == label for column, label in row.items())
        ]
        if len(found) != 1:
            raise KeyError(f"expected one row of {row}, found {len(found)}")
        return float(self.value[found[0], self.coefficients.index(coefficient)])

    def to_table(self) -> pa.Table:
        """The long form: what was compared, coefficient, value, low and high if known, systems; coefficients inside."""
        n = len(self.coefficients)
        columns: dict[str, Any] = {
            name: [label for label in labels for _ in range(n)] for name, labels in self.rows.items()
        }
        columns["coefficient"] = list(self.coefficients) * len(self)
        columns["value"] = self.value.ravel().tolist()
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None:
                columns[name] = end.ravel().tolist()
        columns["systems"] = [len(self.systems)] * (n * len(self))
        return pa.table(columns)

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """Pairs of systems that the two labels put in opposite order, the largest difference under the first on top.

    Differences are of ``better`` less ``worse``, in the measure's own unit and sign: where higher is better, those
    under the first labels are above 0 and those under the second below; where lower is better, the other way round.
    """

    rows: Mapping[str, tuple[str, ...]]  # column -> (n,) measure, and keys
    better: tuple[str, ...]  # (n,) the system that is better under the first labels
    worse: tuple[str, ...]  # (n,) the one that is better under the second
    first: NDArray[np.float64]  # (n,) difference under the first labels
    second: NDArray[np.float64]  # (n,) difference under the second labels
    first_p: NDArray[np.float64]  # (n,) p-value of that difference; NaN where it is not known
    second_p: NDArray[np.float64]  # (n,)
    n_pairs: Mapping[str, int]  # measure -> pairs of systems that could have been swapped, over all its keys
    alpha: float = 0.05  # a difference is significant below

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"<Swaps: {len(self)} of {sum(self.n_pairs.values())} pairs>"

    def to_table(self) -> pa.Table:
        """A row per pair: measure, keys, better, worse, first, second; with a p-value known, p-values and verdicts.

        The verdict ``significant`` says under which labels the difference is: first, second, both, neither, unknown.
        """
        columns: dict[str, Any] = {name: list(labels) for name, labels in self.rows.items()}
        columns |= {"better": list(self.better), "worse": list(self.worse)}
        columns |= {"first": self.first.tolist(), "second": self.second.tolist()}
        p_values = {"first_p": self.first_p, "second_p": self.second_p}
        if not all(np.all(np.isnan(p)) for p in p_values.values()):
            columns |= {name: p.tolist() for name, p in p_values.items()}
            columns["significant"] = [self._verdict(*pair) for pair in zip(*p_values.values(), strict=True)]
        return pa.table(columns)

    def _verdict(self, first_p: float, second_p: float) -> str:
        if np.isnan(first_p) or np.isnan(second_p):
            return "unknown"
        sides = [name for name, p in (("first", first_p), ("second", second_p)) if p < self.alpha]
        return "both" if len(sides) == 2 else sides[0] if sides else "neither"

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

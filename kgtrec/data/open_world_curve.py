"""Systems scored on sparse and on complete labels of a closed world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: pairs of systems: all; checkpoints of one family; of two families
PAIRS = ("all", "within", "across")
#: shares of the facts that keep their labels, unless others are asked for
DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True, eq=False)
class OpenWorldCurve:
    """What :func:`kgtrec.openworld.curve.open_world_curve` found.

    A cell is a correlation and a density, of which several sets of labels are drawn; NaN where something is undefined.
    """

    systems: tuple[str, ...]  # (s,)
    families: tuple[str, ...]  # (s,) what each system is a checkpoint of
    checkpoints: NDArray[np.int64]  # (s,) its number there
    strength: Floats  # (s,) share of all answers that it finds
    measures: tuple[str, ...]  # (m,)
    correlations: tuple[float, ...]  # (c,) asked for
    densities: tuple[float, ...]  # (d,) asked for
    reference: str  # whose finds the missing labels go with; "" where nothing is correlated
    seed: int
    n_facts: int  # of the complete labels
    n_questions: int
    answers: NDArray[np.int64]  # (longest list + 1,) how many questions have 0, 1, 2, ... answers
    full: Floats  # (m, s) on complete labels
    sparse: Floats  # (c, d, draws, m, s)
    theory: Floats  # (c, d, m, s) by the open-world model; NaN for measures that it does not cover
    density: Floats  # (c, d, draws) that came of it
    correlation: Floats  # (c, d, draws) of the reference that came of it; NaN without one
    own_correlation: Floats  # (c, d, s) of missing with what each system finds, a mean over draws

    @property
    def draws(self) -> int:
        """Sets of labels of each cell."""
        return int(self.sparse.shape[2])

    @property
    def mean(self) -> Floats:
        """(c, d, m, s) sparse scores, means over draws."""
        mean: Floats = self.sparse.mean(axis=2)
        return mean

    def to_table(self) -> pa.Table:
        """One row per cell, measure and system: full and sparse score, theory, and the system's strength."""
        shape = self.mean.shape
        cell = np.indices(shape).reshape(4, -1)
        c, d, m, s = cell
        return pa.table(
            {
                "correlation": np.array(self.correlations)[c],
                "density": np.array(self.densities)[d],
                "measure": [self.measures[place] for place in m],
                "family": [self.families[place] for place in s],
                "checkpoint": self.checkpoints[s],
                "system": [self.systems[place] for place in s],
                "strength": self.strength[s],
                "full": self.full[m, s],
                "sparse": self.mean.ravel(),
                "deviation": self.sparse.std(axis=2).ravel(),
                "theory": self.theory.ravel(),
                "own_correlation": self.own_correlation[c, d, s],
            }
        )

    def labels_table(self) -> pa.Table:
        """One row per set of labels: density and correlation asked for, and what came of it."""
        c, d, draw = np.indices(self.density.shape).reshape(3, -1)
        return pa.table(
            {
                "correlation": np.array(self.correlations)[c],
                "density": np.array(self.densities)[d],
                "draw": draw,
                "achieved_density": self.density.ravel(),
                "achieved_correlation": self.correlation.ravel(),
            }
        )

    def cells(self) -> Iterator[tuple[int, int, int]]:
        """Places of every correlation, density and measure."""
        for place in np.ndindex(len(self.correlations), len(self.densities), len(self.measures)):
            c, d, m = place
            yield c, d, m

    def pairs_counted(self, which: str) -> NDArray[np.bool_]:
        """(s, s) the pairs of systems of one of ``PAIRS``."""
        family = np.unique(np.array(self.families), return_inverse=True)[1]
        same = family[:, None] == family[None, :]
        counted: NDArray[np.bool_] = {"all": np.ones_like(same), "within": same, "across": ~same}[which]
        return counted

    def to_frame(self) -> pd.DataFrame:
        """The points as a data frame."""
        table = self.to_table()
        return frame_of(**{name: table.column(name) for name in table.column_names})

    def __repr__(self) -> str:
        return (
            f"<OpenWorldCurve: {len(self.systems)} systems x {len(self.measures)} measures, "
            f"{len(self.densities)} densities x {len(self.correlations)} correlations, {self.draws} draws>"
        )

"""How the ranking of systems holds on subsamples of a test set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import frame_of_table

if TYPE_CHECKING:
    import pandas as pd

MicroReading = Literal["kept", "recount"]
MacroReading = Literal["unjudged", "removed"]
#: what a discarded answer can be to the ranks of the others, and to the lists; the first is the usual one
MICRO_READINGS: tuple[MicroReading, ...] = get_args(MicroReading)
MACRO_READINGS: tuple[MacroReading, ...] = get_args(MacroReading)


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Scores of several systems on random subsamples, and how alike each ranks them to the full test set.

    NaN where a score, or a correlation, is undefined: there all systems score alike, or one has no score.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as the caller spelled them
    triples: NDArray[np.int64]  # (sizes,) test triples of a subsample, rising
    n_triples: int  # in the full test set
    full: NDArray[np.float64]  # (measures, systems) scores on it
    scores: NDArray[np.float64]  # (measures, sizes, repeats, systems)
    correlation: NDArray[np.float64]  # (measures, sizes, repeats) of each subsample's scores with the full ones
    coefficient: str  # which correlation
    micro: str  # of MICRO_READINGS
    macro: str  # of MACRO_READINGS
    seed: int

    @property
    def share(self) -> NDArray[np.float64]:
        """(sizes,) share of the test triples that a subsample has."""
        shares: NDArray[np.float64] = self.triples / self.n_triples
        return shares

    @property
    def mean(self) -> NDArray[np.float64]:
        """(measures, sizes) mean correlation over the repeats that have one; NaN where none has."""
        return _ignoring_nan(lambda: np.nanmean(self.correlation, axis=2))

    def interval(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """(2, measures, sizes) the ends between which the middle share ``confidence`` of the repeats lies."""
        return _ignoring_nan(lambda: np.nanquantile(self.correlation, _ends(confidence), axis=2))

    def value(self, measure: str, share: float) -> float:
        """Mean correlation of one measure at the size that is nearest to a share of the test triples."""
        return float(self.mean[self.measures.index(measure), np.argmin(np.abs(self.share - share))])

    def to_table(self, confidence: float = 0.95) -> pa.Table:
        """A row per measure and size: measure, share, triples, repeats, mean, low, high, undefined; ready to plot.

        ``undefined`` is how many repeats have no correlation; the other columns are over those that have.
        """
        n_measures, n_sizes, repeats = self.correlation.shape
        low, high = self.interval(confidence)
        return pa.table(
            {
                "measure": _names(self.measures, n_sizes),
                "share": arrow_of(np.tile(self.share, n_measures)),
                "triples": arrow_of(np.tile(self.triples, n_measures)),
                "repeats": arrow_of(np.full(n_measures * n_sizes, repeats)),
                "mean": arrow_of(self.mean.ravel()),
                "low": arrow_of(low.ravel()),
                "high": arrow_of(high.ravel()),
                "undefined": arrow_of(np.count_nonzero(np.isnan(self.correlation), axis=2).ravel()),
            }
        )

    def repeats_table(self) -> pa.Table:
        """A row per measure, size and repeat: measure, share, triples, repeat (from 0), correlation."""
        n_measures, n_sizes, repeats = self.correlation.shape
        return pa.table(
            {
                "measure": _names(self.measures, n_sizes * repeats),
                "share": arrow_of(np.tile(np.repeat(self.share, repeats), n_measures)),
                "triples": arrow_of(np.tile(np.repeat(self.triples, repeats), n_measures)),
                "repeat": arrow_of(np.tile(np.arange(repeats), n_measures * n_sizes)),
                "correlation": arrow_of(self.correlation.ravel()),
            }
        )

    def scores_table(self, confidence: float = 0.95) -> pa.Table:
        """A row per measure, size and system: measure, share, triples, system, full, mean, low, high.

        ``full`` is the score on the full test set, the others are over the repeats whose score is defined.
        """
        n_measures, n_sizes, _, n_systems = self.scores.shape
        mean = _ignoring_nan(lambda: np.nanmean(self.scores, axis=2))
        low, high = _ignoring_nan(lambda: np.nanquantile(self.scores, _ends(confidence), axis=2))
        full = np.broadcast_to(self.full[:, None, :], mean.shape)
        return pa.table(
            {
                "measure": _names(self.measures, n_sizes * n_systems),
                "share": arrow_of(np.tile(np.repeat(self.share, n_systems), n_measures)),
                "triples": arrow_of(np.tile(np.repeat(self.triples, n_systems), n_measures)),
                "system": pa.array(list(self.systems) * (n_measures * n_sizes), pa.string()),
                "full": arrow_of(np.ascontiguousarray(full).ravel()),
                "mean": arrow_of(mean.ravel()),
                "low": arrow_of(low.ravel()),
                "high": arrow_of(high.ravel()),
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

    def __repr__(self) -> str:
        n_measures, n_sizes, repeats = self.correlation.shape
        return (
            f"<Stability: {self.coefficient} of {len(self.systems)} systems, {n_measures} measures, "
            f"{n_sizes} sizes x {repeats} repeats>"
        )


def _names(measures: tuple[str, ...], times: int) -> pa.Array:
    return pa.array([measure for measure in measures for _ in range(times)], pa.string())


def _ends(confidence: float) -> list[float]:
    tail = (1 - confidence) / 2
    return [tail, 1 - tail]


def _ignoring_nan(value: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """What NaN-aware numpy says, without its warning where there is nothing but NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return value()

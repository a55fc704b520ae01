"""Which pairs of systems a measure can tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.frames import frame_of_table

if TYPE_CHECKING:
    import pandas as pd

#: every test there is, in the order in which they are shown
POWER_TESTS = ("t", "clustered", "bootstrap", "tukey")
Resample = Literal["question", "item"]
#: what the last two can draw and shuffle as one; the first is the usual one
RESAMPLES: tuple[Resample, ...] = get_args(Resample)
#: which of them a summary speaks of, the first that was made
SPEAKING = ("clustered", "t", "bootstrap", "tukey")


@dataclass(frozen=True, slots=True, eq=False)
class Power:
    """Paired tests of all pairs of systems under every measure.

    Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ... of ``systems``; a difference is the first one's less the
    second's, and ``better`` names the system in whose favour it is. What has no value, such as p without variance, is
    NaN.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as the caller spelled them
    tests: tuple[str, ...]  # of POWER_TESTS
    alpha: float
    repeats: int  # bootstrap samples, and shuffles
    items: tuple[str, ...]  # per measure, "answers" or "questions"
    higher_is_better: tuple[bool, ...]  # per measure
    scale: tuple[str, ...]  # per measure, what is averaged, and so tested: "value", "ln value", ...
    n_items: NDArray[np.int64]  # (measures,)
    n_questions: NDArray[np.int64]  # (measures,) questions with an item
    value: NDArray[np.float64]  # (measures, systems) the measure's number
    difference: NDArray[np.float64]  # (measures, pairs) on that scale; positive: the first one's number is higher
    d_z: NDArray[np.float64]  # (measures, pairs) difference over the standard deviation of the items' differences
    d_pooled: NDArray[np.float64]  # (measures, pairs) difference over the pooled standard deviation of the two systems
    statistic: NDArray[np.float64]  # (measures, tests, pairs) Student's t; NaN for tests that have none
    p: NDArray[np.float64]  # (measures, tests, pairs)
    adjusted: NDArray[np.float64]  # (measures, tests, pairs) by Holm's method; of Tukey p itself, which holds for all

    def __repr__(self) -> str:
        n_pairs = self.difference.shape[1]
        return f"<Power: {len(self.measures)} measures, {n_pairs} pairs of systems, {', '.join(self.tests)}>"

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(pairs,) each: the first and the second system."""
        first, second = np.triu_indices(len(self.systems), 1)
        return first, second

    @property
    def better(self) -> NDArray[np.object_]:
        """(measures, pairs) the system that is better, the one of the lower number where lower is; "" of equals."""
        rising = np.array(self.higher_is_better)[:, None]
        ahead = np.where(rising, self.difference, -self.difference)
        named = np.array([*self.systems, ""], object)
        first, second = self.pairs
        found: NDArray[np.object_] = named[np.select([ahead > 0, ahead < 0], [first, second], len(self.systems))]
        return found

    @property
    def undefined(self) -> NDArray[np.int64]:
        """(measures, tests) pairs without a p-value."""
        without: NDArray[np.int64] = np.isnan(self.p).sum(axis=2)
        return without

    @property
    def area(self) -> NDArray[np.float64]:
        """(measures, tests) area under the curve of descending p-values over a base of 1, which is their mean."""
        known = ~np.isnan(self.p)
        return _quotient(np.where(known, self.p, 0.0).sum(axis=2), known.sum(axis=2))

    @property
    def share(self) -> NDArray[np.float64]:
        """(measures, tests) share of the pairs with a p-value whose p is below alpha."""
        return _quotient((self.p < self.alpha).sum(axis=2), (~np.isnan(self.p)).sum(axis=2))

    @property
    def share_adjusted(self) -> NDArray[np.float64]:
        """(measures, tests) the same of the adjusted p-values."""
        return _quotient((self.adjusted < self.alpha).sum(axis=2), (~np.isnan(self.adjusted)).sum(axis=2))

    @property
    def smallest(self) -> NDArray[np.float64]:
        """(measures, tests) smallest absolute difference with p below alpha; NaN where there is none."""
        gap = np.where(self.p < self.alpha, np.abs(self.difference)[:, None], np.inf)
        least = gap.min(axis=2, initial=np.inf)
        return np.where(np.isinf(least), np.nan, least)

    @property
    def largest_missed(self) -> NDArray[np.float64]:
        """(measures, tests) largest absolute difference with p of at least alpha; NaN where there is none."""
        gap = np.where(self.p >= self.alpha, np.abs(self.difference)[:, None], -np.inf)
        most = gap.max(axis=2, initial=-np.inf)
        return np.where(np.isinf(most), np.nan, most)

    @property
    def speaking(self) -> str:
        """The test that speaks for a measure: where there is a choice, the one that knows of questions."""
        return next(test for test in SPEAKING if test in self.tests)

    def curve(self, measure: str, test: str | None = None) -> NDArray[np.float64]:
        """P-values of one measure in descending order, those that are undefined left out.

        Parameters
        ----------
        measure : str
        test : str, optional
            Default: :attr:`speaking`.
        """
        p = self.p[self.measures.index(measure), self.tests.index(test or self.speaking)]
        descending: NDArray[np.float64] = np.sort(p[~np.isnan(p)])[::-1]
        return descending

    def to_table(self) -> pa.Table:
        """A row per measure, pair and test.

        measure, first, second, difference, better, scale, d_z, d_pooled, test, t, p, p_adjusted.
        """
        n_measures, n_tests, n_pairs = self.p.shape
        measure = np.repeat(np.arange(n_measures), n_pairs * n_tests).tolist()
        pair = np.tile(np.repeat(np.arange(n_pairs), n_tests), n_measures)
        first, second = (part[pair].tolist() for part in self.pairs)
        columns: dict[str, Any] = {
            "measure": pa.array([self.measures[place] for place in measure], pa.string()),
            "first": pa.array([self.systems[place] for place in first], pa.string()),
            "second": pa.array([self.systems[place] for place in second], pa.string()),
            "difference": np.repeat(self.difference.ravel(), n_tests).tolist(),
            "better": pa.array(np.repeat(self.better.ravel(), n_tests).tolist(), pa.string()),
            "scale": pa.array([self.scale[place] for place in measure], pa.string()),
            "d_z": np.repeat(self.d_z.ravel(), n_tests).tolist(),
            "d_pooled": np.repeat(self.d_pooled.ravel(), n_tests).tolist(),
            "test": pa.array(list(self.tests) * (n_measures * n_pairs), pa.string()),
        }
        for name, cube in (("t", self.statistic), ("p", self.p), ("p_adjusted", self.adjusted)):
            columns[name] = cube.transpose(0, 2, 1).ravel().tolist()
        return pa.table(columns)

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

    def summary_table(self) -> pa.Table:
        """A row per measure and test.

        measure, test, items, n_items, n_questions, pairs, undefined, alpha, below, share, below_adjusted,
        share_adjusted, area, smallest, largest_missed, scale.
        """
        n_measures, n_tests, n_pairs = self.p.shape
        each = [place for place in range(n_measures) for _ in range(n_tests)]
        columns: dict[str, Any] = {
            "measure": pa.array([self.measures[place] for place in each], pa.string()),
            "test": pa.array(list(self.tests) * n_measures, pa.string()),
            "items": pa.array([self.items[place] for place in each], pa.string()),
            "n_items": [int(self.n_items[place]) for place in each],
            "n_questions": [int(self.n_questions[place]) for place in each],
            "pairs": [n_pairs] * len(each),
            "undefined": self.undefined.ravel().tolist(),
            "alpha": [self.alpha] * len(each),
            "below": (self.p < self.alpha).sum(axis=2).ravel().tolist(),
            "share": self.share.ravel().tolist(),
            "below_adjusted": (self.adjusted < self.alpha).sum(axis=2).ravel().tolist(),
            "share_adjusted": self.share_adjusted.ravel().tolist(),
            "area": self.area.ravel().tolist(),
            "smallest": self.smallest.ravel().tolist(),
            "largest_missed": self.largest_missed.ravel().tolist(),
            "scale": pa.array([self.scale[place] for place in each], pa.string()),
        }
        return pa.table(columns)

    def summary(self) -> pd.DataFrame:
        """:meth:`summary_table` as a data frame."""
        return frame_of_table(self.summary_table())

    def curve_table(self) -> pa.Table:
        """The curves, a row per measure, test and place from 1 in descending order of p: what a figure is drawn of."""
        columns: dict[str, list[Any]] = {"measure": [], "test": [], "place": [], "p": []}
        for measure in self.measures:
            for test in self.tests:
                descending = self.curve(measure, test)
                columns["measure"] += [measure] * len(descending)
                columns["test"] += [test] * len(descending)
                columns["place"] += range(1, len(descending) + 1)
                columns["p"] += descending.tolist()
        kinds = (pa.string(), pa.string(), pa.int64(), pa.float64())
        return pa.table(
            {name: pa.array(column, kind) for (name, column), kind in zip(columns.items(), kinds, strict=True)}
        )


def _quotient(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient

"""Discriminative power of measures: which pairs of systems a measure distinguishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.frames import Framed, frame_of_table
from kgtrec.data.lazy import named
from kgtrec.data.table import Column, Figure, PlottedResult, Table, lower_text
from kgtrec.errors import KgtrecError, MeasureError, between_0_and_1, one_of, warn
from kgtrec.evaluation.item_scores import ItemScores, scored_items, totals
from kgtrec.evaluation.scoring import ScoringOptions
from kgtrec.kernels.statistics import paired_tests
from kgtrec.meta.pair_tests import PairedSample, PairTests, paired_sample, scale_of, spread
from kgtrec.workers.results import Helper, number_of_workers

if TYPE_CHECKING:
    import pandas as pd


#: all tests, in the order in which they are shown
POWER_TESTS = ("t", "clustered", "bootstrap", "tukey")
_TEST_NAMES = {"clustered": "t, clustered", "tukey": "Tukey HSD"}
Resample = Literal["question", "item"]
#: units that the last two resample and shuffle; the first is the default
RESAMPLES: tuple[Resample, ...] = get_args(Resample)
#: the test that a summary reports: the first of these that was made
MAIN_TESTS = ("clustered", "t", "bootstrap", "tukey")


@dataclass(frozen=True, slots=True, eq=False)
class Power(Framed, PlottedResult):
    """Paired tests of all pairs of systems under every measure.

    Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ... of ``systems``; a difference is the first one's minus the
    second's, and ``better`` names the better system. Undefined values, such as p without variance, are NaN.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as spelled by the caller
    tests: tuple[str, ...]  # of POWER_TESTS
    alpha: float
    repeats: int  # bootstrap samples, and shuffles
    items: tuple[str, ...]  # per measure, "answers" or "questions"
    higher_is_better: tuple[bool, ...]  # per measure
    scale: tuple[str, ...]  # per measure, the averaged and tested quantity: "value", "ln value", ...
    n_items: NDArray[np.int64]  # (measures,)
    n_questions: NDArray[np.int64]  # (measures,) questions with an item
    value: NDArray[np.float64]  # (measures, systems) the measure's value
    difference: NDArray[np.float64]  # (measures, pairs) on that scale; positive: the first one's value is higher
    d_z: NDArray[np.float64]  # (measures, pairs) difference divided by the standard deviation of the items' differences
    d_pooled: NDArray[np.float64]  # (measures, pairs) difference / the pooled standard deviation of the two systems
    statistic: NDArray[np.float64]  # (measures, tests, pairs) Student's t; NaN for tests without one
    p: NDArray[np.float64]  # (measures, tests, pairs)
    adjusted: NDArray[np.float64]  # (measures, tests, pairs) by Holm's method; for Tukey p itself, which holds for all

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
        """(measures, pairs) the better system, by the measure's direction; "" for equal values."""
        rising = np.array(self.higher_is_better)[:, None]
        ahead = np.where(rising, self.difference, -self.difference)
        named = np.array([*self.systems, ""], object)
        first, second = self.pairs
        return named[np.select([ahead > 0, ahead < 0], [first, second], len(self.systems))]

    @property
    def undefined(self) -> NDArray[np.int64]:
        """(measures, tests) pairs without a p-value."""
        return np.isnan(self.p).sum(axis=2)

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
    def main_test(self) -> str:
        """The test that a measure's summary reports: if possible, one that accounts for questions."""
        return next(test for test in MAIN_TESTS if test in self.tests)

    def curve(self, measure: str, test: str | None = None) -> NDArray[np.float64]:
        """Return p-values of one measure in descending order, without undefined ones.

        Parameters
        ----------
        measure : str
        test : str, optional
            Default: :attr:`main_test`.
        """
        p = self.p[self.measures.index(measure), self.tests.index(test or self.main_test)]
        return np.sort(p[~np.isnan(p)])[::-1]

    def figures(self) -> tuple[Figure, ...]:
        """Return the curves of p-values: a figure per test, :attr:`main_test` first, with a line per measure."""
        tests = sorted(self.tests, key=lambda test: test != self.main_test)
        curves = self.curve_table()
        return tuple(
            named("report.figures", "p_value_curves")(
                curves.filter(pc.equal(curves["test"], test)),
                key=f"p-values-{test}",
                test=named("report.figures", "TESTS")[test],
                alpha=self.alpha,
            )
            for test in tests
        )

    def to_table(self) -> pa.Table:
        """Return a row per measure, pair and test.

        measure, first, second, difference, better, scale, d_z, d_pooled, test, t, p, p_adjusted.
        """
        n_measures, n_tests, n_pairs = self.p.shape
        first, second = ([self.systems[place] for place in part] for part in self.pairs)
        columns = {
            "measure": (0, self.measures),
            "first": (1, first),
            "second": (1, second),
            "difference": self.difference[:, :, None],
            "better": self.better[:, :, None],
            "scale": (0, self.scale),
            "d_z": self.d_z[:, :, None],
            "d_pooled": self.d_pooled[:, :, None],
            "test": (2, self.tests),
        }
        cubes = {"t": self.statistic, "p": self.p, "p_adjusted": self.adjusted}
        by_pair = {name: cube.transpose(0, 2, 1) for name, cube in cubes.items()}
        return long_table((n_measures, n_pairs, n_tests), columns | by_pair)

    def summary_table(self) -> pa.Table:
        """Return a row per measure and test.

        measure, test, items, n_items, n_questions, pairs, undefined, alpha, below, share, below_adjusted,
        share_adjusted, area, smallest, largest_missed, scale.
        """
        columns = {
            "measure": (0, self.measures),
            "test": (1, self.tests),
            "items": (0, self.items),
            "n_items": (0, np.array(self.n_items, np.int64)),
            "n_questions": (0, np.array(self.n_questions, np.int64)),
            "pairs": self.p.shape[2],
            "undefined": self.undefined,
            "alpha": float(self.alpha),
            "below": (self.p < self.alpha).sum(axis=2),
            "share": self.share,
            "below_adjusted": (self.adjusted < self.alpha).sum(axis=2),
            "share_adjusted": self.share_adjusted,
            "area": self.area,
            "smallest": self.smallest,
            "largest_missed": self.largest_missed,
            "scale": (0, self.scale),
        }
        return long_table(self.undefined.shape, columns)

    def summary(self) -> pd.DataFrame:
        """Return :meth:`summary_table` as a data frame."""
        return frame_of_table(self.summary_table())

    def about(self) -> dict[str, Any]:
        """Return the systems and options."""
        return {"systems": list(self.systems), "alpha": self.alpha, "repeats": self.repeats}

    def tables(self) -> tuple[Table, ...]:
        """Return ``measures``, a row per measure and test, and ``pairs``, a row per measure, pair and test."""
        table = self.summary_table()
        columns = (*power_columns(self.alpha), *([Column("undefined")] if self.undefined.any() else []))
        measures = Table("measures", "Discriminative power", self._head(), table, columns, distinct_tests(table))
        return measures, self._pairs()

    def _pairs(self) -> Table:
        """The pairs of each measure, the smallest p last as on the curve."""
        n_measures, n_tests, n_pairs = self.p.shape
        main = self.tests.index(self.main_test)
        order = np.argsort(-self.p[:, main], axis=1, kind="stable")  # NaN last
        place = np.arange(n_measures)[:, None] * n_pairs + order
        rows = (place[:, :, None] * n_tests + np.arange(n_tests)).ravel()
        resampled = max(1e-4, 1 / self.repeats)
        least = [resampled if test in ("bootstrap", "tukey") else 1e-4 for test in self.tests] * place.size
        columns = (
            Column("measure"),
            Column("first"),
            Column("second"),
            Column("better"),
            Column("test", names=_TEST_NAMES),
            Column("difference", form="difference"),
            Column("d_z", digits=3),
            Column("d_pooled", "d pooled", digits=3),
            Column("p", form="p", least=least),
            Column("p_adjusted", "adjusted", form="p", least=least),
        )
        caption = (
            "differences are first minus second; the pairs of a measure by descending p"
            f"{lower_text(self.measures, self.higher_is_better)}"
        )
        return Table("pairs", "Pairs of systems", caption, self.to_table(), columns, rows.tolist())

    def _head(self) -> str:
        n_pairs = self.difference.shape[1]
        lines = [
            f"{n_pairs:,} pair{'s' * (n_pairs != 1)} of {len(self.systems):,} systems; two-tailed, alpha "
            f"{self.alpha:g}; area: of the curve of p-values, less is better"
        ]
        drawn = {"bootstrap": "bootstrap samples", "tukey": "shuffles"}
        if resampled := [name for test, name in drawn.items() if test in self.tests]:
            lines.append(f"{self.repeats:,} {' and '.join(resampled)}")
        scaled = {
            f"{name} ({scale})" for name, scale in zip(self.measures, self.scale, strict=True) if scale != "value"
        }
        if scaled:
            lines.append(f"differences are those of the averaged quantity: {', '.join(sorted(scaled))}")
        return "\n".join(lines)

    def curve_table(self) -> pa.Table:
        """Return the curves: a row per measure, test and 1-based position in descending order of p."""
        descending = -np.sort(-self.p, axis=2)  # NaN last
        place = 2, np.arange(1, descending.shape[2] + 1)
        columns = {"measure": (0, self.measures), "test": (1, self.tests), "place": place, "p": descending}
        return long_table(descending.shape, columns).filter(pa.array(~np.isnan(descending.ravel())))


def power_columns(alpha: float) -> tuple[Column, ...]:
    """Return the columns of :meth:`Power.summary_table` that are shown."""
    return (
        Column("measure"),
        Column("test", names=_TEST_NAMES),
        Column("n_items", "items"),
        Column("below", f"p < {alpha:g}"),
        Column("share", form="share", digits=1),
        Column("below_adjusted", "adjusted"),
        Column("share_adjusted", "share", form="share", digits=1),
        Column("area", form="p"),
        Column("smallest", "smallest found", form="difference"),
        Column("largest_missed", "largest missed", form="difference"),
    )


def distinct_tests(summary: pa.Table) -> list[int]:
    """Return the rows without clustered tests over questions, which repeat the plain ones."""
    rows = summary.to_pylist()
    plain = {row["measure"] for row in rows if row["test"] == "t"}
    repeats = ("clustered", "questions")
    return [at for at, row in enumerate(rows) if (row["test"], row["items"]) != repeats or row["measure"] not in plain]


def _quotient(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


Floats = NDArray[np.float64]


def power(
    qrels: Any,
    systems: Any = None,
    measures: Any = None,
    *,
    tests: Sequence[str] = ("t", "clustered"),
    alpha: float = 0.05,
    repeats: int = 1000,
    resample: Resample = "question",
    workers: int | None = None,
    executor: Helper | None = None,
    progress: Callable[[int], None] | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Power:
    """Test every pair of systems under every measure.

    Parameters
    ----------
    qrels, systems, measures, **scoring
        As for :func:`kgtrec.evaluation.item_scores`. Or only its result, instead of ``qrels``: a mapping from a
        measure's name to the score of each system on each item.
    tests : sequence of {"t", "clustered", "bootstrap", "tukey"}
        Two-tailed paired t-test over items; the same with errors that are robust where items of one question are not
        independent (for measures over questions it is the t-test); achieved significance level of the paired
        bootstrap; randomised Tukey HSD.
    alpha : float
        Level below which a p-value counts as significant.
    repeats : int
        Samples of the bootstrap, and shuffles of Tukey's test.
    resample : {"question", "item"}
        The unit that those two resample and shuffle. The result depends on the seed and the labels, not on the order
        of systems, questions or answers, nor on ``workers``.
    workers : int, optional
        Processes to share the work, started if it takes more than some seconds, as only those that resample do. Any
        number gives the same bytes. Default: 1, this one. With more, a program must guard its entry point with
        ``if __name__ == "__main__"``, as for :mod:`multiprocessing`.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the work instead, with the same bytes; see docs/scale.md.
    progress : callable, optional
        Called with 1 after each test of each measure.

    Returns
    -------
    Power

    Raises
    ------
    KgtrecError
        If there is no measure, there are fewer than two systems, or an option is not one of its choices.
    MeasureError
        If a measure's value is not a mean of items, such as a median.

    Warns
    -----
    KgtrecWarning
        If p is undefined for a pair: systems that differ by the same amount on every item, or have items without a
        value.

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR.
    Carterette (2012). Multiple testing in statistical analysis of systems-based information retrieval experiments.
    ACM TOIS 30(1).
    Zhou et al. (2022). Re-thinking knowledge graph completion evaluation from an information retrieval perspective.
    SIGIR, section on discriminative power.

    Examples
    --------
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> value = np.array([[1.0, 0.5, 1.0, 0.5], [0.5, 0.25, 1.0, 0.25], [0.5, 0.25, 0.5, 0.5]])
    >>> row, questions = np.arange(4, dtype=np.int32), Vocabulary.of(["q1", "q2", "q3", "q4"])
    >>> scores = ItemScores("macro.MRR", "questions", True, "mean", ("a", "b", "c"), value, row, questions)
    >>> tested = power({"macro.MRR": scores}, tests=["t"])
    >>> tested.p.round(3).tolist()
    [[[0.092, 0.08, 0.718]]]
    >>> tested.curve("macro.MRR").round(3).tolist(), tested.area.round(3).tolist()
    ([0.718, 0.092, 0.08], [[0.296]])
    """
    asked = [tests] if isinstance(tests, str) else list(tests)
    for test in asked:
        one_of("tests among", test, POWER_TESTS)
    if not asked:
        raise KgtrecError(f"expected at least one test of {', '.join(POWER_TESTS)}, found none")
    between_0_and_1("an alpha", alpha)
    if repeats < 1:
        raise KgtrecError(f"expected at least 1 repeat, found {repeats}")
    one_of("to resample one of", resample, RESAMPLES)
    number_of_workers(workers, executor)
    items = scored_items(qrels, systems, measures, **scoring)
    if not items:
        raise KgtrecError("expected scores under at least one measure, found none")
    compared = next(iter(items.values())).systems
    if len(compared) < 2:
        raise KgtrecError(f"expected at least two systems to distinguish, found {len(compared)}")
    for label, scores in items.items():
        if scores.systems != compared:
            raise KgtrecError(
                f"expected the same systems in the same order under every measure, found others at {label}"
            )
    samples, every = [_sample(scores) for scores in items.values()], list(items.values())
    made = tuple(test for test in POWER_TESTS if test in asked)
    seed = scoring.get("seed", 0)
    pairs = PairTests(samples, compared, made, repeats, by_question=resample == "question", seed=seed)
    statistic, p = pairs.outcomes(workers, executor, progress)
    adjusted = p.copy()
    for place, test in enumerate(made):
        if test != "tukey":
            adjusted[:, place] = [paired_tests.holm(own) for own in p[:, place]]
    difference, d_z, d_pooled = (np.array(part) for part in zip(*map(_means, samples), strict=True))
    tested = Power(
        compared,
        tuple(items),
        made,
        float(alpha),
        repeats,
        tuple(scores.items for scores in every),
        tuple(scores.higher_is_better for scores in every),
        tuple(scale_of(scores) for scores in every),
        np.array([len(scores) for scores in every], np.int64),
        np.array([len(np.unique(scores.question)) for scores in every], np.int64),
        np.array([totals(scores) for scores in every]),
        difference,
        d_z,
        d_pooled,
        statistic,
        p,
        adjusted,
    )
    _warn_undefined(tested, samples)
    return tested


def _sample(scores: ItemScores) -> PairedSample:
    try:
        return paired_sample(scores)
    except MeasureError as error:
        raise MeasureError(
            f"{error}; leave it out, or test one that is a mean, such as micro.GMR for micro.MedianRank "
            "(kgtrec meta compare has its bootstrap interval)"
        ) from None


def _means(sample: PairedSample) -> tuple[Floats, Floats, Floats]:
    """(pairs,) each: difference, d_z and pooled d; NaN for systems with items that have no value."""
    own = np.flatnonzero(sample.known)
    known = sample.value[own]
    if len(own) < 2:
        nothing = np.full(len(sample.known) * (len(sample.known) - 1) // 2, np.nan)
        return nothing, nothing, nothing
    found = (paired_tests.differences(known)[0], *paired_tests.effect_sizes(known))
    difference, d_z, d_pooled = (spread(part, own, len(sample.value), turns=True) for part in found)
    return difference, d_z, d_pooled


def _warn_undefined(tested: Power, samples: Sequence[PairedSample]) -> None:
    first, second = tested.pairs
    for place, sample in enumerate(samples):
        label, p = tested.measures[place], tested.p[place]
        if not sample.known.all():
            without = [name for name, known in zip(tested.systems, sample.known, strict=True) if not known]
            warn(
                f"{label} has no value for some {tested.items[place]} of {', '.join(without)}: their pairs have no "
                "p-value and are left out of the shares and the area"
            )
        flat = np.isnan(p).any(axis=0) & sample.known[first] & sample.known[second]
        if flat.any():
            one = int(np.flatnonzero(flat)[0])
            warn(
                f"{label} has no variance for {np.count_nonzero(flat)} of {len(flat)} pairs of systems, such as "
                f"{tested.systems[first[one]]} and {tested.systems[second[one]]}, which differ by the same amount: "
                "p is undefined there, and they are left out of the shares and the area"
            )

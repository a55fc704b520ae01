"""Discriminative power of measures: which pairs of systems a measure distinguishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.frames import Framed, frame_of_table
from kgtrec.data.lazy import imported
from kgtrec.data.qrels import Qrels
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.table import Column, Figure, PlottedResult, Table, lower_text
from kgtrec.errors import KgtrecError, MeasureError, between_0_and_1, one_of, warn
from kgtrec.evaluation.families import families_of, family_of_each
from kgtrec.evaluation.given import qrels_of
from kgtrec.evaluation.intervals import LEAST_BOUNDED, LEAST_EFFECTIVE, Drawn, least_effective, without_interval
from kgtrec.evaluation.item_scores import ItemScores, higher_terms_are_better, scored_items, terms, totals
from kgtrec.evaluation.sampled import SampleEstimates, sample_estimates
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.compact_letters import compact_letters
from kgtrec.kernels.statistics.ratio_intervals import Units, quotients
from kgtrec.kernels.statistics.resampled_tests import BootstrapTest, Part, ResampledTest, TukeyTest
from kgtrec.kernels.statistics.training_seeds import deviation, pairs_over_both, seed_components
from kgtrec.measures.names import better_of, parse_measure
from kgtrec.workers.results import Helper, Piece, number_of_workers, results

if TYPE_CHECKING:
    import pandas as pd


#: all tests, in the order in which they are shown
POWER_TESTS = ("t", "clustered", "bootstrap", "tukey", "sign")
#: those of estimates from a designed sample of the judgements: over other samples of the pool, and over other questions
SAMPLE_TESTS = ("pool", "questions")
#: those of families: over seeds and questions, and over questions only, of the best seed of each
SEED_TESTS = ("seeds", "best")
_TEST_NAMES = {
    "clustered": "t, clustered",
    "tukey": "Tukey HSD",
    "sign": "sign, side by side",
    "pool": "t, whole pool",
    "questions": "t, other questions",
    "seeds": "t, seeds and questions",
    "best": "t, best seeds",
}
Resample = Literal["question", "item"]
#: units that the bootstrap and Tukey's test resample and shuffle; the first is the default
RESAMPLES: tuple[Resample, ...] = get_args(Resample)
#: the test that a summary reports: the first of these that was made
MAIN_TESTS = ("clustered", "t", "bootstrap", "tukey", "sign", "questions", "seeds")


@dataclass(frozen=True, slots=True, eq=False)
class Power(Framed, PlottedResult):
    """Paired tests of all pairs of systems under every measure.

    Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ... of ``systems``; a difference is the first one's minus the
    second's, and ``better`` names the better system. Undefined values, such as p without variance, are NaN.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as spelled by the caller
    tests: tuple[str, ...]  # of POWER_TESTS, or SAMPLE_TESTS, or SEED_TESTS
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
    # (measures, tests, pairs) ends of intervals of level 1 - alpha, of families and of estimates from a sample
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    # (measures, pairs, 2) questions on which the measure prefers the first list, and the second; with the test "sign".
    # NaN for systems with items that have no value
    preferred: NDArray[np.float64] | None = None
    seeds: tuple[int, ...] = ()  # of families, which are the systems then; values are means over seeds
    deviation: NDArray[np.float64] | None = None  # (measures, families) standard deviation of the value over seeds
    of_test: NDArray[np.float64] | None = None  # (measures, tests, pairs) the difference that each test is about

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
        return self._better(self.difference[:, None])[:, 0]

    @property
    def _tested(self) -> NDArray[np.float64]:
        """(measures, tests or 1, pairs) the difference that each test is about."""
        return self.difference[:, None] if self.of_test is None else self.of_test

    def _better(self, difference: NDArray[np.float64]) -> NDArray[np.object_]:
        """(measures, tests, pairs) the system in favour of which the differences are."""
        ahead = np.where(np.array(self.higher_is_better)[:, None, None], difference, -difference)
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
        gap = np.where(self.p < self.alpha, np.abs(self._tested), np.nan)
        return np.fmin.reduce(gap, axis=2, initial=np.nan)

    @property
    def largest_missed(self) -> NDArray[np.float64]:
        """(measures, tests) largest absolute difference with p of at least alpha; NaN where there is none."""
        gap = np.where(self.p >= self.alpha, np.abs(self._tested), np.nan)
        return np.fmax.reduce(gap, axis=2, initial=np.nan)

    @property
    def decided(self) -> NDArray[np.float64]:
        """(measures,) mean share, over pairs of systems, of the questions on which the measure prefers one of both.

        NaN without the test "sign".
        """
        if self.preferred is None:
            return np.full(len(self.measures), np.nan)
        known = ~np.isnan(self.preferred[:, :, 0])
        return _quotient(np.nansum(self.preferred, axis=(1, 2)), known.sum(axis=1) * self.n_questions)

    @property
    def agreeing(self) -> NDArray[np.float64]:
        """(measures,) the part of these that prefers the system with the better value; half of systems of equal value.

        NaN without the test "sign", and where no question is decided.
        """
        if self.preferred is None:
            return np.full(len(self.measures), np.nan)
        ahead = np.where(np.array(self.higher_is_better)[:, None], self.difference, -self.difference)
        first, second = self.preferred[:, :, 0], self.preferred[:, :, 1]
        right = np.select([ahead > 0, ahead < 0], [first, second], (first + second) / 2)
        return _quotient(np.nansum(right, axis=1), np.nansum(first + second, axis=1))

    @property
    def main_test(self) -> str:
        """The test that a measure's summary reports: if possible, one that accounts for questions."""
        return next(test for test in MAIN_TESTS if test in self.tests)

    def curve(self, measure: str, test: str | None = None) -> NDArray[np.float64]:
        """Return p-values of one measure in descending order, without undefined ones.

        Parameters
        ----------
        measure : str
            One of ``measures``.
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
            imported("report.figures", "p_value_curves")(
                curves.filter(pc.equal(curves["test"], test)),
                key=f"p-values-{test}",
                test=imported("report.figures", "TESTS")[test],
                alpha=self.alpha,
            )
            for test in tests
        )

    def to_table(self) -> pa.Table:
        """Return a row per measure, pair and test.

        measure, first, second, difference, better, scale, d_z, d_pooled, test, t, p, p_adjusted; of estimates and
        families also low and high; with the test "sign" also first_preferred and second_preferred, numbers of
        questions.
        """
        n_measures, n_tests, n_pairs = self.p.shape
        first, second = ([self.systems[place] for place in part] for part in self.pairs)
        columns = {
            "measure": (0, self.measures),
            "first": (1, first),
            "second": (1, second),
            "difference": self._tested.transpose(0, 2, 1),
            "better": self._better(self._tested).transpose(0, 2, 1),
            "scale": (0, self.scale),
            "d_z": self.d_z[:, :, None],
            "d_pooled": self.d_pooled[:, :, None],
            "test": (2, self.tests),
        }
        cubes = {"t": self.statistic, "p": self.p, "p_adjusted": self.adjusted, "low": self.low, "high": self.high}
        by_pair = {name: cube.transpose(0, 2, 1) for name, cube in cubes.items() if cube is not None}
        if self.preferred is not None:
            by_pair |= {f"{name}_preferred": self.preferred[:, :, [at]] for at, name in enumerate(("first", "second"))}
        return long_table((n_measures, n_pairs, n_tests), columns | by_pair)

    def summary_table(self) -> pa.Table:
        """Return a row per measure and test.

        measure, test, items, n_items, n_questions, pairs, undefined, alpha, below, share, below_adjusted,
        share_adjusted, area, smallest, largest_missed, scale; with the test "sign" also decided and agreeing.
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
        if self.preferred is not None:
            columns |= {"decided": self.decided[:, None], "agreeing": self.agreeing[:, None]}
        return long_table(self.undefined.shape, columns)

    def summary(self) -> pd.DataFrame:
        """Return :meth:`summary_table` as a data frame."""
        return frame_of_table(self.summary_table())

    def about(self) -> dict[str, Any]:
        """Return the systems and options."""
        return {"systems": list(self.systems), "alpha": self.alpha, "repeats": self.repeats}

    def tables(self) -> tuple[Table, ...]:
        """Return ``measures``, a row per measure and test, ``pairs``, by pair too, and ``families``, if any."""
        table = self.summary_table()
        columns = (*power_columns(self.alpha), *([Column("undefined")] if self.undefined.any() else []))
        if self.preferred is not None:
            columns += (Column("decided", form="share", digits=1), Column("agreeing", form="share", digits=1))
        measures = Table("measures", "Discriminative power", self._head(), table, columns, distinct_tests(table))
        return (measures, self._pairs(), *([] if self.deviation is None else [self._families(self.deviation)]))

    def _families(self, deviations: NDArray[np.float64]) -> Table:
        """The families of each measure, the best first, with letters that those share which do not differ."""
        n, parts = len(self.systems), []
        main, (first, second) = self.tests.index(self.main_test), self.pairs
        for place, higher in enumerate(self.higher_is_better):
            differ = np.zeros((n, n), np.bool_)
            differ[first, second] = differ[second, first] = self.adjusted[place, main] < self.alpha
            order = np.argsort(-self.value[place] if higher else self.value[place], kind="stable")
            columns = {
                "measure": self.measures[place],
                "system": [self.systems[row] for row in order],
                "seeds": np.array(self.seeds)[order],
                "value": self.value[place, order],
                "deviation": deviations[place, order],
                "groups": imported("report.cells", "letters_of")(compact_letters(differ[np.ix_(order, order)])),
            }
            parts.append(long_table((n,), columns))
        return families_table(pa.concat_tables(parts), self.alpha)

    def _pairs(self) -> Table:
        """The pairs of each measure, the smallest p last as on the curve."""
        n_measures, n_tests, n_pairs = self.p.shape
        order = np.argsort(-self.p[:, self.tests.index(self.main_test)], axis=1, kind="stable")  # NaN last
        place = np.arange(n_measures)[:, None] * n_pairs + order
        rows = (place[:, :, None] * n_tests + np.arange(n_tests)).ravel()
        resampled = max(1e-4, 1 / max(self.repeats, 1))  # none for a sample of a pool
        least = [resampled if test in ("bootstrap", "tukey") else 1e-4 for test in self.tests] * place.size
        sizes = [Column("d_z", digits=3), Column("d_pooled", "d pooled", digits=3)]
        if self.low is not None:
            ends = ("low", f"{100 * (1 - self.alpha):g}% from"), ("high", "to")
            sizes = [Column(name, label, form="difference") for name, label in ends]
        columns = (
            Column("measure"),
            Column("first"),
            Column("second"),
            Column("better"),
            Column("test", names=_TEST_NAMES),
            Column("difference", form="difference"),
            *sizes,
            Column("p", form="p", least=least),
            *([Column("p_adjusted", "adjusted", form="p", least=least)] if n_pairs > 1 else []),
        )
        caption = (
            "differences are first minus second"
            f"{', of means over seeds or of best seeds' * bool(self.seeds)}; the pairs of a measure by descending p"
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
        if self.preferred is not None:
            lines.append(
                "decided: questions on which one list of a pair is preferred; agreeing: those of them where it is the "
                "better system's"
            )
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


def families_table(data: pa.Table, alpha: float, key: str = "families", title: str = "Families") -> Table:
    """Return the table of families, whose letters are of tests over seeds and questions at level ``alpha``."""
    parts: Any = {"deviation": "deviation", "groups": "groups", "among": ("measure",)}
    value = Column("value", digits="measure", better="measure", **parts)
    holm = ", Holm" * (pc.count_distinct(data["system"]).as_py() > 2)
    caption = (
        "Mean \N{PLUS-MINUS SIGN} standard deviation over seeds. Families that share a letter do not differ "
        f"significantly over seeds and questions (p < {alpha:g}{holm})."
    )
    if single := pc.unique(data["system"].filter(pc.equal(data["seeds"], 1))).to_pylist():
        caption += f"\nOne seed, taken to vary as the other family of a pair, if that has several: {', '.join(single)}."
    return Table(key, title, caption, data, (*map(Column, ("measure", "system", "seeds")), value))


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
    families: str | Mapping[str, str] | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Power:
    """Test every pair of systems under every measure.

    Parameters
    ----------
    qrels, systems, measures, **scoring
        As for :func:`kgtrec.evaluation.item_scores`. Or only its result, instead of ``qrels``: a mapping from a
        measure's name to the score of each system on each item. With :class:`SampledQrels` the differences are
        estimates of those that judging the whole pool would give, with their t-tests (``SAMPLE_TESTS``).
    tests : sequence of {"t", "clustered", "bootstrap", "tukey", "sign"}
        Two-tailed paired t-test over items; the same with errors that are robust where items of one question are not
        independent (for measures over questions it is the t-test); achieved significance level of the paired
        bootstrap; randomised Tukey HSD; sign test of side-by-side preferences: on how many questions the measure, with
        these judgements, prefers the first list, and on how many the second.
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
    families : "seeds" or mapping of str to str, optional
        Systems that were trained several times, as for :func:`kgtrec.evaluate`. Pairs are those of families, and the
        tests ``SEED_TESTS``: of the difference of their means over other seeds and other questions, and beside it the
        t-test clustered by question of the best seed of each, which is not valid for families.

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

    See Also
    --------
    kgtrec.meta.compare : Two systems in detail.

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR.
    Carterette (2012). Multiple testing in statistical analysis of systems-based information retrieval experiments.
    ACM TOIS 30(1).
    Searle, Casella, McCulloch (1992). Variance Components, for families.
    Zhou et al. (2022). Re-thinking knowledge graph completion evaluation from an information retrieval perspective.
    SIGIR, section on discriminative power.
    Chu et al. (2021). Evaluating relevance judgments with pairwise discriminative power. CIKM. Theirs is the entropy of
    orders of documents under scores that people's preferences between grades give, which needs such preferences and no
    systems, and for right and wrong answers depends on their numbers alone; ``sign`` asks of the systems' own lists
    whether the judgements distinguish two of them.

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
    if isinstance(qrels, SampledQrels):
        if families is not None:
            raise KgtrecError("expected no families with a sample of the judgements, found some; leave them out")
        sample = sample_estimates(qrels, systems, measures, Scoring(**scoring))
        sample.warn_of_few_questions()
        return _power_of_sample(sample, alpha)
    if families is not None:
        family_of_each(list(systems) if isinstance(systems, Mapping) else None, families)
        qrels = qrels if systems is None else qrels_of(qrels)
    drawn: Drawn = "question" if isinstance(qrels, Qrels) else "triple"  # as for intervals of values
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
    every = list(items.values())
    try:
        samples = [paired_sample(scores) for scores in every]
    except MeasureError as error:
        raise MeasureError(
            f"{error}; leave it out, or test one that is a mean, such as micro.GMR for micro.MedianRank "
            "(kgtrec meta compare has its bootstrap interval)"
        ) from None
    if families is not None:
        return _power_of_families(items, samples, families_of(compared, families), alpha, drawn)
    made = tuple(test for test in POWER_TESTS if test in asked)
    seed = scoring.get("seed", 0)
    pairs = PairTests(samples, compared, made, repeats, by_question=resample == "question", seed=seed)
    statistic, p = pairs.outcomes(workers, executor, progress)
    adjusted = p.copy()
    for place, test in enumerate(made):
        if test != "tukey":
            adjusted[:, place] = [paired_tests.holm(own) for own in p[:, place]]
    preferred = np.array([_preferred(*each) for each in zip(samples, every, strict=True)]) if "sign" in made else None
    tested = Power(
        compared,
        tests=made,
        repeats=repeats,
        value=np.array([totals(scores) for scores in every]),
        **_measured(items, samples, alpha),
        statistic=statistic,
        p=p,
        adjusted=adjusted,
        preferred=preferred,
    )
    _warn_undefined(tested, samples)
    return tested


def _power_of_sample(sample: SampleEstimates, alpha: float) -> Power:
    """The differences that judging the whole pool would give, with their tests and intervals."""
    if len(sample.systems) < 2:
        raise KgtrecError(f"expected at least two systems to distinguish, found {len(sample.systems)}")
    difference, *errors = (part.T for part in sample.differences())
    n = np.full(len(sample.measures), sample.layout.n_questions)
    unknown = np.full(difference.shape, np.nan)
    return Power(
        sample.systems,
        tuple(measure.label for measure in sample.measures),
        SAMPLE_TESTS,
        float(alpha),
        0,
        tuple(measure.items for measure in sample.measures),
        tuple(better_of(measure.label) != "lower" for measure in sample.measures),
        ("value",) * len(sample.measures),
        n,
        n,
        sample.levels()[0].T,
        difference,
        unknown,
        unknown,
        **t_tests(difference[:, None], np.stack(errors, axis=1), np.array(sample.freedom), alpha),
    )


def t_tests(difference: Floats, error: Floats, freedom: NDArray[Any], alpha: float) -> dict[str, Any]:
    """The fields of tests and intervals, (measures, tests, pairs) each."""
    from scipy.special import stdtr, stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(error > 0, difference / error, np.nan)
    p, half = 2 * stdtr(freedom, -np.abs(statistic)), stdtrit(freedom, 1 - alpha / 2) * error
    adjusted = np.array([[paired_tests.holm(own) for own in of_measure] for of_measure in p])
    return {"statistic": statistic, "p": p, "adjusted": adjusted, "low": difference - half, "high": difference + half}


def _preferred(sample: PairedSample, scores: ItemScores) -> Floats:
    """(pairs, 2) questions on which the first system is better, and the second; NaN for systems without some values."""
    ahead = paired_tests.preferences(sample.value, sample.cluster).astype(np.float64)
    ahead[~sample.known[np.stack(paired_tests.pairs(len(sample.known)))].all(axis=0)] = np.nan
    return ahead if scores.higher_is_better else ahead[:, ::-1]


def _power_of_families(
    items: Mapping[str, ItemScores],
    samples: Sequence[PairedSample],
    families: Mapping[str, NDArray[np.intp]],
    alpha: float,
    drawn: Drawn,
) -> Power:
    """Tests of the families' means over seeds and questions, and of their best seeds over questions."""
    if len(families) < 2:
        raise KgtrecError(
            f"expected at least two families to distinguish, found {len(families)}: {', '.join(families)}"
        )
    value, several = np.array([totals(scores) for scores in items.values()]), list(families.values())
    averaged, tests = [], []
    with np.errstate(invalid="ignore"):  # of infinities
        for own, scores, sample in zip(value, items.values(), samples, strict=True):
            means = np.stack([sample.value[seeds].mean(axis=0) for seeds in several])
            averaged.append(replace(sample, value=means, known=np.array([sample.known[own].all() for own in several])))
            rising = own if scores.higher_is_better else -own
            best = sample.value[[seeds[np.argmax(rising[seeds])] for seeds in several]]
            tests.append((_over_seeds(sample, means, several), _over_questions(best, sample.cluster)))
    difference, error, freedom, effective = np.array(tests).transpose(2, 0, 1, 3)
    tested = t_tests(difference, error, freedom, alpha)
    least = [_least_effective(scores, drawn) for scores in items.values()]
    is_known = effective >= np.reshape(least, (-1, 1, 1))
    tested |= {end: np.where(is_known, tested[end], np.nan) for end in ("low", "high")}
    found = Power(
        tuple(families),
        tests=SEED_TESTS,
        repeats=0,
        value=np.stack([value[:, own].mean(axis=1) for own in several], axis=1),
        **_measured(items, averaged, alpha),
        **tested,
        seeds=tuple(map(len, several)),
        deviation=np.stack([deviation(value[:, own].T) for own in several], axis=1),
        of_test=difference,
    )
    _warn_undefined(found, averaged)
    each = zip(items, least, effective, ~np.isnan(found.p) & ~is_known, strict=True)
    of = f"{found.p[0].size} differences"
    if few := [without_interval(label, n[rows], own, "question", of) for label, own, n, rows in each if rows.any()]:
        warn(f"no interval for {', '.join(few)}")
    return found


def _least_effective(scores: ItemScores, drawn: Drawn) -> float:
    """The effective number of questions that an interval of a difference needs: as many units as that of a value."""
    with suppress(MeasureError):
        return least_effective(parse_measure(scores.measure), drawn)
    return LEAST_BOUNDED if scores.higher_is_better else LEAST_EFFECTIVE


def _over_questions(rows: Floats, cluster: NDArray[np.int64]) -> Floats:
    """(4, pairs) differences of the means of rows, standard errors, degrees of freedom, and effective questions."""
    difference = paired_tests.differences(rows)[0]
    error, n_clusters = paired_tests.clustered_errors(rows, cluster)
    units, one = Units.of(cluster, np.zeros(len(cluster), np.int32), 1), np.ones(len(cluster))
    each = zip(*paired_tests.pairs(len(rows)), strict=True)
    effective = [quotients(units, rows[first] - rows[second], one).effective[0] for first, second in each]
    return np.stack([difference, error, np.full(len(error), n_clusters - 1.0), effective])


def _over_seeds(sample: PairedSample, means: Floats, families: Sequence[NDArray[np.intp]]) -> Floats:
    """(4, pairs) the same of the means over seeds of each family, over questions and seeds."""
    difference, error, freedom, effective = _over_questions(means, sample.cluster)
    of_seed, of_mean = (paired_tests.clustered_mean_errors(rows, sample.cluster) for rows in (sample.value, means))
    seeds = zip(families, of_mean, strict=True)
    parts = [seed_components(sample.value[own].mean(axis=1), of_seed[own], of_all) for own, of_all in seeds]
    between, noise = np.transpose(parts)
    n_seeds = np.array([len(own) for own in families])
    return np.stack([difference, *pairs_over_both(error, freedom, between, noise, n_seeds), effective])


def _measured(items: Mapping[str, ItemScores], samples: Sequence[PairedSample], alpha: float) -> dict[str, Any]:
    """The fields of the measures, and of the sizes of differences."""
    every = list(items.values())
    sizes = zip(*map(_means, samples), strict=True)
    return {
        "measures": tuple(items),
        "alpha": float(alpha),
        "items": tuple(scores.items for scores in every),
        "higher_is_better": tuple(scores.higher_is_better for scores in every),
        "scale": tuple(scale_of(scores) for scores in every),
        "n_items": np.array([len(scores) for scores in every], np.int64),
        "n_questions": np.array([len(np.unique(scores.question)) for scores in every], np.int64),
        **{name: np.array(size) for name, size in zip(("difference", "d_z", "d_pooled"), sizes, strict=True)},
    }


def _means(sample: PairedSample) -> tuple[Floats, Floats, Floats]:
    """(pairs,) each: difference, d_z and pooled d; NaN for systems with items that have no value."""
    own = np.flatnonzero(sample.known)
    known = sample.value[own]
    sizes = (paired_tests.differences(known)[0], *paired_tests.effect_sizes(known))
    difference, d_z, d_pooled = (spread(size, own, len(sample.value), turns=True) for size in sizes)
    return difference, d_z, d_pooled


def _warn_undefined(tested: Power, samples: Sequence[PairedSample]) -> None:
    first, second = tested.pairs
    for place, sample in enumerate(samples):
        label, p = tested.measures[place], tested.p[place]
        if not sample.known.all():
            without = [name for name, known in zip(tested.systems, sample.known, strict=True) if not known]
            warn(
                f"{label} has no value for some {tested.items[place]} of {', '.join(without)}: "
                "their pairs have no p-value and count in no share"
            )
        flat = np.isnan(p).any(axis=0) & sample.known[first] & sample.known[second]
        if flat.any():
            one = int(np.flatnonzero(flat)[0])
            warn(
                f"{label} has no variance for {np.count_nonzero(flat)} of {len(flat)} pairs of systems, such as "
                f"{tested.systems[first[one]]} and {tested.systems[second[one]]}, which differ by the same amount: "
                "p is undefined there, and they count in no share"
            )


_RESAMPLED: dict[str, type[ResampledTest]] = {"tukey": TukeyTest, "bootstrap": BootstrapTest}
#: the averaged quantity if it is not the value itself, with the sign for which it rises with the measure's value
_SCALES = {
    "geometric mean": "ln value",
    "floored geometric mean": "ln value",
    "harmonic mean": "-1 / value",
    "inverse mean": "-value",
    "inverse geometric mean": "-ln value",
}


@dataclass(frozen=True, slots=True, eq=False)
class PairedSample:
    """The averaged values of one measure, in an order that depends only on labels."""

    value: Floats  # (systems, n) rising with the measure's value
    cluster: NDArray[np.int64]  # (n,) question of each item, by the bytes of its label
    clustered: bool  # whether a question may have several items
    known: NDArray[np.bool_]  # (systems,) whether all items have a value


def paired_sample(scores: ItemScores) -> PairedSample:
    """Return the items of one measure in the form for the paired tests.

    Raises
    ------
    MeasureError
        If the measure's value is not a mean of items.
    """
    value = rising_terms(scores)
    cluster = scores.questions.byte_order[scores.question].astype(np.int64)
    order = scores.label_order
    known = np.isfinite(value).sum(axis=1) == max(len(scores), 1)
    return PairedSample(value[:, order], cluster[order], scores.items == "answers", known)


def rising_terms(scores: ItemScores) -> Floats:
    """Return, (systems, n), the averaged quantity, with the sign for which its mean rises with the measure's value.

    Raises
    ------
    MeasureError
        If the measure's value is not a mean of items.
    """
    value = terms(scores)
    return value if higher_terms_are_better(scores) == scores.higher_is_better else -value


def scale_of(scores: ItemScores) -> str:
    """Return the averaged and tested quantity, in words."""
    return _SCALES.get(scores.aggregate, "value")


class PairTests:
    """All tests under all measures, which processes have a copy of.

    Parameters
    ----------
    samples : sequence of PairedSample
    systems : sequence of str
    tests : sequence of str
        Of t, clustered, bootstrap and tukey.
    repeats : int
    by_question : bool
        Whether the last two resample and shuffle questions, not items.
    seed : int
    """

    def __init__(
        self,
        samples: Sequence[PairedSample],
        systems: Sequence[str],
        tests: Sequence[str],
        repeats: int,
        *,
        by_question: bool,
        seed: int,
    ) -> None:
        self._n_systems, self._tests, self._repeats, self._seed = len(systems), tuple(tests), repeats, seed
        self._by_question = by_question
        # by name, so that shuffles do not depend on the order of the systems
        by_name = np.array(sorted(range(len(systems)), key=systems.__getitem__), np.intp)
        self._own = [by_name[sample.known[by_name]] for sample in samples]
        self._value = [sample.value[own] for sample, own in zip(samples, self._own, strict=True)]
        self._cluster = [sample.cluster if sample.clustered else None for sample in samples]
        self._last: tuple[tuple[int, str], ResampledTest] | None = None  # the one that was used last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def outcomes(
        self, workers: int | None, executor: Helper | None, progress: Callable[[int], None] | None
    ) -> tuple[Floats, Floats]:
        """Return t and p, (measures, tests, pairs) each; NaN for tests without t, and for systems without values."""
        n_pairs = len(paired_tests.pairs(self._n_systems)[0])
        statistic, p = np.full((2, len(self._value), len(self._tests), n_pairs), np.nan)
        pieces = list(self._pieces(several=executor is not None or (workers or 1) > 1))
        found = results(self, pieces, workers=workers, executor=executor, name="power")
        for (measure, test), own in groupby(zip(pieces, found, strict=True), key=lambda each: each[0][:2]):
            t, share = np.add.reduce([part for _, part in own])
            place, systems = (measure, self._tests.index(test)), self._own[measure]
            statistic[place] = spread(t, systems, self._n_systems, turns=True)
            if test in _RESAMPLED:
                share = share / self._repeats
            p[place] = spread(share, systems, self._n_systems, turns=False)
            if progress is not None:
                progress(1)
        return statistic, p

    def _pieces(self, *, several: bool) -> Iterator[Piece]:
        """A measure, a test, and for those that resample a part of the samples; the longest first."""
        parts: dict[tuple[str, int, int], list[Part]] = {}
        for test in sorted(self._tests, key=[*_RESAMPLED, *self._tests].index):
            for measure, value in enumerate(self._value):
                if test not in _RESAMPLED or len(value) < 2:
                    yield measure, test
                    continue
                drawn = self._drawn(measure)
                n_units = value.shape[1] if drawn is None else len(np.unique(drawn))
                shape = len(value), n_units
                if (test, *shape) not in parts:
                    made = _RESAMPLED[test].parts(shape, self._repeats, self._seed, several=several)
                    parts[test, *shape] = list(made)
                for part in parts[test, *shape]:
                    yield measure, test, *part

    def _drawn(self, measure: int) -> NDArray[np.int64] | None:
        """The question of each item if questions are sampled, and are not the items."""
        return self._cluster[measure] if self._by_question else None

    def __call__(self, measure: int, test: str, *part: Any) -> Floats:
        """(2, pairs) of the systems with values: t, NaN where the test has none, and p, or samples beyond the data."""
        value, cluster = self._value[measure], self._cluster[measure]
        n_systems, n = value.shape
        nothing = np.full(n_systems * (n_systems - 1) // 2, np.nan)
        if n_systems < 2:
            return np.stack([nothing, nothing])
        if test in _RESAMPLED:
            return np.stack([nothing, self._resampled(measure, test).beyond(*part)])
        if test == "sign":
            of_questions = np.arange(n) if cluster is None else cluster
            return np.stack([nothing, paired_tests.sign_test(paired_tests.preferences(value, of_questions))])
        mean, spread = paired_tests.differences(value)
        if test == "clustered" and cluster is not None:
            error, n_clusters = paired_tests.clustered_errors(value, cluster)
            return np.stack(paired_tests.t_test(mean, error, n_clusters - 1))
        return np.stack(paired_tests.t_test(mean, spread / np.sqrt(n), n - 1))

    def _resampled(self, measure: int, test: str) -> ResampledTest:
        last = self._last
        if last is None or last[0] != (measure, test):
            last = (measure, test), _RESAMPLED[test].of(self._value[measure], self._drawn(measure))
            self._last = last
        return last[1]


def spread(found: Floats, own: NDArray[np.intp], n_systems: int, *, turns: bool) -> Floats:
    """Return the values of the pairs of some systems, in any order, as those of the pairs of all; NaN for the others.

    ``turns``: a pair in the opposite order has the opposite sign.
    """
    square = np.full((n_systems, n_systems), np.nan)
    first, second = paired_tests.pairs(len(own))
    square[own[first], own[second]] = found
    square[own[second], own[first]] = 0.0 - found if turns else found
    return square[paired_tests.pairs(n_systems)]

"""Rank correlations of two sets of scores of the same systems, and the pairs of systems that change places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Framed
from kgtrec.data.lazy import imported
from kgtrec.data.progress import Progress
from kgtrec.data.scores import Scores, ScoreTable
from kgtrec.data.table import Column, Figure, PlottedResult, Result, Table, key_text
from kgtrec.errors import KgtrecError, MeasureError, between_0_and_1, kind_of, legible, some_of, warn
from kgtrec.evaluation.item_scores import ItemScores, is_scored, scored_items, terms, totals
from kgtrec.evaluation.scoring import ScoringOptions
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.resampling import percentile_interval
from kgtrec.meta.coefficients import COEFFICIENTS, Coefficient, coefficients_of
from kgtrec.meta.known_measures import Better, asked_for, named
from kgtrec.meta.question_draws import Bootstrap, QuestionDraws
from kgtrec.workers.results import Helper, number_of_workers, results


@dataclass(frozen=True, slots=True, eq=False)
class Correlations(Framed, PlottedResult):
    """Rank correlations, one row per pair of rankings of the systems; NaN where one of the two is no ranking."""

    rows: Mapping[str, tuple[str, ...]]  # column -> (n,) what was compared: first, second, measure (or labels), keys
    coefficients: tuple[str, ...]  # among COEFFICIENTS
    value: NDArray[np.float64]  # (n, coefficients)
    systems: tuple[str, ...]  # that were ranked
    left_out: tuple[str, ...] = ()  # systems that only one of the two has
    confidence: float | None = None  # share of the samples that the ranges hold
    low: NDArray[np.float64] | None = None  # (n, coefficients) ends of the ranges over resampled questions
    high: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Correlations: {len(self)} rows x {', '.join(self.coefficients)}, {len(self.systems)} systems>"

    def of(self, coefficient: str = "tau", **row: str) -> float:
        """Return one value: ``of("tau", measure="micro.MRR", Depth="2")``.

        Raises
        ------
        KeyError
            If no row or more than one is meant.
        """
        matching = [
            place
            for place in range(len(self))
            if all(self.rows[column][place] == label for column, label in row.items())
        ]
        if len(matching) != 1:
            raise KeyError(f"expected one row of {row}, found {len(matching)}")
        return float(self.value[matching[0], self.coefficients.index(coefficient)])

    def to_table(self) -> pa.Table:
        """Return the long form: what was compared, coefficient, value, low and high if known, systems."""
        columns: dict[str, Any] = {name: (0, labels) for name, labels in self.rows.items()}
        ends = {name: end for name, end in (("low", self.low), ("high", self.high)) if end is not None}
        columns |= {"coefficient": (1, self.coefficients), "value": self.value, **ends, "systems": len(self.systems)}
        return long_table(self.value.shape, columns)

    def tables(self) -> tuple[Table, ...]:
        """Return ``correlations``, a row per pair of rankings and coefficient.

        What goes across are coefficients, or the label sets if they are several, or the labels of the only key if there
        is one coefficient without ranges. What all rows share stands in the caption.
        """
        of_labels = "measure" in self.rows
        shared = {
            name: self.rows[name][0]
            for name in ("first", "second", "labels")
            if name in self.rows and (of_labels or name == "labels") and len(set(self.rows[name])) == 1
        }
        down, across = [name for name in self.rows if name not in shared], "coefficient"
        keys = [name for name in down if name not in ("first", "second", "measure")]
        about = [f"{name}: {label}" for name, label in shared.items()]
        heading = ""
        if of_labels and "second" in down:
            about = [f"{', '.join(self.coefficients)} to {shared['first']}"]
            down = ["coefficient"] * (len(self.coefficients) > 1) + [name for name in down if name != "second"]
            across = "second"
        elif len(keys) == len(self.coefficients) == 1 and self.low is None:
            about.append(f"coefficient: {self.coefficients[0]}")
            down, across = [name for name in down if name != keys[0]], keys[0]
            heading = f"{down[-1]} / {across}"
        about.append(f"{len(self.systems)} systems")
        low, high = ("", "") if self.low is None else ("low", "high")
        if self.confidence is not None:
            about.append(f"{self.confidence * 100:g}% ranges over resampled questions")
        value = Column("value", low=low, high=high, across=across)
        columns = (*map(Column, down[:-1]), Column(down[-1], heading), value)
        return (Table("correlations", "Rank correlations", legible("; ".join(about)), self.to_table(), columns),)

    def figures(self) -> tuple[Figure, ...]:
        """Return a figure per coefficient, of which the form depends on what was compared.

        Two label sets: a dot per measure, with ranges if known. Several label sets that are named after depths: a line
        per measure. Otherwise a heat map: measures by label sets, measures by the parts of a breakdown, or measures by
        measures.
        """
        return tuple(self._figure(place) for place in range(len(self.coefficients)))

    def _figure(self, place: int) -> Figure:
        coefficient = self.coefficients[place]
        name = imported("report.figures", "CORRELATIONS")[coefficient]
        key, title = (f"correlations-{key_text(coefficient)}", f"{name} of {len(self.systems)} systems")
        varying = [column for column, labels in self.rows.items() if len(set(labels)) > 1]
        parts = [column for column in varying if column not in ("first", "second", "measure")]
        data = {name: list(labels) for name, labels in self.rows.items()}
        data |= {"value": self.value[:, place].tolist(), "panel": [name] * len(self)}
        of_labels = "measure" in self.rows
        if of_labels and "second" in varying and not parts and all(map(str.isdecimal, self.rows["second"])):
            depths = [int(label) for label in self.rows["second"]]
            table = pa.table({"measure": data["measure"], "depth": depths, "tau": data["value"]})
            reference = f"the labels {self.rows['first'][0]}"
            return _drawn("tau_by_depth", table, key=key, title=title, correlation=name, reference=reference)
        if of_labels and "second" not in varying and not parts:
            columns = {"system": data["measure"], "measure": data["panel"], "value": data["value"]}
            interval = ""
            if self.low is not None and self.high is not None:
                columns |= {"low": self.low[:, place].tolist(), "high": self.high[:, place].tolist()}
                interval = f"{(self.confidence or 0) * 100:g}% range over resampled questions"
            about = f"{name} between the rankings of the systems on {data['first'][0]} and on {data['second'][0]}."
            caption = about + f" Bar: {interval}." * bool(interval)
            return _drawn("score_intervals", pa.table(columns), key=key, title=title, caption=caption)
        down, across = ("measure", "second") if of_labels else ("first", "second")
        if of_labels and "second" not in varying:
            across, *parts = parts
        rest = zip(*(data[column] for column in parts), strict=True) if parts else [()] * len(self)
        columns = {
            "system": data[down],
            "category": data[across],
            "side": [", ".join(labels) for labels in rest],
            "value": data["value"],
        }
        caption = f"{name} between rankings of the systems (blue: above 0; orange: below 0; white: 0). -: undefined."
        return _drawn("heat_map", pa.table(columns), key=key, title=title, caption=caption, value=name, diverging=True)


def _drawn(kind: str, table: pa.Table, **more: Any) -> Figure:
    return imported("report.figures", kind)(table, **more)


@dataclass(frozen=True, slots=True, eq=False)
class Swaps(Framed, Result):
    """Pairs of systems that the two labels put in opposite order, the largest difference under the first on top.

    Differences are ``better`` minus ``worse``, in the measure's own unit and sign: where higher is better, those
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
    names: tuple[str, str] = ("first", "second")  # of the label sets

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"<Swaps: {len(self)} of {sum(self.n_pairs.values())} pairs>"

    def to_table(self) -> pa.Table:
        """Return a row per pair: measure, keys, better, worse, first, second; with known p-values, these and verdicts.

        The verdict ``significant`` says under which labels the difference is: first, second, both, neither, unknown.
        """
        columns: dict[str, Any] = {name: (0, labels) for name, labels in self.rows.items()}
        columns |= {"better": (0, self.better), "worse": (0, self.worse), "first": self.first, "second": self.second}
        p = np.array([self.first_p, self.second_p])
        if not np.isnan(p).all():
            first, second = p < self.alpha
            cases = {"unknown": np.isnan(p).any(axis=0), "both": first & second, "first": first, "second": second}
            verdict = np.select(list(cases.values()), list(cases), "neither")
            columns |= {"first_p": p[0], "second_p": p[1], "significant": verdict}
        return long_table((len(self),), columns)

    def tables(self) -> tuple[Table, ...]:
        """Return ``swaps``, a row per pair, and ``counts``, how many pairs of each measure are swapped."""
        data = self.to_table()
        columns = tuple(
            Column(name, form="p" if name in ("first_p", "second_p") else "difference") for name in data.column_names
        )
        counts = {
            "measure": pa.array(self.n_pairs, pa.string()),
            "swapped": pa.array([self.rows["measure"].count(measure) for measure in self.n_pairs], pa.int64()),
            "pairs": pa.array(self.n_pairs.values(), pa.int64()),
        }
        first, second = map(legible, self.names)
        about = f"pairs of systems in opposite order under {first} (first) and {second} (second)"
        return (
            Table("swaps", "Swapped pairs", "differences are better minus worse", data, columns),
            Table("counts", "Swapped pairs of each measure", about, pa.table(counts)),
        )


Floats = NDArray[np.float64]
_SHOWN = 5


def correlate(
    first: Any,
    second: Any,
    systems: Any = None,
    measures: Any = None,
    coefficients: str | Sequence[str] = COEFFICIENTS,
    *,
    names: tuple[str, str] | None = None,
    better: Mapping[str, Better] | None = None,
    confidence: float | None = None,
    resamples: int = 1000,
    paired: bool = True,
    workers: int | None = None,
    executor: Helper | None = None,
    progress: Progress | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Correlations:
    """Correlate the rankings of systems under two label sets, for each measure.

    The sign of a measure where lower is better is reversed, so that rankings always have the best system first.

    Parameters
    ----------
    first, second
        The label sets: qrels, as :func:`kgtrec.evaluate` takes them. Or the scores under either: ScoreTable, Scores, or
        what :func:`kgtrec.evaluation.item_scores` gives. Where one has keys, such as pool depths, and the other has
        none, each key is compared with the other; where both have, equal keys are compared.
    systems, **scoring
        What is scored under qrels, as :func:`kgtrec.evaluation.item_scores` takes it. None where both are scored.
    measures : str, measure, or several of them, optional
        Default: all that both have; under qrels, those of :func:`kgtrec.evaluate`.
    coefficients : one or several of COEFFICIENTS
        "tau" is Kendall's tau-b; "tau_ap" judges the second ranking's top against the order of the first; "spearman" is
        rho; "rbo" the extrapolated rank-biased overlap.
    names : two texts, optional
        Of the label sets. Default: the tables' own names, or first and second.
    better : mapping of str to {"higher", "lower"}, optional
        The direction of measures that kgtrec does not know.
    confidence : float, optional
        Adds resampling ranges: the middle share of the coefficients, such as 0.95, in samples of the questions. Needs
        qrels or ItemScores on both sides. Questions are drawn with all their answers; a question that both label sets
        have (by its id) is drawn for both at once, so what varies is the set of questions. Without common questions the
        two are drawn independently. A range is no confidence interval: drawing lowers a correlation, so that it lies
        too low.
    resamples : int
        How many samples; the same seed gives the same ends.
    paired : bool
        False: questions of one id are not the same question, and the two label sets are drawn independently.
    workers : int, optional
        Processes to share the resampling, started if it takes more than some seconds. Any number gives the same bytes.
        Default: 1, this one. With more, a program must guard its entry point with ``if __name__ == "__main__"``, as for
        :mod:`multiprocessing`.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the resampling instead, with the same bytes; see docs/scale.md.
    progress : callable, optional
        Called with 1 after the resampling of each measure.

    Returns
    -------
    Correlations
        Rows ``first, second, measure`` and the keys.

    Raises
    ------
    KgtrecError
        If the two have fewer than two systems in common, or keys that do not fit; if there are systems and no qrels to
        score them under, or qrels and no systems.
    MeasureError
        If they have no measure in common, or not one that is asked for.

    Warns
    -----
    KgtrecWarning
        Of systems and measures that only one has; of measures under which all systems score alike, or one has no
        score: they rank nothing, and the correlation is NaN.

    See Also
    --------
    kgtrec.meta.swaps : The pairs of systems behind a low correlation.
    kgtrec.meta.between_measures : Two measures under one label set.

    References
    ----------
    Zhou et al. (2022), SIGIR, table 4 and figures 3 to 5, for the comparison with sparse labels. Kendall
    (1945); Yilmaz, Aslam, Robertson (2008); Webber, Moffat, Zobel (2010): see
    ``kgtrec.kernels.statistics.correlation``.

    Examples
    --------
    >>> sparse = ScoreTable(("a", "b", "c"), ("micro_mr",), np.array([[[20.0]], [[30.0]], [[50.0]]]), name="sparse")
    >>> full = ScoreTable(("a", "b", "c"), ("micro_mr",), np.array([[[12.0]], [[10.0]], [[40.0]]]), name="full")
    >>> correlate(sparse, full, coefficients=("tau", "spearman")).to_frame()
        first second   measure coefficient     value  systems
    0  sparse   full  micro.MR         tau  0.333333        3
    1  sparse   full  micro.MR    spearman  0.500000        3

    >>> sparse, full = {"q1": {"a": 1}}, {"q1": {"a": 1, "b": 1, "c": 1}}
    >>> runs = {"one": {"q1": {"a": 3.0, "x": 2.0}}, "two": {"q1": {"c": 3.0, "a": 2.0, "b": 1.0}}}
    >>> correlate(sparse, full, runs, "AP", "tau").of("tau")
    -1.0
    """
    chosen = coefficients_of(coefficients)
    number_of_workers(workers, executor)
    how = None if confidence is None else Bootstrap(confidence, resamples, scoring.get("seed", 0), paired)
    pair = _Pair.of(first, second, systems, measures, names, better, **scoring)
    n = len(pair.measures)
    rows = {"first": pair.names[:1] * n, "second": pair.names[1:] * n, "measure": pair.measures}
    compared = [((0, measure), (1, measure)) for measure in pair.measures]
    return _correlations(pair, rows, compared, chosen, how, progress, workers=workers, executor=executor)


def between_measures(
    qrels: Any,
    systems: Any = None,
    measures: Any = None,
    coefficients: str | Sequence[str] = COEFFICIENTS,
    *,
    name: str | None = None,
    better: Mapping[str, Better] | None = None,
    confidence: float | None = None,
    resamples: int = 1000,
    workers: int | None = None,
    executor: Helper | None = None,
    progress: Progress | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Correlations:
    """Correlate the rankings of systems by each two measures, under one label set.

    Parameters
    ----------
    qrels
        The label set, or the scores under it, as :func:`correlate` takes one.
    systems, measures, coefficients, better, confidence, resamples
        As :func:`correlate` has them; neither measure is the reference, so tau_ap is the mean of both directions.
    name : str, optional
        Name of the label set.
    workers, executor, progress, **scoring
        As there.

    Returns
    -------
    Correlations
        Rows ``labels, first, second`` and the keys.

    Raises
    ------
    KgtrecError
        If there are fewer than two systems.
    MeasureError
        If there are fewer than two measures.

    See Also
    --------
    kgtrec.meta.correlate : One measure under two label sets.

    Examples
    --------
    >>> values = np.array([[20.0, 0.5], [30.0, 0.4], [50.0, 0.3]])[:, :, None]
    >>> between_measures(ScoreTable(("a", "b", "c"), ("micro.MR", "RR"), values)).of("tau", first="micro.MR")
    1.0
    """
    chosen = coefficients_of(coefficients, symmetric=True)
    number_of_workers(workers, executor)
    how = None if confidence is None else Bootstrap(confidence, resamples, scoring.get("seed", 0))
    pair = _Pair.of(qrels, None, systems, measures, None if name is None else (name, name), better, **scoring)
    if len(pair.measures) < 2:
        raise MeasureError(f"expected at least 2 measures to compare, found {', '.join(pair.measures)}")
    one, other = zip(*combinations(pair.measures, 2), strict=True)
    rows = {"labels": pair.names[:1] * len(one), "first": one, "second": other}
    compared = [((0, first), (0, second)) for first, second in zip(one, other, strict=True)]
    return _correlations(pair, rows, compared, chosen, how, progress, workers=workers, executor=executor)


def _correlations(
    pair: _Pair,
    rows: Mapping[str, Sequence[str]],
    compared: Sequence[tuple[tuple[int, str], tuple[int, str]]],
    coefficients: Mapping[str, Coefficient],
    how: Bootstrap | None,
    progress: Progress | None,
    **work: Any,
) -> Correlations:
    """The correlations of pairs of rankings, each by a label set, 0 or 1, and a measure; ``rows``: what either is."""
    _warn_without_ranking(pair)
    scores = {(side, name): row for side in (0, 1) for name, row in zip(pair.measures, pair.scores[side], strict=True)}
    # the first says which order is right, and the second is judged
    first, second = (np.array([scores[ranking] for ranking in part]) for part in zip(*compared, strict=True))
    if compared[0][0][0] != compared[0][1][0]:
        # numpy adds in the order of memory: between label sets system by system, which settles the last bit
        first, second = (np.array(one.transpose(2, 0, 1), order="C").transpose(1, 2, 0) for one in (first, second))
    n_keys, n_coefficients = first.shape[1], len(coefficients)
    value = np.stack([of(second, first) for of in coefficients.values()], axis=-1).reshape(-1, n_coefficients)
    low = high = None
    if how is not None:
        draws = QuestionDraws.of(pair.systems, pair.items, how)
        rankings = list(dict.fromkeys(chain.from_iterable(compared)))
        drawn = {}
        for number, one in enumerate(results(draws, rankings, name="correlation", **work), 1):
            drawn[rankings[number - 1]] = one
            if progress is not None and number * len(pair.measures) % len(rankings) == 0:
                progress(1)
        ends = [
            percentile_interval(
                np.stack([of(drawn[judged], drawn[right]) for of in coefficients.values()], axis=1), how.confidence
            )
            for right, judged in compared
        ]
        low, high = np.where(np.isnan(value), np.nan, np.stack(ends, axis=1))
    columns = {name: tuple(label for label in labels for _ in range(n_keys)) for name, labels in rows.items()}
    columns |= {name: labels * len(compared) for name, labels in pair.keys.items()}
    confidence = None if how is None else how.confidence
    return Correlations(columns, tuple(coefficients), value, pair.systems, pair.left_out, confidence, low, high)


def swaps(
    first: Any,
    second: Any,
    systems: Any = None,
    measures: Any = None,
    *,
    names: tuple[str, str] | None = None,
    better: Mapping[str, Better] | None = None,
    alpha: float = 0.05,
    **scoring: Unpack[ScoringOptions],
) -> Swaps:
    """Return the pairs of systems that two label sets put in opposite order.

    A pair that ties under one of them is not swapped.

    Parameters
    ----------
    first, second, systems, measures, names, better, **scoring
        As :func:`correlate` has them.
    alpha : float
        Below which a p-value is called significant.

    Returns
    -------
    Swaps
        Where a label set comes as qrels or ItemScores, with the p-value of each difference by a paired two-tailed
        t-test: over questions, or over answers with an error that allows for the answers of one question not being
        independent. P-values are not adjusted for how many pairs there are. Medians have none.

    Raises
    ------
    KgtrecError, MeasureError
        As :func:`correlate`.

    See Also
    --------
    kgtrec.meta.correlate : How many pairs there are, as a coefficient.

    References
    ----------
    Liang, Zeger (1986), Biometrika 73, for the clustered error.

    Examples
    --------
    >>> sparse = ScoreTable(("a", "b", "c"), ("micro_mr",), np.array([[[20.0]], [[30.0]], [[50.0]]]))
    >>> full = ScoreTable(("a", "b", "c"), ("micro_mr",), np.array([[[12.0]], [[10.0]], [[40.0]]]))
    >>> swaps(sparse, full).to_frame()
        measure better worse  first  second
    0  micro.MR      a     b  -10.0     2.0
    """
    between_0_and_1("an alpha", alpha)
    pair = _Pair.of(first, second, systems, measures, names, better, **scoring)
    one, other = paired_tests.pairs(len(pair.systems))
    with np.errstate(over="ignore"):  # of scores near the end of what a float can hold
        gaps = pair.scores[..., one] - pair.scores[..., other]
    swapped = np.nonzero(np.sign(gaps[0]) * np.sign(gaps[1]) < 0)
    order = np.lexsort((-np.abs(gaps[0][swapped]), *swapped[1::-1]))
    measure, key, at = (part[order] for part in swapped)
    gaps = gaps[:, measure, key, at]
    ahead = gaps[0] > 0
    better_rows, worse_rows = np.where(ahead, (one[at], other[at]), (other[at], one[at]))
    sign = np.where(ahead, 1.0, -1.0) * [1.0 if pair.higher_is_better[pair.measures[row]] else -1.0 for row in measure]
    p = np.array([[p_values(own, name, pair.systems, len(one)) for name in pair.measures] for own in pair.items])
    n_pairs = {measure: len(one) * pair.scores.shape[2] for measure in pair.measures}
    rows = {"measure": tuple(pair.measures[row] for row in measure)}
    rows |= {name: tuple(labels[row] for row in key) for name, labels in pair.keys.items()}
    systems_ahead, systems_behind = (tuple(pair.systems[row] for row in rows) for rows in (better_rows, worse_rows))
    (first_gap, second_gap), (first_p, second_p) = sign * gaps, p[:, measure, at]
    return Swaps(
        rows, systems_ahead, systems_behind, first_gap, second_gap, first_p, second_p, n_pairs, alpha, pair.names
    )


def p_values(items: Mapping[str, ItemScores] | None, measure: str, systems: Sequence[str], n_pairs: int) -> Floats:
    """Return (pairs,) p-values of paired t-tests; NaN without items, and of medians."""
    if items is None or items[measure].aggregate == "median" or len(items[measure]) == 0:
        return np.full(n_pairs, np.nan)
    scores = items[measure]
    value = terms(scores)[[scores.systems.index(name) for name in systems]]
    mean, _ = paired_tests.differences(value)
    error, n_clusters = paired_tests.clustered_errors(value, scores.question.astype(np.int64))
    return paired_tests.t_test(mean, error, n_clusters - 1)[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two label sets over the same systems, measures and keys; the better a system the higher its value."""

    names: tuple[str, str]
    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    measures: tuple[str, ...]
    higher_is_better: Mapping[str, bool]
    keys: Mapping[str, tuple[str, ...]]
    scores: Floats  # (2, measures, keys, systems)
    items: tuple[Mapping[str, ItemScores] | None, Mapping[str, ItemScores] | None]

    @classmethod
    def of(
        cls,
        first: Any,
        second: Any,  # None: the first with itself
        systems: Any,
        measures: Any,
        names: tuple[str, str] | None,
        better: Mapping[str, Better] | None,
        **scoring: Unpack[ScoringOptions],
    ) -> _Pair:
        sides = [(first, "the table")] if second is None else [(first, "first"), (second, "second")]
        if systems is not None and all(isinstance(own, ScoreTable | Scores) or is_scored(own) for own, _ in sides):
            raise KgtrecError(
                f"expected no systems beside what is scored already, found {kind_of(systems)}; measures= comes after "
                "systems="
            )
        if names is not None and (isinstance(names, str) or len(names) != 2):
            raise KgtrecError(f"expected the names of both label sets, found {names!r}")
        if isinstance(systems, Iterator):  # two label sets score the same ones
            systems = list(systems)
        if systems is not None:  # what the answers of both are
            scoring = {"collection": next((own for own, _ in sides if isinstance(own, Collection)), None)} | scoring
        label_sets = []
        for (labelled, default), name in zip(sides, names or ("", ""), strict=False):
            table, several = _as_table(labelled, default, systems, measures, scoring)
            table, is_higher = named(table if names is None else replace(table, name=name), better)
            label_sets.append((table, is_higher, several and dict(zip(is_higher, several, strict=True))))
        tables, higher, items = zip(*(label_sets * 2)[:2], strict=True)
        common = [name for name in tables[0].systems if name in set(tables[1].systems)]
        left_out = _warn_left_out(tables, common)
        wanted = _common_measures(tables, higher, measures, better)
        places, keys = _key_places(tables)
        scores = []
        for table, is_higher, key in zip(tables, higher, places, strict=True):
            rows, columns = map(table.systems.index, common), map(table.measures.index, wanted)
            sign = np.array([1.0 if is_higher[name] else -1.0 for name in wanted])
            scores.append(table.values[np.ix_(list(rows), list(columns), key)].transpose(1, 2, 0) * sign[:, None, None])
        called = tables[0].name, tables[1].name
        return cls(called, tuple(common), left_out, tuple(wanted), higher[0], keys, np.stack(scores), items)


def _as_table(
    labelled: Any, default: str, systems: Any, measures: Any, scoring: ScoringOptions
) -> tuple[ScoreTable, list[ItemScores] | None]:
    if isinstance(labelled, ScoreTable):
        return labelled if labelled.name else replace(labelled, name=default), None
    if isinstance(labelled, Scores):
        return ScoreTable.of_scores(labelled, default), None
    if not is_scored(labelled):
        labelled = scored_items(labelled, systems, measures, **scoring)
    several = list(labelled.values())
    if not several:
        raise MeasureError("expected ItemScores of at least one measure, found none")
    systems = several[0].systems
    for items in several:
        if items.systems != systems:
            raise KgtrecError(f"expected ItemScores of the same systems, found others for {items.measure}")
    values = np.stack([totals(items) for items in several], axis=1)[:, :, None]
    return ScoreTable(systems, tuple(items.measure for items in several), values, name=default), several


def _warn_left_out(tables: Sequence[ScoreTable], common: Sequence[str]) -> tuple[str, ...]:
    left_out: list[str] = []
    for table in tables:
        own = [name for name in table.systems if name not in set(common)]
        left_out += own
        if own and len(common) >= 2:
            warn(f"only {table.name} has scores of {some_of(own)}, left out")
    if len(common) < 2:
        shown = [f"{table.name} has {', '.join(table.systems[:_SHOWN])}" for table in tables]
        which = "; ".join(dict.fromkeys(shown))
        raise KgtrecError(f"expected at least 2 systems in common, found {len(common)}: {which}")
    return tuple(left_out)


def _common_measures(
    tables: Sequence[ScoreTable],
    higher: Sequence[Mapping[str, bool]],
    measures: Any,
    better: Mapping[str, Better] | None,
) -> list[str]:
    if measures is not None:
        wanted = asked_for(measures, higher[0], better, tables[0].name)
        return asked_for(wanted, higher[1], better, tables[1].name)
    wanted = [name for name in higher[0] if name in higher[1]]
    if not wanted:
        shown = [f"{table.name} has {', '.join(table.measures[:_SHOWN]) or 'none'}" for table in tables]
        raise MeasureError(f"expected measures in common, found none: {'; '.join(shown)}")
    for own, table in zip(higher, tables, strict=True):
        only = [name for name in own if name not in wanted]
        if only:
            warn(f"only {table.name} has {some_of(only)}, left out")
    return wanted


def _key_places(tables: Sequence[ScoreTable]) -> tuple[list[list[int]], dict[str, tuple[str, ...]]]:
    """Rows of either table that are compared, and the labels of their keys."""
    sizes = [table.values.shape[2] for table in tables]
    if not tables[0].keys or not tables[1].keys:
        keyed = tables[0] if tables[0].keys else tables[1]
        n = len(keyed.key_rows)
        return [list(range(n)) if size == n else [0] * n for size in sizes], dict(keyed.keys)
    if set(tables[0].keys) != set(tables[1].keys):
        key_columns = " and ".join(f"{table.name} has {', '.join(table.keys)}" for table in tables)
        raise KgtrecError(f"expected the same key columns, or none on one side, found: {key_columns}")
    columns = list(tables[0].keys)
    rows = [list(zip(*(table.keys[column] for column in columns), strict=True)) for table in tables]
    places = [{row: place for place, row in enumerate(own)} for own in rows]
    common = [row for row in rows[0] if row in places[1]]
    if not common:
        raise KgtrecError(
            f"expected {', '.join(columns)} in common, found none in {tables[0].name} and {tables[1].name}"
        )
    for table, own in zip(tables, rows, strict=True):
        if len(own) > len(common):
            only = next(row for row in own if row not in set(common))
            warn(
                f"only {table.name} has {', '.join(columns)} {', '.join(only)}"
                + (f" and {len(own) - len(common) - 1} more" if len(own) > len(common) + 1 else "")
                + ", left out"
            )
    keys = {column: tuple(row[place] for row in common) for place, column in enumerate(columns)}
    return [[own[row] for row in common] for own in places], keys


def _warn_without_ranking(pair: _Pair) -> None:
    """Warn, by measure and label set, where all systems score alike or one has no score."""
    for name, scores in dict(zip(pair.names, pair.scores, strict=True)).items():
        unknown: NDArray[np.bool_] = np.any(np.isnan(scores), axis=2)
        alike: NDArray[np.bool_] = np.all(scores == scores[:, :, :1], axis=2) & ~unknown
        for why, found in (("all systems score alike", alike), ("a system has no score", unknown)):
            for place in np.flatnonzero(np.any(found, axis=1)):
                keys = np.flatnonzero(found[place])
                among = "" if not pair.keys else f" ({len(keys)} of {found.shape[1]} keys)"
                warn(
                    f"{pair.measures[place]} under {name} ranks no systems: {why}{among}; its correlation is undefined"
                )

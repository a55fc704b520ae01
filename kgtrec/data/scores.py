"""Scores: of an evaluation, of a plain table, by chance, and as a paper prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, long_table
from kgtrec.data.arrow import compute as pc
from kgtrec.data.frames import Framed, frame_of_table
from kgtrec.data.lazy import imported
from kgtrec.data.table import Column, Figure, PlottedResult, Result, Table, key_text
from kgtrec.errors import KgtrecError, MeasureError, kind_of, nearest, one_of

if TYPE_CHECKING:
    import pandas as pd

_POPULATIONS = {
    "triple": "other test sets of as many triples from the same graph",
    "question": "other test sets of as many questions like these",
    "pool": "other samples of this pool, for the values that judging all of it would give",
}
OF_POPULARITY = ("popularity", "anchor-popularity")  # cut at quantiles
QUANTILES = 4  # unless others are asked for
BREAKDOWNS = (
    "question", "answer", "side", "relation", "category", *OF_POPULARITY, "half-link", "seen", "time", "missing-links",
)  # fmt: skip
#: breakdowns whose parts are test sets
STRATA = tuple(per for per in BREAKDOWNS if per not in ("question", "answer"))
#: fields of one number per value
_PER_VALUE = ("least", "most", "low", "high", "effective")
_MOST_PARTS = 40  # columns of a heat map that can be read


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Framed, PlottedResult):
    """A dense cube of values; NaN where a measure has no value for an item."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as spelled by the caller
    values: NDArray[np.float64]  # (systems, measures, items); one item where nothing is broken down
    items: Mapping[str, pa.Array] = field(default_factory=dict)  # column name -> (items,) labels; empty = one total
    tied: tuple[float, ...] = ()  # per system, share of the relevant entities that are tied with another candidate
    low: NDArray[np.float64] | None = None  # (systems, measures, items) lower ends of confidence intervals
    high: NDArray[np.float64] | None = None  # (systems, measures, items) upper ends
    # (systems, measures, items) effective number of the units that the interval is computed from; NaN: they do not vary
    effective: NDArray[np.float64] | None = None
    # (systems, measures, items) the least and the most that a value can be, where answers are below the ends of cut
    # lists; equal to the value for systems without such answers
    least: NDArray[np.float64] | None = None
    most: NDArray[np.float64] | None = None
    drawn: str = ""  # the unit that the intervals resample, "triple" or "question"; "" without intervals
    confidence: float | None = None  # of the intervals
    seeds: tuple[int, ...] = ()  # of each family, whose values are means over seeds, and intervals over both
    # column -> (systems, measures, items) of families: deviation, the standard deviation over seeds, NaN for one; with
    # intervals also test_low, test_high, seeds_low and seeds_high, over other test sets alone, and other seeds alone
    over_seeds: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def population(self) -> str:
        """The population that the intervals are about, in words; "" without intervals."""
        return _POPULATIONS.get(self.drawn, "") + ", and other training seeds" * bool(self.seeds and self.drawn)

    def to_table(self) -> pa.Table:
        """Return the long form: system, measure, the items, value; where answers are below ends of cut lists least
        and most; with intervals low, high, effective and drawn; of families also seeds and what is in ``over_seeds``.
        """
        columns: dict[str, Any] = {"system": (0, self.systems), "measure": (1, self.measures)}
        columns |= {"seeds": (0, np.array(self.seeds, np.int64))} if self.seeds else {}
        columns |= {name: (2, labels) for name, labels in self.items.items()}
        columns |= {"value": self.values, **self.over_seeds}
        columns |= {name: numbers for name in _PER_VALUE if (numbers := getattr(self, name)) is not None}
        return long_table(self.values.shape, columns | ({"drawn": self.drawn} if self.drawn else {}))

    def tables(self) -> tuple[Table]:
        """Return ``scores``, the long form, shown with systems (and items) down and measures across."""
        ends = (("low", self.low, "high"), ("least", self.least, "most"))
        low, high = next(((low, high) for low, values, high in ends if values is not None), ("", ""))
        value = Column(
            "value", digits="measure", better="measure", low=low, high=high, across="measure", among=tuple(self.items)
        )
        value = replace(value, deviation="deviation") if self.seeds else value
        columns = (*map(Column, ("system", *["seeds"] * bool(self.seeds), *self.items)), value)
        notes = ["mean \N{PLUS-MINUS SIGN} standard deviation over seeds"] * bool(self.seeds)
        if low == "least":
            unknown = self._without_ends()
            notes.append("the least and the most that each value can be, of answers below the ends of lists")
            notes += [f"not known for {', '.join(unknown)}"] * bool(unknown)
        elif self.population:
            level = "" if self.confidence is None else f"{100 * self.confidence:.12g}% "
            notes.append(f"{level}intervals over {self.population}")
        return (Table("scores", "", "", self.to_table(), columns, note="; ".join(notes), is_short=True),)

    def figures(self) -> tuple[Figure, ...]:
        """Draw totals as systems with intervals, a panel per measure, and breakdowns as a heat map per measure.

        Strata of popularity, and times, are drawn as a line per system, with the intervals.

        Raises
        ------
        KgtrecError
            If the scores are broken down into more than 40 parts, as by question.
        """
        table = self.to_table()
        if not self.items:
            title, interval = "Scores", f"interval over {self.population}"
            if self.low is None and self.least is not None:
                ends = {"least": "low", "most": "high"}
                table = table.rename_columns([ends.get(name, name) for name in table.column_names])
                interval = "from the least to the most that the score can be"
            elif self.low is not None:
                title = "Scores with their intervals"
            return (imported("report.figures", "score_intervals")(table, title=title, interval=interval),)
        per, n_parts = ", ".join(self.items), self.values.shape[2]
        if len(self.items) > 1 or n_parts > _MOST_PARTS:
            together = ", which are not drawn together" if len(self.items) > 1 else ""
            raise KgtrecError(
                f"expected totals or scores of at most {_MOST_PARTS} parts to draw, found {n_parts:,} per {per}"
                f"{together}; use to_frame() and a figure of your own"
            )
        parts = {"system": table["system"], "category": table[per], "side": pa.repeat("", len(table))}
        parts |= {"labels": table[per], "place": pc.index_in(table[per], self.items[per])}
        names = ("measure", "value", "low", "high")
        data = pa.table(parts | {name: table[name] for name in names if name in table.column_names})

        def drawn(place: int, measure: str) -> Figure:
            own = data.filter(pc.equal(data["measure"], measure))
            shown = {"key": f"by-{per}-{place + 1}-{key_text(measure)}", "title": f"{measure} by {per}"}
            if per in (*OF_POPULARITY, "time"):
                better = imported("measures.names", "better_of")(measure)
                of = {"popularity": "degree in train of the answer", "time": "time"}
                what = of.get(per, "degree in train of the anchor")
                shown["caption"] = f"{measure} of each system by {what}."
                shown["caption"] += f" Bars: intervals over {self.population}." if self.population else ""
                y = measure + " (lower is better)" * (better == "lower")
                options = {"x": what, "y": y, "fitted": True, "measure": measure, "better": better}
                own = own.drop_columns(["category", "side", "measure"])
                return Figure(kind="strata", data=own, options=options, **shown)
            shown["caption"] = f"{measure} of each system by {per} (darker is higher). -: undefined."
            return imported("report.figures", "heat_map")(own, value=measure, **shown)

        return tuple(drawn(place, measure) for place, measure in enumerate(self.measures))

    def _without_ends(self) -> list[str]:
        """The measures of which a value has no least and no most."""
        if self.least is None:
            return []
        _, unknown, _ = np.nonzero(np.isnan(self.least) & ~np.isnan(self.values))
        return [self.measures[place] for place in np.unique(unknown)]

    def __repr__(self) -> str:
        n_systems, n_measures, n_items = self.values.shape
        per = f" per {', '.join(self.items)} ({n_items:,})" if self.items else ""
        return f"<Scores: {n_systems} systems x {n_measures} measures{per}>"

    def value(self, system: str, measure: object) -> float:
        """Return one total; ``measure`` is spelled as in ``measures``, or in another way that ``evaluate`` takes.

        Raises
        ------
        KgtrecError
            If there is no such system or measure, or the scores are broken down, so that there are several.
        """
        place = self._place(measure)
        one_of("a system of", system, self.systems)
        return float(self.values[self.systems.index(system), place, 0])

    def __getitem__(self, key: tuple[str, object]) -> float:
        """Look up one total, ``scores["transe", "micro.MRR"]``; see :meth:`value`."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise KgtrecError(f'expected scores["SYSTEM", "MEASURE"], found scores[{key!r}]')
        return self.value(*key)

    __iter__ = None  # Python would ask for scores[0], scores[1], ...

    def _place(self, measure: object) -> int:
        """The index of a measure of totals, also under another of its names."""
        if self.items:
            raise KgtrecError(f"expected totals, found scores per {', '.join(self.items)}; use to_frame()")
        label = str(measure)
        if label not in self.measures:
            parse = imported("measures.names", "parse_measure")
            with suppress(MeasureError):
                asked = parse(measure)
                label = asked.label
                label = next((own for own in self.measures if replace(parse(own), label=label) == asked), label)
            one_of("a measure of", label, self.measures)
        return self.measures.index(label)

    def sorted_by(self, measure: object) -> Scores:
        """Sort the systems by their totals of a measure, the best first; NaN is last."""
        place = self._place(measure)
        totals = self.values[:, place, 0]
        is_lower_better = imported("measures.names", "better_of")(self.measures[place]) == "lower"
        order = np.argsort(totals if is_lower_better else -totals, kind="stable")
        rows = {name: own[order] for name in ("values", *_PER_VALUE) if (own := getattr(self, name)) is not None}
        several = (self.systems, self.tied, self.seeds)
        systems, tied, seeds = (tuple(column[row] for row in order) if column else () for column in several)
        over_seeds = {name: own[order] for name, own in self.over_seeds.items()}
        return replace(self, systems=systems, tied=tied, seeds=seeds, over_seeds=over_seeds, **rows)

    def to_frame(self, *, wide: bool = False) -> pd.DataFrame:
        """Make a data frame of :meth:`to_table`; ``wide``: a row per system and item, a column per measure."""
        if not wide:
            return frame_of_table(self.to_table())
        columns = {"system": (0, self.systems), **{name: (1, labels) for name, labels in self.items.items()}}
        values = {measure: self.values[:, place] for place, measure in enumerate(self.measures)}
        return frame_of_table(long_table(self.values[:, 0].shape, columns | values))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Make a dict of the totals: system to measure to value."""
        return {system: {measure: self.value(system, measure) for measure in self.measures} for system in self.systems}

    def to_markdown(self, *, letters: Any = None) -> str:
        """Make a table for Markdown, with the best values in bold; for ``letters`` see :meth:`to_latex`."""
        return str(imported("report.show", "table_markdown")(self._lettered(letters)))

    def to_latex(self, *, intervals: str = "beside", letters: Any = None) -> str:
        r"""Make a table for the LaTeX package booktabs, with the best values in bold.

        Parameters
        ----------
        intervals : {"beside", "row", "column", "none"}
            Whether confidence intervals are after the values, in a row below them, or in a column of their own.
        letters : Power, optional
            What :func:`kgtrec.meta.power` gives for the same systems. Each system gets a letter, and each value the
            letters of the systems that it is significantly better than, by :attr:`Power.main_test` and Holm's method.

        Raises
        ------
        KgtrecError
            If there is no such place for intervals; or there are letters of scores that are broken down, or of systems
            that were not tested.

        Examples
        --------
        >>> from kgtrec import evaluate
        >>> from kgtrec.meta import power
        >>> qrels = {f"q{number}": {"a": 1} for number in range(9)}
        >>> good = {question: {"a": 1.0, "b": 0.0} for question in qrels}
        >>> bad = {question: {"a": 0.0, "b": 1.0} for question in qrels} | {"q0": {"a": 1.0}}
        >>> runs = {"good": good, "bad": bad}
        >>> print(evaluate(qrels, runs, "RR").to_latex(letters=power(qrels, runs, "RR")), end="")
        % letters: better than these systems by t-tests with errors clustered by question, p < 0.05 (Holm)
        \begin{tabular}{lr}
        \toprule
        system & RR \\
        \midrule
        (a) good & \textbf{1.0000}\textsuperscript{b} \\
        (b) bad & 0.5556 \\
        \bottomrule
        \end{tabular}
        """
        one_of("intervals to be one of", intervals, imported("report.show", "INTERVALS"))
        return str(imported("report.show", "table_latex")(self._lettered(letters), intervals=intervals))

    def _lettered(self, tests: Any) -> Table:
        """The table, with the letters of the systems than which each one is significantly better."""
        (table,) = self.tables()
        if tests is None:
            return table
        if self.items:
            raise KgtrecError(f"expected totals for letters of significance, found scores per {', '.join(self.items)}")
        if not hasattr(tests, "main_test"):
            raise KgtrecError(
                f"expected letters=kgtrec.meta.power(qrels, systems, measures), found a value of type {kind_of(tests)}"
            )
        for system in self.systems:
            one_of("scores of systems that were tested, of", system, tests.systems)
        tested = [measure for measure in self.measures if measure in tests.measures]
        if not tested:
            raise KgtrecError(
                f"expected tests of {', '.join(self.measures)} as letters, found those of {', '.join(tests.measures)}"
            )
        n, letters_of = len(self.systems), imported("report.cells", "letters_of")
        is_better = np.zeros((n, len(self.measures), n), np.bool_)
        row_of = {system: row for row, system in enumerate(self.systems)}
        is_significant = tests.adjusted[:, tests.tests.index(tests.main_test)] < tests.alpha
        for measure, better, significant in zip(tests.measures, tests.better, is_significant, strict=True):
            for winner, *pair in zip(better, *tests.pairs, significant, strict=True):
                first, second, counts = tests.systems[pair[0]], tests.systems[pair[1]], pair[2]
                if counts and measure in self.measures and {first, second} <= row_of.keys():
                    loser = second if winner == first else first
                    is_better[row_of[winner], self.measures.index(measure), row_of[loser]] = True
        names = {system: f"({own}) {system}" for system, own in zip(self.systems, letters_of(np.eye(n)), strict=True)}
        of_system, *others, of_value = table.columns
        about = (
            f"letters{'' if len(tested) == len(self.measures) else ' of ' + ', '.join(tested)}: "
            f"better than these systems by {imported('report.figures', 'TESTS')[tests.main_test]}, "
            f"p < {tests.alpha:g} (Holm)"
        )
        return replace(
            table,
            data=table.data.append_column("letters", pa.array(letters_of(is_better.reshape(-1, n)), pa.string())),
            columns=(replace(of_system, names=names), *others, replace(of_value, groups="letters")),
            note="; ".join(filter(None, (table.note, about))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable(Framed):
    """One number per system, measure and key, such as a pool depth; NaN where there is none."""

    systems: tuple[str, ...]  # distinct
    measures: tuple[str, ...]  # distinct, as the table spells them
    values: NDArray[np.float64]  # (systems, measures, keys)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> (keys,) labels; empty = one total
    name: str = ""  # of the labels that the scores were computed with, for messages and reports

    @classmethod
    def of_scores(cls, scores: Scores, name: str = "") -> ScoreTable:
        """Make the scores of :func:`kgtrec.evaluate`; the keys are what they are broken down by."""
        keys = {column: tuple(labels.to_pylist()) for column, labels in scores.items.items()}
        return cls(scores.systems, scores.measures, scores.values, keys, name)

    @property
    def key_rows(self) -> tuple[tuple[str, ...], ...]:
        """(keys,) what identifies each key: one label per key column; one empty tuple where there are none."""
        return tuple(zip(*self.keys.values(), strict=True)) if self.keys else ((),)

    def at(self, **key: str) -> ScoreTable:
        """Return the rows of one label of a key column, which is then no longer a key: ``at(Depth="2")``.

        Raises
        ------
        KgtrecError
            If there is no such column or label.
        """
        kept = self
        for column, label in key.items():
            if column not in kept.keys:
                raise KgtrecError(
                    f"expected a key column of the table ({', '.join(kept.keys) or 'none'}), found {column!r}"
                )
            rows = [place for place, found in enumerate(kept.keys[column]) if found == str(label)]
            if not rows:
                known = list(dict.fromkeys(kept.keys[column]))
                raise KgtrecError(
                    f"expected a {column} of the table ({', '.join(known[:12])}), found {str(label)!r}"
                    f"{nearest(str(label), known)}"
                )
            rest = {
                name: tuple(labels[place] for place in rows) for name, labels in kept.keys.items() if name != column
            }
            kept = replace(kept, values=kept.values[:, :, rows], keys=rest)
        return kept

    def to_table(self) -> pa.Table:
        """Return the long form: system, measure, the key columns, value; keys innermost."""
        items = {name: pa.array(labels) for name, labels in self.keys.items()}
        return Scores(self.systems, self.measures, self.values, items).to_table()

    def __repr__(self) -> str:
        n_systems, n_measures, n_keys = self.values.shape
        per = f" per {', '.join(self.keys)} ({n_keys})" if self.keys else ""
        return f"<ScoreTable:{self.name and f' {self.name}:'} {n_systems} systems x {n_measures} measures{per}>"


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
        """Make the table of (measure, side, items, expectation, variance) rows."""
        measure, side, items, expectation, variance = zip(*rows, strict=True)
        return cls(measure, side, np.array(items), np.array(expectation), np.array(variance))

    def level(self, measure: str, side: str) -> tuple[float, float]:
        """Return the expectation and variance of one measure on one side.

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
        """Return a table with the columns ``measure, side, items, expectation, variance``."""
        columns = {"measure": (0, self.measure), "side": (0, self.side), "items": self.items}
        return long_table((len(self),), columns | {"expectation": self.expectation, "variance": self.variance})

    def tables(self) -> tuple[Table]:
        """Return ``chance``, shown with the standard deviation in place of the variance."""
        table = self.to_table()
        moments = Column("expectation", digits="measure"), Column("std", form="significant", digits=3)
        columns = (*map(Column, ("measure", "side", "items")), *moments)
        view = table.append_column("std", arrow_of(np.sqrt(self.variance)))
        return (Table("chance", "", "", table, columns, view=view),)

    def __len__(self) -> int:
        return len(self.measure)


SINGLE_PRECISION = 1e-6  # relative error of a mean of many numbers of 32 bits; digits beyond it are not used


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A number of a table, and whose it is; empty where the table does not say."""

    system: str
    measure: str  # micro.MRR, macro.Hits@10, ...
    text: str  # as printed
    value: float  # shares as shares, also where they are printed as percentages
    unit: float  # value of one in the last printed digit
    line: int  # in the file
    data_set: str = ""
    setting: str = ""  # "filtered" or "raw"
    side: str = "both"  # of the questions: "both", "head" or "tail"
    part: str = ""  # of the table, where systems have several rows: "Depth 2"
    count: int | None = None  # ranks that the value is a mean of, where the table has them
    is_mean: bool = False  # of several runs: it is printed with a deviation

    @property
    def rounded(self) -> tuple[float, float]:
        """Lowest and highest number that is rounded to this one.

        Examples
        --------
        >>> [round(end, 5) for end in PublishedValue("a", "micro.MRR", ".338", 0.338, 0.001, 2).rounded]
        [0.3375, 0.3385]
        """
        room = max(self.unit / 2, SINGLE_PRECISION * abs(self.value))
        return self.value - room, self.value + room

    @property
    def cut(self) -> tuple[float, float]:
        """The same, or where further digits were cut off instead.

        Examples
        --------
        >>> [round(end, 5) for end in PublishedValue("a", "micro.MRR", ".338", 0.338, 0.001, 2).cut]
        [0.3375, 0.339]
        """
        low, high = self.rounded
        return min(low, self.value - self.unit * (self.value < 0)), max(high, self.value + self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable(Framed):
    """The numbers of a published table that are means of ranks or come from one, in the order of the file."""

    values: tuple[PublishedValue, ...]
    name: str = ""

    def of_data_set(self, name: str) -> PublishedTable:
        """Return the same with ``name`` for the data set of the numbers that have none.

        Raises
        ------
        KgtrecError
            If all of them have one.
        """
        if all(each.data_set for each in self.values):
            found = ", ".join(dict.fromkeys(each.data_set for each in self.values))
            raise KgtrecError(f"{self.name}: expected a table of one data set, found the table's own: {found}")
        return replace(self, values=tuple(replace(each, data_set=each.data_set or name) for each in self.values))

    def to_table(self) -> pa.Table:
        """Return the columns ``system, data_set, setting, side, part, measure, text, value, unit, line``."""
        names = ("system", "data_set", "setting", "side", "part", "measure", "text", "value", "unit", "line")
        return pa.table({name: [getattr(each, name) for each in self.values] for name in names})

    def __len__(self) -> int:
        return len(self.values)

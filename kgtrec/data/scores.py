"""Scores: of an evaluation, of a plain table, by chance, and as a paper prints them."""

from __future__ import annotations

import math
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
from kgtrec.data.lazy import named
from kgtrec.data.table import Column, Figure, PlottedResult, Result, Table, key_text
from kgtrec.errors import KgtrecError, MeasureError, nearest, one_of

if TYPE_CHECKING:
    import pandas as pd

_POPULATIONS = {
    "triple": "other test sets of as many triples from the same graph",
    "question": "other test sets of as many questions like these",
}
BREAKDOWNS = ("question", "answer", "side", "relation", "category")
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

    @property
    def population(self) -> str:
        """The population that the intervals are about, in words; "" without intervals."""
        return _POPULATIONS.get(self.drawn, "")

    def to_table(self) -> pa.Table:
        """Return the long form: system, measure, the items, value; where answers are below ends of cut lists least
        and most; with intervals low, high, effective and drawn.
        """
        columns: dict[str, Any] = {"system": (0, self.systems), "measure": (1, self.measures)}
        columns |= {name: (2, labels) for name, labels in self.items.items()}
        ends = "least", "most", "low", "high", "effective"
        numbers = {name: getattr(self, name) for name in ends if getattr(self, name) is not None}
        drawn = {"drawn": self.drawn} if self.drawn else {}
        return long_table(self.values.shape, columns | {"value": self.values} | numbers | drawn)

    def tables(self) -> tuple[Table]:
        """Return ``scores``, the long form, shown with systems (and items) down and measures across."""
        ends = (("low", self.low, "high"), ("least", self.least, "most"))
        low, high = next(((low, high) for low, values, high in ends if values is not None), ("", ""))
        value = Column(
            "value", digits="measure", better="measure", low=low, high=high, across="measure", among=tuple(self.items)
        )
        columns = (*map(Column, ("system", *self.items)), value)
        note = f"intervals over {self.population}" if self.population else ""
        if low == "least":
            note = "the least and the most that each value can be, of the answers below the ends of lists"
            note += f"; not known for {', '.join(unknown)}" if (unknown := self._without_ends()) else ""
        return (Table("scores", "", "", self.to_table(), columns, note=note, is_short=True),)

    def figures(self) -> tuple[Figure, ...]:
        """Draw totals as systems with intervals, a panel per measure, and breakdowns as a heat map per measure.

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
            return (named("report.figures", "score_intervals")(table, title=title, interval=interval),)
        per, n_parts = ", ".join(self.items), self.values.shape[2]
        if len(self.items) > 1 or n_parts > _MOST_PARTS:
            raise KgtrecError(
                f"expected totals or scores of at most {_MOST_PARTS} parts to draw, found {n_parts:,} per {per}; "
                "use to_frame() and a figure of your own"
            )
        parts = {"system": table["system"], "category": table[per], "side": pa.repeat("", len(table))}
        data = pa.table({**parts, "measure": table["measure"], "value": table["value"]})
        return tuple(
            named("report.figures", "heat_map")(
                data.filter(pc.equal(data["measure"], measure)),
                key=f"by-{per}-{place + 1}-{key_text(measure)}",
                title=f"{measure} by {per}",
                caption=f"{measure} of each system by {per} (darker is higher). -: undefined.",
                value=measure,
            )
            for place, measure in enumerate(self.measures)
        )

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
        if self.items:
            raise KgtrecError(f"expected totals, found scores per {', '.join(self.items)}; use to_frame()")
        one_of("a system of", system, self.systems)
        label = self._label(measure)
        return float(self.values[self.systems.index(system), self.measures.index(label), 0])

    def __getitem__(self, key: tuple[str, object]) -> float:
        """Look up one total, ``scores["transe", "micro.MRR"]``; see :meth:`value`."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise KgtrecError(f'expected scores["SYSTEM", "MEASURE"], found scores[{key!r}]')
        return self.value(*key)

    __iter__ = None  # Python would ask for scores[0], scores[1], ...

    def _label(self, measure: object) -> str:
        """The measure as it is spelled here."""
        label = str(measure)
        if label not in self.measures:
            with suppress(MeasureError):
                label = named("measures.names", "parse_measure")(measure).label
            one_of("a measure of", label, self.measures)
        return label

    def sorted_by(self, measure: object) -> Scores:
        """Sort the systems by their totals of a measure, the best first; NaN is last."""
        totals = np.array([self.value(system, measure) for system in self.systems])
        rises = named("measures.names", "better_of")(self._label(measure)) == "lower"
        order = np.argsort(totals if rises else -totals, kind="stable")
        rows = {
            name: getattr(self, name)[order]
            for name in ("values", "low", "high", "effective", "least", "most")
            if getattr(self, name) is not None
        }
        systems, tied = (tuple(column[row] for row in order) if column else () for column in (self.systems, self.tied))
        return replace(self, systems=systems, tied=tied, **rows)

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

    def to_markdown(self) -> str:
        """Make a table for Markdown, with the best values in bold."""
        return str(named("report.show", "shown")(self, "markdown"))

    def to_latex(self) -> str:
        """Make a table for the LaTeX package booktabs, with the best values in bold."""
        return str(named("report.show", "shown")(self, "latex"))


_MANY_CELLS = 1 << 24
_CELLS_PER_VALUE = 1_000


def _size(digits: str) -> tuple[int, str]:
    """Sort key of whole numbers of any length, since Python converts at most 4,300 digits."""
    significant = digits.lstrip("0")
    return len(significant), significant


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

    @classmethod
    def of_rows(
        cls,
        systems: Iterable[str],
        measures: Iterable[str],
        keys: Mapping[str, Iterable[str]],
        value: NDArray[np.float64],
        name: str = "",
    ) -> ScoreTable:
        """Make the table of one row per system, measure and key; keys that are all whole numbers are sorted.

        Parameters
        ----------
        systems, measures : (n,) labels
        keys : mapping from column to (n,) labels
        value : (n,) float array

        Raises
        ------
        KgtrecError
            If a system has two values for one measure and key, or nearly all cells would be empty.
        """
        columns = {column: tuple(texts) for column, texts in keys.items()}
        by_row: list[Any] = [
            tuple(systems),
            tuple(measures),
            list(zip(*columns.values(), strict=True)) or [()] * len(value),
        ]
        labels: list[list[Any]] = [list(dict.fromkeys(column)) for column in by_row]
        rows = labels[2]
        if rows and columns and all(label.isascii() and label.isdigit() for row in rows for label in row):
            rows.sort(key=lambda row: tuple(map(_size, row)))
        places = []
        for own, column in zip(labels, by_row, strict=True):
            place_of = {label: place for place, label in enumerate(own)}
            places.append(np.array([place_of[label] for label in column], np.int64))
        shape = (len(labels[0]), len(labels[1]), len(rows))
        if math.prod(shape) > max(_MANY_CELLS, _CELLS_PER_VALUE * len(value)):
            raise KgtrecError(
                f"expected a table in which systems have measures and keys in common, found {len(value):,} values of "
                f"{shape[0]:,} systems, {shape[1]:,} measures and {shape[2]:,} keys"
            )
        cell = np.ravel_multi_index(tuple(places), shape) if len(value) else np.empty(0, np.int64)
        used, first, count = np.unique(cell, return_index=True, return_counts=True)
        if len(used) < len(cell):
            again = first[np.argmax(count > 1)]
            of = ", ".join([by_row[0][again], by_row[1][again], *by_row[2][again]])
            raise KgtrecError(f"expected one value of each system and measure, found another of {of}")
        values = np.full(shape, np.nan)
        values.reshape(-1)[cell] = value
        kept = {column: tuple(row[place] for row in rows) for place, column in enumerate(columns)}
        return cls(tuple(labels[0]), tuple(labels[1]), values, kept, name)

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
                there = ", ".join(kept.keys) or "none"
                raise KgtrecError(f"expected a key column of the table ({there}), found {column!r}")
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
        scores = Scores(
            self.systems, self.measures, self.values, {name: pa.array(labels) for name, labels in self.keys.items()}
        )
        return scores.to_table()

    def __repr__(self) -> str:
        n_systems, n_measures, n_keys = self.values.shape
        per = f" per {', '.join(self.keys)} ({n_keys})" if self.keys else ""
        called = f" {self.name}:" if self.name else ""
        return f"<ScoreTable:{called} {n_systems} systems x {n_measures} measures{per}>"


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
        labels = {"measure": pa.array(self.measure, pa.string()), "side": pa.array(self.side, pa.string())}
        numbers = {"items": self.items, "expectation": self.expectation, "variance": self.variance}
        return pa.table(labels | {name: arrow_of(values) for name, values in numbers.items()})

    def tables(self) -> tuple[Table]:
        """Return ``chance``, shown with the standard deviation in place of the variance."""
        table = self.to_table()
        columns = (
            Column("measure"),
            Column("side"),
            Column("items"),
            Column("expectation", digits="measure"),
            Column("std", form="significant", digits=3),
        )
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

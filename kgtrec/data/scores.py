"""The result of an evaluation: one number per system, measure and item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import long_table
from kgtrec.data.frames import Framed
from kgtrec.data.table import Column, Figure, PlottedResult, Table, key_text
from kgtrec.errors import KgtrecError, one_of
from kgtrec.lazy import named

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
        """The long form: system, measure, the item columns, value; where answers are below the ends of cut lists least
        and most; with intervals low, high, effective and drawn.
        """
        columns: dict[str, Any] = {"system": (0, self.systems), "measure": (1, self.measures)}
        columns |= {name: (2, labels) for name, labels in self.items.items()}
        ends = "least", "most", "low", "high", "effective"
        numbers = {name: getattr(self, name) for name in ends if getattr(self, name) is not None}
        drawn = {"drawn": self.drawn} if self.drawn else {}
        return long_table(self.values.shape, columns | {"value": self.values} | numbers | drawn)

    def tables(self) -> tuple[Table]:
        """``scores``, the long form, shown with systems (and items) down and measures across."""
        low, high = (
            ("low", "high") if self.low is not None else ("least", "most") if self.least is not None else ("", "")
        )
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
        """Totals: the systems with their intervals, a panel per measure. Breakdowns: a heat map per measure.

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
        """One total; ``measure`` is spelled as in ``measures``, or an object that is written so.

        Raises
        ------
        KgtrecError
            If there is no such system or measure, or the scores are broken down, so that there are several.
        """
        if self.items:
            raise KgtrecError(f"expected totals, found scores per {', '.join(self.items)}; use to_frame()")
        named = str(measure)
        one_of("a system of", system, self.systems)
        one_of("a measure of", named, self.measures)
        return float(self.values[self.systems.index(system), self.measures.index(named), 0])

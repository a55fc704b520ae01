"""The parts of a report: text, numbers, tables and figures, in sections; ``kgtrec.report`` renders them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from kgtrec.data.arrow import places_of
from kgtrec.data.frames import frame_of_table
from kgtrec.data.lazy import imported
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

#: formats of a report: the page, its figures, its tables, the data of both
REPORT_FORMATS = ("html", "svg", "pdf", "latex", "csv", "png")
_KEY = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs of plain text, without markup."""

    paragraphs: tuple[str, ...]
    is_lead: bool = False  # whether a reader should read it first; it is shown in larger type


@dataclass(frozen=True, slots=True)
class Items:
    """A list of plain texts, one per item."""

    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text that is shown as it is, line by line: commands, a BibTeX entry."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """A few numbers that a reader should see first, each with what it counts."""

    pairs: tuple[tuple[str, str], ...]  # (what, formatted value)


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table's data is shown, and which other columns are shown beside its values.

    Parameters
    ----------
    name : str
        Name of the column in the data.
    label : str
        Its heading; empty: the name.
    digits : int, str or sequence of int
        Decimals of a number that is not a count, for all rows or for each row of the data; or the column that names
        the measure of each row, whose decimals are used. A number with 0 decimals is written like a count.
    better : {"higher", "lower", "neither", "measure"}
        Which of its values is best: it is shown in bold, and comes first when a reader first sorts by the column.
        ``measure``: as for the measure that ``digits`` names.
    low, high : str
        Columns with the ends of an interval around the value.
    deviation : str
        Column with the standard deviation of the value, written after it: ``0.3420 ± 0.0030``.
    groups : str
        Column with letters: rows that share one do not differ significantly.
    form : {"number", "share", "change", "p", "difference", "count", "significant"}
        How a number is written: as it is; as a percentage; as a percentage with its sign; as a p-value, ``<0.0001``
        where decimals would show 0; as a difference, with at least three significant digits; as a count, with thousands
        separators, or a mean of counts; with at most ``digits`` significant digits.
    least : float or sequence of float
        Smallest p-value that is written out; one below is written as ``<least``: 20 samples cannot show less than
        1/20. One for all, or one for each row of the data.
    names : mapping of str to str
        How labels are shown, if not as they are.
    across : str
        Column of labels: the values are shown in one column for each label, and rows that are equal in all other
        columns become one row; see :attr:`Table.wide`.
    parts : str
        For a column of labels: the column that is true in rows that are a part of the row above; those are indented.
    among : tuple of str
        Columns of labels: the best value is chosen among the rows that have the same ones.
    """

    name: str
    label: str = ""
    digits: int | str | Sequence[int] = 4
    better: Literal["higher", "lower", "neither", "measure"] = "neither"
    low: str = ""
    high: str = ""
    deviation: str = ""
    groups: str = ""
    form: Literal["number", "share", "change", "p", "difference", "count", "significant"] = "number"
    least: float | Sequence[float] = 1e-4
    names: Mapping[str, str] = field(default_factory=dict)
    across: str = ""
    parts: str = ""
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows to read, with the data behind them.

    Raises
    ------
    KgtrecError
        If a column to show is not in the data.
    """

    key: str  # its name in links and files: lower-case letters, digits and single dashes or underscores
    title: str
    caption: str
    data: pa.Table  # one row per row shown; NaN and null where a value is undefined
    columns: tuple[Column, ...] = ()  # what is shown, in this order; none: all columns of the data
    rows: Sequence[int] | None = None  # which rows are shown, in this order; None: all
    view: pa.Table | None = None  # what is shown instead of the data: labels as columns, a summary
    note: str = ""  # what an author who uses the numbers should know, a comment in LaTeX
    upright: bool = False  # whether columns are shown as rows, for a single row with many columns
    is_short: bool = False  # whether a number such as 1.0 is written as 1 in CSV

    def __post_init__(self) -> None:
        _check_key(self.key)
        if self.rows is not None:
            object.__setattr__(self, "rows", tuple(map(int, self.rows)))
        data = self.source
        shown = self.columns or tuple(Column(name) for name in data.column_names)
        if not shown:
            raise KgtrecError(f"table {self.key}: expected at least one column, found none")
        for column in shown:
            digits = column.digits if isinstance(column.digits, str) else ""
            parts = "low", "high", "deviation", "groups", "across", "parts"
            beside = (*(getattr(column, part) for part in parts), digits, *column.among)
            if lacking := [name for name in (column.name, *filter(None, beside)) if name not in data.column_names]:
                raise KgtrecError(
                    f"table {self.key}: expected a column {lacking[0]!r} in the data, found "
                    f"{', '.join(data.column_names)}"
                )
        object.__setattr__(self, "columns", shown)

    @property
    def source(self) -> pa.Table:
        """The table that the columns belong to: the view, or the data where there is none."""
        return self.data if self.view is None else self.view

    @property
    def shown(self) -> pa.Table:
        """The rows of the source that are shown, in their order."""
        return self.source if self.rows is None else self.source.take(places_of(self.rows))

    @property
    def wide(self) -> Table:
        """The table that is shown, with a column for each label of the column ``across``.

        Examples
        --------
        >>> data = pa.table({"system": ["a", "a", "b"], "measure": ["RR", "AP", "RR"], "value": [0.5, 0.25, 1.0]})
        >>> columns = (Column("system"), Column("value", across="measure"))
        >>> wide = Table("scores", "Scores", "", data, columns).wide
        >>> [column.label for column in wide.columns], wide.data.column("AP/value").to_pylist()
        (['', 'RR', 'AP'], [0.25, None])
        """
        spread = next((column for column in self.columns if column.across), None)
        if spread is None:
            return self
        data, keys = self.shown, [column.name for column in self.columns if not column.across]
        rows: dict[tuple[Any, ...], dict[str, int]] = {}
        labels, *others = (data.column(name).to_pylist() for name in (spread.across, *keys))
        for place, (label, *key) in enumerate(zip(labels, *others, strict=True)):
            rows.setdefault(tuple(key), {}).setdefault(label, place)
        wide = data.take(places_of([min(row.values()) for row in rows.values()]))
        parts = {part: getattr(spread, part) for part in ("name", "low", "high", "deviation", "groups", "digits")}
        named = {part: name for part, name in parts.items() if isinstance(name, str) and name}
        columns = []
        for label in dict.fromkeys(labels):
            places = places_of([row.get(label) for row in rows.values()])
            own: dict[str, Any] = {part: f"{label}/{name}" for part, name in named.items()}
            for part, name in named.items():
                wide = wide.append_column(own[part], data.column(name).take(places))
            columns.append(replace(spread, label=spread.names.get(label, label), across="", **own))
        at = self.columns.index(spread)
        shown = (*self.columns[:at], *columns, *self.columns[at + 1 :])
        return replace(self, data=wide, view=None, columns=shown, rows=None)

    def to_frame(self) -> pd.DataFrame:
        """Return the data."""
        return frame_of_table(self.data)


class Result:
    """The result of a verb, which gives itself as tables; ``kgtrec.report.show`` prints them, in notebooks too."""

    __slots__ = ()

    def tables(self) -> tuple[Table, ...]:
        """Return every table of the result, the most important one first."""
        raise NotImplementedError

    def __str__(self) -> str:
        """What ``print`` shows: the tables, as the command prints them."""
        text: str = imported("report.show", "shown")(self, "table")
        return text.rstrip("\n")

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables, as ``kgtrec.report.show.result_html`` prints them."""
        return imported("report.show", "result_html")(self)


@dataclass(frozen=True, slots=True, eq=False)
class TabledResult(Result):
    """A result that is kept as the tables that it gives."""

    parts: tuple[Table, ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(table.key for table in self.parts)}>"

    def __getitem__(self, key: str) -> pa.Table:
        """Return the data of one of the tables."""
        return next(table.data for table in self.parts if table.key == key)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables."""
        return self.parts


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure as data: the kind of drawing, and exactly the numbers that are drawn.

    Made by the functions of ``kgtrec.report.figures``, drawn by ``kgtrec.report.drawing``.
    """

    key: str  # its name in links and files: lower-case letters, digits and single dashes
    kind: str  # one of kgtrec.report.figures.KINDS
    title: str
    caption: str  # what it shows and how to read it
    data: pa.Table  # tidy; NaN where a value is undefined
    options: Mapping[str, Any] = field(default_factory=dict)  # specific to the kind: axis titles, a level to mark

    def __post_init__(self) -> None:
        _check_key(self.key)
        for name in ("title", "caption"):
            if not getattr(self, name).strip():
                raise KgtrecError(f"figure {self.key}: expected a {name}, found none")

    def to_frame(self) -> pd.DataFrame:
        """Return the data."""
        return frame_of_table(self.data)

    def plot(self, ax: Axes | None = None, *, panel: int | None = None) -> Axes | NDArray[Any]:
        """Draw it with matplotlib; see :meth:`PlottedResult.plot`."""
        return imported("report.drawing", "plot")(self, ax, panel)


class PlottedResult(Result):
    """A result that can be drawn."""

    __slots__ = ()

    def figures(self) -> tuple[Figure, ...]:
        """Return every figure of the result, the most important one first.

        Raises
        ------
        KgtrecError
            If the result is of a kind, or of a size, that no figure shows.
        """
        raise NotImplementedError

    def plot(self, ax: Axes | None = None, *, figure: int = 0, panel: int | None = None) -> Axes | NDArray[Any]:
        """Draw one of the figures with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where one panel is drawn. Default: a new figure of pyplot, which a notebook shows, with all panels.
        figure : int
            Which of :meth:`figures`.
        panel : int, optional
            Which panel of the figure. Default: all of them, or the only one.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them
            An array for a figure of several panels.

        Raises
        ------
        KgtrecError
            If there is no such figure or panel, or ``ax`` is given for several panels.
        """
        several = self.figures()
        if not 0 <= figure < len(several):
            known = "; ".join(f"{place}: {one.title}" for place, one in enumerate(several))
            raise KgtrecError(f"expected a figure among {known or 'none'}, found {figure}")
        return several[figure].plot(ax, panel=panel)


Block = Text | Items | Code | Facts | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the contents under it."""

    key: str
    title: str
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        _check_key(self.key)


@dataclass(frozen=True, slots=True)
class Input:
    """A file that the report was computed from."""

    name: str
    size: int  # bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is needed to compute a report again."""

    versions: Mapping[str, str] = field(default_factory=dict)  # program -> version
    settings: Mapping[str, str] = field(default_factory=dict)  # seeds and options -> value
    inputs: tuple[Input, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A title, sections in order, where the numbers came from, and how to cite them.

    Raises
    ------
    KgtrecError
        If two sections, tables or figures have the same key.
    """

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    provenance: Provenance = field(default_factory=Provenance)
    citations: tuple[str, ...] = ()
    exploration: str = ""  # file beside the page that shows each question; "" where there is none

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise KgtrecError("expected a report with a title, found none")
        keys = [("section", section.key) for section in self.sections]
        keys += [("table", table.key) for table in self.tables] + [("figure", figure.key) for figure in self.figures]
        for what, key in keys:
            if keys.count((what, key)) > 1:
                raise KgtrecError(f"expected each {what} of a report to have a key of its own, found {key!r} twice")

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Figure))

    def _repr_html_(self) -> str:
        """What a notebook shows: the first section. ``kgtrec.report.to_html`` gives the page."""
        return imported("report.show", "summary_html")(self)


def key_text(text: str) -> str:
    """Return a text as a part of the key of a table or figure: its letters and digits; empty if it has none.

    Examples
    --------
    >>> key_text("All of FB15k-237!"), key_text("知识")
    ('all-of-fb15k-237', '')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise KgtrecError(
            f"expected a key of lower-case letters, digits and single dashes or underscores, found {key!r}"
        )


def stacked(labels: Mapping[str, Sequence[str]], tables: Sequence[Table], by: str) -> Table:
    """Stack the tables of one kind of result for several parts, such as strata.

    Parameters
    ----------
    labels : mapping of str to sequence of str
        Columns that name the part of each table; they come first.
    tables : sequence of Table
        Without views. A column that some lack is null there.
    by : str
        How the parts were made, for the caption, which keeps what all captions say.

    Examples
    --------
    >>> tables = [Table("a", "A", "", pa.table({"x": [x]}), (Column("x", digits=[x]),)) for x in (1, 2)]
    >>> both = stacked({"part": ["u", "v"]}, tables, "each part by itself")
    >>> both.data.to_pydict(), both.columns[1].digits
    ({'part': ['u', 'v'], 'x': [1, 2]}, (1, 2))
    """
    sizes, first = [len(table.data) for table in tables], tables[0]
    data = pa.concat_tables([table.data for table in tables], promote_options="default")
    part = [at for at, size in enumerate(sizes) for _ in range(size)]
    for at, (name, own) in enumerate(labels.items()):
        data = data.add_column(at, name, pa.array(own).take(places_of(part)))
    known = [{(column.name, column.label): column for column in table.columns} for table in tables]
    columns = {key: column for own in reversed(known) for key, column in own.items()}
    columns = {key: columns[key] for key in dict.fromkeys(key for own in known for key in own)}
    for key, column in columns.items():
        of_rows: dict[str, Any] = {}
        for name in ("digits", "least"):  # of all rows, or of each
            several = [getattr(own.get(key, column), name) for own in known]
            if any(isinstance(one, Sequence) and not isinstance(one, str) for one in several):
                each = (
                    [one] * n if isinstance(one, int | float) else one for one, n in zip(several, sizes, strict=True)
                )
                of_rows[name] = tuple(chain.from_iterable(each))
        among = (*labels, *column.among) if column.better != "neither" else column.among
        columns[key] = replace(column, among=among, **of_rows)
    places = [range(size) if table.rows is None else table.rows for table, size in zip(tables, sizes, strict=True)]
    rows = [shift + row for shift, own in zip(accumulate(sizes, initial=0), places, strict=False) for row in own]
    said = [re.split("; |\n", table.caption) for table in tables]
    caption = "; ".join(filter(None, [by, *(words for words in said[0] if all(words in own for own in said))]))
    shown = (*map(Column, labels), *columns.values())
    return replace(first, caption=caption, data=data, columns=shown, rows=rows, upright=False)


def interval_columns(confidence: float) -> tuple[Column, Column]:
    """Return the columns ``low`` and ``high`` for a table that shows the ends of intervals beside its values.

    Examples
    --------
    >>> [column.label for column in interval_columns(0.95)]
    ['95% from', 'to']
    """
    return Column("low", f"{confidence * 100:g}% from"), Column("high", "to")


def lower_text(measures: Sequence[str], higher_is_better: Sequence[bool]) -> str:
    """Return a remark on measures where lower is better, as the end of a sentence; empty if there are none.

    Examples
    --------
    >>> lower_text(["micro.MR", "AP"], [False, True])
    '; lower is better under micro.MR, so a positive difference is in favour of the second'
    """
    lower = [name for name, rising in zip(measures, higher_is_better, strict=True) if not rising]
    return f"; lower is better under {', '.join(lower)}, so a positive difference is in favour of the second" * bool(
        lower
    )

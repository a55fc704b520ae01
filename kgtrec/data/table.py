"""What a report is made of: text, numbers, tables and figures, in sections; rendering them is ``kgtrec.report``'s."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from kgtrec.data.frames import frame_of_table
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd

#: what a report can be written as: the page, its figures, its tables, the data of both
REPORT_FORMATS = ("html", "svg", "pdf", "tex", "csv", "png")
_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs of plain text; nothing in them is markup."""

    paragraphs: tuple[str, ...]
    is_lead: bool = False  # whether it is what a reader should read first, in larger type


@dataclass(frozen=True, slots=True)
class Items:
    """A list of plain texts, each a point of its own."""

    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text that is shown as it is, line by line: commands, a BibTeX entry."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """A few numbers that a reader should see first, each with what it counts."""

    pairs: tuple[tuple[str, str], ...]  # (what, value as a person reads it)


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table's data is shown, and which other columns stand beside its values.

    Parameters
    ----------
    name : str
        Of the column in the data.
    label : str
        Its heading; empty: the name.
    digits : int or str
        Decimals of a number that is no count; or the column that names the measure of each row, which tells them.
    better : {"higher", "lower", "neither"}
        Which of its values is best: it is shown in bold, and comes first when a reader first sorts by the column.
    low, high : str
        Columns with the ends of an interval about the value.
    groups : str
        Column with letters: rows that share one are not significantly apart.
    form : {"number", "share", "p", "difference"}
        How a number is written: as it is; as a percentage; as a p-value, ``<0.0001`` where decimals would show 0; as a
        difference, with at least three significant digits.
    least : float or sequence of float
        P-value that is written as ``<least`` where it is below: of 20 samples none can tell less than 1/20. One for
        all, or one for each row of the data.
    names : mapping of str to str
        What labels are shown as, where that is not as they are.
    """

    name: str
    label: str = ""
    digits: int | str = 4
    better: Literal["higher", "lower", "neither"] = "neither"
    low: str = ""
    high: str = ""
    groups: str = ""
    form: Literal["number", "share", "p", "difference"] = "number"
    least: float | Sequence[float] = 1e-4
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows to read, with the data behind them.

    Raises
    ------
    KgtrecError
        If a column to show is not in the data.
    """

    key: str  # its name in links and files: lower-case letters, digits and single dashes
    title: str
    caption: str
    data: pa.Table  # one row per row shown; NaN and null where a value is undefined
    columns: tuple[Column, ...] = ()  # what is shown, in this order; none: all columns of the data
    rows: Sequence[int] | None = None  # which rows are shown, in this order; None: all

    def __post_init__(self) -> None:
        _check_key(self.key)
        if self.rows is not None:
            object.__setattr__(self, "rows", tuple(map(int, self.rows)))
        shown = self.columns or tuple(Column(name) for name in self.data.column_names)
        if not shown:
            raise KgtrecError(f"table {self.key}: expected at least one column, found none")
        for column in shown:
            digits = column.digits if isinstance(column.digits, str) else ""
            for name in filter(None, (column.name, column.low, column.high, column.groups, digits)):
                if name not in self.data.column_names:
                    found = ", ".join(self.data.column_names)
                    raise KgtrecError(f"table {self.key}: expected a column {name!r} in the data, found {found}")
        object.__setattr__(self, "columns", shown)

    @property
    def shown(self) -> pa.Table:
        """The rows of the data that are shown, in their order."""
        return self.data if self.rows is None else self.data.take(pa.array(self.rows, pa.int64()))

    def to_frame(self) -> pd.DataFrame:
        """The data."""
        return frame_of_table(self.data)


class Result(Protocol):
    """What a verb finds: laid out as tables, and printed by ``kgtrec.report.show``."""

    def tables(self) -> tuple[Table, ...]:
        """Every table of the result, the one to read first in the first place."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure as data: what kind of drawing, and exactly the numbers that it draws.

    Made by the functions of ``kgtrec.report.figures``, drawn by ``kgtrec.report.drawing``.
    """

    key: str  # its name in links and files: lower-case letters, digits and single dashes
    kind: str  # one of kgtrec.report.figures.KINDS
    title: str
    caption: str  # what it shows and how to read it
    alt: str  # the gist of its numbers, for who does not see it
    data: pa.Table  # tidy; NaN where a value is undefined
    options: Mapping[str, Any] = field(default_factory=dict)  # of the kind: axis titles, a level to mark

    def __post_init__(self) -> None:
        _check_key(self.key)
        for name in ("title", "caption", "alt"):
            if not getattr(self, name).strip():
                raise KgtrecError(f"figure {self.key}: expected a {name}, found none")

    def to_frame(self) -> pd.DataFrame:
        """The data."""
        return frame_of_table(self.data)


Block = Text | Items | Code | Facts | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

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
    """What it takes to compute a report again."""

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

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise KgtrecError("expected a report with a title, found none")
        seen = set()
        for what, key in self._keys():
            if (what, key) in seen:
                raise KgtrecError(f"expected each {what} of a report to have a key of its own, found {key!r} twice")
            seen.add((what, key))

    def _keys(self) -> Iterable[tuple[str, str]]:
        for section in self.sections:
            yield "section", section.key
            for block in section.blocks:
                if isinstance(block, Table | Figure):
                    yield ("table" if isinstance(block, Table) else "figure"), block.key

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Figure))


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise KgtrecError(f"expected a key of lower-case letters, digits and single dashes, found {key!r}")


def lower_text(measures: Sequence[str], higher_is_better: Sequence[bool]) -> str:
    """What to mind of measures where lower is better, as the end of a sentence; nothing if there are none.

    Examples
    --------
    >>> lower_text(["micro.MR", "AP"], [False, True])
    '; lower is better under micro.MR, so a positive difference is in favour of the second'
    """
    lower = [name for name, rising in zip(measures, higher_is_better, strict=True) if not rising]
    return f"; lower is better under {', '.join(lower)}, so a positive difference is in favour of the second" * bool(
        lower
    )

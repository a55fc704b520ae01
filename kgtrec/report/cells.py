"""Numbers and labels formatted for terminals, pages and papers."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.table import Column, Table
from kgtrec.measures.names import better_of, digits_of

_Number = TypeVar("_Number", int, float)
UNDEFINED = "-"
MINUS = "\N{MINUS SIGN}"
# characters that XML does not allow, and those that end a line or reverse its direction
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
_LETTERS = string.ascii_lowercase + string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of one cell of a table."""

    text: str
    key: str | None = None  # the number to sort by, "" where it is undefined; None: a label, sorted as text
    interval: str = ""
    groups: str = ""
    is_best: bool = False


def table_cells(table: Table, *, typeset: bool = True) -> list[list[Cell]]:
    """Return the rows of a table as they are shown, one cell per column; for ``typeset`` see :func:`number_text`.

    Examples
    --------
    >>> shown = table_cells(Table("t", "T", "", pa.table({"system": ["a"], "RR": [0.25]})))
    >>> [cell.text for cell in shown[0]]
    ['a', '0.2500']
    """
    table = table.wide
    data = table.shown
    columns = [_column_cells(table, data, column, typeset=typeset) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def numbered(texts: Iterable[str]) -> list[str]:
    """Make texts unique by a suffix -2, -3, ...; upper and lower case count as equal, as in some file systems.

    Examples
    --------
    >>> numbered(["a", "b", "A", "a"])
    ['a', 'b', 'A-2', 'a-3']
    """
    taken: set[str] = set()
    own = []
    for text in texts:
        name, number = text, 1
        while name.casefold() in taken:
            number += 1
            name = f"{text}-{number}"
        taken.add(name.casefold())
        own.append(name)
    return own


def is_number_column(table: Table, column: Column) -> bool:
    """Check whether a column contains numbers, which are right-aligned."""
    kind = table.source.schema.field(column.name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _column_cells(table: Table, data: pa.Table, column: Column, *, typeset: bool) -> list[Cell]:
    values = data.column(column.name).to_pylist()
    if not is_number_column(table, column):
        texts = ("" if value is None else str(value) for value in values)
        named = (column.names.get(text, text) for text in texts)
        is_part = data.column(column.parts).to_pylist() if column.parts else [False] * len(values)
        return [
            Cell("  " * part + (label_text(text) if typeset else text))
            for text, part in zip(named, is_part, strict=True)
        ]
    n = len(values)
    if isinstance(column.digits, str):
        digits = [digits_of(measure) for measure in data.column(column.digits).to_pylist()]
    else:
        digits = _each(table, column.digits)
    if column.form == "p":
        return [
            Cell(p_text(math.nan if value is None else value, least), _sort_key(value))
            for value, least in zip(values, _each(table, column.least), strict=True)
        ]
    best = _best(data, column, values)
    beside = (column.low, column.high, column.deviation)
    low, high, sd = (data.column(name).to_pylist() if name else [None] * n for name in beside)
    groups = data.column(column.groups).to_pylist() if column.groups else [""] * n
    return [
        Cell(
            own if spread == UNDEFINED else f"{own} \N{PLUS-MINUS SIGN} {spread}",
            _sort_key(value),
            "" if UNDEFINED in ends else "[{}, {}]".format(*ends),
            group or "",
            is_best,
        )
        for value, places, *beside, group, is_best in zip(values, digits, sd, low, high, groups, best, strict=True)
        for own, spread, *ends in [[value_text(end, column.form, places, typeset=typeset) for end in (value, *beside)]]
    ]


def _each(table: Table, setting: _Number | Sequence[_Number]) -> list[_Number]:
    """The value of a setting for each shown row; a setting is one value, or one value per row of the data."""
    if not isinstance(setting, Sequence):
        return [setting] * (table.source.num_rows if table.rows is None else len(table.rows))
    return [setting[row] for row in (range(len(setting)) if table.rows is None else table.rows)]


def _best(data: pa.Table, column: Column, values: Sequence[Any]) -> list[bool]:
    """Which values are the best among the rows that they are compared with; none if there is only one row."""
    better = direction(data, column)
    keys = list(zip(*(data.column(name).to_pylist() for name in column.among), strict=True)) or [()] * len(values)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    choose = max if better == "higher" else min
    best = {
        key: choose((value for value in group if not _is_undefined(value)), default=None)
        for key, group in groups.items()
        if better != "neither" and len(group) > 1
    }
    return [value is not None and value == best.get(key) for key, value in zip(keys, values, strict=True)]


def direction(data: pa.Table, column: Column) -> str:
    """Return which values of a column are better: higher, lower or neither."""
    if column.better != "measure":
        return column.better
    measures = data.column(str(column.digits)).drop_null()
    return better_of(measures[0].as_py()) if len(measures) else "neither"


def _is_undefined(value: Any) -> bool:
    return value is None or value != value


def _sort_key(value: Any) -> str:
    if _is_undefined(value):
        return ""
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def value_text(value: float | None, form: str = "number", digits: int = 4, *, typeset: bool = False) -> str:
    """Return a number in the form of a column; - if it is undefined; for ``typeset`` see :func:`number_text`.

    Examples
    --------
    >>> value_text(0.1234, "share", 1), value_text(0.1234, "change", 1), value_text(7), value_text(1234.4, digits=0)
    ('12.3%', '+12.3%', '7', '1,234')
    >>> value_text(-0.0176312, "difference")
    '-0.0176'
    """
    if value is None or value != value:
        return UNDEFINED
    if form in ("share", "change"):
        return f"{value:{'+' * (form == 'change')}.{digits}%}"
    if form == "difference":
        text = difference_text(value)
        return text.replace("-", MINUS) if typeset else text
    if form in ("count", "significant"):
        return f"{value:,.{digits}f}" if form == "count" else f"{value:.{digits}g}"
    return count_text(value) if isinstance(value, int) or digits == 0 else number_text(value, digits, typeset=typeset)


def number_text(value: float, digits: int = 4, *, typeset: bool = False) -> str:
    """Return a number with ``digits`` decimals, and no sign on zero; - if it is undefined.

    ``typeset`` is for pages and papers: thousands separators, a minus sign instead of a hyphen, a sign for infinity.

    Examples
    --------
    >>> number_text(-0.23077), number_text(-1e-9, 2), number_text(7341.2345, 2), number_text(float("nan"))
    ('-0.2308', '0.00', '7341.23', '-')
    >>> number_text(-7341.2345, 2, typeset=True)
    '−7,341.23'
    """
    if math.isnan(value):
        return UNDEFINED
    if not typeset:
        return f"{round(float(value), digits) + 0.0:.{digits}f}"  # -0.0 + 0.0 is 0.0
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return f"{round(float(value), digits) + 0.0:,.{digits}f}".replace("-", MINUS)


def p_text(p: float, least: float = 1e-4) -> str:
    """Return a p-value with four decimals; below ``least``, such as 1 / samples, it cannot be distinguished from 0.

    Examples
    --------
    >>> p_text(0.03), p_text(1e-30), p_text(0.0, 0.001), p_text(float("nan"))
    ('0.0300', '<0.0001', '<0.001', '-')
    """
    if math.isnan(p):
        return UNDEFINED
    return f"<{least:g}" if p < least else f"{p:.4f}"


def difference_text(value: float) -> str:
    """Return a difference with at least three significant digits.

    Examples
    --------
    >>> difference_text(-45.006902), difference_text(0.0176312), difference_text(0.0), difference_text(float("nan"))
    ('-45.01', '0.0176', '0.0000', '-')
    """
    if math.isnan(value):
        return UNDEFINED
    digits = 2 if abs(value) >= 10 else 4
    if 0 < abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{round(float(value), digits) + 0.0:,.{digits}f}"


def count_text(value: float) -> str:
    """Return a count, with thousands separators.

    Examples
    --------
    >>> count_text(20466)
    '20,466'
    """
    return UNDEFINED if value != value else f"{value:,.0f}"


def label_text(label: str) -> str:
    r"""Return a label on one line, without characters that cannot be shown or that reverse the direction of text.

    Examples
    --------
    >>> label_text("a\n b\x00")
    'a b�'
    """
    return _UNSHOWABLE.sub("\ufffd", " ".join(label.split()))


def letters_of(member: NDArray[np.bool_]) -> list[str]:
    """Return the groups of each item as letters, a for the first group: a to z, A to Z, then numbers in parentheses.

    Parameters
    ----------
    member : (n, groups) bool array
        From ``kgtrec.kernels.statistics.compact_letters``.

    Examples
    --------
    >>> letters_of(np.array([[True, False], [True, True]]))
    ['a', 'ab']
    """
    names = [_LETTERS[place] if place < len(_LETTERS) else f"({place + 1})" for place in range(member.shape[1])]
    return ["".join(name for name, holds in zip(names, row, strict=True) if holds) for row in member]

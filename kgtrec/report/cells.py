"""Numbers and labels as a person reads them, for pages and papers alike."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.table import Column, Table

UNDEFINED = "-"
_MINUS = "\N{MINUS SIGN}"
# what XML cannot hold, and what would end a line or turn its direction
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
_LETTERS = string.ascii_lowercase + string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one cell of a table."""

    text: str
    key: str | None = None  # the number to sort by, "" where it is undefined; None: a label, sorted as text
    interval: str = ""
    groups: str = ""
    is_best: bool = False


def table_cells(table: Table) -> list[list[Cell]]:
    """The rows of a table as they are shown, one cell per column.

    Examples
    --------
    >>> shown = table_cells(Table("t", "T", "", pa.table({"system": ["a"], "RR": [0.25]})))
    >>> [cell.text for cell in shown[0]]
    ['a', '0.2500']
    """
    columns = [_column_cells(table, column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def key_text(text: str) -> str:
    """What can stand for a text in the key of a table or figure: its letters and digits, which may be none.

    Examples
    --------
    >>> key_text("All of FB15k-237!"), key_text("知识")
    ('all-of-fb15k-237', '')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def numbered(texts: Iterable[str]) -> list[str]:
    """The texts, each its own even where case does not count, as in names of files: -2, -3 ... behind a repeated one.

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
    """Whether a column holds numbers, which stand flush right."""
    kind = table.data.column(column.name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _column_cells(table: Table, column: Column) -> list[Cell]:
    values = table.data.column(column.name).to_pylist()
    if not is_number_column(table, column):
        return [Cell(label_text("" if value is None else str(value))) for value in values]
    best = _best(values, column.better)
    n = len(values)
    low, high = (table.data.column(name).to_pylist() if name else [None] * n for name in (column.low, column.high))
    groups = table.data.column(column.groups).to_pylist() if column.groups else [""] * n
    return [
        Cell(
            _number(value, column.digits),
            _sort_key(value),
            "" if _is_undefined(lower) or _is_undefined(upper) else _interval(lower, upper, column.digits),
            group or "",
            value == best,
        )
        for value, lower, upper, group in zip(values, low, high, groups, strict=True)
    ]


def _best(values: Sequence[Any], better: str) -> Any:
    known = [value for value in values if not _is_undefined(value)]
    if better == "neither" or len(values) < 2 or not known:
        return None
    return max(known) if better == "higher" else min(known)


def _is_undefined(value: Any) -> bool:
    return value is None or value != value


def _sort_key(value: Any) -> str:
    if _is_undefined(value):
        return ""
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _interval(low: float, high: float, digits: int) -> str:
    return f"[{_number(low, digits)}, {_number(high, digits)}]"


def _number(value: Any, digits: int) -> str:
    if _is_undefined(value):
        return UNDEFINED
    return count_text(value) if isinstance(value, int) else number_text(value, digits)


def number_text(value: float, digits: int) -> str:
    """A number with so many decimals, a real minus sign and no sign on zero; - where it is undefined.

    Examples
    --------
    >>> number_text(-0.23077, 4), number_text(-1e-9, 2), number_text(float("nan"), 2)
    ('−0.2308', '0.00', '-')
    """
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", _MINUS)  # adding 0 turns -0.0 round


def count_text(value: float) -> str:
    """A count, thousands apart.

    Examples
    --------
    >>> count_text(20466)
    '20,466'
    """
    return UNDEFINED if value != value else f"{value:,.0f}".replace("-", _MINUS)


def label_text(label: str) -> str:
    r"""A label on one line, without signs that cannot be shown or that would turn the text around them.

    Examples
    --------
    >>> label_text("a\n b\x00")
    'a b�'
    """
    return _UNSHOWABLE.sub("\ufffd", " ".join(label.split()))


def letters_of(member: NDArray[np.bool_]) -> list[str]:
    """The groups of each thing as letters, a for the first: a to z, A to Z, then numbers in brackets.

    Parameters
    ----------
    member : (n, groups) bool array
        As ``kgtrec.kernels.statistics.compact_letters`` gives it.

    Examples
    --------
    >>> letters_of(np.array([[True, False], [True, True]]))
    ['a', 'ab']
    """
    names = [_LETTERS[place] if place < len(_LETTERS) else f"({place + 1})" for place in range(member.shape[1])]
    return ["".join(name for name, holds in zip(names, row, strict=True) if holds) for row in member]

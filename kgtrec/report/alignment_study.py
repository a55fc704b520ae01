"""Studies of entity alignment as text: an aligned table."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kgtrec.report.tables import aligned

_COLUMNS = ("system", "measure", "size", "repeats", "mean", "low", "high")
_LEFT = 2  # columns of text


def study_text(summary: pa.Table) -> str:
    """A study's summary for a person: sizes down, mean and interval across.

    Examples
    --------
    >>> row = {"system": "gcn", "measure": "MRR", "size": 10, "repeats": 5, "mean": 0.5, "low": 0.25, "high": 0.75}
    >>> print(study_text(pa.Table.from_pylist([row])), end="")
    system  measure  size  repeats    mean     low    high
    gcn     MRR        10        5  0.5000  0.2500  0.7500
    """
    return aligned([_COLUMNS, *_cells(summary)], _LEFT)


def _cells(summary: pa.Table) -> Iterator[list[str]]:
    for row in summary.to_pylist():
        yield [_cell(row[name]) for name in _COLUMNS]


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value != value else f"{value:,.4f}"  # undefined, such as AMRI of a single alignment

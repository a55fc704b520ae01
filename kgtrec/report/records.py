"""Tables as CSV for spreadsheets and as JSON for programs, with values at full precision."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of
from kgtrec.formats.csv_text import MAY_BE_FORMULA, guarded

# numbers that Arrow and Python format alike: with a fraction, and without an exponent in both
_ALIKE = r"^-?([1-9][0-9]*\.[0-9]+|0\.[0-9]{0,3}[1-9][0-9]*)$"


def table_csv(table: pa.Table, *, is_short: bool = False) -> str:
    r"""Return a table as CSV with a header; an undefined value is an empty cell.

    A text that a spreadsheet would take for a formula has an apostrophe before it, see
    :func:`kgtrec.formats.csv_text.guarded`; JSON and Parquet hold it as it is.

    ``is_short``: whole numbers are written without a fraction, 1 instead of 1.0.

    Examples
    --------
    >>> table_csv(pa.table({"system": ["a,b"], "size": [10], "value": [0.5]}))
    'system,size,value\n"a,b",10,0.5\n'
    >>> table_csv(pa.table({"relation": ["=HYPERLINK(x)"], "agreement": [-0.5]}))
    "relation,agreement\n'=HYPERLINK(x),-0.5\n"
    """
    columns = (_csv_column(column.combine_chunks(), is_short=is_short) for column in table.columns)
    comma = labels_of([","])[0]  # Arrow would import pandas for a text of Python
    rows = pc.binary_join_element_wise(*columns, comma).to_pylist()
    return "\n".join([",".join(map(_csv_cell, table.column_names)), *rows]) + "\n"


def _csv_column(column: pa.Array, *, is_short: bool) -> pa.Array:
    """The cells of a column: numbers by Arrow, except the few that Python formats differently; each label once."""
    if pa.types.is_integer(column.type):
        return _filled(pc.cast(column, pa.string()))
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        texts = pc.cast(column, pa.string())
        alike = pc.is_finite(column) if is_short else pc.match_substring_regex(texts, _ALIKE)
        if alike.null_count:
            alike = pc.fill_null(alike, fill_value=False)
        odd = pc.invert(alike)
        return pc.replace_with_mask(texts, odd, _each_once(column.filter(odd)))
    if pa.types.is_string(column.type) and (data := column.buffers()[2]) is not None:
        text = data.to_pybytes()
        is_plain = not any(sign in text for sign in (b'"', b",", b"\r", b"\n"))
        if is_plain and not pc.any(pc.match_substring_regex(column, MAY_BE_FORMULA)).as_py():
            return _filled(column)
    return _each_once(column)


def _each_once(column: pa.Array) -> pa.Array:
    coded = column.dictionary_encode()
    texts = labels_of([_csv_cell(value) for value in coded.dictionary.to_pylist()])
    return _filled(texts.take(coded.indices))


def _filled(texts: pa.Array) -> pa.Array:
    """An empty text for each missing value; Arrow would import pandas for it even if there is none."""
    return pc.fill_null(texts, "") if texts.null_count else texts


def _csv_cell(value: str | float | None) -> str:
    if not isinstance(value, str):
        return "" if value is None or value != value else repr(value)
    value = guarded(value)
    return f'"{value.replace(chr(34), chr(34) * 2)}"' if any(sign in value for sign in ',"\r\n') else value


def table_json(table: pa.Table) -> str:
    r"""Return a table as a JSON list of records, one per line; NaN and infinity are null, as JSON does not have them.

    Examples
    --------
    >>> table_json(pa.table({"system": ["a", "b"], "value": [0.5, float("nan")]}))
    '[\n{"system": "a", "value": 0.5},\n{"system": "b", "value": null}\n]\n'
    """
    return f"[\n{_lines(table)}\n]\n"


def tables_json(about: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    r"""Return a JSON object with values, and tables as lists of records, one per line; see :func:`table_json`.

    Examples
    --------
    >>> tables_json({"alpha": 0.05}, {"pairs": pa.table({"p": [0.5]}), "none": pa.table({"p": []})})
    '{\n"alpha": 0.05,\n"pairs": [\n{"p": 0.5}\n],\n"none": []\n}\n'
    """
    parts = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in about.items()]
    for name, table in tables.items():
        lines = _lines(table)
        parts.append(f"{json.dumps(name)}: [\n{lines}\n]" if lines else f"{json.dumps(name)}: []")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def records_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Return the rows of a table for JSON; NaN and infinity become None, as JSON does not have them."""
    for row in table.to_pylist():
        yield {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }


def _lines(table: pa.Table) -> str:
    return ",\n".join(json.dumps(record, ensure_ascii=False) for record in records_of(table))

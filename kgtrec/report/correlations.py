"""Rank correlations and swapped pairs as text: an aligned table, CSV, JSON, LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kgtrec.data.correlations import Correlations, Swaps
from kgtrec.errors import MeasureError
from kgtrec.report.studies import study_csv
from kgtrec.report.tables import aligned, booktabs, number_of

_LEAST_P = 0.00005  # that four decimals can tell from 0
_SIDES = ("first", "second", "labels")


def correlations_text(found: Correlations) -> str:
    """What was compared, in a line, and an aligned table: measures down, coefficients (or a key's labels) across."""
    shared, cells, left = _grid(found)
    told = [f"{name}: {label}" for name, label in shared.items()]
    told.append(f"{len(found.systems)} systems")
    if found.low is not None and found.confidence is not None:
        told.append(f"{found.confidence:.0%} intervals")
    return "; ".join(told) + "\n\n" + aligned(cells, left)


def correlations_latex(found: Correlations) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the same cells."""
    _, cells, left = _grid(found)
    return booktabs(cells, left)


def correlations_csv(found: Correlations) -> str:
    """A line per row and coefficient, a header, values at full precision; an undefined value is an empty cell."""
    return study_csv(found.to_table())


def correlations_json(found: Correlations) -> str:
    """A list of records, one a line; an undefined value is null."""
    return _json(found.to_table())


def _grid(found: Correlations) -> tuple[dict[str, str], list[list[str]], int]:
    """What all rows share, the cells with their header, and how many leading columns are labels."""
    rows, shared = dict(found.rows), {}
    between_labels = "measure" in rows
    for name in _SIDES:
        if name in rows and (between_labels or name == "labels") and len(set(rows[name])) == 1:
            shared[name] = rows.pop(name)[0]
    intervals = found.low is not None and found.high is not None
    keys = [name for name in rows if name not in (*_SIDES, "measure")]
    if len(keys) == 1 and len(found.coefficients) == 1 and not intervals:
        return shared | {"coefficient": found.coefficients[0]}, *_across(found, rows, keys[0])
    cells = [[*rows, *found.coefficients]]
    for place in range(len(found)):
        values = [
            _number(found.value[place, column])
            + (f" [{_number(found.low[place, column])}, {_number(found.high[place, column])}]"
               if found.low is not None and found.high is not None else "")
            for column in range(len(found.coefficients))
        ]  # fmt: skip
        cells.append([*(labels[place] for labels in rows.values()), *values])
    return shared, cells, len(rows)


def _across(found: Correlations, rows: Mapping[str, Sequence[str]], key: str) -> tuple[list[list[str]], int]:
    """A column for each label of a key."""
    names = [name for name in rows if name != key]
    labels = list(dict.fromkeys(rows[key]))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for place in range(len(found)):
        line = lines.setdefault(tuple(rows[name][place] for name in names), {})
        line[rows[key][place]] = _number(found.value[place, 0])
    head = [*names[:-1], f"{names[-1]} / {key}", *labels]
    return [head, *([*line, *(cells.get(label, "") for label in labels)] for line, cells in lines.items())], len(names)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{round(value, 4) + 0.0:.4f}"


def swaps_text(found: Swaps, names: tuple[str, str] = ("first", "second")) -> str:
    """How many pairs of each measure are swapped, and an aligned table of them."""
    counts = [["measure", "swapped", "pairs"]]
    for measure, n_pairs in found.n_pairs.items():
        counts.append([measure, f"{found.rows['measure'].count(measure):,}", f"{n_pairs:,}"])
    told = f"differences of better less worse, under {names[0]} (first) and {names[1]} (second)\n\n"
    return told + aligned(counts, 1) + ("\n" + aligned(*_swap_cells(found)) if len(found) else "")


def swaps_latex(found: Swaps) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the swapped pairs."""
    return booktabs(*_swap_cells(found))


def swaps_csv(found: Swaps) -> str:
    """A line per swapped pair, a header, values at full precision; an unknown p-value is an empty cell."""
    return study_csv(found.to_table())


def swaps_json(found: Swaps) -> str:
    """A list of records, one a line; an unknown p-value is null."""
    return _json(found.to_table())


def _swap_cells(found: Swaps) -> tuple[list[list[str]], int]:
    table = found.to_table()
    rows = table.to_pylist()
    cells = [[_swap_cell(name, row[name], row["measure"]) for name in table.column_names] for row in rows]
    return [list(table.column_names), *cells], len(found.rows) + 2


def _swap_cell(column: str, value: str | float, measure: str) -> str:
    if isinstance(value, str):
        return value
    if column.endswith("_p"):
        return "<0.0001" if value < _LEAST_P else _number(value)
    return _difference(value, measure)


def _difference(value: float, measure: str) -> str:
    """As many decimals as its measure has; a measure that kgtrec does not know has four."""
    try:
        text = number_of(abs(value), measure)
    except MeasureError:
        text = f"{abs(value):.4f}"
    return ("-" if value < 0 else "+") + text


def _json(table: pa.Table) -> str:
    records = (
        {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in record.items()}
        for record in table.to_pylist()
    )
    return "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n"

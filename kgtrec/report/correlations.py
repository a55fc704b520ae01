"""Rank correlations and swapped pairs as text: an aligned table, CSV, JSON, LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgtrec.errors import MeasureError, legible
from kgtrec.meta.correlation import Correlations, Swaps
from kgtrec.report.cells import measure_text, number_text
from kgtrec.report.records import table_csv, table_json
from kgtrec.report.tables import aligned, booktabs

_LEAST_P = 0.00005  # that four decimals can tell from 0
_SIDES = ("first", "second", "labels")


def correlations_text(found: Correlations) -> str:
    """What was compared, in a line, and an aligned table: measures down, coefficients (or a key's labels) across."""
    shared, cells, left = _grid(found)
    told = [f"{name}: {label}" for name, label in shared.items()]
    told.append(f"{len(found.systems)} systems")
    if found.low is not None and found.confidence is not None:
        told.append(f"{found.confidence * 100:g}% resampling ranges, questions drawn")
    return legible("; ".join(told)) + "\n\n" + aligned(cells, left)


def correlations_latex(found: Correlations) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the same cells."""
    _, cells, left = _grid(found)
    return booktabs(cells, left)


def correlations_csv(found: Correlations) -> str:
    """A line per row and coefficient, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(found.to_table())


def correlations_json(found: Correlations) -> str:
    """A list of records, one a line; an undefined value is null."""
    return table_json(found.to_table())


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
            number_text(found.value[place, column])
            + (f" [{number_text(found.low[place, column])}, {number_text(found.high[place, column])}]"
               if found.low is not None and found.high is not None else "")
            for column in range(len(found.coefficients))
        ]  # fmt: skip
        cells.append([*(labels[place] for labels in rows.values()), *values])
    return shared, cells, len(rows)


def _across(found: Correlations, rows: Mapping[str, Sequence[str]], key: str) -> tuple[list[list[str]], int]:
    """A column for each label of a key."""
    names = [name for name in rows if name != key]
    labels, lines = _pivoted(found, names, key, 0)
    return [[*names[:-1], f"{names[-1]} / {key}", *labels], *lines], len(names)


def _pivoted(
    found: Correlations, names: Sequence[str], key: str, coefficient: int
) -> tuple[list[str], list[list[str]]]:
    """The labels of a key, which go across, and a line of cells for each combination of the labels of ``names``."""
    labels = list(dict.fromkeys(found.rows[key]))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for place, label in enumerate(found.rows[key]):
        line = lines.setdefault(tuple(found.rows[name][place] for name in names), {})
        line[label] = number_text(found.value[place, coefficient])
    return labels, [[*line, *(cells.get(label, "") for label in labels)] for line, cells in lines.items()]


def sparsity_text(found: Correlations) -> str:
    """An aligned table for each coefficient: measures (and parts) down, label sets across."""
    parts = []
    for place, coefficient in enumerate(found.coefficients):
        told = f"{coefficient} to {legible(found.rows['first'][0])}; {len(found.systems)} systems"
        parts.append(f"{told}\n\n{aligned(*_sparsity_cells(found, place))}")
    return "\n".join(parts)


def sparsity_latex(found: Correlations) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) for each coefficient."""
    return "\n".join(booktabs(*_sparsity_cells(found, place)) for place in range(len(found.coefficients)))


def _sparsity_cells(found: Correlations, coefficient: int) -> tuple[list[list[str]], int]:
    """The cells with their header, and how many leading columns are labels."""
    names = [name for name in found.rows if name not in ("first", "second")]
    labels, lines = _pivoted(found, names, "second", coefficient)
    return [[*names, *labels], *lines], len(names)


def swaps_text(found: Swaps, names: tuple[str, str] = ("first", "second")) -> str:
    """How many pairs of each measure are swapped, and an aligned table of them."""
    counts = [["measure", "swapped", "pairs"]]
    for measure, n_pairs in found.n_pairs.items():
        counts.append([measure, f"{found.rows['measure'].count(measure):,}", f"{n_pairs:,}"])
    first, second = map(legible, names)
    told = f"differences of better less worse, under {first} (first) and {second} (second)\n\n"
    return told + aligned(counts, 1) + ("\n" + aligned(*_swap_cells(found)) if len(found) else "")


def swaps_latex(found: Swaps) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the swapped pairs."""
    return booktabs(*_swap_cells(found))


def swaps_csv(found: Swaps) -> str:
    """A line per swapped pair, a header, values at full precision; an unknown p-value is an empty cell."""
    return table_csv(found.to_table())


def swaps_json(found: Swaps) -> str:
    """A list of records, one a line; an unknown p-value is null."""
    return table_json(found.to_table())


def _swap_cells(found: Swaps) -> tuple[list[list[str]], int]:
    table = found.to_table()
    rows = table.to_pylist()
    cells = [[_swap_cell(name, row[name], row["measure"]) for name in table.column_names] for row in rows]
    return [list(table.column_names), *cells], len(found.rows) + 2


def _swap_cell(column: str, value: str | float, measure: str) -> str:
    if isinstance(value, str):
        return value
    if column.endswith("_p"):
        return "<0.0001" if value < _LEAST_P else number_text(value)
    return _difference(value, measure)


def _difference(value: float, measure: str) -> str:
    """As many decimals as its measure has; a measure that kgtrec does not know has four."""
    try:
        text = measure_text(abs(value), measure)
    except MeasureError:
        text = f"{abs(value):.4f}"
    return ("-" if value < 0 else "+") + text

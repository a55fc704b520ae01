"""Stability under subsampling, and sparsity, as text: aligned tables, CSV ready to plot, JSON, LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

import pyarrow as pa

from kgtrec.data.correlations import Correlations
from kgtrec.data.stability import Stability
from kgtrec.report.studies import study_csv
from kgtrec.report.tables import aligned, booktabs

#: what a CSV or JSON file can hold, by name
STABILITY_TABLES: Mapping[str, Callable[[Stability, float], pa.Table]] = {
    "summary": lambda found, confidence: found.to_table(confidence),
    "repeats": lambda found, _: found.repeats_table(),
    "scores": lambda found, confidence: found.scores_table(confidence),
}


def stability_text(found: Stability) -> str:
    """How it was made, in a line, and an aligned table of mean correlations: sizes down, measures across."""
    repeats = found.correlation.shape[2]
    told = (
        f"mean {found.coefficient} to all {found.n_triples:,} test triples; {len(found.systems)} systems; "
        f"{repeats:,} repeats of each size; micro: {found.micro}; macro: {found.macro}; seed {found.seed}"
    )
    return f"{told}\n\n{aligned(_stability_cells(found), 0)}"


def stability_latex(found: Stability) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the same cells."""
    return booktabs(_stability_cells(found), 0)


def _stability_cells(found: Stability) -> list[list[str]]:
    rows = [["share", "triples", *found.measures]]
    for place, (share, triples) in enumerate(zip(found.share, found.triples, strict=True)):
        rows.append([f"{share:.1%}", f"{triples:,}", *(_number(value) for value in found.mean[:, place])])
    return rows


def stability_csv(found: Stability, table: str = "summary", confidence: float = 0.95) -> str:
    """One of ``STABILITY_TABLES``, a header, values at full precision; an undefined value is an empty cell."""
    return study_csv(STABILITY_TABLES[table](found, confidence))


def stability_json(found: Stability, table: str = "summary", confidence: float = 0.95) -> str:
    """The same as a list of records, one a line; an undefined value is null."""
    records = (
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in record.items()}
        for record in STABILITY_TABLES[table](found, confidence).to_pylist()
    )
    return "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n"


def sparsity_text(found: Correlations) -> str:
    """An aligned table for each coefficient: measures (and parts) down, label sets across."""
    parts = []
    for place, coefficient in enumerate(found.coefficients):
        told = f"{coefficient} to {found.rows['first'][0]}; {len(found.systems)} systems"
        parts.append(f"{told}\n\n{aligned(*_sparsity_cells(found, place))}")
    return "\n".join(parts)


def sparsity_latex(found: Correlations) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) for each coefficient."""
    return "\n".join(booktabs(*_sparsity_cells(found, place)) for place in range(len(found.coefficients)))


def _sparsity_cells(found: Correlations, coefficient: int) -> tuple[list[list[str]], int]:
    """The cells with their header, and how many leading columns are labels."""
    names = [name for name in found.rows if name not in ("first", "second")]
    labels = list(dict.fromkeys(found.rows["second"]))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in range(len(found)):
        line = lines.setdefault(tuple(found.rows[name][row] for name in names), {})
        line[found.rows["second"][row]] = _number(found.value[row, coefficient])
    head = [*names, *labels]
    return [head, *([*line, *(cells.get(label, "") for label in labels)] for line, cells in lines.items())], len(names)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{round(value, 4) + 0.0:.4f}"

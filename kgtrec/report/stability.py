"""Stability under subsampling as text: an aligned table, CSV ready to plot, JSON, LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from kgtrec.meta.stability import Stability
from kgtrec.report.cells import number_text
from kgtrec.report.records import table_csv, table_json
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
        rows.append([f"{share:.1%}", f"{triples:,}", *(number_text(value) for value in found.mean[:, place])])
    return rows


def stability_csv(found: Stability, table: str = "summary", confidence: float = 0.95) -> str:
    """One of ``STABILITY_TABLES``, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(STABILITY_TABLES[table](found, confidence))


def stability_json(found: Stability, table: str = "summary", confidence: float = 0.95) -> str:
    """The same as a list of records, one a line; an undefined value is null."""
    return table_json(STABILITY_TABLES[table](found, confidence))

"""Scores on sparse against complete labels, as text, tables and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kgtrec.data.table import Column, Facts, Figure, Report, Section, Table, Text
from kgtrec.errors import legible
from kgtrec.openworld.curve import OpenWorldCurve, degradation, inconsistency
from kgtrec.report.cells import key_text
from kgtrec.report.figures import sparse_against_full
from kgtrec.report.tables import aligned

_MOST_LINES = 5  # densities that are drawn; of more, some between the lowest and the highest
_SHOWN = (
    ("slope", "slope of sparse against full"),
    ("bend", "how far that slope falls from the weaker half of the systems to the stronger half"),
    ("log_gain", "AIC of a line less that of a logarithm; above 0 the logarithm fits better"),
)
_ALONE = "There are no pairs to put in the wrong order, as there is one system only.\n"


def tables_of(found: OpenWorldCurve) -> dict[str, pa.Table]:
    """All that is worked out of a curve, by the name of its file: points, degradation, inconsistency, labels."""
    return {
        "points": found.to_table(),
        "degradation": degradation(found),
        "inconsistency": inconsistency(found),
        "labels": found.labels_table(),
    }


def curve_text(found: OpenWorldCurve, tables: Mapping[str, pa.Table]) -> str:
    """How it was made, and aligned tables of each correlation: measures down, densities across.

    Parameters
    ----------
    found : OpenWorldCurve
    tables : dict
        Its :func:`tables_of`.
    """
    parts = [_head(found)]
    for correlation in found.correlations:
        told = _correlation(found, correlation)
        if len(found.systems) > 1:
            wrong = _wide(tables["inconsistency"], found.densities, correlation, "wrong")
            parts.append(f"wrongly ordered pairs, {told}\n{wrong}")
        for column, title in _SHOWN:
            parts.append(f"{title}, {told}\n{_wide(tables['degradation'], found.densities, correlation, column)}")
    return "\n".join(parts)


def curve_report(found: OpenWorldCurve, tables: Mapping[str, pa.Table]) -> Report:
    """A page: figures of sparse against full, and the tables; parameters are those of :func:`curve_text`."""
    sections = [
        Section(
            "made",
            "What was scored",
            (
                Facts(
                    (
                        ("true facts", f"{found.n_facts:,}"),
                        ("questions", f"{found.n_questions:,}"),
                        ("systems", f"{len(found.systems):,}"),
                        ("sets of labels", f"{found.density.size:,}"),
                    )
                ),
                Text((_head(found),)),
            ),
        )
    ]
    sections.append(
        Section("curves", "Sparse against full", tuple(_figure(found, m) for m in range(len(found.measures))))
    )
    for place, correlation in enumerate(found.correlations):
        key = f"correlation-{place}"
        blocks = [_table(key, "slopes", tables["degradation"], correlation)]
        if len(found.systems) > 1:
            blocks.insert(0, _table(key, "wrong", tables["inconsistency"], correlation))
        sections.append(Section(key, f"In numbers, {_correlation(found, correlation)}", tuple(blocks)))
    labels = Table("labels", "Labels", "Density and correlation asked for, and what came of it.", tables["labels"])
    sections.append(Section("labels", "Sets of labels", (labels,)))
    return Report("What missing labels do to measures", tuple(sections))


def _head(found: OpenWorldCurve) -> str:
    lists = sum(size * size * count for size, count in enumerate(found.answers.tolist()))
    total = sum(size * count for size, count in enumerate(found.answers.tolist()))
    low, high = f"{found.strength.min():.1%}", f"{found.strength.max():.1%}"
    several = len(found.systems) > 1
    systems = f"{len(found.systems)} systems that find {low} to {high}" if several else f"1 system that finds {low}"
    return (
        f"{found.n_facts:,} true facts, {found.n_questions:,} questions; an answer is one of {lists / total:.2f} on "
        f"average, a question has {total / found.n_questions:.2f}; {systems}; {found.draws} "
        f"set{'s' if found.draws > 1 else ''} of labels of each density; seed {found.seed}\n"
        f"{'' if several else _ALONE}"
    )


def _correlation(found: OpenWorldCurve, correlation: float) -> str:
    return _missing(correlation) + (f" with what {legible(found.reference)} finds" if correlation else "")


def _missing(correlation: float) -> str:
    return f"missing correlated by {correlation:g}" if correlation else "missing at random"


def _wide(table: pa.Table, densities: Sequence[float], correlation: float, column: str) -> str:
    cells: dict[str, list[str]] = {}
    for row in table.to_pylist():
        if row["correlation"] == correlation and row.get("pairs", "all") == "all":
            cells.setdefault(row["measure"], []).append(_number(row[column], column))
    return aligned([["measure", *(f"{density:g}" for density in densities)],
                    *([measure, *values] for measure, values in cells.items())], 1)  # fmt: skip


def _number(value: float, column: str) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.1%}" if column == "wrong" else f"{value:.1f}" if column == "log_gain" else f"{value:.3f}"


def _figure(found: OpenWorldCurve, m: int) -> Figure:
    """Of one measure, a panel per correlation."""
    drawn = np.unique(np.linspace(0, len(found.densities) - 1, _MOST_LINES).round().astype(int))
    cells = [
        {
            "missing": _missing(correlation),
            "density": found.densities[d],
            "system": found.systems[s],
            "family": found.families[s],
            "full": float(found.full[m, s]),
            "sparse": float(found.mean[c, d, m, s]),
        }
        for c, correlation in enumerate(found.correlations)
        for d in np.argsort(found.densities)[drawn]
        for s in range(len(found.systems))
    ]
    measure = found.measures[m]
    return sparse_against_full(
        pa.Table.from_pylist(cells),
        key=f"sparse-full-{m + 1}-{key_text(measure)}",
        title=f"{measure}, sparse against full",
        measure=measure,
    )


def _table(key: str, kind: str, data: pa.Table, correlation: float) -> Table:
    rows = [row for row in data.to_pylist() if row["correlation"] == correlation]
    chosen = pa.Table.from_pylist(rows, schema=data.schema)
    titles = {
        "wrong": ("Wrongly ordered pairs", "Pairs of systems that sparse labels put in another order than all labels."),
        "slopes": ("Degradation", "How the sparse score runs against the full one, over all systems."),
    }
    columns = tuple(Column(name) for name in data.column_names if name != "correlation")
    return Table(f"{kind}-{key}", *titles[kind], chosen, columns)

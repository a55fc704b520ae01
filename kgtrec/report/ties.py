"""Policies for ties side by side, as text: a table, CSV, JSON."""

from __future__ import annotations

import math

from kgtrec.evaluation.ties import TieComparison
from kgtrec.report.cells import measure_text
from kgtrec.report.records import table_csv, table_json
from kgtrec.report.tables import aligned


def ties_text(compared: TieComparison) -> str:
    """Two aligned tables: how often the answers of each system tie, and its measures under each policy."""
    groups = [["system", "tied", "mean group", "largest"]]
    for system, tied, mean, largest in zip(
        compared.systems, compared.tied, compared.mean_group, compared.largest_group, strict=True
    ):
        groups.append([system, f"{tied:.2%}", "-" if math.isnan(mean) else f"{mean:,.1f}", f"{largest:,}"])
    rows = [["system", "measure", *compared.policies, "apart"]]
    for place, system in enumerate(compared.systems):
        for number, measure in enumerate(compared.measures):
            values = [*compared.values[place, number], compared.apart[place, number]]
            rows.append([system, measure, *(measure_text(value, measure) for value in values)])
    return aligned(groups, 1) + "\n" + aligned(rows, 2)


def ties_csv(compared: TieComparison) -> str:
    """A line per system and measure, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(compared.to_table())


def ties_json(compared: TieComparison) -> str:
    """A list of records, one a line, per system and measure; an undefined value is null."""
    return table_json(compared.to_table())

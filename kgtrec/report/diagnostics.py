"""Diagnostics of a pool as text: tables, CSV, JSON."""

from __future__ import annotations

import json
import math

import numpy as np

from kgtrec.campaign.diagnostics import LEFT_OUT_KINDS, Diagnostics
from kgtrec.report.cells import measure_text
from kgtrec.report.records import records_of, table_csv
from kgtrec.report.tables import aligned

TABLES = ("runs", "overlap", "depths", "questions", "systems", "left_out")
_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_MOST_RUNS = 12  # side by side in the table of overlaps


def diagnostics_text(found: Diagnostics) -> str:
    """Aligned tables, each under its title, for a person."""
    parts = [
        ("what each run brought in, in triples", _runs(found)),
        ("overlap of two runs (Jaccard)", _overlap(found)),
        ("new positives per depth", _depths(found)),
        ("positive rate per question", _questions(found)),
    ]
    if found.systems:
        parts.append(("systems under all judgements", _systems(found)))
        parts.append(("without what only they brought in", _left_out(found)))
    return "\n".join(f"{title}\n{text}" for title, text in parts if text)


def diagnostics_csv(found: Diagnostics, table: str) -> str:
    """One of ``TABLES``, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(found.to_tables()[table])


def diagnostics_json(found: Diagnostics) -> str:
    """An object of all tables, each a list of records; an undefined value is null."""
    tables = {name: list(records_of(table)) for name, table in found.to_tables().items()}
    return json.dumps(tables, indent=1, ensure_ascii=False) + "\n"


def _runs(found: Diagnostics) -> str:
    rows = [["run", "family", "triples", "unique", "judged", "positive", "unique positive", "rate"]]
    for place, run in enumerate(found.runs):
        judged, positive = found.run_judged[place], found.positive[place]
        counts = (found.contributed[place], found.unique[place], judged, positive, found.unique_positive[place])
        rate = f"{positive / judged:.1%}" if judged else "-"
        rows.append([run, found.families[place] or "-", *(f"{count:,}" for count in counts), rate])
    return aligned(rows, 2)


def _overlap(found: Diagnostics) -> str:
    if not 1 < len(found.runs) <= _MOST_RUNS:
        return ""
    rows = [["", *found.runs]]
    for run, row in zip(found.runs, found.overlap, strict=True):
        rows.append([run, *("-" if math.isnan(value) else f"{value:.3f}" for value in row)])
    return aligned(rows, 1)


def _depths(found: Diagnostics) -> str:
    rows = [["depth", "pooled", "judged", "positive", "down to here", "rate"]]
    total = np.cumsum(found.positive_at)
    for place in range(len(found.pooled_at)):
        counts = (found.pooled_at[place], found.judged_at[place], found.positive_at[place], total[place])
        rate = f"{counts[2] / counts[1]:.1%}" if counts[1] else "-"
        rows.append([str(place + 1), *(f"{count:,}" for count in counts), rate])
    return aligned(rows, 1)


def _questions(found: Diagnostics) -> str:
    rate = found.positive_rate[found.question_judged > 0]
    n, nothing = len(found.questions), int(found.nothing_pooled.sum())
    lines = f"{n:,} questions, {nothing:,} with nothing pooled, {n - len(rate):,} with nothing judged\n"
    if len(rate) == 0:
        return lines
    none, every = (f"{int(np.count_nonzero(rate == end)):,}" for end in (0, 1))
    rows = [["least", "quarter", "median", "three quarters", "most", "mean", "all N", "all Y"]]
    rows.append([*(f"{value:.1%}" for value in np.quantile(rate, _QUANTILES)), f"{rate.mean():.1%}", none, every])
    return lines + aligned(rows, 0)


def _systems(found: Diagnostics) -> str:
    rows = [["system", f"Judged@{found.cutoff}", *(cell for name in found.measures for cell in (name, "rank"))]]
    for place, system in enumerate(found.systems):
        cells = [f"{found.judged[place]:.4f}"]
        for column, measure in enumerate(found.measures):
            cells += [measure_text(found.scores[place, column], measure), str(found.ranks[place, column])]
        rows.append([system, *cells])
    return aligned(rows, 1)


def _left_out(found: Diagnostics) -> str:
    """A row per group and measure; of its own systems the one that loses most, and what happens to the order."""
    left = found.left_out
    header = ["left out", "", "triples", "positive", "measure", "system", "before", "after", "change", "rank"]
    rows = [[*header, "tau", "tau_AP"]]
    for group, name in enumerate(left.names):
        own = [place for place, system in enumerate(found.systems) if system in left.members[group]]
        about = [name, LEFT_OUT_KINDS[left.kind[group]], f"{left.triples[group]:,}", f"{left.positives[group]:,}"]
        for column, measure in enumerate(found.measures):
            order = [_correlation(left.tau[group, column]), _correlation(left.tau_ap[group, column])]
            cells = ["-"] * 5
            if own:
                moved = [abs(left.scores[group, place, column] - found.scores[place, column]) for place in own]
                most = own[int(np.argmax(np.nan_to_num(moved)))]
                before, after = found.scores[most, column], left.scores[group, most, column]
                change = f"{after / before - 1:+.1%}" if before else "-"
                ranks = f"{found.ranks[most, column]} > {left.ranks[group, most, column]}"
                cells = [
                    found.systems[most], measure_text(before, measure), measure_text(after, measure), change, ranks
                ]  # fmt: skip
            rows.append([*about, measure, *cells, *order])
    return aligned(rows, 2)


def _correlation(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"

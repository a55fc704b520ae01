"""How far annotators agree, and how good the labels are, as text: a table, CSV, JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kgtrec.campaign.agreement import AgreementReport
from kgtrec.data.expert_sample import SAMPLE_STATISTICS, SampleReport
from kgtrec.data.judgements import NO, VERDICTS, YES
from kgtrec.report.cells import number_text
from kgtrec.report.records import table_csv, table_json
from kgtrec.report.tables import aligned, booktabs

_SIZES = ("triples", "questions", "pairs")
_COUNTED = ("positives missed",)  # statistics that are numbers of triples, not shares


def agreement_text(report: AgreementReport) -> str:
    """What was counted, in words, and an aligned table of it: statistics down, or across where there are groups."""
    return _head(report) + "\n\n" + aligned(_grid(report), _n_labels(report))


def agreement_latex(report: AgreementReport) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``)."""
    return booktabs(_grid(report), _n_labels(report))


def agreement_csv(report: AgreementReport) -> str:
    """A line per group and statistic, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(report.to_table())


def agreement_json(report: AgreementReport) -> str:
    """A list of records, one a line, per group and statistic; an undefined value is null."""
    return table_json(report.to_table())


def sample_text(report: SampleReport, pooled: int | None = None) -> str:
    """Counts by label, an aligned table of the estimates, and how much of ``pooled`` triples they speak of."""
    counts = [["label", "drawn from", "drawn", "judged", "agree", "disagree", "unsure"]]
    for place in (YES, NO):
        judged, agreed = int(report.judged[place]), int(report.agreed[place])
        numbers = report.population[place], report.drawn[place], judged, agreed, judged - agreed, report.unsure[place]
        counts.append([VERDICTS[place], *(f"{number:,}" for number in numbers)])
    rows = [["statistic", "value", *_ends(report.confidence)]]
    for place, name in enumerate(SAMPLE_STATISTICS):
        cells = (report.values[place], report.low[place], report.high[place])
        rows.append([name, *(_number(cell, counted=name in _COUNTED) for cell in cells)])
    of = int(report.population.sum())
    part = (
        ""
        if pooled is None or of >= pooled
        else (
            f"\nDrawn from {of:,} of the pool's {pooled:,} triples, those that were settled by then: it is these that "
            '"the pool" stands for above.\n'
        )
    )
    return aligned(counts, 1) + "\n" + aligned(rows, 1) + part


def sample_csv(report: SampleReport) -> str:
    """A line per statistic, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(report.to_table())


def sample_json(report: SampleReport) -> str:
    """A list of records, one a line, per statistic; an undefined value is null."""
    return table_json(report.to_table())


def _head(report: AgreementReport) -> str:
    if report.groups:
        counted = f"{len(report.pairs):,} groups; in each only the triples that at least two annotators judged"
    else:
        counted = (
            f"{report.triples[0]:,} triples of {report.questions[0]:,} questions judged by at least two of "
            f"{report.annotators[0]:,} annotators, {report.pairs[0]:,} pairs of verdicts"
        )
    left_out = " left out" if report.unsure == "leave out" else " a verdict like Y and N"
    interval = ""
    if report.confidence is not None:
        interval = f"; {report.confidence * 100:g}% bootstrap intervals, {report.resample}s drawn"
        if report.low is not None and np.isnan(report.low).all(axis=1).any():
            interval += ", where there are at least two"
    return f"{counted}; unsure is{left_out}{interval}"


def _grid(report: AgreementReport) -> list[list[str]]:
    low, high = report.low, report.high
    if not report.groups:
        rows = [["statistic", "value", *([] if low is None else _ends(report.confidence or 0))]]
        for place, name in enumerate(report.statistics):
            ends = [] if low is None or high is None else [low[0, place], high[0, place]]
            rows.append([name, *(_number(cell) for cell in (report.values[0, place], *ends))])
        return rows
    rows = [[*report.groups, *_SIZES, *report.statistics]]
    labels: Sequence[list[str]] = [column.to_pylist() for column in report.groups.values()]
    for group in range(len(report.pairs)):
        cells = []
        for place in range(len(report.statistics)):
            cell = _number(report.values[group, place])
            if low is not None and high is not None and not np.isnan(low[group, place]):
                cell += f" [{_number(low[group, place])}, {_number(high[group, place])}]"
            cells.append(cell)
        sizes = [f"{size[group]:,}" for size in (report.triples, report.questions, report.pairs)]
        rows.append([*(column[group] for column in labels), *sizes, *cells])
    return rows


def _n_labels(report: AgreementReport) -> int:
    return len(report.groups) or 1


def _ends(confidence: float) -> list[str]:
    """Headings of an interval's ends."""
    return [f"{confidence * 100:g}% from", "to"]


def _number(value: float, *, counted: bool = False) -> str:
    return f"{value:,.0f}" if counted and not math.isnan(value) else number_text(value)

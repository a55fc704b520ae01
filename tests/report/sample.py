"""A report of every kind of block and figure, with labels that try to break out of it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from kgtrec.data.scores import Scores
from kgtrec.data.table import Code, Facts, Figure, Input, Items, Provenance, Report, Section, Text
from kgtrec.report import figures
from kgtrec.study.report import score_table

HOSTILE = "<script>alert(1)</script>"
SYSTEMS = ("ComplEx", "RotatE", HOSTILE, "=1+1", "知识图谱 $x_1^2$ & \"q\" 'r'", "none")
MEASURES = ("micro.MRR", "micro.MR", "macro.MRR", "nDCG@20")


def all_figures() -> dict[str, Figure]:
    """One figure of each kind, by kind, from small made-up numbers."""
    rng = np.random.default_rng(5)
    names = (*MEASURES, HOSTILE)
    depths = {"measure": [], "depth": [], "tau": [], "low": [], "high": []}
    sizes = {"measure": [], "share": [], "mean": [], "low": [], "high": []}
    pairs = {"measure": [], "place": [], "p": []}
    for place, measure in enumerate(names):
        for depth in range(5):
            tau = math.nan if (place, depth) == (1, 2) else 1 - depth * (0.1 + 0.08 * place)
            _add(depths, measure, depth, tau, tau - 0.1, min(1.0, tau + 0.1))
        for size in (0.01, 0.1, 0.5, 0.95):
            _add(sizes, measure, size, size**0.2 - 0.02 * place, size**0.3 - 0.1, 1.0)
        for position, p in enumerate(np.sort(rng.random(15) ** (2 + place))[::-1], 1):
            _add(pairs, measure, position, float(p))
    bins = {"machine": ["llama", "llama", HOSTILE], "mean": [0.05, 0.95, 0.9], "share": [0.25, 0.5, math.nan]}
    bins |= {"low": [0.1, 0.4, math.nan], "high": [0.4, 0.6, math.nan]}
    cells = {"system": [], "category": [], "side": [], "value": []}
    ties = {"system": [], "measure": [], "policy": [], "value": []}
    curves = {"missing": [], "density": [], "system": [], "family": [], "full": [], "sparse": []}
    scores = {"system": [], "measure": [], "value": [], "low": [], "high": []}
    slopes = {"system": [], "labels": [], "value": []}
    for place, system in enumerate(SYSTEMS):
        for side in ("head", "tail"):
            for category in ("1-1", "1-N", "N-1", "N-N"):
                _add(cells, system, category, side, math.nan if place == 5 else float(rng.random()))
        for measure in MEASURES[:2]:
            for step, policy in enumerate(("optimistic", "realistic", "pessimistic")):
                _add(ties, system, measure, policy, math.nan if place == 5 else 0.5 - 0.05 * step * (place % 3))
            for n in range(3):
                _add(curves, measure, 0.3 + 0.2 * n, f"{system}@{n}", system, 0.2 * n + 0.05 * place, 0.1 * n)
            value = math.nan if place == 5 else 0.3 + 0.1 * (place % 4)
            _add(scores, system, measure, value, value - 0.05, value + 0.05)
        for n, labels in enumerate(("sparse", HOSTILE, "full")):
            _add(slopes, system, labels, math.nan if (place, n) == (5, 1) else 0.3 + 0.1 * ((place + n) % 4))
    grown = {"depth": [1, 2, 3], "triples": [1000, 1900, 2700], "positives": [200, 300, 350]}
    made = (
        figures.score_intervals(pa.table(scores)),
        figures.tau_by_depth(pa.table(depths)),
        figures.stability(pa.table(sizes)),
        figures.reliability(pa.table(bins)),
        figures.p_value_curves(pa.table(pairs)),
        figures.heat_map(pa.table(cells), value="micro.MRR"),
        figures.pool_growth(pa.table(grown)),
        figures.tie_report(pa.table(ties)),
        sparse_against_full(pa.table(curves)),
        missing_labels(pa.table({**sizes, "reason": ["random", "pooled"] * (len(sizes["share"]) // 2)})),
        figures.slope_chart(pa.table(slopes), measure="micro.MRR"),
        strata(pa.table({**slopes, "place": [0, 1, 2] * len(SYSTEMS)})),
        figures.half_widths(
            pa.table({"measure": sizes["measure"], "share": sizes["share"], "half_width": sizes["mean"]})
        ),
    )
    return {figure.kind: figure for figure in made}


def sparse_against_full(table: pa.Table) -> Figure:
    """What ``OpenWorldCurve.figures`` gives, of any rows."""
    axes = {"x": "score with all labels", "y": "with sparse labels"}
    return Figure("sparse-full", "sparse_against_full", "Sparse against full", "A caption.", table, axes)


def missing_labels(table: pa.Table) -> Figure:
    """What ``Withstanding.figures`` gives, of any rows."""
    axes = {"x": "share of the facts that are labelled", "y": "tau", "at": "share", "fitted": True}
    return Figure("missing-labels-tau", "missing_labels", "Which measure keeps the order?", "A caption.", table, axes)


def strata(table: pa.Table) -> Figure:
    """What ``Scores.figures`` gives of strata of popularity, of any rows."""
    names = {"measure": "micro.MRR", "better": "higher"}
    axes = {"x": "degree in train of the answer", "y": "micro.MRR", "fitted": True, **names}
    return Figure("by-popularity", "strata", "micro.MRR by popularity", "A caption.", table, axes)


def _add(columns: dict[str, list], *row: object) -> None:
    for column, cell in zip(columns.values(), row, strict=True):
        column.append(cell)


def sample_scores() -> Scores:
    """Six systems, the last of them without a value."""
    values = np.array([[0.31, 1200.5], [0.35, 90.25], [0.29, 1100.0], [0.4, 88.0], [0.05, 9.5], [np.nan, np.nan]])
    return Scores(
        SYSTEMS, MEASURES[:2], values[:, :, None], low=values[:, :, None] * 0.9, high=values[:, :, None] * 1.1
    )


def small_report() -> Report:
    """A table and the figure that is drawn fastest."""
    grown = all_figures()["pool_growth"]
    return Report("Small", (Section("all", "All", (score_table(sample_scores()), grown)),))


def sample_report() -> Report:
    """Every block."""
    differ = np.zeros((6, 6), np.bool_)
    differ[3, [0, 2, 4]] = differ[[0, 2, 4], 3] = True
    made = all_figures()
    return Report(
        f"Which measure? {HOSTILE}",
        (
            Section(
                "summary",
                f"Summary {HOSTILE}",
                (
                    Text(("The answer.",), is_lead=True),
                    Facts((("questions", "2,883"), (HOSTILE, HOSTILE))),
                    Text((f"Six systems, one of them called {HOSTILE}.", "A second paragraph: 知识 é ∑.")),
                    Items((HOSTILE, "another point")),
                    Code(f"kgtrec evaluate a\n  --tag '{HOSTILE}'"),
                ),
            ),
            Section("scores", "Scores", (score_table(sample_scores(), {"micro.MRR": differ}), made["score_intervals"])),
            Section("trust", "Trust", tuple(made[kind] for kind in made if kind != "score_intervals")),
        ),
        f"A made-up collection {HOSTILE}",
        Provenance(
            {"kgtrec": "0.1.0", HOSTILE: "1"},
            {"seed": "0", "option": HOSTILE},
            (Input(f"kg/{HOSTILE}.tsv", 12345, "0123456789abcdef" * 4),),
            (f"kgtrec study '{HOSTILE}'",),
        ),
        (f"Zhou et al. (2022) {HOSTILE}", "@misc{kgtrec,\n  title = {kgtrec}\n}"),
    )

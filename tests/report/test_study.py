"""A study as a report: its tables, figures and sentences."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
import pytest

from kgtrec.data.report import Items
from kgtrec.data.study import LabelFacts, Study
from kgtrec.errors import KgtrecError
from kgtrec.report.html import to_html
from kgtrec.report.study import study_report

SYSTEMS, MEASURES = ("one", "<b>two</b>"), ("macro.MRR", "AP@20")


def study(**tables: pa.Table) -> Study:
    facts = (
        LabelFacts("S", "test", "test", "", 10, 12, 0),
        LabelFacts("s", "campaign", "test", "judged", 10, 20, 30, 40, 2),
    )
    scores = pa.table({
        "system": [name for name in SYSTEMS for _ in MEASURES], "measure": list(MEASURES) * 2,
        "value": [0.5, 0.4, 0.3, 0.6], "low": [0.4, 0.3, 0.2, 0.5], "high": [0.6, 0.5, 0.4, 0.7],
    })  # fmt: skip
    found = {name.replace("__", "-").replace("_", "/"): table for name, table in tables.items()}
    return Study("T", SYSTEMS, MEASURES, MEASURES[:1], facts, {}, {"scores/S": scores, **found},
                 options={"coefficients": ["tau"], "alpha": 0.05, "confidence": 0.9})  # fmt: skip


def findings(found: Study) -> list[str]:
    summary = study_report(found).sections[0]
    return [point for block in summary.blocks if isinstance(block, Items) for point in block.points]


def correlations(values: list[float]) -> pa.Table:
    return pa.table({
        "first": ["S"] * 2, "second": ["s"] * 2, "measure": list(MEASURES), "coefficient": ["tau"] * 2,
        "value": pa.array(values, pa.float64()), "low": [0.1, 0.2], "high": [0.9, 1.0],
    })  # fmt: skip


def test_a_study_of_scores_alone_has_their_table_and_figure():
    report = study_report(study())
    assert [section.key for section in report.sections] == ["summary", "labels", "scores"]
    assert [table.key for table in report.tables] == ["label-sets", "scores-s"]
    assert "<b>two" not in to_html(report)


def test_label_sets_whose_names_differ_by_case_have_keys_of_their_own():
    scores = study().tables["scores/S"]
    keys = [table.key for table in study_report(study(scores_s=scores)).tables]
    assert keys == ["label-sets", "scores-s", "scores-s-2"]


def test_pairs_of_label_sets_whose_names_run_together_have_keys_of_their_own():
    """a with b-c, and a-b with c."""
    tables = {f"correlation/{pair}": correlations([0.5, 0.5]) for pair in ("a/b-c", "a-b/c")}
    whole = study()
    keys = [table.key for table in study_report(replace(whole, tables={**whole.tables, **tables})).tables]
    assert keys[2:] == ["correlation-a-b-c", "correlation-a-b-c-2"]


def test_the_measures_that_agree_most_and_least_are_told():
    assert findings(study(correlation_S_s=correlations([0.25, 1.0]))) == [
        "S and s rank the systems with Kendall's tau-b 0.250 under macro.MRR (90% interval 0.100 to 0.900); most alike "
        "under AP@20 (1.000), least under macro.MRR (0.250)."
    ]


def test_measures_that_agree_the_same_are_not_set_against_each_other():
    assert findings(study(correlation_S_s=correlations([0.5, 0.5])))[0].endswith(
        "; the same under all measures (0.500)."
    )


def test_where_no_correlation_is_defined_nothing_is_told():
    assert findings(study(correlation_S_s=correlations([math.nan, math.nan]))) == []


def test_the_size_that_a_measure_needs_is_the_least_from_which_its_mean_stays_high():
    """0.95 at 10% does not count, since 20% is below 0.9 again."""
    table = pa.table({
        "measure": ["macro.MRR"] * 4 + ["AP@20"] * 4, "share": [0.1, 0.2, 0.5, 0.9] * 2,
        "triples": [1, 2, 5, 9] * 2, "repeats": [3] * 8, "mean": [0.95, 0.8, 0.9, 1.0, 0.1, 0.2, 0.3, math.nan],
        "low": [0.0] * 8, "high": [1.0] * 8, "undefined": [0] * 8,
    })  # fmt: skip
    assert findings(study(stability_S=table)) == [
        "macro.MRR ranks the systems as all of S does (mean correlation 0.9) from 5 triples on (50%); AP@20 at no size "
        "that was tried."
    ]


def test_a_study_without_scores_has_no_report():
    empty = Study("T", SYSTEMS, MEASURES, MEASURES[:1], (), {}, {})
    with pytest.raises(KgtrecError, match="expected a study with scores"):
        study_report(empty)

"""A study as a report: its tables, figures and sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgtrec.data.table import Figure, Items, Provenance, Text
from kgtrec.errors import KgtrecError
from kgtrec.report.cells import MINUS
from kgtrec.report.html import to_html
from kgtrec.study.config import LabelFacts, Note, Study, StudyOptions
from kgtrec.study.report import study_report

SYSTEMS, MEASURES = ("one", "<b>two</b>"), ("macro.MRR", "AP@20")


def study(**tables: pa.Table) -> Study:
    facts = (
        LabelFacts("S", "test", "test", "", 10, 12, 0),
        LabelFacts("s", "campaign", "test", "judged", 10, 20, 30, 40, 2),
    )
    scores = pa.table(
        {
            "system": [name for name in SYSTEMS for _ in MEASURES],
            "measure": list(MEASURES) * 2,
            "value": [0.5, 0.4, 0.3, 0.6],
            "low": [0.4, 0.3, 0.2, 0.5],
            "high": [0.6, 0.5, 0.4, 0.7],
        }
    )
    found = {name.replace("__", "-").replace("_", "/"): table for name, table in tables.items()}
    return Study(
        "T",
        SYSTEMS,
        MEASURES,
        MEASURES[:1],
        facts,
        {},
        {"scores/S": scores, **found},
        options=StudyOptions(confidence=0.9, coefficients=("tau",)),
    )


def findings(found: Study) -> list[str]:
    summary = study_report(found).sections[0]
    return [point for block in summary.blocks if isinstance(block, Items) for point in block.points]


def scores(*values: float) -> pa.Table:
    """Of both systems under both measures."""
    return pa.table(
        {"system": [name for name in SYSTEMS for _ in MEASURES], "measure": list(MEASURES) * 2, "value": list(values)}
    )


def answers(found: Study) -> tuple[str, ...]:
    """The sentences that come first."""
    lead = study_report(found).sections[0].blocks[0]
    assert isinstance(lead, Text)
    assert lead.is_lead
    return lead.paragraphs


def of_pair(p: float, measure: str = "macro.MRR", test: str = "clustered") -> pa.Table:
    """The test of the two systems."""
    return pa.table(
        {"measure": [measure], "first": [SYSTEMS[0]], "second": [SYSTEMS[1]], "test": [test], "p_adjusted": [p]}
    )


TEST = "t-tests with errors clustered by question, adjusted by Holm's method, alpha 0.05"


def test_a_system_is_the_best_if_it_is_significantly_better_than_all_others():
    assert answers(study(pairs_S=of_pair(0.01))) == (
        "By macro.MRR, one is significantly the best system on S (0.5000).",
    )


def test_systems_that_are_not_distinguishable_from_the_first_are_named_with_p():
    assert answers(study(pairs_S=of_pair(0.05))) == (
        "By macro.MRR, no system is significantly the best on S: one (0.5000) is not distinguishable from <b>two</b> "
        "(p = 0.0500).",
    )


def test_without_a_test_no_system_is_called_the_best():
    """Nor by the test of another measure."""
    assert answers(study()) == answers(study(pairs_S=of_pair(0.01, "AP@20"))) == ()


def test_a_system_that_is_the_best_on_two_label_sets_is_named_once_and_before_what_is_not_distinguishable():
    found = study(scores_s=scores(0.75, 0, 0.25, 0), pairs_S=of_pair(0.01), pairs_s=of_pair(0.001))
    assert answers(found)[0] == "By macro.MRR, one is significantly the best system on S (0.5000) and s (0.7500)."
    found = study(scores_s=scores(0.75, 0, 0.25, 0), pairs_S=of_pair(0.5), pairs_s=of_pair(0.001))
    assert answers(found)[:2] == (
        "By macro.MRR, one is significantly the best system on s (0.7500).",
        "By macro.MRR, no system is significantly the best on S: one (0.5000) is not distinguishable from <b>two</b> "
        "(p = 0.5000).",
    )


def test_systems_with_equal_scores_have_no_p_value():
    found = study(pairs_S=of_pair(math.nan))
    found = replace(found, tables={**found.tables, "scores/S": scores(0.5, 0, 0.5, 0)})
    assert answers(found) == (
        "By macro.MRR, no system is significantly the best on S: one (0.5000) is not distinguishable from <b>two</b> "
        "(no p-value).",
    )


def test_where_lower_is_better_the_lowest_is_best():
    ranks = pa.table({"system": list(SYSTEMS), "measure": ["micro.MR"] * 2, "value": [12.0, 3.5]})
    tables = {"scores/S": ranks, "pairs/S": of_pair(0.01, "micro.MR")}
    found = replace(study(), tables=tables, measures=("micro.MR",), main=("micro.MR",))
    assert answers(found) == ("By micro.MR, <b>two</b> is significantly the best system on S (3.50).",)


def test_a_score_below_zero_keeps_its_sign():
    """An adjusted index of systems worse than chance."""
    ranks = pa.table({"system": list(SYSTEMS), "measure": ["micro.AMRI"] * 2, "value": [-0.5, -0.25]})
    tables = {"scores/S": ranks, "pairs/S": of_pair(0.01, "micro.AMRI")}
    found = replace(study(), tables=tables, measures=("micro.AMRI",), main=("micro.AMRI",))
    assert answers(found) == (f"By micro.AMRI, <b>two</b> is significantly the best system on S ({MINUS}0.2500).",)


def test_without_a_defined_score_no_system_is_best():
    tables = {"scores/S": scores(math.nan, 0, math.nan, 0), "pairs/S": of_pair(math.nan)}
    assert answers(replace(study(), tables=tables)) == ()


def turned(first_p: float, second_p: float) -> Study:
    """Two label sets that put the systems in opposite order."""
    return study(
        scores_s=scores(0.25, 0, 0.75, 0),
        correlation_S_s=correlations([-1.0, 1.0]),
        pairs_S=of_pair(first_p),
        pairs_s=of_pair(second_p),
    )


def test_systems_swap_if_both_differences_are_significant():
    assert answers(turned(0.01, 0.00001))[-1] == (
        "By macro.MRR, one is significantly above <b>two</b> on S (p = 0.0100) and significantly below it on s "
        "(p <0.0001)."
    )


@pytest.mark.parametrize("p", [(0.01, 0.06), (0.06, 0.01), (math.nan, 0.01)])
def test_systems_do_not_swap_if_one_difference_is_not_significant(p: tuple[float, float]):
    assert answers(turned(*p))[-1] == "By macro.MRR, no pair of systems is significantly in opposite order on S and s."


def test_without_tests_on_both_label_sets_no_swap_is_told():
    found = turned(0.01, 0.01)
    tables = {name: table for name, table in found.tables.items() if name != "pairs/s"}
    assert "order" not in " ".join(answers(replace(found, tables=tables)))


def test_systems_in_the_same_order_do_not_swap():
    found = study(
        scores_s=scores(0.75, 0, 0.25, 0),
        correlation_S_s=correlations([1.0, 1.0]),
        pairs_S=of_pair(0.01),
        pairs_s=of_pair(0.01),
    )
    assert answers(found)[-1] == "By macro.MRR, no pair of systems is significantly in opposite order on S and s."


def test_how_many_pairs_differ_significantly_is_told_of_the_main_measure():
    """By the test that knows of questions; no measure is preferred for it."""
    assert answers(study(**power(1, 2))) == (
        f"Of 3 pairs of systems, 1 on S differ significantly by macro.MRR ({TEST}).",
    )
    assert findings(study(**power(1, 2))) == []


def test_without_p_values_no_number_of_pairs_is_told():
    assert answers(study(**power(0, undefined=True))) == ()


@example(values=[math.nan, math.nan, 1.0, 0.0], p=[0.0, 0.0])
@given(
    values=st.lists(st.floats(0, 1) | st.just(math.nan), min_size=4, max_size=4),
    p=st.lists(st.floats(0, 1) | st.just(math.nan), min_size=2, max_size=2),
)
def test_an_order_is_told_if_and_only_if_it_is_significant(values: list[float], p: list[float]):
    """On any scores, one label set's or two."""
    found = study(
        scores_s=scores(values[2], 0, values[3], 0),
        correlation_S_s=correlations([0.0, 0.0]),
        pairs_S=of_pair(p[0]),
        pairs_s=of_pair(p[1]),
    )
    found = replace(found, tables={**found.tables, "scores/S": scores(values[0], 0, values[1], 0)})
    lead = " ".join(answers(found))
    both = [not any(map(math.isnan, values[at : at + 2])) for at in (0, 2)]
    sure = [known and own < 0.05 for known, own in zip(both, p, strict=True)]
    assert ("is significantly the best system" in lead) == any(sure)
    assert lead.count("not distinguishable") == sum(known and not own for known, own in zip(both, sure, strict=True))
    is_swap = np.sign(values[0] - values[1]) * np.sign(values[2] - values[3]) < 0
    assert ("significantly above" in lead) == (all(sure) and is_swap)


def test_the_scores_under_each_label_set_are_drawn_first():
    """A line per system; no figure where there is one label set."""
    first = study_report(study(scores_s=scores(0.75, 0, 0.25, 0))).sections[0].blocks[1]
    assert isinstance(first, Figure)
    assert (first.kind, first.data.to_pydict()) == (
        "slope_chart",
        {"system": [*SYSTEMS] * 2, "labels": ["S", "S", "s", "s"], "value": [0.5, 0.3, 0.75, 0.25]},
    )
    assert "slope_chart" not in {figure.kind for figure in study_report(study()).figures}


def test_no_figure_is_empty():
    """Where a measure has no value under a label set, or in any category, nothing is drawn of it."""
    parts = pa.table(
        {
            "system": list(SYSTEMS),
            "measure": ["macro.MRR"] * 2,
            "side": ["head"] * 2,
            "category": ["1-1"] * 2,
            "value": [math.nan] * 2,
        }
    )
    found = study(scores_s=scores(math.nan, 0.5, math.nan, 0.5), parts_S=parts)
    assert {figure.kind for figure in study_report(found).figures} == {"score_intervals"}


def test_warnings_are_told_once_with_label_sets_and_systems():
    notes = (
        Note("one: 3 questions left out", ("S", "s")),
        Note("<b>two</b>: 3 questions left out", ("S", "s")),
        Note("one: alone", ("S",)),
        Note("no interval", ("s",)),
        Note("of the data"),
    )
    section = study_report(replace(study(), notes=notes)).sections[-1]
    assert [block.points for block in section.blocks if isinstance(block, Items)] == [
        (
            "Label sets S and s, each system: 3 questions left out",
            "Label set S, one: alone",
            "Label set s: no interval",
            "of the data",
        )
    ]


def test_kgtrec_is_cited_as_bibtex():
    """As docs/licence.md has it, with the version that computed the study."""
    made = Provenance(versions={"kgtrec": "1.2"})
    entry = study_report(replace(study(), provenance=made)).citations[0]
    assert entry.startswith("@software{kgtrec,")
    page = (Path(__file__).parents[2] / "docs" / "licence.md").read_text("utf-8")
    assert entry.replace("{1.2}", "{0.1.0}") in page
    assert "version = {1.2}" in entry
    assert "version" not in study_report(study()).citations[0]


def correlations(values: list[float]) -> pa.Table:
    return pa.table(
        {
            "first": ["S"] * 2,
            "second": ["s"] * 2,
            "measure": list(MEASURES),
            "coefficient": ["tau"] * 2,
            "value": pa.array(values, pa.float64()),
            "low": [0.1, 0.2],
            "high": [0.9, 1.0],
        }
    )


def test_a_study_of_scores_alone_has_their_table_and_figure():
    report = study_report(study())
    assert [section.key for section in report.sections] == ["summary", "labels", "scores"]
    assert [table.key for table in report.tables] == ["label-sets", "scores-s"]
    assert "<b>two" not in to_html(report)


def test_in_a_notebook_a_study_is_the_summary_of_its_report():
    found = study()
    assert found._repr_html_() == study_report(found)._repr_html_()


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


def test_a_correlation_is_told_with_its_range():
    assert findings(study(correlation_S_s=correlations([0.25, 1.0]))) == [
        "Kendall's tau-b between the orders of 2 systems on S and s, with 90% resampling range: 0.250 (0.100 to 0.900) "
        "by macro.MRR and 1.000 (0.200 to 1.000) by AP@20."
    ]


def test_without_a_range_no_correlation_is_told():
    table = correlations([0.25, 1.0])
    assert findings(study(correlation_S_s=table.drop_columns(["low", "high"]))) == []
    found = study(correlation_S_s=table.set_column(5, "low", pa.array([math.nan, 0.2])))
    assert findings(found) == [
        "Kendall's tau-b between the orders of 2 systems on S and s, with 90% resampling range: 1.000 (0.200 to 1.000) "
        "by AP@20."
    ]


def test_where_no_correlation_is_defined_nothing_is_told():
    assert findings(study(correlation_S_s=correlations([math.nan, math.nan]))) == []


def sampled(*rows: tuple[float, float]) -> pa.Table:
    """The mean and the low end of two measures at 1, 2, 5 and 9 of 10 triples."""
    means, lows = zip(*rows, strict=True)
    return pa.table(
        {
            "measure": ["macro.MRR"] * 4 + ["AP@20"] * 4,
            "share": [0.1, 0.2, 0.5, 0.9] * 2,
            "triples": [1, 2, 5, 9] * 2,
            "repeats": [3] * 8,
            "mean": means,
            "low": lows,
            "high": [1.0] * 8,
            "undefined": [0] * 8,
        }
    )


BAND = "the middle 95% of 3 random samples of S have a Kendall's tau-b of at least 0.9 with all of S"


def test_a_size_is_enough_if_the_low_end_of_the_samples_is_high_from_there_on():
    """A mean of 0.95 is not enough, nor is a size before one that is not enough."""
    own = [(0.95, 0.95), (0.95, 0.85), (0.95, 0.9), (1.0, 1.0)]
    assert findings(study(stability_S=sampled(*own, *[(0.95, 0.89)] * 4))) == [
        f"From a size of 5 triples (50%) by macro.MRR on, {BAND}; no size that was tried is enough for AP@20."
    ]
    assert findings(study(stability_S=sampled(*own, *[(1.0, 1.0)] * 4))) == [
        f"From a size of 5 triples (50%) by macro.MRR and 1 triples (10%) by AP@20 on, {BAND}."
    ]


def test_where_no_size_is_enough_this_is_told():
    assert findings(study(stability_S=sampled(*[(0.95, math.nan)] * 8))) == [f"At no size that was tried, {BAND}."]


def depths(*values: float) -> pa.Table:
    """The correlation with depth 0 of each measure at depth 2."""
    n = len(values)
    return pa.table(
        {
            "measure": list(MEASURES[:n]) * 2,
            "depth": [0] * n + [2] * n,
            "coefficient": ["tau"] * 2 * n,
            "value": pa.array([1.0] * n + list(values), pa.float64()),
            "low": pa.array([1.0] * n + [-0.5] * n, pa.float64()),
            "high": [1.0] * 2 * n,
        }
    )


def test_the_correlation_of_the_first_and_the_last_depth_is_told_with_its_range():
    assert findings(study(depths_s=depths(0.25))) == [
        "Kendall's tau-b between the orders of 2 systems on depth 0 and depth 2 of s, with 90% resampling range: 0.250 "
        f"({MINUS}0.500 to 1.000) by macro.MRR."
    ]


def test_the_ranges_of_depths_are_drawn():
    figure = next(each for each in study_report(study(depths_s=depths(0.25))).figures if each.kind == "tau_by_depth")
    assert figure.data.to_pydict()["low"] == [1.0, -0.5]


def test_without_a_correlation_at_the_last_depth_nothing_is_told():
    assert findings(study(depths_s=depths(math.nan, math.nan))) == []


def test_how_many_of_the_pooled_triples_are_true_is_told_of_the_last_depth():
    grown = pa.table({"depth": [1, 2], "triples": [1000, 1500], "positives": [300, 375]})
    assert findings(study(depths_s=depths(math.nan), growth_s=grown)) == [
        "For s, 1,500 triples were pooled down to depth 2; 375 of them (25.0%) were judged true."
    ]


def test_of_an_empty_pool_no_share_is_told():
    grown = pa.table({"depth": [1], "triples": [0], "positives": [0]})
    assert findings(study(depths_s=depths(math.nan), growth_s=grown)) == []


def power(*below: int, pairs: int = 3, undefined: bool = False) -> dict[str, pa.Table]:
    """How many pairs each measure tells apart by a clustered test, and by a t-test that is not told of."""
    n = len(below)
    measures = list(MEASURES[:n]) * 2
    share = [math.nan if undefined and place == n - 1 else count / pairs for place, count in enumerate(below)]
    summary = pa.table(
        {
            "measure": measures,
            "test": ["clustered"] * n + ["t"] * n,
            "items": ["answers"] * 2 * n,
            "n_items": [9] * 2 * n,
            "pairs": [pairs] * 2 * n,
            "below": [*below, *[pairs] * n],
            "share": [1.0] * 2 * n,
            "below_adjusted": [*below, *[pairs] * n],
            "share_adjusted": [*share, *[1.0] * n],
            "area": [0.5] * 2 * n,
            "smallest": [0.1] * 2 * n,
            "largest_missed": [0.1] * 2 * n,
        }
    )
    curves = pa.table({"measure": measures, "test": summary["test"], "place": [1] * 2 * n, "p": [0.5] * 2 * n})
    return {"power_S": summary, "p__values_S": curves}


def ties(*apart: float) -> pa.Table:
    n = len(apart)
    return pa.table(
        {
            "system": list(SYSTEMS[:n]),
            "tied": [0.25] * n,
            "mean_group": [2.0] * n,
            "largest_group": [2] * n,
            "measure": ["macro.MRR"] * n,
            "pessimistic": [0.1] * n,
            "optimistic": [0.2] * n,
            "apart": pa.array(apart, pa.float64()),
        }
    )


@pytest.mark.parametrize(
    ("apart", "told"),
    [
        (
            (0.01, 0.1234567),
            "ties change a score by at most 0.1235 (macro.MRR of <b>two</b>; 25.00% of its answers tie).",
        ),
        ((0.00001, math.nan), "ties change a score by less than 0.0001 (macro.MRR of one; 25.00% of its answers tie)."),
        ((0.0, 0.0), "no score depends on how ties are broken."),
    ],
)
def test_the_most_that_ties_move_a_score_is_told(apart: tuple[float, ...], told: str):
    assert findings(study(ties_S=ties(*apart))) == [f"On S, {told}"]


def test_where_no_policy_gives_a_score_nothing_is_told_of_ties():
    assert findings(study(ties_S=ties(math.nan))) == []


def test_pairs_in_opposite_order_are_counted_with_those_that_are_significant_on_both():
    """And the pairs of the main measures have their adjusted p on each label set, where it is tested."""
    swaps = pa.table(
        {
            "measure": ["AP@20", "macro.MRR"],
            "better": ["one", "one"],
            "worse": ["<b>two</b>"] * 2,
            "first": [0.2, 0.1],
            "second": [-0.1, -0.2],
        }
    )
    whole = turned(0.01, 0.02)
    tables = {
        table.key: table.data
        for table in study_report(replace(whole, tables={**whole.tables, "swaps/S/s": swaps})).tables
    }
    counted = tables["correlation-s-s"].select(["measure", "swapped", "significant"]).to_pylist()
    assert counted == [
        {"measure": "macro.MRR", "swapped": 1, "significant": 1},
        {"measure": "AP@20", "swapped": 1, "significant": None},
    ]
    assert tables["swaps-s-s"].to_pylist() == [{**swaps.to_pylist()[1], "p on S": 0.01, "p on s": 0.02}]


def test_a_study_without_scores_has_no_report():
    empty = Study("T", SYSTEMS, MEASURES, MEASURES[:1], (), {}, {})
    with pytest.raises(KgtrecError, match="expected a study with scores"):
        study_report(empty)

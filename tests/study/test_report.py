"""A study as a report: its tables, figures and sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kgtrec.data.table import Figure, Items, Provenance, Text
from kgtrec.errors import KgtrecError
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


def test_the_best_system_is_told_first():
    """By the main measure: 0.5 is more than 0.3."""
    assert answers(study()) == ("one is the best system (macro.MRR 0.5000 on S).",)


def test_the_best_system_under_every_label_set_is_told_with_its_scores():
    found = study(scores_s=scores(0.75, 0, 0.25, 0))
    assert answers(found) == ("one is the best system under every label set (macro.MRR 0.5000 on S and 0.7500 on s).",)


def test_a_best_system_that_depends_on_the_labels_is_told_so():
    found = study(scores_s=scores(0.25, 0, 0.75, 0))
    assert answers(found) == ("The best system by macro.MRR depends on the labels: one on S; <b>two</b> on s.",)


def test_systems_that_share_the_best_score_are_told_together():
    found = replace(study(), tables={"scores/S": scores(0.5, 0, 0.5, 0)})
    assert answers(found) == ("one and <b>two</b> are the best systems (macro.MRR 0.5000 on S).",)


def test_where_lower_is_better_the_lowest_is_best():
    ranks = pa.table({"system": list(SYSTEMS), "measure": ["micro.MR"] * 2, "value": [12.0, 3.5]})
    found = replace(study(), tables={"scores/S": ranks}, measures=("micro.MR",), main=("micro.MR",))
    assert answers(found) == ("<b>two</b> is the best system (micro.MR 3.50 on S).",)


def test_without_a_defined_score_no_system_is_best():
    assert answers(replace(study(), tables={"scores/S": scores(math.nan, 0, math.nan, 0)})) == ()


def test_label_sets_that_agree_and_those_that_do_not_are_told_second():
    """With the pair of systems that they put in opposite order; tau of label sets that agree is 1."""
    swaps = pa.table(
        {"measure": ["macro.MRR"], "better": ["one"], "worse": ["<b>two</b>"], "first": [0.2], "second": [-0.1]}
    )
    tables = {
        **study().tables,
        "correlation/S/s": correlations([0.25, 1.0]),
        "correlation/s/T": correlations([1.0, 1.0]),
        "swaps/S/s": swaps,
    }
    assert answers(replace(study(), tables=tables))[1] == (
        "Label sets s and T agree on the order of the systems (Kendall's tau-b 1.000 under macro.MRR); S and s differ "
        "(0.250; only S puts one above <b>two</b>)."
    )


def test_of_many_label_sets_that_differ_the_nearest_and_the_farthest_pair_are_told():
    pairs = {"S/s": 0.25, "S/T": 0.75, "s/T": 0.5}
    tables = {f"correlation/{pair}": correlations([value, 1.0]) for pair, value in pairs.items()}
    assert answers(replace(study(), tables={**study().tables, **tables}))[1] == (
        "Label sets S and T differ on the order of the systems (Kendall's tau-b 0.750 under macro.MRR); S and s differ "
        "(0.250), the greatest difference among the 3 pairs that differ."
    )


def test_the_measure_to_trust_is_told_third():
    """The one that distinguishes most and also agrees most; or the two of them, if they are not one."""
    one = study(correlation_S_s=correlations([0.25, 0.5]), **power(1, 2))
    assert answers(one)[2] == (
        "AP@20 distinguishes the most pairs of systems (2 of 3 on S) and keeps the order of systems best across label "
        "sets (Kendall's tau-b 0.500)."
    )
    two = study(correlation_S_s=correlations([0.5, 0.25]), **power(1, 2))
    assert answers(two)[2] == (
        "AP@20 distinguishes the most pairs of systems (2 of 3 on S); macro.MRR keeps the order of systems best across "
        "label sets (Kendall's tau-b 0.500)."
    )
    assert answers(study(**power(2, 2)))[1] == (
        "macro.MRR and AP@20 distinguish the most pairs of systems (2 of 3 on S)."
    )


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
    """As README has it, with the version that computed the study."""
    made = Provenance(versions={"kgtrec": "1.2"})
    entry = study_report(replace(study(), provenance=made)).citations[0]
    assert entry.startswith("@software{kgtrec,")
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert entry.replace("{1.2}", "{0.1.0}") in readme
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


def test_the_measures_that_agree_most_and_least_are_told():
    assert findings(study(correlation_S_s=correlations([0.25, 1.0]))) == [
        "Label sets S and s differ on the order of systems (Kendall's tau-b 0.250 under macro.MRR, 90% resampling "
        "range 0.100 to 0.900); they agree most under AP@20 (1.000), least under macro.MRR (0.250)."
    ]


def test_measures_that_agree_the_same_are_not_set_against_each_other():
    assert findings(study(correlation_S_s=correlations([0.5, 0.5])))[0].endswith(
        "0.500 under macro.MRR, 90% resampling range 0.100 to 0.900); the coefficient is the same under all measures."
    )


def test_correlations_that_are_told_by_the_same_digits_are_the_same():
    """0.5 and the next number after it are both told as 0.500."""
    told = findings(study(correlation_S_s=correlations([0.5, math.nextafter(0.5, 1)])))
    assert told[0].endswith("; the coefficient is the same under all measures.")


def test_where_the_main_measure_has_no_correlation_the_others_are_told():
    assert findings(study(correlation_S_s=correlations([math.nan, 0.5]))) == [
        "Label sets S and s differ on the order of systems (Kendall's tau-b 0.500 under AP@20)."
    ]


def test_where_no_correlation_is_defined_nothing_is_told():
    assert findings(study(correlation_S_s=correlations([math.nan, math.nan]))) == []


def test_the_size_that_a_measure_needs_is_the_least_from_which_its_mean_stays_high():
    """0.95 at 10% does not count, since 20% is below 0.9 again."""
    table = pa.table(
        {
            "measure": ["macro.MRR"] * 4 + ["AP@20"] * 4,
            "share": [0.1, 0.2, 0.5, 0.9] * 2,
            "triples": [1, 2, 5, 9] * 2,
            "repeats": [3] * 8,
            "mean": [0.95, 0.8, 0.9, 1.0, 0.1, 0.2, 0.3, math.nan],
            "low": [0.0] * 8,
            "high": [1.0] * 8,
            "undefined": [0] * 8,
        }
    )
    assert findings(study(stability_S=table)) == [
        "macro.MRR orders the systems almost as all of S does (mean correlation of at least 0.9) with 5 triples (50%); "
        "no size that was tried is enough for AP@20."
    ]


def needed(*means: tuple[float, float]) -> pa.Table:
    """Two measures at 2 and at 5 of 10 triples."""
    return pa.table(
        {
            "measure": [measure for measure in MEASURES for _ in means[0]],
            "share": [0.2, 0.5] * 2,
            "triples": [2, 5] * 2,
            "repeats": [3] * 4,
            "mean": [mean for own in means for mean in own],
            "low": [0.0] * 4,
            "high": [1.0] * 4,
            "undefined": [0] * 4,
        }
    )


def test_the_measures_that_need_the_fewest_and_the_most_triples_are_told():
    assert findings(study(stability_S=needed((0.95, 0.99), (0.8, 0.9)))) == [
        "macro.MRR orders the systems almost as all of S does (mean correlation of at least 0.9) with 2 triples (20%); "
        "AP@20 needs 5 triples (50%)."
    ]


def test_measures_that_need_as_many_triples_are_told_together():
    assert findings(study(stability_S=needed((0.8, 0.99), (0.8, 0.9)))) == [
        "All measures order the systems almost as all of S does (mean correlation of at least 0.9) with 5 "
        "triples (50%)."
    ]


def depths(*values: float) -> pa.Table:
    """The correlation with depth 0 of each measure at depth 2."""
    n = len(values)
    return pa.table(
        {
            "measure": list(MEASURES[:n]) * 2,
            "depth": [0] * n + [2] * n,
            "coefficient": ["tau"] * 2 * n,
            "value": pa.array([1.0] * n + list(values), pa.float64()),
        }
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((0.25, 1.0), "changes least under AP@20 (Kendall's tau-b 1.000) and most under macro.MRR (0.250)."),
        ((0.5, 0.5), "changes under all measures (Kendall's tau-b 0.500)."),
        ((0.5,), "changes under macro.MRR (Kendall's tau-b 0.500)."),
        ((1.0, 1.0), "is the same under all measures (Kendall's tau-b 1.000)."),
        ((math.nan, 0.5), "changes under AP@20 (Kendall's tau-b 0.500)."),
    ],
)
def test_what_a_deeper_pool_changes_is_told_of_measures_that_differ(values: tuple[float, ...], told: str):
    """A measure is never set against itself."""
    assert findings(study(depths_s=depths(*values))) == [f"From depth 0 to depth 2 of s, the order of systems {told}"]


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


@pytest.mark.parametrize(
    ("below", "told"),
    [
        ((1, 2), "AP@20 distinguishes 2 of 3 pairs of systems; macro.MRR distinguishes 1"),
        ((2, 2), "all measures distinguish 2 of 3 pairs of systems"),
        ((0,), "macro.MRR distinguishes 0 of 3 pairs of systems"),
    ],
)
def test_how_many_pairs_a_measure_distinguishes_is_told_of_measures_that_differ(below: tuple[int, ...], told: str):
    """By the test that knows of questions."""
    assert findings(study(**power(*below))) == [
        f"On S, {told} (t-tests with errors clustered by question, alpha 0.05, adjusted)."
    ]


def test_a_measure_without_p_values_distinguishes_no_pair_and_is_not_told_of():
    assert findings(study(**power(1, 0, undefined=True)))[0].startswith(
        "On S, macro.MRR distinguishes 1 of 3 pairs of systems ("
    )


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


def test_how_many_pairs_two_label_sets_put_in_opposite_order_is_told_by_measure():
    """And which ones, of the main measures; the p-values name the label set on which they are below alpha."""
    swaps = pa.table(
        {
            "measure": ["AP@20", "macro.MRR"],
            "better": ["one", "one"],
            "worse": ["<b>two</b>"] * 2,
            "first": [0.2, 0.1],
            "second": [-0.1, -0.2],
            "first_p": [0.01, 0.2],
            "second_p": [0.3, 0.02],
            "significant": ["both", "second"],
        }
    )
    whole = study(correlation_S_s=correlations([0.5, 0.5]), swaps_S_s=swaps)
    sections = {section.key: section for section in study_report(whole).sections}
    told = [block.paragraphs for block in sections["agreement"].blocks if isinstance(block, Text)]
    assert told == [("Of 1 pairs of systems, S and s put in opposite order: macro.MRR 1, AP@20 1.",)]
    table = next(table for table in study_report(whole).tables if table.key == "swaps-s-s")
    assert table.data.to_pylist() == [{**swaps.to_pylist()[1], "significant": "s"}]
    assert {column.name for column in table.columns if column.form == "p"} == {"first_p", "second_p"}


def test_label_sets_that_turn_no_pair_round_are_told_to():
    swaps = pa.table({"measure": pa.array([], pa.string())})
    whole = study(correlation_S_s=correlations([1.0, 1.0]), swaps_S_s=swaps)
    sections = {section.key: section for section in study_report(whole).sections}
    told = [block.paragraphs for block in sections["agreement"].blocks if isinstance(block, Text)]
    assert told == [("Of 1 pairs of systems, S and s put none in opposite order under any measure.",)]


def test_a_study_without_scores_has_no_report():
    empty = Study("T", SYSTEMS, MEASURES, MEASURES[:1], (), {}, {})
    with pytest.raises(KgtrecError, match="expected a study with scores"):
        study_report(empty)

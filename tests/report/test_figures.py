from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.table import Figure
from kgtrec.errors import KgtrecError
from kgtrec.report import figures
from kgtrec.report.figures import KINDS, SERIES_PER_PANEL, gist, panels
from tests.report import sample
from tests.report.sample import all_figures, sparse_against_full

FIGURES = all_figures()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_caption_and_the_gist_of_its_numbers(kind: str):
    """The caption is a sentence, the alternative text holds a number."""
    figure = FIGURES[kind]
    assert figure.kind == kind
    assert figure.caption.endswith(".")
    assert any(sign.isdigit() for sign in gist(figure))


@pytest.mark.parametrize("kind", KINDS)
def test_panels_hold_every_row_once(kind: str):
    """Nothing is drawn twice or left out; pool growth draws its columns apart instead."""
    figure = FIGURES[kind]
    parts = panels(figure)
    if kind == "pool_growth":
        assert {name for part in parts for name in part.rows} == set(figure.data.column_names)
        return
    drawn = [repr(row) for part in parts for row in zip(*part.rows.values(), strict=True)]
    assert sorted(drawn) == sorted(repr(tuple(row.values())) for row in figure.data.to_pylist())


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_make_a_figure_that_says_so(kind: str):
    """One panel without data."""
    empty = (getattr(figures, kind, None) or getattr(sample, kind))(FIGURES[kind].data.slice(0, 0))
    assert gist(empty) == "No data."
    assert [panel.alt for panel in panels(empty)] == ["No data."]


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"sparse_against_full", "missing_labels", "strata"}))
def test_a_missing_column_is_told(kind: str):
    """Which are expected, and which there are."""
    with pytest.raises(KgtrecError, match=r"expected columns .*, found other"):
        getattr(figures, kind)(pa.table({"other": [1]}))


def test_a_null_is_undefined():
    """As NaN is."""
    figure = figures.tau_by_depth(
        pa.table({"measure": ["RR", "RR"], "depth": [0, 1], "tau": pa.array([1.0, None], pa.float64())})
    )
    assert math.isnan(figure.data["tau"].to_pylist()[1])
    assert gist(figure) == "RR: from 1.000 at depth 0."


def test_an_unknown_kind_is_told():
    """With the kinds there are."""
    with pytest.raises(KgtrecError, match=r"expected a kind of figure .* among tau_by_depth, .*, found 'pie'"):
        panels(Figure("f", "pie", "T", "C", "A", pa.table({"a": [1]})))


def test_dictionary_labels_are_labels():
    """What pandas calls a category."""
    labels = pa.array(["RR", "RR"]).dictionary_encode()
    figure = figures.tau_by_depth(pa.table({"measure": labels, "depth": [0, 1], "tau": [1, 0]}))
    assert figure.data["measure"].to_pylist() == ["RR", "RR"]


def test_gist_of_tau_by_depth():
    """First, last, and the lowest where it lies between."""
    rows = {"measure": ["RR"] * 3, "depth": [0, 1, 2], "tau": [1.0, -0.25, 0.5]}
    minus = "\N{MINUS SIGN}"
    assert gist(figures.tau_by_depth(pa.table(rows))) == (
        f"RR: from 1.000 at depth 0 to 0.500 at depth 2, lowest {minus}0.250 at depth 1."
    )


def test_gist_of_p_values():
    """How many pairs lie below the level."""
    rows = {"measure": ["RR"] * 4, "place": [1, 2, 3, 4], "p": [0.5, 0.05, 0.04, math.nan]}
    assert gist(figures.p_value_curves(pa.table(rows))) == "RR: 1 of 4 pairs below 0.05, mean p 0.1967."


def test_no_p_value_is_told_as_0():
    rows = {"measure": ["RR"], "place": [1], "p": [1e-9]}
    assert gist(figures.p_value_curves(pa.table(rows))) == "RR: 1 of 1 pairs below 0.05, mean p <0.0001."


def test_gist_of_slopes():
    """Who is first under each label set, and whose lines cross; lower ranks are better."""
    rows = {"system": ["a", "b"] * 3, "labels": ["K"] * 2 + ["C"] * 2 + ["T"] * 2, "value": [3.0, 2, 1, 2, 1, 2]}
    figure = figures.slope_chart(pa.table(rows), measure="micro.MR")
    assert gist(figure) == (
        "First under K: b with 2.00; first under C: a with 1.00; first under T: a with 1.00; from K to C, the lines of "
        "b and a cross; from C to T, no lines cross."
    )
    assert "That two lines cross does not show that a difference is significant." in figure.caption
    same = pa.table({"system": ["a", "a"], "labels": ["K", "T"], "value": [1.0, 2.0]})
    assert "No two lines cross" in figures.slope_chart(same).caption


def test_gist_of_ties_and_growth_and_cells():
    """The widest gap; the first and last depth; the ends and the means."""
    ties = {"system": ["a", "a", "b", "b"], "measure": ["RR"] * 4, "policy": ["o", "p"] * 2, "value": [0.5, 0.25, 1, 1]}
    assert gist(figures.tie_report(pa.table(ties))) == "RR: policies differ by at most 0.2500 (a)."
    grown = figures.pool_growth(pa.table({"depth": [2, 1], "triples": [15, 10], "positives": [5, 4]}))
    assert grown.data["depth"].to_pylist() == [1, 2]
    assert [panel.alt for panel in panels(grown)] == [
        "depth 1: 10 triples, 4 of them true (40.0%); depth 2: 15 triples, 5 of them true (33.3%).",
        "depth 1: 10 more triples, 4 of them true (40.0%); depth 2: 5 more triples, 1 of them true (20.0%).",
    ]
    cells = {"system": ["a", "b"], "category": ["1-N", "1-N"], "side": ["head", "head"], "value": [0.5, 0.25]}
    assert gist(figures.heat_map(pa.table(cells), value="RR")) == (
        "RR: highest 0.500 (a, 1-N, head), lowest 0.250 (b, 1-N, head). Means: head 1-N 0.375."
    )


def test_scores_stand_in_the_order_of_the_first_measure():
    """Mean ranks from the lowest up; the undefined last; the other panels alike."""
    rows = {
        "system": ["a", "b", "c"] * 2,
        "measure": ["micro.MR"] * 3 + ["RR"] * 3,
        "value": [math.nan, 90.0, 10.0, 0.1, 0.2, 0.3],
    }
    figure = figures.score_intervals(pa.table(rows))
    assert figure.data["system"].to_pylist() == ["c", "b", "a"] * 2
    assert gist(figure).startswith("micro.MR: from c with 10.0000 to b with 90.0000; RR: from c")


def test_micro_macro_and_other_measures_have_panels_of_their_own():
    """And no panel has more lines than can be told apart."""
    measures = [*(f"micro.Hits@{k}" for k in range(1, 14)), "macro.MRR", "bpref"]
    figure = figures.tau_by_depth(pa.table({"measure": measures, "depth": [0] * 15, "tau": [1.0] * 15}))
    assert [(panel.title, len(panel.rows["measure"])) for panel in panels(figure)] == [
        ("micro measures, 1 of 3", 5),
        ("micro measures, 2 of 3", 4),
        ("micro measures, 3 of 3", 4),
        ("macro measures", 1),
        ("other measures", 1),
    ]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=20))
def test_panels_divide_any_measures(measures: list[str]):
    """Each measure in exactly one panel, at most six in each."""
    table = pa.table({"measure": measures, "depth": list(range(len(measures))), "tau": [0.5] * len(measures)})
    parts = panels(figures.tau_by_depth(table))
    assert all(len(set(part.rows["measure"])) <= SERIES_PER_PANEL for part in parts)
    assert sorted(measure for part in parts for measure in set(part.rows["measure"])) == sorted(set(measures))


def test_gist_of_sparse_against_full():
    """By the full score b stands between a and c, by the sparse one above both; d ties with c, e has no score."""
    rows = {
        "missing": ["at random"] * 5,
        "density": [0.5] * 5,
        "system": list("abcde"),
        "family": list("abcde"),
        "full": [0.1, 0.2, 0.3, 0.3, 0.9],
        "sparse": [0.1, 0.25, 0.05, 0.2, math.nan],
    }
    assert gist(sparse_against_full(pa.table(rows))) == (
        "at random, 50% labelled: sparse 0.050 to 0.250 for full 0.100 to 0.300, 1 of 2 neighbouring pairs reversed."
    )
    rows["sparse"] = [math.nan] * 5
    assert gist(sparse_against_full(pa.table(rows))) == "at random, 50% labelled: undefined."


def test_many_series_are_counted_in_the_gist():
    """A reader by ear is not kept for minutes."""
    measures = [f"P@{k}" for k in range(1, 31)]
    figure = figures.tau_by_depth(pa.table({"measure": measures, "depth": [0] * 30, "tau": [1.0] * 30}))
    assert gist(figure).endswith("; 22 more measures.")


def test_a_caption_of_ones_own_replaces_the_usual_one():
    """And key and title too."""
    table = pa.table({"measure": ["RR"], "depth": [0], "tau": [1.0]})
    figure = figures.tau_by_depth(table, key="mine", title="My title", caption="My caption.")
    assert (figure.key, figure.title, figure.caption) == ("mine", "My title", "My caption.")

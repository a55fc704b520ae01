"""What docs/pooling.md and docs/machine-verdicts.md say of their CSV files is in these."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from kgtrec import build_questions

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "pooling.md").read_text()
TEXT = " ".join(PAGE.split())


@pytest.fixture(scope="module")
def true():
    """True triples by world, strategy and number of judged ones."""
    rows = pd.read_csv(DOCS / "pooling-strategies.csv")
    return rows.set_index(["world", "strategy", "judged"])["true"].sort_index()


@pytest.fixture(scope="module")
def coverage():
    """Of values of systems and of differences."""
    rows = pd.read_csv(DOCS / "pooling-coverage.csv")
    return rows[rows.strategy == "two-level"]


def cells(name: str) -> list[str]:
    """Of the row of a table that begins with a name."""
    row = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.MULTILINE)
    assert row is not None
    return [cell.strip() for cell in row[1].split("|")]


def test_family_has_true_triples_that_no_split_lists():
    """Each answer of the truth is a triple, of two questions mostly."""
    family = DOCS.parent / "examples" / "family"
    collection = build_questions(family)
    questions = {row.question: row for row in collection.questions.to_frame().itertuples()}
    true = set()
    for line in (family / "truth.txt").read_text().splitlines():
        question, _, entity, _ = line.split()
        row = questions[question]
        ends = (entity, row.anchor) if row.side == "head" else (row.anchor, entity)
        true.add((ends[0], row.relation, ends[1]))
    listed = {
        tuple(line.split("\t")[:3])
        for name in ("train", "valid", "test")
        for line in (family / f"{name}.tsv").read_text().splitlines()
    }
    assert f"`family` has {len(true - listed)} true triples that no split lists" in TEXT


@pytest.mark.parametrize("name", ["take", "take --by-question", "rrf", "borda", "combsum", "rbp"])
def test_true_triples_of_strategies_are_those_of_the_table(true, name: str):
    shown = [int(cell) for cell in cells(f"`{name}`")[1:5]]
    strategy = name.replace(" --by-question", ", by question")
    places = [("family", 1000), ("family", 4000), ("published", 2000), ("published", 10000)]
    assert shown == [true[world, strategy, judged] for world, judged in places]


@pytest.mark.parametrize("name", ["mtf", "max-mean", "thompson"])
def test_true_triples_of_one_judgement_at_a_time_are_those_of_the_table(true, name: str):
    shown = [int(cell) for cell in cells(f"`{name}`")[1:5]]
    places = [("family", 1000), ("family", 4000), ("published", 2000), ("published", 10000)]
    assert shown == [true[world, f"{name}, turns each", judged] for world, judged in places]


def test_the_decision_rests_on_the_table(true):
    """Depths, budgets and rules of the first table; rbp is at most 4% below the best that chooses at once."""
    assert true["family", "depth 5", 10722] == 812
    assert true["family", "depth 10", 19893] == 870
    assert "10,722 to depth 5, 19,893 to depth 10" in TEXT
    assert "`family`: 682, FB15k-237: 531" in TEXT
    assert (true["family", "rbp", 4000], true["published", "rbp", 4000]) == (682, 531)
    assert "`family`: 749, FB15k-237: 400" in TEXT
    assert (true["family", "mtf, turns each", 4000], true["published", "mtf, turns each", 4000]) == (749, 400)
    assert "types settle 2,251, categories 7,689" in TEXT
    assert true["family", "rules: types", 19893 - 2251] == 870
    assert true["family", "rules: category", 19893 - 7689] == 870 - 110
    assert true["family", "first-yes", 41216] > 0
    assert "`family`: 41,216;" in TEXT
    at_once = ["take", "take, by question", "rrf", "borda", "combsum", "rbp"]
    for judged in (1000, 2000, 4000, 10000):
        assert true["published", "rbp", judged] >= 0.96 * max(true["published", name, judged] for name in at_once)
        assert true["family", "rbp", judged] == max(true["family", name, judged] for name in at_once)


@pytest.mark.parametrize(
    ("label", "world", "share", "measure"),
    [
        ("published, 20%, nDCG@20", "published", 0.2, "nDCG@20"),
        ("published, 20%, micro.MRR", "published", 0.2, "micro.MRR"),
        ("published, 33%, nDCG@20", "published", 0.33, "nDCG@20"),
        ("demo, 20%, micro.MRR", "demo", 0.2, "micro.MRR"),
    ],
)
def test_rows_of_coverage_are_those_of_the_table(coverage, label: str, world: str, share: float, measure: str):
    is_own = (coverage.world == world) & (coverage.share == share) & (coverage.measure == measure)
    (row,) = coverage[is_own & (coverage.prediction == "ranks") & (coverage["of"] == "values")].itertuples()
    shown = [float(cell) for cell in cells(label)]
    assert shown == [row.half_width, row.sd_196, row.exact_bias, row.coverage, row.lowest]


def test_differences_have_the_order_and_the_sign_that_the_page_says(coverage):
    rows = coverage[(coverage.world == "published") & (coverage.share == 0.2) & coverage.tau_apart.notna()]
    assert len(rows) == 10
    assert (rows.tau_apart.min(), rows.wrong_sign.max()) == (0.954, 0.0026)
    assert "tau with the whole pool's order is .954 or more" in TEXT
    assert "at most 0.26%" in TEXT


def test_what_machines_are_worth_is_in_the_table():
    """Replications in which they are used, and coverage of AP@20 with and without recalibration."""
    rows = (
        pd.read_csv(DOCS / "machine-verdicts-coverage.csv")
        .set_index(["world", "strategy", "recalibrated"])
        .sort_index()
    )
    own = rows.loc[("published", "two-level", "yes")].set_index(["machine", "measure"]).sort_index()
    assert own.loc[("random", "AP@20")].used_in == 0
    assert own.loc[("yes", "AP@20")].used_in == 3
    assert own.values_coverage.min() == 0.94
    assert own.loc[("calibrated", "AP@20")].values_half_width == 0.0085
    as_is = rows.loc[("published", "two-level", "no")].set_index(["machine", "measure"]).values_coverage
    assert (as_is["random", "AP@20"], as_is["yes", "AP@20"]) == (0.475, 0.196)
    few = rows.loc[("demo", "whole-questions", "yes")]
    assert few.values_coverage.min() == 0.912

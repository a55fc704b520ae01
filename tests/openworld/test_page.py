"""What docs/open-world.md says is in the CSV files beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "open-world.md").read_text()


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return (
        pd.read_csv(DOCS / "open-world-curves.csv").set_index(["systems", "missing", "density", "measure"]).sort_index()
    )


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of the table whose first heading is that one, without headings."""
    found = re.search(rf"^\| {first} \|.*\n\|[-:|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert found is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]


def test_wrong_pairs_are_those_of_the_file(page, curves):
    """Missing at random / correlated, of the baselines and of PyKEEN's models, at two densities."""
    shown = rows(page, "measure")
    assert len(shown) == 6
    for measure, *cells in shown:
        expected = [
            " / ".join(
                f"{curves.wrong[systems, missing, density, measure]:.1%}"
                for missing in ("at random", "correlated by 0.2")
            )
            for systems in ("baselines", "PyKEEN")
            for density in (0.1, 0.5)
        ]
        assert cells == expected, measure


def test_what_is_confirmed_and_what_is_not_follows_from_the_file(curves):
    """Flatter with fewer labels and with correlation; concave; slopes; and which measure orders more pairs wrongly."""
    slope, wrong = curves.slope.unstack("measure"), curves.wrong.unstack("measure")
    for systems in ("baselines", "PyKEEN"):
        for missing in ("at random", "correlated by 0.2"):
            sparser = slope.loc[systems, missing].sort_index()
            others = sparser.drop(columns=["micro.Hits@10", "macro.Hits@10"])
            assert (others.diff().dropna() > 0).all().all()
            assert (sparser[["micro.logMRR", "micro.pMRR(p=0.5)"]].sub(sparser["micro.MRR"], axis=0) >= 0).all().all()
        at_random, correlated = (slope.loc[systems, missing] for missing in ("at random", "correlated by 0.2"))
        assert (at_random >= correlated).all().all()
        assert at_random["micro.Hits@10"].min() > 0.95
        bend = curves.bend.unstack("measure").loc[systems, "at random"]
        assert (bend[["micro.MRR", "micro.Hits@1", "micro.logMRR", "micro.pMRR(p=0.5)", "AP"]] > 0).all().all()
        assert (bend["micro.Hits@10"] < 0).all()
    apart = wrong.sub(wrong["micro.MRR"], axis=0)[["micro.logMRR", "micro.pMRR(p=0.5)"]]
    assert (apart.loc["baselines", "correlated by 0.2"] > 0).all().all()
    assert (apart.loc["PyKEEN", "correlated by 0.2"]["micro.pMRR(p=0.5)"] < 0).all()
    assert apart.loc["PyKEEN", "correlated by 0.2"]["micro.logMRR"].abs().max() <= 0.0061


def test_coverage_is_that_of_the_file(page):
    file = pd.read_csv(DOCS / "open-world-coverage.csv", dtype=str)
    file = file.set_index(["world", "labels"]).sort_index()
    columns = ["questions asked", "answers, labels", "beta, labels", "estimated", "filtered", "beta, found"]
    shown = rows(page, "world")
    assert len(shown) == 3
    for world, labels, asked, *cells in shown:
        name = world.replace("pool to ", "") if world.startswith("family") else world.split(",")[0]
        assert [asked.replace(",", ""), *cells] == list(file.loc[[(name, labels)], columns].iloc[0])


def test_estimates_of_fb15k_237_are_those_of_the_file(page):
    """True answers by each method; filtered within .002, completed twice too high, estimated 2 to 6% too low."""
    methods = pd.read_csv(DOCS / "open-world-fb15k-237-methods.csv").set_index("method")
    text = " ".join(page.split())
    of = methods.answers.astype(int)
    low, high = methods.loc["labels", ["answers_low", "answers_high"]].astype(int)
    assert f"estimates {of.labels:,} true answers [{low:,}, {high:,}], `found` {of.found:,}, `runs` {of.runs:,}" in text
    assert f"The truth is {of.truth:,}" in text
    systems = pd.read_csv(DOCS / "open-world-fb15k-237.csv").set_index("system")
    assert len(systems) == 8
    assert (systems.filtered - systems.true_filtered).abs().max() <= 0.002
    assert (systems.completed / systems["true"]).between(1.95, 2.15).all()
    assert (1 - systems.estimated / systems["true"]).between(0.02, 0.06).all()


def test_a_deep_pool_protects_against_correlated_labels():
    """At a correlation of .15, labels is too high by up to .04 with a pool to rank 1, and by up to .002 to rank 10."""
    file = pd.read_csv(DOCS / "open-world-family-tree.csv")
    error = (file.labels - file.truth)[file.correlation == 0.15].groupby(file.depth)
    assert error.max().round(3).to_dict() == {1: 0.04, 10: 0.002}
    assert (error.min() >= 0).all()

"""What docs/which-measure.md says is in its CSV, and what it cites of the theory is that."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from kgtrec.meta.withstand import REASONS
from kgtrec.openworld.theory import OpenWorld, questions_needed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture
def benchmark(monkeypatch):
    """benchmarks/which_measure.py, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import which_measure

    yield which_measure
    for name in ("which_measure", "sizes"):
        sys.modules.pop(name, None)


def test_the_tables_of_the_page_are_those_of_its_numbers(benchmark, tmp_path):
    """What the benchmark writes into the page, from the CSV that it wrote."""
    frame = pd.read_csv(DOCS / "which-measure.csv")
    tables = dict(list(frame.groupby("labels", sort=False)))
    assert list(tables) == ["family trees", "FB15k-237", "judged", "S against S-C"]
    assert set(tables["family trees"].reason) == set(REASONS)
    tables["S against S-C"] = tables["S against S-C"].drop(columns="density")
    page = tmp_path / "page.md"
    page.write_text((DOCS / "which-measure.md").read_text())
    benchmark.put(page, benchmark.page_lines(tables))
    assert page.read_text() == (DOCS / "which-measure.md").read_text()


def test_intervals_that_the_page_says_do_not_overlap_do_not():
    """The claims of "What follows" on tau, at a quarter of the labels; macro.MRR at any density."""
    rows = pd.read_csv(DOCS / "which-measure.csv").set_index(["labels", "reason", "density", "measure"]).sort_index()
    trees, fb, judged = "family trees", "FB15k-237", "judged"

    def is_below(labels: str, reason: str, one: str, other: str, density: float = 0.25) -> bool:
        low, high = (rows.loc[(labels, reason, density, name)] for name in (one, other))
        return bool(low.tau_high < high.tau_low)

    condensed, probe = "AP(judged_only=True)@20", "micro.PROBE(alpha=0.5,beta=0.5)"
    for measure in (condensed, "nDCG(judged_only=True)@20", "Bpref"):
        assert all(is_below(trees, reason, measure, "AP@20") for reason in REASONS)
    for measure in (condensed, "Bpref"):
        assert [reason for reason in REASONS if not is_below(judged, reason, measure, "AP@20")] == ["correlated"]
    assert [reason for reason in REASONS if is_below(trees, reason, "infAP", "AP@20")] == list(REASONS[:3])
    for measure in ("micro.Hits@10", "micro.pMRR(p=0.5)", "micro.logMRR"):
        assert is_below(fb, "correlated", "micro.MRR", measure)
    assert is_below(fb, "correlated", "micro.pMRR(p=0.5)", probe)
    assert is_below(fb, "pooled", "micro.pMRR(p=0.5)", probe)
    assert is_below(fb, "popularity", probe, "micro.pMRR(p=0.5)")
    cells = [(*key[:2], key[2]) for key in rows.index if key[3] == "macro.MRR" and key[1] in REASONS]
    assert len(cells) == 40
    assert [cell for cell in cells if is_below(*cell[:2], "micro.MRR", "macro.MRR", cell[2])] == [
        (judged, "correlated", 0.75)
    ]
    assert not any(is_below(*cell[:2], "macro.MRR", "micro.MRR", cell[2]) for cell in cells)


def test_questions_needed_are_those_of_the_theory():
    text = " ".join((DOCS / "which-measure.md").read_text().split())
    needed = [
        questions_needed(OpenWorld(43, 0.5), name, 0.70, 0.72) for name in ("logMRR", "pMRR(p=0.5)", "MRR", "Hits@10")
    ]
    told = "{:,} questions by logMRR, {:,} by pMRR, {:,} by MRR, and {:,} by Hits@10".format(*needed)
    assert told in text

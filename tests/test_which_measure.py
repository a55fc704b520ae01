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


def test_questions_needed_are_those_of_the_theory():
    text = " ".join((DOCS / "which-measure.md").read_text().split())
    needed = [
        questions_needed(OpenWorld(43, 0.5), name, 0.70, 0.72) for name in ("logMRR", "pMRR(p=0.5)", "MRR", "Hits@10")
    ]
    told = "{:,} questions by logMRR, {:,} by pMRR, {:,} by MRR, and {:,} by Hits@10".format(*needed)
    assert told in text

"""What docs/comparing.md says of ranges is in its CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_has_the_coverage_of_its_numbers():
    """How often each interval contains the correlation of all questions, from benchmarks/coverage_correlation.py."""
    page = " ".join((DOCS / "comparing.md").read_text().split())
    cells = pd.read_csv(DOCS / "comparing-coverage.csv")
    assert (set(cells.systems), set(cells.questions)) == ({8, 13}, {300, 1_000, 2_000, 5_000})
    assert (cells[["low end", "pairs"]] == 1).to_numpy().all()
    bootstrap, width = cells[["basic", "symmetric"]].to_numpy(), cells["width of pairs"]
    assert f"In {cells.range.min():.0%} to {cells.range.max():.0%} of 200 test sets" in page
    assert f"contain it in {bootstrap.min():.0%} to {bootstrap.max():.0%};" in page
    assert f"is {width.min():.2f} to {width.max():.2f} wide" in page

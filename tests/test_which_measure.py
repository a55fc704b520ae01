"""What docs/which-measure.md cites of other pages is what they say, in both halves of the open-world study."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgtrec.openworld.theory import OpenWorld, questions_needed

DOCS = Path(__file__).parents[1] / "docs"
MEASURES = ("micro.MRR", "micro.Hits@1", "micro.Hits@10", "micro.pMRR(p=0.5)", "macro.MRR")


def rows(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("systems", ["R", "W"])
def test_wrong_pairs_are_those_of_the_curves(systems: str, correlated: bool):
    """Three of ten facts labelled; the first table of a measure is of missing at random, the second correlated."""
    cited = [row[1:6] for row in rows("which-measure.md") if re.match(r"(wrong pairs|the same).*\((R|W)\)", row[0])]
    assert len(cited) == 4
    curves = [row for row in rows("open-world-curves.md") if row[0] in MEASURES]
    at = 2  # of the density 0.3
    if systems == "R":
        tables = [row for row in curves if re.fullmatch(r"[\d.]+%", row[at])]
        found = {(row[0], place >= len(MEASURES)): row[at] for place, row in enumerate(tables)}
    else:
        table = [row for row in curves if re.fullmatch(r"[\d.]+% / [\d.]+%", row[at])]
        found = {(row[0], both): row[at].split(" / ")[both] for row in table for both in (0, 1)}
    assert len(found) == 2 * len(MEASURES)
    assert cited[2 * correlated + (systems == "W")] == [found[measure, correlated] for measure in MEASURES]


def test_questions_needed_are_those_of_the_theory():
    text = " ".join((DOCS / "which-measure.md").read_text().split())
    needed = [
        questions_needed(OpenWorld(43, 0.5), name, 0.70, 0.72) for name in ("logMRR", "pMRR(p=0.5)", "MRR", "Hits@10")
    ]
    told = "{:,} questions by logMRR, {:,} by pMRR, {:,} by MRR, and {:,} by Hits@10".format(*needed)
    assert told in text

"""What docs/comparing.md says of ranges is in its CSV, and what it says of FB15k-237 is what its commands give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kgtrec import Collection, build_questions
from kgtrec.meta import power, stability

RANKS = Path(__file__).parents[1] / "examples" / "fb15k-237" / "ranks"
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


@pytest.fixture(scope="module")
def fb15k_237(data: Path) -> Collection:
    return build_questions(data / "fb15k-237")


@pytest.mark.slow
def test_the_page_has_the_taus_of_fb15k_237(fb15k_237: Collection):
    """Of a fifth of the test triples: left-out answers that count as wrong lower the mean tau."""
    page = " ".join((DOCS / "comparing.md").read_text().split())
    given = {"measures": ["micro.MRR", "macro.MRR"], "sizes": [0.2]}
    found = [
        stability(fb15k_237, RANKS, unlisted_answers=kind, **given).mean[:, 0] for kind in ("filtered", "candidates")
    ]
    (micro, macro) = (tuple(f"{value:.3f}"[1:] for value in values) for values in zip(*found, strict=True))
    assert "`micro.MRR` from {} to {}, and that".format(*micro) in page
    assert "`macro.MRR` from {} to {}.".format(*macro) in page


@pytest.mark.slow
def test_one_huge_question_dominates_the_mean_rank_of_fb15k_237(fb15k_237: Collection):
    """TransE and TuckER: the clustered t-test finds a difference, the bootstrap none."""
    page = " ".join((DOCS / "comparing.md").read_text().split())
    systems = [RANKS / f"{name}.ranks.parquet" for name in ("transe", "tucker")]
    found = power(fb15k_237, systems, "micro.MR", tests=["clustered", "bootstrap"])
    clustered, bootstrap = found.p.ravel()
    assert f"a clustered p of {clustered:.3f}".replace("0.", ".") in page
    assert f"an ASL of {bootstrap:.1f}".replace("0.", ".") in page

"""README's first figures: what their script draws, and what README says of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "before_and_after.py"
IMAGES = ROOT / "docs" / "images"


def drawn(*words: object) -> str:
    """What the script prints."""
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_any_two_tables_of_scores_make_a_figure(tmp_path: Path):
    """One of a paper and one that kgtrec prints; systems in any order."""
    (tmp_path / "paper.csv").write_text("System,micro_mrr\nx-a,0.3\nx-b,0.2\nx-c,0.1\n")
    (tmp_path / "ours.csv").write_text(
        "system,measure,value\nx-c,micro.MRR,0.1\nx-b,micro.MRR,0.4\nx-a,micro.MRR,0.3\n"
    )
    told = drawn(tmp_path / "paper.csv", tmp_path / "ours.csv", "--title", "Mine", "--out", tmp_path / "mine.svg")
    assert told == "Mine: tau 0.333, 1 of 3 pairs change places by micro.MRR\n"
    figure = (tmp_path / "mine.svg").read_text()
    assert "<title" in figure
    assert re.search(r"from before judging to after judging, the lines of (a and b|b and a) cross\.", figure)


@pytest.mark.slow
def test_the_figure_of_published_systems_is_that_of_their_scores(data: Path, tmp_path: Path):
    """Every text of it, whatever matplotlib's version; and README counts the pairs."""
    result, name = data / "kgc-sparsity" / "result", "before-and-after-zhou.svg"
    tables = (result / labels / "evaluation.csv" for labels in ("FB-Test-S", "FB-Test-S-C"))
    told = drawn(*tables, "--title", "13 systems of Zhou et al.", "--out", tmp_path / name)
    assert told == "13 systems of Zhou et al.: tau -0.231, 48 of 78 pairs change places by micro.MRR\n"
    texts = [re.findall(r">([^<]+)</text>", (folder / name).read_text()) for folder in (tmp_path, IMAGES)]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 26
    assert "48 of 78 pairs of the published systems" in " ".join((ROOT / "README.md").read_text().split())


def test_readme_describes_the_figures():
    """Kendall's tau of each as it stands in the title; ours has two pairs that change places, as README says."""
    text = " ".join((ROOT / "README.md").read_text().split())
    for name, said in (("zhou", "tau is -0.23"), ("ours", "tau is 0.86")):
        figure = (IMAGES / f"before-and-after-{name}.svg").read_text()
        title = re.search(r"<title[^>]*>(.*?)</title>", figure)
        assert title is not None
        assert title[1].endswith(said.replace(" is", "").replace("-", "\N{MINUS SIGN}"))
        assert said in text
    assert figure.count("the lines of ") == 2
    assert "and 2 of our 28" in text

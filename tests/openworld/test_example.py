"""The example behind docs/open-world.md, run on a small tree."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "open_world" / "curve.sh"

pytestmark = pytest.mark.slow


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The script, with the ``kgtrec`` that stands beside this interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments], capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "out"
    done = run(str(folder), "60", "2", "0.1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith((folder / "curve.txt").read_text())
    return folder


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "curve" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_every_system_has_a_score_at_every_density_and_correlation(made: Path):
    """17 systems of three families, 10 measures, 5 densities, 2 correlations; two draws of each set of labels."""
    points = rows(made, "points")
    systems = {row["system"] for row in points}
    assert sorted(systems) == sorted(
        [f"{family}@{n}" for family, most in (("rules", 6), ("svd", 5), ("rescal", 6)) for n in range(1, most + 1)]
    )
    assert len(points) == 17 * 10 * 5 * 2
    assert all(0 <= float(row[name]) <= 1 for row in points for name in ("full", "sparse"))
    assert len(rows(made, "labels")) == 5 * 2 * 2
    assert all(
        float(row["achieved_density"]) == pytest.approx(float(row["density"]), abs=0.01) for row in rows(made, "labels")
    )
    assert all(
        float(row["achieved_correlation"]) == pytest.approx(0.1, abs=0.02)
        for row in rows(made, "labels")
        if row["correlation"] == "0.1"
    )


def test_pairs_are_told_as_measured(made: Path):
    """What is printed of wrong pairs is what the table holds; 136 pairs of 17 systems, or fewer that differ."""
    wrong = rows(made, "inconsistency")
    assert {row["pairs"] for row in wrong} == {"all", "within", "across"}
    assert max(int(row["distinguished"]) for row in wrong) <= 17 * 16 / 2
    printed = (made / "curve.txt").read_text()
    first = next(line for line in printed.splitlines() if line.startswith("micro.MRR"))
    expected = [
        f"{float(row['wrong']):.1%}"
        for row in wrong
        if (row["measure"], row["correlation"], row["pairs"]) == ("micro.MRR", "0.0", "all")
    ]
    assert first.split()[1:] == expected


def test_there_is_a_figure_of_each_measure(made: Path):
    """Ten, with both ways of missing in each."""
    figures = sorted((made / "curve" / "figures").glob("*.svg"))
    assert len(figures) == 10
    for figure in figures:
        text = figure.read_text()
        assert "missing at random" in text
        assert "missing correlated by 0.1" in text


def test_a_folder_is_asked_for():
    done = run()
    assert done.returncode != 0
    assert "usage: bash examples/open_world/curve.sh FOLDER" in done.stderr


def test_the_command_of_the_docs_is_that_of_the_script():
    """The last command, but for the names of the script's variables and the copy of its output."""
    page = (ROOT / "docs" / "open-world.md").read_text()
    script = SCRIPT.read_text().replace("\\\n", " ").replace("$draws", "5").replace("$correlation", "0.2")
    command = next(line for line in script.splitlines() if line.startswith("kgtrec openworld curve "))
    expected = re.sub(r" +", " ", command.removesuffix(" | tee curve.txt")).replace('"5"', "5")
    assert expected in page.splitlines()

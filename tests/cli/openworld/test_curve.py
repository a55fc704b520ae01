"""kgtrec openworld world and curve, from nothing to the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from kgtrec.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world and six checkpoints."""
    folder = tmp_path_factory.mktemp("openworld")
    main(["openworld", "world", "--people", "120", "--seed", "4", "--out", str(folder / "W")])
    for name, option in (("rules", "most=1,4,16"), ("svd", "factors=4,16,40")):
        main(["baseline", name, str(folder / "W"), "--option", option, "--depth", "0", "--out", str(folder / "ranks")])
    return folder


def test_world_prints_what_the_tree_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Facts per relation add up; questions by number of answers too."""
    main(["openworld", "world", "--people", "60", "--out", str(tmp_path / "W")])
    printed, told = capsys.readouterr()
    assert printed.startswith("60 people in 5 generations, 1,120 facts of 23 relations\n\nrelation ")
    assert "wrote" in told
    lines = printed.splitlines()
    by_relation = [line.split() for line in lines[3:26]]
    assert sum(int(cells[1].replace(",", "")) for cells in by_relation) == 1120
    questions = sum(int(cells[place].replace(",", "")) for cells in by_relation for place in (2, 5))
    lengths = [line.split() for line in lines[28:]]
    assert sum(int(cells[1].replace(",", "")) for cells in lengths) == questions
    assert sum(int(cells[0]) * int(cells[1].replace(",", "")) for cells in lengths) == 2 * 1120


def test_curve_prints_tables_and_writes_the_rest(made: Path, capsys: pytest.CaptureFixture[str]):
    out = made / "curve"
    arguments = ["openworld", "curve", str(made / "W"), str(made / "ranks"), "--densities", "0.2 0.6 1", "-m",
                 "micro.MRR nDCG", "--draws", "2", "--out", str(out)]  # fmt: skip
    for _ in range(2):  # the second time in place of the first
        main(arguments)
    printed = capsys.readouterr().out
    assert re.search(r"wrongly ordered pairs, missing at random\nmeasure +0\.2 +0\.6 +1\n", printed)
    assert (out / "report.html").read_text().lower().startswith("<!doctype html>")
    assert sorted(path.name for path in (out / "figures").glob("*.svg")) == [
        "sparse-full-1-micro-mrr.svg", "sparse-full-2-ndcg.svg",
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "points.csv").read_text().splitlines()))
    assert len(rows) == 3 * 2 * 6
    assert {row["family"] for row in rows} == {"rules", "svd"}
    assert all(row["full"] == row["sparse"] for row in rows if row["density"] == "1.0")
    assert {"degradation.csv", "inconsistency.csv", "labels.csv"} <= {path.name for path in out.iterdir()}


def test_a_correlation_that_cannot_be_is_one_line_and_exit_code_2(made: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(
            ["openworld", "curve", str(made / "W"), str(made / "ranks"), "--densities", "0.5", "--correlations", "0.9"]
        )
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: expected a correlation from -")
    assert error.rstrip().endswith("found 0.9")
    assert error.count("\n") == 1


def test_densities_that_are_no_numbers_are_refused(made: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(["openworld", "curve", str(made / "W"), str(made / "ranks"), "--densities", "half"])
    assert left.value.code == 2
    assert "expected numbers, such as 0.1 0.5 0.9, got 'half'" in capsys.readouterr().err

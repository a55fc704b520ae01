"""kgtrec openworld world and curve, from nothing to the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.program import exit_code, kgtrec, refusal


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A small world and six checkpoints."""
    folder = tmp_path_factory.mktemp("openworld")
    kgtrec("openworld", "world", "--people", "120", "--seed", "4", "--out", folder / "W")
    for name, option in (("rules", "most=1,4,16"), ("svd", "factors=4,16,40")):
        kgtrec("rank", folder / "W", "--baseline", name, "--option", option, "--depth", "0", "--out", folder / "ranks")
    return folder


def test_world_prints_what_the_tree_holds(tmp_path, capsys):
    """Facts per relation add up; questions by number of answers too."""
    kgtrec("openworld", "world", "--people", "60", "--out", tmp_path / "W")
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


@pytest.mark.slow
def test_curve_prints_tables_and_writes_the_rest(made, capsys):
    out = made / "curve"
    arguments = [
        "openworld",
        "curve",
        str(made / "W"),
        str(made / "ranks"),
        "--densities",
        "0.2 0.6 1",
        "-m",
        "micro.MRR nDCG",
        "--draws",
        "2",
        "--out",
        str(out),
    ]
    for force in ([], ["--force"]):  # the second time in place of the first
        kgtrec(*arguments, *force)
    printed = capsys.readouterr().out
    assert re.search(r"wrongly ordered pairs, missing at random\nmeasure +0\.2 +0\.6 +1\n", printed)
    assert (out / "report.html").read_text().lower().startswith("<!doctype html>")
    assert sorted(path.name for path in (out / "figures").glob("*.svg")) == [
        "sparse-full-1-micro-mrr.svg",
        "sparse-full-2-ndcg.svg",
    ]
    rows = list(csv.DictReader((out / "points.csv").read_text().splitlines()))
    assert len(rows) == 3 * 2 * 6
    assert {row["family"] for row in rows} == {"rules", "svd"}
    assert all(row["full"] == row["sparse"] for row in rows if row["density"] == "1.0")
    assert {"degradation.csv", "inconsistency.csv", "labels.csv"} <= {path.name for path in out.iterdir()}


def test_a_correlation_that_cannot_be_is_one_line_and_exit_code_2(made, capsys):
    error = refusal(
        capsys, "openworld", "curve", made / "W", made / "ranks", "--densities", "0.5", "--correlations", "0.9"
    )
    assert error.startswith("error: expected a correlation from -")
    assert error.rstrip().endswith("found 0.9")
    assert error.count("\n") == 1


def test_densities_that_are_no_numbers_are_refused(made, capsys):
    assert exit_code("openworld", "curve", made / "W", made / "ranks", "--densities", "half") == 2
    assert "expected numbers, such as 0.1 0.5 0.9, found 'half'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_single_system_has_a_report_without_a_table_of_pairs(made, capsys):
    out = made / "one"
    system = next((made / "ranks").glob("rules*.ranks.parquet"))
    options = ["--densities", "0.5", "-m", "micro.MRR", "--out", str(out)]
    kgtrec("openworld", "curve", made / "W", system, *options)
    printed, told = capsys.readouterr()
    assert "There is only one system, so no pair can be in the wrong order." in printed
    assert told.endswith(f"wrote {out}\n")
    assert (out / "report.html").is_file()
    header = "correlation,density,measure,pairs,distinguished,wrong,tied,mean_gap,max_gap\n"
    assert (out / "inconsistency.csv").read_text() == header


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, capsys, kind):
    """Neither the collection nor the ranks exist, and it is the folder that is told."""
    out = tmp_path / "out"
    if kind == "file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "report.html").write_text("mine")
    assert exit_code("openworld", "curve", tmp_path / "W", tmp_path / "ranks", "--out", out) == 2
    told = {
        "file": f"{out}/points.csv: cannot write here: {out} is a file, not a folder",
        "folder": f"{out}/report.html: exists; --force replaces it",
    }[kind]
    assert capsys.readouterr().err == f"error: {told}\n"
    assert (out if kind == "file" else out / "report.html").read_text() == "mine"


def test_a_correlated_system_that_is_none_is_refused_where_nothing_is_correlated_too(made, capsys):
    assert exit_code("openworld", "curve", made / "W", made / "ranks", "--correlated-with", "rule@1") == 2
    assert capsys.readouterr().err.endswith("found 'rule@1'; did you mean rules@1 or rules@2 or rules@3?\n")


def test_a_run_is_refused_as_it_does_not_tell_all_ranks(made, tmp_path, capsys):
    run = tmp_path / "rules@1.run"
    run.write_text("head0 Q0 a 1 1 t\n")
    assert exit_code("openworld", "curve", made / "W", run) == 2
    expected = f"{run}: expected answer ranks (NAME.ranks.parquet of kgtrec rank); a run does not have all ranks\n"
    assert capsys.readouterr().err == f"error: {expected}"

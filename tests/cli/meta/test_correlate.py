from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.program import exit_code, kgtrec

O = "System,micro_mr,recip_rank\na,10,0.1\nb,20,0.4\nc,30,0.3\nd,40,0.2\n"  # noqa: E741  # as the paper calls it
S = "System,micro_mr,recip_rank\nd,35,0.1\nc,30,0.5\nb,10,0.4\na,20,0.3\n"
DEPTHS = "System,Depth,micro_mr\na,0,1\nb,0,2\nc,0,3\na,1,2\nb,1,1\nc,1,3\n"
QRELS = "q1 0 x 1\nq2 0 x 1\nq3 0 x 1\n"
RUNS = {
    "good": "q1 Q0 x 1 2 r\nq2 Q0 x 1 2 r\nq3 Q0 x 1 2 r\n",
    "fair": "q1 Q0 x 1 2 r\nq2 Q0 y 1 2 r\nq2 Q0 x 2 1 r\nq3 Q0 x 1 2 r\n",
    "poor": "q1 Q0 y 1 2 r\nq1 Q0 x 2 1 r\nq2 Q0 y 1 2 r\nq3 Q0 y 1 2 r\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Two tables, one by depth, qrels, other qrels, and a folder of runs."""
    for name, text in (
        ("O.csv", O),
        ("S.csv", S),
        ("depths.csv", DEPTHS),
        ("all.qrels", QRELS),
        ("some.qrels", "q2 0 x 1\n"),
        ("semicolons.csv", O.replace(",", ";")),
        ("wrong.qrels", "q1 0 x 0\nq2 0 x 0\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "runs").mkdir()
    for name, text in RUNS.items():
        (tmp_path / "runs" / f"{name}.run").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys, *args: str) -> str:
    kgtrec("meta", "correlate", *args)
    return capsys.readouterr().out


def refused(capsys, *args: str) -> str:
    assert exit_code("meta", "correlate", *args) == 2
    return capsys.readouterr().err


def test_two_tables(folder, capsys):
    """micro.MR: one of six pairs swapped; recip_rank: two of six."""
    out = printed(capsys, "O.csv", "S.csv", "--coefficient", "tau", "--coefficient", "spearman")
    assert out == (
        "first: O.csv; second: S.csv; 4 systems\n"
        "\n"
        "measure      tau  spearman\n"
        "micro.MR  0.6667    0.8000\n"
        "RR        0.3333    0.6000\n"
    )


def test_names_stand_for_paths_and_measures_are_chosen(folder, capsys):
    """In any spelling; CSV has one line per coefficient, JSON one record."""
    args = ("O.csv", "S.csv", "--name", "O", "--name", "S", "-m", "micro_mr", "--coefficient", "tau")
    assert printed(capsys, *args, "--format", "csv") == (
        "first,second,measure,coefficient,value,systems\nO,S,micro.MR,tau,0.6666666666666666,4\n"
    )
    assert json.loads(printed(capsys, *args, "--format", "json")) == [
        {"first": "O", "second": "S", "measure": "micro.MR", "coefficient": "tau", "value": 2 / 3, "systems": 4}
    ]
    assert r"micro.MR & 0.6667 \\" in printed(capsys, *args, "--format", "latex")


def test_a_published_table_may_say_mrr_but_an_option_may_not(folder, capsys):
    """Of a table of others it is over answers, with a warning; who asks for it is asked which one."""
    Path("bare.csv").write_text("System,MRR\na,0.3\nb,0.2\nc,0.1\n")
    Path("full.csv").write_text("System,micro.MRR,macro.MRR\na,0.3,0.1\nb,0.2,0.2\nc,0.1,0.3\n")
    kgtrec("meta", "correlate", "bare.csv", "full.csv", "--coefficient", "tau")
    captured = capsys.readouterr()
    assert "micro.MRR  1.0000" in captured.out
    assert captured.err.count("read MRR as micro.MRR, over answers") == 1
    assert "error: MRR: expected micro.MRR, over answers" in refused(capsys, "bare.csv", "full.csv", "-m", "MRR")


def test_the_form_follows_the_suffix(folder, capsys):
    """And the file holds what the terminal would show."""
    printed(capsys, "O.csv", "S.csv", "--out", "found.json")
    assert json.loads((folder / "found.json").read_text()) == json.loads(
        printed(capsys, "O.csv", "S.csv", "--format", "json")
    )


def test_one_coefficient_by_depth_is_shown_across(folder, capsys):
    """A table without keys against each depth of another."""
    assert printed(capsys, "O.csv", "depths.csv", "--coefficient", "tau").splitlines()[2].split() == (
        ["measure", "/", "Depth", "0", "1"]
    )


def test_without_a_second_the_measures_are_compared(folder, capsys):
    """O's two measures: three of six pairs apart."""
    assert printed(capsys, "O.csv", "--coefficient", "tau") == (
        "labels: O.csv; 4 systems\n\nfirst     second     tau\nmicro.MR  RR      0.0000\n"
    )


def test_swapped_pairs_are_listed(folder, capsys):
    """How many of each measure, and which."""
    assert printed(capsys, "O.csv", "S.csv", "--swaps", "--name", "O", "--name", "S") == (
        "differences are better minus worse\n"
        "\n"
        "measure   better  worse   first   second\n"
        "micro.MR  a       b      -10.00    10.00\n"
        "RR        b       c      0.1000  -0.1000\n"
        "RR        d       a      0.1000  -0.2000\n"
        "\n"
        "pairs of systems in opposite order under O (first) and S (second)\n"
        "\n"
        "measure   swapped  pairs\n"
        "micro.MR        1      6\n"
        "RR              2      6\n"
    )
    header = printed(capsys, "O.csv", "S.csv", "--swaps", "--format", "csv").splitlines()[0]
    assert header == "measure,better,worse,first,second"
    assert r"\begin{tabular}{lllrr}" in printed(capsys, "O.csv", "S.csv", "--swaps", "--format", "latex")
    assert len(json.loads(printed(capsys, "O.csv", "S.csv", "--swaps", "--format", "json"))) == 3


def test_qrels_and_runs_give_intervals_and_p_values(folder, capsys):
    """A folder behind --systems, or each of its files behind one, are the same systems."""
    args = ("all.qrels", "some.qrels", "-m", "RR", "--coefficient", "tau")
    by_folder = printed(capsys, *args, "--systems", "runs")
    files = [word for name in ("fair", "good", "poor") for word in ("--systems", f"runs/{name}.run")]
    assert by_folder == printed(capsys, *args, *files)
    assert "RR       1.0000" in by_folder
    with_ends = printed(capsys, *args, "--systems", "runs", "--confidence", "0.9", "--resamples", "20")
    assert "3 systems; 90% ranges over resampled questions" in with_ends
    assert "RR       1.0000 [" in with_ends
    only = printed(capsys, "all.qrels", "--systems", "runs", "-m", "RR AP", "--coefficient", "tau")
    assert only.startswith("labels: all.qrels; 3 systems\n")


def test_a_second_label_set_may_have_its_own_files_of_the_systems(folder, capsys):
    """Where the questions differ, so do the runs; their names are what is paired."""
    (folder / "other").mkdir()
    for name in RUNS:
        (folder / "other" / f"{name}.run").write_text(RUNS[{"good": "poor", "poor": "good"}.get(name, name)])
    args = (
        "all.qrels",
        "all.qrels",
        "--systems",
        "runs",
        "--second-systems",
        "other",
        "-m",
        "RR",
        "--coefficient",
        "tau",
    )
    assert "RR       -1.0000" in printed(capsys, *args)
    swapped = printed(capsys, *args[:-2], "--swaps", "--format", "csv").splitlines()
    assert swapped[0].endswith("first_p,second_p,significant")
    assert len(swapped) == 4


def test_a_table_on_standard_input(folder, capsys, monkeypatch):
    """It is read once."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(S.encode())))
    assert "micro.MR  0.6667" in printed(capsys, "O.csv", "-", "--coefficient", "tau")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["O.csv", "nothere.csv"], "error: nothere.csv: no such file"),
        (["O.csv", "S.csv", "S.csv"], "error: expected FIRST and SECOND, found a third label set, S.csv; kgtrec"),
        (["all.qrels", "runs"], "error: expected label sets as FIRST and SECOND, found systems: runs; give"),
        (["all.qrels", "--systems", "runs/fair.run", "runs/good.run"], "error: expected label sets as FIRST"),
        (["O.csv", "S.csv", "--systems", "runs"], "error: expected no systems together with tables of scores, found"),
        (["semicolons.csv", "S.csv"], "error: semicolons.csv:1: expected a header with a column System, found"),
        (["O.csv", "two\nlines.csv"], "error: two\\nlines.csv: no such file"),
        (["-", "-"], "error: expected standard input (-) once"),
        (["all.qrels"], "error: all.qrels: expected a table of scores, with a column System, or systems to score"),
        (["O.csv", "--swaps"], "error: expected SECOND together with --swaps, which compares two label sets, found"),
        (["O.csv", "S.csv", "--higher", "x", "--lower", "x"], "error: expected x with either --higher or"),
        (["O.csv", "S.csv", "--name", "a", "--name", "b", "--name", "c"], "error: expected a --name for FIRST and"),
        (["O.csv", "S.csv", "--confidence", "0.9"], "error: resampling ranges need what each system scored"),
        (["O.csv", "S.csv", "-m", "P@5"], "error: expected measures of O.csv, found P@5, which has no scores there"),
        (["O.csv", "S.csv", "-m", "Sucess@5"], "error: unknown measure 'Sucess@5'; did you mean Success@5?"),
        (["O.csv", "depths.csv", "--key", "Fold"], "error: O.csv:1: expected a key column 'Fold'"),
    ],
)
def test_what_is_wrong_is_one_line(folder, capsys, args, message):
    """And nothing is written."""
    err = refused(capsys, *args, "--out", "out.csv")
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert not (folder / "out.csv").exists()


def test_labels_of_which_none_is_right_rank_nothing(folder, capsys):
    """Neither a correlation nor its interval is known, nor is a pair swapped; nothing breaks off."""
    args = ("all.qrels", "wrong.qrels", "--systems", "runs")
    out = printed(capsys, *args, "-m", "RR", "--coefficient", "tau", "--confidence", "0.9", "--resamples", "20")
    assert out.splitlines()[-1] == "RR         -"
    assert printed(capsys, *args, "-m", "RR", "--swaps").split()[-3:] == ["RR", "0", "3"]

"""kgtrec evaluate: what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import exit_code, kgtrec


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-", "-"], "expected standard input (-) once, found it again; it can be read once"),
        (["q", "-", "-"], "expected standard input (-) once, found it again; it can be read once"),
        (["q", "a/x.run", "b/x.ranks.parquet"], "found 'x' twice: a/x.run and b/x.ranks.parquet; if they are"),
        (["q", "x.run", "x.run"], "found 'x' twice: x.run and x.run; rename one of them"),
    ],
)
def test_one_line_and_exit_code_2(args, message, capsys):
    """Although none of the files exists."""
    assert exit_code("evaluate", *args) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert (out, error.count("\n")) == ("", 1)


def test_of_what_intervals_are_is_told_where_there_is_one(tmp_path, capsys):
    """A single question has none, and nothing to say of it but that."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "one.run"
    qrels.write_text("q 0 a 1\n")
    run.write_text("q Q0 a 1 2.0 one\n")
    kgtrec("evaluate", qrels, run, "-m", "RR", "--confidence", "0.95")
    assert capsys.readouterr().err == "warning: no interval for RR (one question, or all equal)\n"
    ids = [f"q{i}" for i in range(8)]
    qrels.write_text("".join(f"{q} 0 a 1\n" for q in ids))
    run.write_text("".join(f"{q} Q0 {'ab'[i % 2]} 1 2.0 one\n" for i, q in enumerate(ids)))
    kgtrec("evaluate", qrels, run, "-m", "RR", "--confidence", "0.95")
    assert capsys.readouterr().err == "note: 95% intervals are over other test sets of as many questions like these\n"


def test_strata_have_the_measures_over_answers(tmp_path, capsys):
    """By default, and one that is over questions is refused with a way out; so are quantiles of nothing."""
    cities = Path(__file__).parents[2] / "examples" / "cities"
    folder, ranks = tmp_path / "cities", tmp_path / "ranks"
    kgtrec("questions", cities, "--out", folder)
    kgtrec("rank", folder, "--baseline", "rules", "--out", ranks)
    capsys.readouterr()
    kgtrec("evaluate", folder, ranks, "--per", "popularity", "--quantiles", "2")
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[2:] == ["micro.MR", "micro.MRR", "micro.Hits@1", "micro.Hits@3", "micro.Hits@10"]
    assert [row.split()[1:4] for row in rows] == [["1", "to", "8"], ["10", "to", "11"]]
    for options, message in (
        (("--per", "half-link", "-m", "AP@20"), "whose answers differ in half-links; use measures over answers"),
        (("--weights", "popularity", "-m", "RR"), "whose answers differ in popularity; use measures over answers"),
        (("--quantiles", "3"), "expected quantiles only of popularity or anchor-popularity"),
        (("--ties", "all", "--quantiles", "3"), "--quantiles with --ties all"),
    ):
        assert exit_code("evaluate", folder, ranks, *options) == 2
        assert message in capsys.readouterr().err

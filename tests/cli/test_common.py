"""What commands share: progress on a terminal, and nothing of it elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from kgtrec.cli.common import counting
from kgtrec.report.progress import progress_bar
from tests.program import kgtrec


def test_items_are_told_once_the_next_one_is_asked_for():
    """So that what is done with an item is done by then."""
    told: list[int] = []
    seen = [len(told) for _ in counting("abc", told.append)]
    assert (seen, told) == ([0, 1, 2], [1, 1, 1])


def test_nothing_is_drawn_where_nobody_looks(capsys):
    """Standard error that is no terminal stays clean."""
    with progress_bar("evaluating", 2, "systems") as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_evaluate_tells_how_far_it_is_on_a_terminal(tmp_path, monkeypatch):
    """By systems; standard output holds the table alone."""
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text(f"q Q0 a 1 1 {name}\n")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "kgtrec", "evaluate", "qrels.txt", "one.run", "two.run", "-m", "RR"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "evaluating" in shown
    assert "2/2" in shown
    assert "systems" in shown
    monkeypatch.chdir(tmp_path)
    kgtrec("evaluate", "qrels.txt", "one.run", "two.run", "-m", "RR", "--out", "table.txt")
    assert done.stdout.decode() == (tmp_path / "table.txt").read_text()

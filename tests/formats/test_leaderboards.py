"""Leaderboards of TREC AutoJudge: run measure topic value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgtrec.formats.score_tables import looks_like_table, read_score_table
from tests.program import exit_code

TRUTH = "one map q1 0.5\none map all 0.4\ntwo map q1 0.1\ntwo map all 0.3\n\nthree map all 0.2\n"


def written(folder: Path, text: str, name: str = "board.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_totals_are_the_rows_of_all(tmp_path: Path):
    """Rows of single topics are left out beside them."""
    table = read_score_table(written(tmp_path, TRUTH))
    assert (table.name, table.systems) == ("board", ("one", "two", "three"))
    assert (table.measures, table.keys) == (("map",), {})
    assert table.values[:, 0, 0].tolist() == [0.4, 0.3, 0.2]


def test_without_totals_every_topic_is_a_key(tmp_path: Path):
    """As in a table of kgtrec evaluate --per question; a system without a topic has no value there."""
    table = read_score_table(
        written(tmp_path, "run_id\tmeasure\ttopic\tvalue\na\tmap\tt1\t.5\na\tmap\tt2\t1e-1\nb\tmap\tt1\tnan\n")
    )
    assert table.keys == {"question": ("t1", "t2")}
    np.testing.assert_array_equal(table.values[:, 0], [[0.5, 0.1], [np.nan, np.nan]])


@pytest.mark.parametrize("line", ["q1 0 paris 1", "q1 Q0 paris 1", "q1 0 paris 1 extra", "a,map all,x 1"])
def test_qrels_are_no_leaderboard(tmp_path: Path, line: str):
    assert not looks_like_table(written(tmp_path, line))


def test_two_leaderboards_are_correlated(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """By the command that correlates tables: of three pairs one is in another order, so tau is 1/3."""
    judge = written(tmp_path, "one map all 0.3\ntwo map all 0.9\nthree map all 0.1\n", "judge.txt")
    truth = written(tmp_path, TRUTH)
    assert exit_code("meta", "correlate", truth, judge, "--coefficient", "tau", "--format", "csv") == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[-2:] == [str(1 / 3), "3"]

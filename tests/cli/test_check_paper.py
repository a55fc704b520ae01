"""kgtrec published check."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.program import exit_code, printed_by, said_by

EXAMPLES = Path(__file__).parents[2] / "examples" / "published"


def test_a_table_of_a_paper_passes(capsys):
    """Its data set is told by its headings."""
    lines = printed_by(capsys, "published", "check", EXAMPLES / "sun-2019.csv").splitlines()
    assert lines[0] == "sun-2019.csv: 28 numbers of 6 systems: 0 impossible, 0 doubtful, 2 notes"
    lines = printed_by(capsys, "published", "check", EXAMPLES / "sun-2019.csv", "--table", "bounds").splitlines()
    assert any(line.split()[:5] == ["RotatE", "fb15k-237", "micro.MRR", "Hits", ".338"] for line in lines)


@pytest.mark.slow
def test_impossible_numbers_give_exit_code_2(capsys, tmp_path):
    """In every format."""
    table = str(EXAMPLES / "impossible.csv")
    for form in ("table", "csv", "json", "latex"):
        assert exit_code("published", "check", table, "--data", "FB15k-237", "--format", form) == 2
        printed = capsys.readouterr().out
        assert "too high" in printed
        if form == "json":
            found = json.loads(printed)
            assert {each["severity"] for each in found["findings"]} == {"impossible", "doubtful", "note"}
            assert len(found["bounds"]) > 10
    given = "--data", "fb15k-237", "--table", "bounds", "--out", str(tmp_path / "b.parquet")
    assert exit_code("published", "check", table, *given) == 2
    assert pq.read_table(tmp_path / "b.parquet").column_names[:2] == ["system", "data_set"]


def test_sizes_can_be_given(capsys, tmp_path):
    """And a chance table."""
    path = tmp_path / "mine.csv"
    path.write_text("model,MR,MRR\na,3.2,.52\n")
    given = "--data", "mine", "--entities", "14", "--triples", "201", "--chance", "nations"
    assert "0 impossible, 0 doubtful, 0 notes" in printed_by(capsys, "published", "check", path, *given)
    assert exit_code("published", "check", path, "--entities", "3", "--triples", "201") == 2
    assert "a mean rank is at least 1 and at most the number of entities, 3" in capsys.readouterr().out


def test_an_unknown_data_set_is_a_warning(capsys, tmp_path):
    """Checks without its size are made."""
    path = tmp_path / "mine.csv"
    path.write_text("model,MRR\na,.3\n")
    assert "the size of mine is not known" in said_by(capsys, "published", "check", path, "--data", "mine")

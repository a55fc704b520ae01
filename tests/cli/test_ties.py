from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.program import exit_code, kgtrec, printed_by, said_by

QRELS = "q1 0 a 1\nq2 0 b 1\n"
RUN = "q1 Q0 a 1 2.0 mine\nq1 Q0 x 2 2.0 mine\nq2 Q0 b 1 1.0 mine\n"


@pytest.fixture
def files(tmp_path) -> tuple[str, str]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "mine.run").write_text(RUN)
    return str(tmp_path / "qrels.txt"), str(tmp_path / "mine.run")


def test_the_table_shows_groups_and_policies(files, capsys):
    """q1's answer ties with one other, q2's with none: RR 0.75 to 1, on average 0.875."""
    assert printed_by(capsys, "evaluate", *files, "-m", "RR", "--ties", "all") == (
        "system    tied  mean group  largest\n"
        "mine    50.00%         2.0        2\n"
        "\n"
        "system  measure  pessimistic  realistic  expected  optimistic  nondeterministic    trec   apart\n"
        "mine    RR            0.7500     0.8333    0.8750      1.0000            0.7500  0.7500  0.2500\n"
    )


def test_a_folder_stands_for_its_systems(files, capsys):
    """As for kgtrec evaluate."""
    by_file = printed_by(capsys, "evaluate", *files, "-m", "RR", "--ties", "all")
    assert printed_by(capsys, "evaluate", files[0], Path(files[1]).parent, "-m", "RR", "--ties", "all") == by_file


def test_csv_and_json_hold_the_same_digits(files, tmp_path, capsys):
    """The form follows the suffix; what has no value is an empty cell, or null."""
    kgtrec("evaluate", *files, "-m", "RR Bpref", "--out", tmp_path / "ties.json", "--ties", "all")
    kgtrec("evaluate", *files, "-m", "RR Bpref", "--format", "csv", "--ties", "all")
    records = json.loads((tmp_path / "ties.json").read_text())
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["measure"] for row in rows] == [record["measure"] for record in records] == ["RR", "Bpref"]
    assert (rows[0]["expected"], records[0]["expected"]) == ("0.875", 0.875)
    assert (rows[1]["expected"], records[1]["expected"]) == ("", None)


def test_evaluate_takes_every_policy(files, capsys):
    """--ties expected is the exact mean; a random order is the same for the same seed."""
    kgtrec("evaluate", *files, "-m", "RR", "--ties", "expected", "--format", "csv")
    assert capsys.readouterr().out == "system,measure,value\nmine,RR,0.875\n"
    seen = []
    for seed in ("1", "1", "2", "3", "4", "5", "6"):
        kgtrec("evaluate", *files, "-m", "RR", "--ties", "nondeterministic", "--seed", seed, "--format", "csv")
        seen.append(capsys.readouterr().out)
    assert seen[0] == seen[1]
    assert len(set(seen)) == 2


def test_a_measure_without_expectation_is_refused(files, capsys):
    """One line, exit code 2."""
    assert exit_code("evaluate", *files, "-m", "Bpref", "--ties", "expected") == 2
    assert capsys.readouterr().err == (
        "error: Bpref has no exact expectation over the orders of tied candidates; choose another rule for ties: "
        "realistic, optimistic or pessimistic\n"
    )


@pytest.mark.parametrize(
    "words", [["--per", "side"], ["--float32"], ["--confidence", "0.9"], ["--weights", "question"]]
)
def test_all_policies_give_one_total(files, capsys, words):
    assert exit_code("evaluate", *files, "--ties", "all", *words) == 2
    assert f"found {words[0]} with --ties all; leave it out" in capsys.readouterr().err


NOTE = "realistic ranks of tied answers may be half ranks"


def test_half_places_are_told_where_they_make_a_difference(files, capsys):
    """For measures that add up places, where realistic and the mean over orders differ."""
    assert said_by(capsys, "evaluate", *files, "-m", "RR AP", "--ties", "all").startswith(f"note: AP: {NOTE}")
    assert said_by(capsys, "evaluate", *files, "-m", "RR macro.Hits@1", "--ties", "all") == ""
    error = said_by(capsys, "evaluate", *files, "-m", "RR AP@20 nDCG", "--ties", "realistic")
    assert error.startswith(f"note: AP@20, nDCG: {NOTE}")
    assert error.endswith("--ties expected gives the mean\n")
    for rule in ("expected", "optimistic"):
        assert said_by(capsys, "evaluate", *files, "-m", "AP@20", "--ties", rule) == ""
    kgtrec("evaluate", *files, "-m", "AP@20")
    assert capsys.readouterr().err == (
        "warning: 1 of 1 total depends on the order of ties: AP@20 of mine is 0.7500 in the worst order and 1.0000 in "
        "the best; kgtrec evaluate --ties all shows all\n"
    )
    Path(files[1]).write_text(RUN.replace("x 2 2.0", "x 2 1.0"))
    assert said_by(capsys, "evaluate", *files, "-m", "AP@20", "--ties", "realistic") == ""

"""kgtrec chance and kgtrec published adjust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtrec.cli import main
from tests.program import kgtrec, printed_by, said_by

CITIES = Path(__file__).parents[2] / "examples" / "cities"
TRIPLES = [part for name in ("train", "valid", "test") for part in (f"--{name}", str(CITIES / f"{name}.tsv"))]


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> str:
    folder = str(tmp_path_factory.mktemp("cities") / "C")
    kgtrec("questions", CITIES, "--out", folder)
    return folder


def refused(arguments, capsys) -> str:
    """The one line that a command ends with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    return capsys.readouterr().err


def test_triples_give_the_table_of_their_collection(collection, capsys):
    """--split test is what a collection has."""
    by_collection = printed_by(capsys, "chance", collection, "--format", "csv")
    assert printed_by(capsys, "chance", *TRIPLES, "--format", "csv") == by_collection


def test_valid_triples_are_asked_for(capsys):
    """The five valid triples of the cities, whose train and test triples are filtered: ten answers."""
    kgtrec("chance", *TRIPLES, "--split", "valid", "-m", "micro.MR")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:4] for row in rows] == [
        ["micro.MR", "both", "10", "21.85"],
        ["micro.MR", "head", "5", "21.80"],
        ["micro.MR", "tail", "5", "21.90"],
    ]


def test_a_written_table_adjusts_numbers(tmp_path, capsys):
    """MR 1 is the best there is."""
    path = str(tmp_path / "valid.csv")
    kgtrec("chance", *TRIPLES, "--split", "valid", "--out", path)
    kgtrec("published", "adjust", "--measure", "micro.MR", "--value", "1", "--chance", path)
    assert ["index", "1.0000"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    kgtrec("published", "adjust", "--measure", "micro.MR", "--value", "1", "--chance", path, "--format", "json")
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["measure"], record["value"], record["index"]) == ("micro.MR", 1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected COLLECTION, or --train, --test and, if there is one, --valid, found neither"),
        (["--train", "x"], "expected COLLECTION, or --train, --test and, if there is one, --valid, found no --test"),
        (["C", "--valid", "x"], "expected COLLECTION or files of triples, found both: C and --valid"),
        (["C", "--split", "valid"], "C: expected --split test with a collection, which has only the questions"),
        (["--train", "-", "--valid", "-", "--test", "x"], "expected standard input (-) once, found it again; it can"),
        (["C", "--out", "x.xlsx"], "--out x.xlsx: expected a name that ends in .txt, .csv, .json, .tex, .md"),
    ],
)
def test_what_does_not_go_together_is_told(arguments, message, capsys):
    """One line, before anything is read."""
    told = refused(["chance", *arguments], capsys)
    assert told.startswith(f"error: {message}")
    assert told.count("\n") == 1


def test_evaluate_says_what_is_wrong_with_its_options(collection, tmp_path, capsys):
    """Intervals without a level; shares of relations in a file, which is named; suffixes that stand for no form."""
    kgtrec("rank", collection, "--baseline", "constant", "--out", tmp_path)
    evaluate = ["evaluate", collection, str(tmp_path / "constant.ranks.parquet"), "-m", "micro.MRR"]
    assert refused([*evaluate, "--drawn", "question"], capsys) == (
        "error: expected a confidence, such as 0.95, for intervals over other questions, found none\n"
    )
    shares = tmp_path / "shares.tsv"
    for text, message in (
        ("border\t1\n", "expected relations of the collection, found a share of 'border'; did you mean borders?"),
        ("borders\t0\n", "expected shares of relations that are numbers of at least 0, and not all 0"),
    ):
        shares.write_text(text)
        assert refused([*evaluate, "--weights", str(shares)], capsys) == f"error: {shares}: {message}\n"
    shares.write_text("borders\t1\n")
    assert said_by(capsys, *evaluate, "--weights", shares, "--ties", "realistic") == (
        "warning: the shares leave out 3 of the 4 relations of the qrels, such as 'city_in'; they and their "
        "answers count 0\n"
    )
    assert refused([*evaluate, "--out", "x.xlsx"], capsys) == (
        "error: --out x.xlsx: expected a name that ends in .txt, .csv, .json, .tex, .md, .parquet, .svg, .pdf, .png, "
        "or --format with any other name, found '.xlsx'\n"
    )
    kgtrec(*evaluate, "--out", tmp_path / "x.txt")
    kgtrec(*evaluate, "--out", tmp_path / "x.xlsx", "--format", "table")
    assert (tmp_path / "x.txt").read_text() == (tmp_path / "x.xlsx").read_text()

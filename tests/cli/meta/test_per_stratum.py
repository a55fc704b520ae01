"""``--per`` of kgtrec meta stability, power and correlate."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.program import kgtrec, printed_by, refusal

TRAIN = "a r b 1\nb r c 1\nc r a 1\nd r a 2\na r c 2\n"
TEST = "a r b 3\nb r c 3\nc r d 3\nd r a 4\na r c 4\nb r d 4\n"


@pytest.fixture
def files(tmp_path, capsys) -> tuple[str, str, str]:
    """A temporal collection, answer ranks of two baselines, and qrels of its first time alone."""
    for name, text in (("train", TRAIN), ("test", TEST)):
        (tmp_path / f"{name}.txt").write_text(text.replace(" ", "\t"))
    kgtrec("questions", tmp_path / "train.txt", tmp_path / "test.txt", "--out", tmp_path / "C")
    asked = "--baseline", "recent", "--baseline", "popularity", "--depth", "0"
    kgtrec("rank", tmp_path / "C", *asked, "--out", tmp_path / "ranks")
    topics = [line.split("\t") for line in (tmp_path / "C" / "topics.tsv").read_text().splitlines()]
    own = {row[0] for row in topics if row[-1] == "3"}
    lines = (tmp_path / "C" / "qrels.txt").read_text().splitlines(keepends=True)
    (tmp_path / "first.txt").write_text("".join(line for line in lines if line.split()[0] in own))
    capsys.readouterr()
    return str(tmp_path / "C"), str(tmp_path / "ranks"), str(tmp_path / "first.txt")


@pytest.mark.parametrize("verb", ["stability", "power", "correlate"])
def test_csv_of_a_time_is_that_of_its_qrels(files, capsys, verb):
    """A column before the others, and the same digits."""
    whole, ranks, first = files
    options = {"stability": ["--sizes", "2 1.0", "--repeats", "4"], "power": ["--test", "sign t"]}.get(verb, [])
    systems = ["--systems", ranks] if verb == "correlate" else [ranks]
    tail = *systems, "-m", "micro.MRR AP", "--ties", "realistic", "--format", "csv", *options
    per = list(csv.reader(io.StringIO(printed_by(capsys, "meta", verb, whole, *tail, "--per", "time"))))
    name = ["--name", whole] if verb == "correlate" else []
    alone = printed_by(capsys, "meta", verb, first, *tail, "--collection", whole, *name)
    own = list(csv.reader(io.StringIO(alone)))
    assert per[0] == ["time", *own[0]]
    assert [row[1:] for row in per if row[0] == "3"] == own[1:]
    assert {row[0] for row in per[1:]} == {"3", "4"}


def test_json_holds_all_tables(files, capsys):
    """And the table says how p is adjusted."""
    found = json.loads(printed_by(capsys, "meta", "power", *files[:2], "-m", "AP", "--per", "side", "--format", "json"))
    assert [row["side"] for row in found["measures"]] == ["head", "head", "tail", "tail"]
    shown = printed_by(capsys, "meta", "power", *files[:2], "-m", "AP", "--per", "side")
    assert shown.startswith("each side by itself, p adjusted for its pairs of systems only; 1 pair of 2 systems; ")


def test_what_per_does_not_go_with(files, capsys, tmp_path):
    """Figures, families, other systems for the second label set, tables of scores."""
    whole, ranks, first = files
    asked = "meta", "power", whole, ranks, "--per", "time"
    assert "found only tables" in refusal(capsys, *asked, "--out", tmp_path / "a.svg")
    assert "found --per with --family" in refusal(capsys, *asked, "--family", "seeds")
    correlate = "meta", "correlate", whole, first, "--per", "time"
    both = *correlate, "--systems", ranks, "--second-systems", ranks
    assert "found --second-systems with --per" in refusal(capsys, *both)
    assert "expected qrels and --systems together with --per" in refusal(capsys, *correlate)

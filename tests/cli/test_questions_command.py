"""kgtrec questions, as a user meets it."""

from __future__ import annotations

import io
import json
import sys
import warnings

import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.formats.collections import read_collection
from kgtrec.formats.triples import read_triples
from tests.program import exit_code, kgtrec, printed_by

TRAIN, VALID, TEST = "ann\tlikes\ttea\nbob\tlikes\ttea\n", "bob\tlikes\tjam\n", "ann\tlikes\tjam\nann\tlikes\tpie\n"


@pytest.fixture
def kg(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kg").mkdir()
    for name, text in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (tmp_path / "kg" / f"{name}.tsv").write_text(text)
    return tmp_path


def call(*args: str) -> int:
    with warnings.catch_warnings():  # main replaces the way that warnings are shown
        try:
            kgtrec("questions", *args)
        except SystemExit as leave:
            return int(leave.code or 0)
    return 0


THREE = ("kg/train.tsv", "kg/valid.tsv", "kg/test.tsv")


def test_three_files_or_their_folder(kg, capsys):
    """The same collection, but for the options in the manifest; the report is printed, a summary is said."""
    assert call(*THREE, "--out", "c") == 0
    told = capsys.readouterr()
    assert told.out == (kg / "c/report.txt").read_text()
    assert told.err.startswith("wrote c: 3 questions, fingerprint ")
    assert call("kg", "--out", "d") == 0
    assert (kg / "c/manifest.json").read_text() == (kg / "d/manifest.json").read_text()


def test_the_manifest_says_where_it_came_from(kg):
    """Inputs by name, hash and rows; options; no path of this machine."""
    call("kg", "--out", "c", "--sample", "0.5", "--seed", "4")
    text = (kg / "c/manifest.json").read_text()
    manifest = json.loads(text)
    assert [(item["name"], item["split"], item["triples"]) for item in manifest["inputs"]] == [
        ("train.tsv", "train", 2),
        ("valid.tsv", "valid", 1),
        ("test.tsv", "test", 2),
    ]
    assert manifest["command"]["name"] == "questions"
    assert (manifest["command"]["sample"], manifest["command"]["seed"]) == (0.5, 4)
    assert str(kg) not in text


def test_standard_input_and_options(kg, monkeypatch):
    """Another column order, another delimiter, ids, from a pipe."""
    (kg / "t.csv").write_text("likes,ann,ice cream\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"likes,ann,tea\n")))
    options = (
        "--columns",
        "rht",
        "--delimiter",
        "comma",
        "--ids",
        "--categories-from",
        "train,test",
        "--leaked",
        "drop",
    )
    assert call("-", "t.csv", "t.csv", *options, "--out", "c") == 2  # the only test triple leaks from valid
    (kg / "v.csv").write_text("likes,bob,tea\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"likes,ann,tea\n")))
    assert call("-", "v.csv", "t.csv", *options, "--out", "c") == 0
    collection = read_collection(kg / "c")
    assert list(collection.labels) == ["ann", "tea", "bob", "ice cream"]
    assert (kg / "c/entities.tsv").read_text().splitlines()[3] == "e2\tice cream"
    assert "tail0 0 e2 1\n" in (kg / "c/qrels.txt").read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("kg/train.tsv", "kg/valid.tsv", "kg/test.tsv", "kg/test.tsv"), "expected the files TRAIN TEST or TRAIN"),
        (("-", "-", "kg/test.tsv"), "expected standard input (-) once"),
        (("gone", "kg/valid.tsv", "kg/test.tsv"), "error: gone: no such file"),
        (("gone",), "gone: expected a folder with train, valid and test triples, or the name of a data set, found"),
        (("kg", "--sample", "many"), "--sample: expected a number of triples, a fraction such as 0.1, or a file"),
        (("kg", "--sample", "3"), "expected a sample of 1 to 2 test triples"),
        (("kg", "--unseen-entities", "error"), "continue with --unseen-entities keep or --unseen-entities drop"),
        (("kg", "--columns", "hrrt"), "expected columns with h, r and t"),
        (("kg", "kg"), "found two folders; a model of one graph that is asked about another: --train kg --infer"),
        (("kg", "--delimiter", ";"), "kg/train.tsv:1: expected 3 columns (head, relation, tail) separated by ';'"),
    ],
)
def test_what_is_wrong_ends_in_one_line_and_code_2(kg, capsys, args, message):
    """No traceback, and nothing is written."""
    assert call(*args, "--out", "c") == 2
    told = capsys.readouterr()
    assert message in told.err
    assert len(told.err.splitlines()) == 1
    assert sorted(path.name for path in kg.iterdir()) == ["kg"]


def test_a_label_with_white_space_stops_the_conversion(kg, capsys):
    """It names the label and the option."""
    (kg / "kg/test.tsv").write_text("ann\tlikes\tice cream\n")
    assert call("kg", "--out", "c") == 2
    assert "found 'ice cream'; name entities e0, e1, ... with --ids" in capsys.readouterr().err
    assert not (kg / "c").exists()


def test_a_collection_is_kept_unless_forced(kg, capsys):
    """The message names the option."""
    assert call("kg", "--out", "c") == 0
    assert call("kg", "--out", "c", "--ids") == 2
    assert "c: exists; --force replaces it" in capsys.readouterr().err
    assert call("kg", "--out", "c", "--ids", "--force") == 0
    assert read_collection(kg / "c").labels is not None


def test_a_line_of_column_names_is_skipped_in_every_split(kg, capsys):
    """A warning for each file; --no-header makes a question of it."""
    for name, text in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (kg / f"{name}.csv").write_text("Head,Relation,Tail\n" + text.replace("\t", ","))
    files = "train.csv", "valid.csv", "test.csv", "--delimiter", "comma"
    assert call("kg", "--out", "plain") == 0
    capsys.readouterr()
    assert call(*files, "--out", "c") == 0
    told = capsys.readouterr().err
    for name in ("train", "valid", "test"):
        assert f"{name}.csv: skipped the first line, which names the columns (Head, Relation, Tail)" in told
    assert read_collection("c").stamp == read_collection("plain").stamp
    assert call(*files, "--no-header", "--out", "d") == 0
    assert "skipped" not in capsys.readouterr().err
    assert "head0\tTail\tRelation" in (kg / "d/topics.tsv").read_text()


@pytest.mark.parametrize("way", ["two", "empty", "folder"])
def test_a_data_set_without_validation_triples_is_ordinary(kg, capsys, way):
    """Two files, an empty one, a folder of two; the report, the manifest and kgtrec check say that there are none."""
    (kg / "empty.tsv").touch()
    if way == "folder":
        (kg / "kg/valid.tsv").unlink()
    given = {"two": (THREE[0], THREE[2]), "empty": (THREE[0], "empty.tsv", THREE[2]), "folder": ("kg",)}[way]
    assert call(*given, "--out", "c") == 0
    told = capsys.readouterr().out
    assert "\nno validation split\n" in told
    assert "over train + test\n" in told
    manifest = json.loads((kg / "c/manifest.json").read_text())
    splits = [item["split"] for item in manifest["inputs"]]
    assert splits == (["train", "valid", "test"] if way == "empty" else ["train", "test"])
    assert "c: note: no validation split" in printed_by(capsys, "check", "c")
    assert exit_code("rank", "c", "--baseline", "all", "--out", "o") == 0
    assert exit_code("rank", "c", "--baseline", "popularity", "--filter", "train,test", "--out", "p") == 0
    capsys.readouterr()
    assert exit_code("evaluate", "c", "o/svd.ranks.parquet", "p/popularity.ranks.parquet", "-m", "micro.MRR") == 0
    assert exit_code("rank", "c", "--baseline", "popularity", "--filter", "raw", "--out", "r") == 0
    assert exit_code("evaluate", "c", "o/svd.ranks.parquet", "r/popularity.ranks.parquet", "-m", "micro.MRR") == 2
    assert "svd.ranks.parquet filtered by train, test and" in capsys.readouterr().err


def test_a_sample_may_be_a_file(kg, capsys):
    """The questions of its triples; the other test triples are filtered. What is no test triple is refused."""
    (kg / "some.tsv").write_text("ann\tlikes\tpie\n")
    assert call("kg", "--sample", "some.tsv", "--out", "c") == 0
    assert "sample of 1 of 2 test triples (given)" in capsys.readouterr().out
    collection = read_collection("c")
    assert list(collection.questions.ids) == ["head0", "tail0"]
    assert [collection.entities[row] for row in collection.filtered.entity[collection.filtered.split == 2]] == ["jam"]
    manifest = json.loads((kg / "c/manifest.json").read_text())
    assert manifest["inputs"][3]["name"] == "some.tsv"
    assert manifest["inputs"][3]["split"] == "sample"
    splits = [read_triples(path) for path in THREE]
    for sample in ("some.tsv", kg / "some.tsv", read_triples("some.tsv")):
        assert build_questions(*splits, sample=sample).stamp == collection.stamp
    (kg / "other.tsv").write_text("bob\tlikes\ttea\n")
    assert call("kg", "--sample", "other.tsv", "--out", "d") == 2
    assert "expected a sample of the test triples, found 1 of 1 that are not" in capsys.readouterr().err


def test_two_spellings_of_one_label_are_a_note(kg, capsys):
    """NFC and NFD stay two entities; kgtrec check says the same."""
    (kg / "kg/train.tsv").write_text(TRAIN + "Cura\u00e7ao\tlikes\ttea\nCurac\u0327ao\tlikes\tjam\n", encoding="utf-8")
    assert call("kg", "--out", "c") == 0
    note = r"note: 2 labels stand for 1 entities, in several normal forms of Unicode (NFC, NFD), such as 'Cura\xe7ao', "
    assert note + r"'Curac\u0327ao': they count as different entities" in capsys.readouterr().err
    assert len(read_collection("c").entities) == 7
    assert exit_code("check", "c") == 0
    assert "2 labels stand for 1 entities" in capsys.readouterr().out

"""The folder of a collection: it reads back whole, is the same every time, and damage is named."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import FormatError, KgtrecWarning
from kgtrec.formats.collections import is_collection, read_collection, report_text, write_collection
from tests.trees import tree

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "tea"), ("ann", "knows", "bob")]
TEST = [("ann", "likes", "jam"), ("cid", "likes", "tea"), ("ann", "likes", "pie")]


def built(train=TRAIN, test=TEST, **options):
    return build_questions(Triples.of(train), Triples.of([("bob", "likes", "jam")]), Triples.of(test), **options)


@pytest.fixture
def folder(tmp_path):
    write_collection(tmp_path / "c", built())
    return tmp_path / "c"


def require_equal(found, expected):
    """Every array and every label."""
    for name in ("questions", "qrels", "filtered", "categories", "train"):
        one, other = getattr(found, name), getattr(expected, name)
        for slot in one.__slots__:
            if isinstance(values := getattr(one, slot), np.ndarray):
                np.testing.assert_array_equal(values, getattr(other, slot), strict=True)
            else:
                assert list(values) == list(getattr(other, slot))
    assert found.report == expected.report
    assert found.fingerprint == expected.fingerprint
    assert (found.labels is None) == (expected.labels is None)
    assert found.labels is None or list(found.labels) == list(expected.labels)


def test_the_files_of_a_tiny_collection(folder):
    """As the formats say."""
    found = tree(folder)
    assert found["topics.tsv"].decode().splitlines()[:2] == ["head0\tjam\tlikes", "head1\ttea\tlikes"]
    assert "tail0 0 jam 1" in found["qrels.txt"].decode().splitlines()
    assert found["entities.txt"] == b"ann\ntea\nbob\njam\ncid\npie\n"
    assert found["relations.tsv"].splitlines()[0] == b"relation\tcategory\ttails_per_head\theads_per_tail"
    assert found["relations.tsv"].splitlines()[2] == b"knows\t1-1\t1.0\t1.0"
    assert found["report.txt"].decode() == report_text(built().report)
    manifest = json.loads(found["manifest.json"])
    assert manifest["fingerprint"] == built().fingerprint
    assert manifest["report"] == built().report
    assert sorted([*manifest["files"], "manifest.json", ".gitattributes"]) == sorted(found)


label = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=3)
triples = st.lists(st.tuples(label, st.sampled_from(["r", "has a", "NA"]), label), min_size=1, max_size=6)


@given(train=triples, test=triples, ids=st.booleans(), categories_from=st.sampled_from([("train",), ("train", "test")]))
def test_a_collection_reads_back_whole(tmp_path_factory, train, test, ids, categories_from):
    """Any labels, with ids or without, and relations without a category."""
    collection = built(train, test, ids=ids, categories_from=categories_from)
    path = tmp_path_factory.mktemp("c") / "c"
    write_collection(path, collection)
    require_equal(read_collection(path), collection)


def test_equal_collections_give_equal_bytes(tmp_path):
    """No time and no place in any file."""
    for name in ("one", "other"):
        write_collection(tmp_path / name, built(), command={"a": 1}, inputs=[{"name": "x"}])
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    """Neither the folder nor a part of it."""

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr("kgtrec.formats.collections._write_codes", fail)
    with pytest.raises(RuntimeError):
        write_collection(tmp_path / "c", built())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_filled(tmp_path):
    """By whoever may write to it."""
    (tmp_path / "c").mkdir(mode=0o750)
    write_collection(tmp_path / "c", built())
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o750
    assert is_collection(tmp_path / "c")


def test_an_existing_collection_is_replaced_only_with_force(folder):
    """As a whole: what the old one has and the new one lacks goes; what others have put into it stays."""
    with pytest.raises(FormatError, match="exists; force=True replaces it"):
        write_collection(folder, built(ids=True))
    (folder / "my.run").write_text("mine")
    write_collection(folder, built(ids=True), force=True)
    assert not (folder / "entities.txt").exists()
    assert (folder / "my.run").read_text() == "mine"
    require_equal(read_collection(folder), built(ids=True))


def test_other_folders_and_files_are_never_replaced(tmp_path):
    """Not even with force."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FormatError, match=r"found one with thesis\.tex; choose another folder"):
        write_collection(tmp_path, built(), force=True)
    with pytest.raises(FormatError, match=r"expected a folder to write, found a file"):
        write_collection(tmp_path / "thesis.tex", built(), force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_other_qrels_are_taken_with_a_warning(folder):
    """New judgements count; the collection is still the same to ranks made before."""
    qrels = folder / "qrels.txt"
    qrels.write_text(qrels.read_text() + "tail0 0 tea 1\ntail0 0 bob 0\n")
    with pytest.warns(KgtrecWarning, match=r"qrels.txt: not the file that kgtrec questions wrote; using its 8"):
        collection = read_collection(folder)
    assert len(collection.qrels) == len(built().qrels) + 2
    assert collection.fingerprint == built().fingerprint


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tail9 0 tea 1", "qrels.txt: expected questions of topics.tsv, found 'tail9'"),
        ("tail0 0 rum 1", "qrels.txt: expected entities of the collection, found 'rum'"),
        ("tail0 0 jam 1", "qrels.txt:7: "),
        ("tail0 0 jam", "qrels.txt:7: expected 4 columns"),
    ],
)
def test_other_qrels_must_fit(folder, line, message):
    """Questions and entities of the collection, each pair once."""
    qrels = folder / "qrels.txt"
    qrels.write_text(qrels.read_text() + line + "\n")
    with pytest.raises(FormatError) as caught:
        read_collection(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["topics.tsv", "entities.txt", "relations.tsv", "known.parquet", "train.parquet"])
def test_an_edited_or_missing_file_is_named(folder, name):
    """Every file but the qrels and the report is the one that was written."""
    with (folder / name).open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(FormatError, match=rf"{name}: expected the file that kgtrec questions wrote, found another one"):
        read_collection(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError, match=rf"{name}: expected this file of the collection, found none; build it again"):
        read_collection(folder)


@pytest.mark.parametrize("name", ["valid.parquet", "test.parquet"])
def test_the_facts_that_the_static_filter_needs_are_those_that_were_written(tmp_path, name):
    """Other facts of valid would be other ranks, unnoticed."""
    facts = [("ann", "in", "rome", "2012")]
    write_collection(tmp_path / "c", build_questions(facts, test=[("ann", "in", "oslo", "2013")]))
    (tmp_path / "c" / name).write_bytes(b"x")
    with pytest.raises(FormatError, match=rf"{name}: expected the file that kgtrec questions wrote, found another one"):
        read_collection(tmp_path / "c")


@pytest.mark.parametrize("name", ["valid.parquet", "test.parquet"])
def test_a_missing_file_of_facts_with_a_time_is_named(tmp_path, name):
    """What baselines and filters need of valid and test is part of the collection."""
    facts = [("ann", "in", "rome", "1"), ("bob", "in", "oslo", "2")]
    write_collection(tmp_path / "C", build_questions(facts, facts[:1], [("ann", "in", "oslo", "3")]))
    (tmp_path / "C" / name).unlink()
    with pytest.raises(FormatError, match=rf"{name}: expected this file of the collection, found none; build it again"):
        read_collection(tmp_path / "C")


def test_the_report_may_go(folder):
    """It is for people; the manifest has the counts."""
    (folder / "report.txt").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_equal(read_collection(folder), built())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: "{", "manifest.json:1: expected JSON, found something else"),
        (lambda m: "[]", "manifest.json: expected the manifest of a collection with collection_format, files, finger"),
        (
            lambda m: json.dumps(m | {"collection_format": 9}),
            "expected a collection of format version 2, found version 9; a later kgtrec wrote it",
        ),
        (lambda m: json.dumps(m | {"fingerprint": "0"}), "16 hex digits and a numbering of 8, found 0_"),
        (
            lambda m: json.dumps({key: m[key] for key in m if key != "numbering"} | {"collection_format": 1}),
            "make it again with kgtrec questions --force",
        ),
        (lambda m: json.dumps(m | {"numbering": "0" * 8}), "expected questions with the numbering 00000000, found"),
        (lambda m: json.dumps(m | {"files": {}}), "manifest.json: expected a checksum of topics.tsv, found none"),
    ],
)
def test_a_wrong_manifest_is_named(folder, change, message):
    """What was expected, what was found, and the way out."""
    path = folder / "manifest.json"
    path.write_text(change(json.loads(path.read_text())))
    with pytest.raises(FormatError) as caught:
        read_collection(folder)
    assert message in str(caught.value)


def test_what_is_no_collection(tmp_path):
    """Nothing, a file, a folder of something else."""
    (tmp_path / "file").touch()
    for name, found in (("gone", "found nothing"), ("file", "found a file"), (".", "found no manifest.json in it")):
        with pytest.raises(FormatError, match=rf"expected the folder of a collection, {found}.*make one with kgtrec q"):
            read_collection(tmp_path / name)
    (tmp_path / "qrels.txt").touch()
    with pytest.raises(FormatError, match=r"found no manifest.json in it; its qrels are .*qrels.txt"):
        read_collection(tmp_path)


REPORT = """\
                  train  valid  test
triples read          3      1     3
triples used          3      1     2
filtered answers      3      0     1
entities 6, relations 2

                 head  tail   all
questions           2     2     4
answers, min        1     1     1
answers, median  1.00  1.00  1.00
answers, mean    1.00  1.00  1.00
answers, max        1     1     1

answers  questions
1                4  ########################################

category  relations  test triples   share
1-1               1             0    0.0%
1-N               0             0    0.0%
N-1               0             0    0.0%
N-N               1             2  100.0%
a side is N from a mean of 1.5 entities, over train + valid + test

check                   found                             policy
repeated triples        0 train, 0 valid, 0 test          --repeated drop
test triples leaked     0 in train, 0 in valid            --leaked keep
entities not in train   3, in 1 valid and 3 test triples  --unseen-entities keep
relations not in train  0, in 0 valid and 0 test triples  --unseen-relations keep
sample of 2 of 3 test triples (seed 3), 1 of their 1 relations
KL(sample || full) of the relations: 0.0000 nats, no smoothing
"""


def test_the_report_of_a_tiny_collection():
    """Aligned, short, and all of it; a collection made by hand has none."""
    assert report_text(built(sample=2, seed=3).report) == REPORT
    assert report_text({}) == "no report: this collection was not made by kgtrec questions\n"

"""kgtrec rank from lists and ranks of other programs, to the files and the scores."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.runs import read_run, write_run
from kgtrec.ranking.rank import rank_scores
from tests.program import exit_code, printed_by, refusal, said_by
from tests.trees import tree

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "knows", "ann")]
TEST = [("ann", "likes", "jam"), ("bob", "knows", "cid")]


@pytest.fixture
def collection(tmp_path):
    made = build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST))
    write_collection(tmp_path / "C", made)
    return made


run = partial(exit_code, "rank")


RANKING = (
    "ann likes jam\nHeads: cid\t0.5\tann\t0.5\t\nTails: jam\t0.7\t\n"
    "bob knows cid\nHeads: bob\t1\t\nTails: tea\t0.25\tjam\t0.125\t\n"
)


def test_a_ranking_file_needs_no_option(tmp_path, collection, capsys):
    """It is told what it was taken for; its file gives the name; the last answer has bounds."""
    (tmp_path / "rules.txt").write_text(RANKING)
    told = said_by(capsys, "rank", tmp_path / "C", tmp_path / "rules.txt", "--out", tmp_path / "out")
    assert "rules.txt: ranked heads and tails of 2 triples, as AnyBURL, PyClause and SAFRAN write them\n" in told
    assert sorted(tree(tmp_path / "out")) == ["rules.ranks.parquet", "rules.run.gz", "rules.run.gz.json"]
    ranks = read_answer_ranks(tmp_path / "out" / "rules.ranks.parquet")
    found = dict(zip(ranks.questions.decode(ranks.question).to_pylist(), ranks.above.tolist(), strict=True))
    assert found == {"head0": 1, "head1": 0, "tail0": 0, "tail1": 2}
    assert ranks.cut.tolist() == [
        question == "tail1" for question in ranks.questions.decode(ranks.question).to_pylist()
    ]
    assert len(read_run(tmp_path / "out" / "rules.run.gz")) == 6


def test_a_list_of_one_side(tmp_path, collection, capsys):
    """Refused with the way out, which works."""
    path = tmp_path / "text.jsonl"
    lines = [
        {"head": head, "relation": relation, "tail": None, "candidates": [[tail, 0.5]]} for head, relation, tail in TEST
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = refusal(capsys, "rank", tmp_path / "C", path, "--out", tmp_path / "out")
    assert told.count("\n") == 1
    assert told.startswith(f"error: {path}: expected predictions of heads, found those of tails only; --sides tail (")
    assert "sides=['tail'] in Python) asks no other questions" in told
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
    assert run(tmp_path / "C", path, "--out", tmp_path / "out", "--sides", "tail") == 0
    assert read_answer_ranks(tmp_path / "out" / "text.ranks.parquet").above.tolist() == [0, 0]


def test_names_are_read_beside_the_lists(tmp_path, collection):
    """LABEL TAB NAME."""
    path, names = tmp_path / "text.jsonl", tmp_path / "names.tsv"
    lines = [
        {"head": head.title(), "relation": relation, "candidates": ["Nobody", tail.title()]}
        for head, relation, tail in TEST
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    names.write_text("".join(f"{label}\t{label.title()}\n" for label in collection.entities))
    options = ("--out", tmp_path / "out", "--sides", "tail", "--entities", names)
    assert run(tmp_path / "C", path, *options) == 0
    assert read_answer_ranks(tmp_path / "out" / "text.ranks.parquet").above.tolist() == [0, 0]


def test_a_run_gives_ranks_and_is_never_replaced(tmp_path, collection, capsys):
    """Into its own folder it would go cut at --depth."""
    scores = np.random.default_rng(3).random((4, 5))
    exact = rank_scores(collection, scores, questions=collection, entities=collection, name="mine")
    path = tmp_path / "mine.run.gz"
    write_run(path, exact.run)
    before = path.read_bytes()
    assert run(tmp_path / "C", path, "--out", tmp_path, "--depth", "1") == 2
    assert "expected another file than those that are read, found one of them" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert run(tmp_path / "C", path, "--out", tmp_path / "out") == 0
    ranks = read_answer_ranks(tmp_path / "out" / "mine.ranks.parquet")
    assert ranks.above.tolist() == exact.answer_ranks.above.tolist()
    assert (ranks.cut is None) or not ranks.cut.any()


def test_a_file_of_ranks_gives_no_run(tmp_path, collection, capsys):
    """A note says that ties are unknown."""
    (tmp_path / "test.tsv").write_text("".join("\t".join(triple) + "\n" for triple in TEST))
    (tmp_path / "umls_ranks.txt").write_text("1\t0\n0\t2\n")
    options = ("--out", tmp_path / "out", "--data", tmp_path / "test.tsv")
    told = said_by(capsys, "rank", tmp_path / "C", tmp_path / "umls_ranks.txt", *options)
    assert "note: umls: the file has no scores: candidates that tie with an answer count in the order" in told
    assert sorted(tree(tmp_path / "out")) == ["umls.ranks.parquet"]
    assert read_answer_ranks(tmp_path / "out" / "umls.ranks.parquet").above.sum() == 3


@pytest.mark.parametrize("file", ["mine.csv", "mine.ranks.csv"])
def test_ranks_in_a_csv_file_are_named_after_it(tmp_path, collection, file):
    """Whatever its name ends in."""
    rows = [f"{head},{relation},{tail},{side},1" for head, relation, tail in TEST for side in ("head", "tail")]
    (tmp_path / file).write_text("\n".join(["head,relation,tail,side,rank", *rows]))
    assert run(tmp_path / "C", tmp_path / file, "--from", "ranks-csv", "--out", tmp_path / "out") == 0
    assert sorted(tree(tmp_path / "out")) == ["mine.ranks.parquet"]


def test_every_kind_of_source_is_listed(capsys):
    """With what it reads."""
    shown = printed_by(capsys, "rank", "--list-sources")
    for name in ("anyburl", "jsonl", "simkgc", "kg-bert", "ogb", "run"):
        assert f"\n{name}: " in shown

"""kgtrec questions --queries, as a user meets it."""

from __future__ import annotations

import json

import pytest

from tests.program import exit_code, kgtrec, printed_by, refusal
from tests.queries_by_hand import write_betae

QUERY = '{"structure": "2p", "query": ["ann", ["knows", "likes"]]}\n'


@pytest.fixture
def kg(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.tsv").write_text("ann\tknows\tbob\nbob\tlikes\tjam\n")
    (tmp_path / "test.tsv").write_text("bob\tlikes\ttea\n")
    (tmp_path / "queries.jsonl").write_text(QUERY)
    return tmp_path


def test_a_folder_of_betae_is_read_unmodified(kg, capsys):
    """Its triples and its pickles, named by their files in the manifest; then a baseline, and means by structure."""
    write_betae(kg / "betae")
    kgtrec("questions", "betae", "--queries", "betae/test-queries.pkl", "--out", "c")
    told = capsys.readouterr()
    assert told.out == (kg / "c/report.txt").read_text()
    assert told.out.startswith("structure  queries  hard answers  1 missing link  2 missing links")
    assert "next: kgtrec rank c SCORES --out ranks, or kgtrec rank c --baseline all --out ranks" in told.err
    names = [item["name"] for item in json.loads((kg / "c/manifest.json").read_text())["inputs"]]
    assert names == [
        "train.txt", "valid.txt", "test.txt", "test-queries.pkl", "test-easy-answers.pkl", "test-hard-answers.pkl"
    ]  # fmt: skip
    kgtrec("rank", "c", "--baseline", "popularity", "--out", "ranks")
    for per in ("relation", "missing-links"):
        options = "--per", per, "--weights", "question", "--format", "csv"
        lines = printed_by(capsys, "evaluate", "c", "ranks", "-m", "micro.MRR", *options).splitlines()
        assert {line.split(",")[lines[0].split(",").index("relation")] for line in lines[1:]} >= {"1p", "2in", "up"}


def test_relations_in_queries_without_template(kg, capsys):
    """Those of the links are named, not structures; a triple counts once for all of them."""
    kgtrec("questions", "train.tsv", "test.tsv", "--queries", "queries.jsonl", "--out", "c")
    kgtrec("rank", "c", "--baseline", "popularity", "--out", "ranks")
    kgtrec("pool", "c", "ranks/popularity.run.gz", "--depth", "1", "--out", "p")
    capsys.readouterr()
    kgtrec("campaign", "init", "p", "--annotator", "ann")
    assert "asked about in general words: knows, likes;" in (capsys.readouterr().err)
    kgtrec("campaign", "assign", "p", "--per-triple", "1")
    capsys.readouterr()
    kgtrec("campaign", "export", "p", "--annotator", "ann", "--out", "ann.csv")
    assert "warning: 2 relations without question template, so 1 triple in the pool has" in capsys.readouterr().err


def test_json_lines_without_answers(kg, capsys):
    """Answers are found; topics have the query as a fourth column."""
    kgtrec("questions", "train.tsv", "test.tsv", "--queries", "queries.jsonl", "--out", "c")
    assert (kg / "c/topics.tsv").read_text() == 'tail0\tann\t2p\t["ann", ["knows", "likes"]]\n'
    assert (kg / "c/qrels.txt").read_text() == "tail0 0 tea 1\n"
    kgtrec("check", "c")
    assert "ok, collection" in capsys.readouterr().out


def test_options_about_triples_have_no_effect_and_are_refused(kg):
    """Policies, samples and categories are of questions that triples make."""
    for option in ("--sample=1", "--leaked=drop", "--like=pykeen", "--categories-from=train"):
        error = exit_code("questions", "train.tsv", "test.tsv", "--queries", "queries.jsonl", option, "--out", "c")
        assert error == 2
    assert not (kg / "c").exists()


def test_a_wrong_query_names_the_line(kg, capsys):
    """Nothing is written."""
    (kg / "queries.jsonl").write_text(QUERY + QUERY.replace("2p", "5p"))
    error = refusal(capsys, "questions", "train.tsv", "test.tsv", "--queries", "queries.jsonl", "--out", "c")
    assert "queries.jsonl:2: expected a structure of 1p, 2p" in error
    assert not (kg / "c").exists()

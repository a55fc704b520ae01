from __future__ import annotations

import hashlib
import json

import pytest

from kgtrec.formats.collections import read_collection
from kgtrec.formats.trec.qrels import read_qrels
from tests.program import exit_code, kgtrec, printed_by, refusal, said_by
from tests.published_labels import published
from tests.trees import tree


def run_line(question, entity, rank):
    return f"{question} Q0 {entity} {rank} {9 - rank} mine\n"


@pytest.fixture
def campaign(tmp_path, monkeypatch, capsys):
    """The campaign of a small published folder, in the working folder, as S."""
    monkeypatch.chdir(tmp_path)
    published(tmp_path / "data")
    kgtrec("campaign", "import-kgc-sparsity", "data", "--out", "S")
    return capsys.readouterr()


def test_the_import_tells_each_line_and_the_counts(campaign, tmp_path):
    """On standard output, and in a file of the campaign."""
    assert "1 finding: padded\n" in campaign.out
    assert "human_labeled.txt:2: label ' N' has blanks around it; read as 'N'\n" in campaign.out
    assert "human triples   5\n" in campaign.out
    kept = (tmp_path / "S" / "published-labels.txt").read_text()
    assert "finding" not in kept
    assert kept.splitlines()[-13:] == campaign.out.splitlines()[-13:]
    assert "--level triple --topics data/FB-Test-O/trec_queries.txt" in campaign.err
    settings = json.loads((tmp_path / "S" / "campaign.json").read_text())
    assert settings["annotators_per_triple"] == 1


def test_question_level(campaign, tmp_path, capsys):
    """Topics, qrels of all depths, report, README and checksums that hold."""
    printed = printed_by(capsys, "campaign", "qrels", "S", "--out", "q")
    folder = tmp_path / "q"
    assert printed == (folder / "report.txt").read_text()
    depths = [f"qrels.depth{depth}.txt" for depth in range(4)]
    assert sorted(tree(folder)) == sorted(
        [".gitattributes", "README.md", "SHA256SUMS", "qrels.txt", "report.json", "report.txt", "topics.tsv", *depths]
    )
    assert (folder / "qrels.txt").read_text().splitlines() == [
        "head0 0 ann 1",
        "head0 0 cat 0",
        "head0 0 dan 0",
        "head7 0 bob 1",
        "head7 0 cat 1",
        "tail1 0 jam 1",
        "tail1 0 pie 0",
        "tail1 0 tea 1",
        "tail5 0 dan 0",
        "tail5 0 eve 1",
    ]
    assert (folder / "qrels.depth3.txt").read_text() == (folder / "qrels.txt").read_text()
    assert [len(read_qrels(folder / name)) for name in depths] == [4, 6, 8, 10]
    report = json.loads((folder / "report.json").read_text())
    assert report["collection"] == json.loads((tmp_path / "S" / "campaign.json").read_text())["collection"]
    assert read_qrels(folder / "qrels.depth1.txt").collection == report["collection"]
    assert (report["positives_from"], report["never_pooled"]) == ({"seeds": 2, "agreed": 1, "adjudicated": 1}, 0)
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "4 questions with 10 judgements, out of 4 true and 4 false triples" in (folder / "README.md").read_text()


def test_triple_level_takes_ids_of_a_topics_file(campaign, tmp_path, capsys):
    """For questions that were not pooled for and that it has; an id that the pool uses otherwise is refused."""
    topics = tmp_path / "topics.tsv"
    topics.write_text("head42\tjam\tlikes\ntail7\tzoe\tknows\n")
    kgtrec("campaign", "qrels", "S", "--level", "triple", "--topics", "topics.tsv", "--out", "q")
    ids = [line.split("\t")[0] for line in (tmp_path / "q" / "topics.tsv").read_text().splitlines()]
    assert sorted(ids) == ["head0", "head42", "head7", "tail-new0", "tail1", "tail5"]
    assert "next: kgtrec evaluate q/qrels.txt RUNS" in capsys.readouterr().err
    for text, told in (
        ("head0\tjam\tlikes\n", "whose head0 is (?, likes, tea), found another question under head0; use the topics"),
        ("q1\tjam\tlikes\n", "topics.tsv: expected ids that begin with head or tail, the side asked for, found 'q1'"),
    ):
        topics.write_text(text)
        assert exit_code("campaign", "qrels", "S", "--level", "triple", "--topics", "topics.tsv", "--out", "r") == 2
        assert told in capsys.readouterr().err
    assert exit_code("campaign", "qrels", "S", "--topics", "topics.tsv", "--out", "r") == 2
    assert "--topics is for new questions without a collection" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_labels_of_one_annotator_are_not_agreed_on(campaign, tmp_path):
    """The README of the qrels says who gave them."""
    kgtrec("campaign", "qrels", "S", "--out", "q")
    text = (tmp_path / "q" / "README.md").read_text()
    assert "1 were said to be true by one annotator, who judged alone, and 1 settled by an adjudicator" in text
    assert "agreed on" not in text


def test_questions_that_a_run_lacks_are_told(campaign, tmp_path, capsys):
    """Once per system, by evaluate and by diagnostics; with --missing skip as left out."""
    (tmp_path / "mine.run").write_text(run_line("tail1", "jam", 1))
    kgtrec("campaign", "qrels", "S", "--out", "q")
    assert said_by(capsys, "evaluate", "q/qrels.txt", "mine.run", "-m", "P@1", "-m", "AP@20") == (
        "warning: mine lacks 3 of the 4 questions of the qrels; they count zero (--missing skip, in Python "
        "missing='skip', leaves them out)\n"
    )
    kgtrec("evaluate", "q/qrels.txt", "mine.run", "-m", "P@1", "--missing", "skip")
    assert capsys.readouterr().err == "warning: mine lacks 3 of the 4 questions of the qrels; they are left out\n"
    for name, measure in (("quick", "AP@20"), ("slow", "macro.MR")):  # undefined, and so taken the long way
        (tmp_path / f"{name}.run").write_text(run_line("tail1", "jam", 1))
        told = said_by(capsys, "campaign", "diagnostics", "S", f"{name}.run", "-m", measure)
        assert told.count("lacks") == 1
        assert f"{name} lacks 3 of the 4 questions of the qrels; they count zero\n" in told


def test_triple_level_makes_a_collection(campaign, tmp_path, capsys):
    """Its topics are those of the positive triples; a system can be ranked and evaluated on it."""
    for name, text in (
        ("train", "ann\tlikes\tpie2\nbob\tlikes\tjam\ncat\tlikes\tcake\ndan\tknows\tann\neve\tlikes\tpie\n"),
        ("valid", "cat\tknows\tdan\n"),
        ("test", "ann\tlikes\ttea\nbob\tknows\teve\n"),
        ("more", "eve\tlikes\tjam\n"),
    ):
        (tmp_path / f"{name}.tsv").write_text(text)
    kgtrec("questions", "train.tsv", "valid.tsv", "test.tsv", "--out", "C")
    arguments = ["campaign", "qrels", "S", "--level", "triple", "--collection", "C"]
    arguments += ["--known", "valid.tsv", "--known", "more.tsv"]
    capsys.readouterr()
    kgtrec(*arguments, "--out", "T")
    assert "6 questions of the positive triples, 2 of them never pooled for" in capsys.readouterr().out
    made = read_collection("T")
    topics = (tmp_path / "T" / "topics.tsv").read_text().splitlines()
    assert sorted(topics) == [
        "head-new0\tjam\tlikes",
        "head0\ttea\tlikes",
        "head7\teve\tknows",
        "tail-new0\tcat\tknows",
        "tail1\tann\tlikes",
        "tail5\tbob\tknows",
    ]
    filtered = {
        (made.questions.ids[q], made.entities[e])
        for q, e in zip(made.filtered.question, made.filtered.entity, strict=True)
    }
    assert filtered == {("head-new0", "bob"), ("head-new0", "eve"), ("tail-new0", "dan"), ("tail1", "pie2")}
    kgtrec("rank", "T", "--baseline", "popularity", "--out", "ranks", "--depth", "5")
    capsys.readouterr()
    kgtrec("evaluate", "T", "ranks/popularity.ranks.parquet", "-m", "micro.MRR", "-m", "AP@20")
    assert capsys.readouterr().out.splitlines()[1].startswith("popularity")


def test_earlier_qrels_are_replaced_only_when_asked(campaign, tmp_path, capsys):
    """Equal inputs give equal bytes; a folder with other files is never touched."""
    kgtrec("campaign", "qrels", "S", "--out", "q")
    first = tree(tmp_path / "q")
    assert "q: exists; --force replaces it" in refusal(capsys, "campaign", "qrels", "S", "--out", "q")
    kgtrec("campaign", "qrels", "S", "--out", "q", "--force")
    assert tree(tmp_path / "q") == first
    assert "expected a new or empty folder" in refusal(capsys, "campaign", "qrels", "S", "--out", "data", "--force")
    kgtrec("campaign", "qrels", "S", "--out", "q1", "--depth", "1")
    assert not (tmp_path / "q1" / "qrels.depth2.txt").exists()


def test_diagnostics_of_a_campaign(campaign, tmp_path, capsys):
    """Tables, with systems and without; CSV holds one of them."""
    (tmp_path / "kgc-sparsity.run").write_text(
        run_line("tail1", "jam", 1) + run_line("head0", "cat", 1) + run_line("head0", "ann", 2)
    )
    alone = printed_by(capsys, "campaign", "diagnostics", "S")
    assert "kgc-sparsity  -             6       6       6         2                2  33.3%" in alone
    assert "4 questions, 0 with nothing pooled, 0 with nothing judged" in alone
    kgtrec("campaign", "diagnostics", "S", "kgc-sparsity.run", "-m", "P@1", "--judged-at", "1")
    captured = capsys.readouterr()
    assert "kgc-sparsity    0.5000  0.2500     1" in captured.out
    kgtrec("campaign", "diagnostics", "S", "kgc-sparsity.run", "-m", "P@1", "--format", "csv", "--table", "left_out")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("kind,name,triples,positives,system,is_left_out,measure,before,after")
    assert lines[1].startswith("run,kgc-sparsity,6,2,kgc-sparsity,")
    kgtrec("campaign", "diagnostics", "S", "--format", "csv")
    assert capsys.readouterr().out.startswith("run,family,contributed,unique,judged,positive,unique_positive\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kgc-sparsity.run").write_text(run_line("tail1", "jam", 1))
    assert exit_code("campaign", "diagnostics", "S", "kgc-sparsity.run", "other/kgc-sparsity.run") == 2
    assert "found 'kgc-sparsity' twice" in capsys.readouterr().err


def test_there_are_no_files_below_the_pool(campaign, tmp_path, capsys):
    """A depth of many digits is that of the deepest triple: no file for each rank in between."""
    kgtrec("campaign", "qrels", "S", "--out", "q", "--depth", 10**9)
    kgtrec("campaign", "qrels", "S", "--out", "all")
    assert tree(tmp_path / "q") == tree(tmp_path / "all")

"""kgtrec openworld estimate, from files and folders to text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.qrels import Qrels
from tests.campaign_folders import folder_of, people_of
from tests.judged_pools import judgements_of, pool_of
from tests.program import exit_code, kgtrec

FILES = {
    "labels.txt": "q 0 a 1\nq 0 é 1\nr 0 知识 1\n",
    "judged.txt": "q 0 a 1\nq 0 c 1\nq 0 x 0\nr 0 f 1\nr 0 x 0\n",
    "truth.txt": "q 0 a 1\nq 0 é 1\nq 0 c 1\nr 0 f 1\nr 0 知识 1\n",
    "known.txt": "q 0 c 1\nr 0 f 1\n",
    "one.run": "q Q0 a 1 4 t\nq Q0 c 2 3 t\nq Q0 é 3 2 t\nr Q0 f 1 4 t\nr Q0 知识 2 3 t\n",
    "two.run": "q Q0 x 1 4 t\nq Q0 c 2 3 t\nq Q0 a 3 2 t\nr Q0 知识 1 4 t\n",
}


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def estimated(capsys, *arguments: str) -> str:
    kgtrec("openworld", "estimate", *arguments)
    return capsys.readouterr().out


def refused(capsys, *arguments: str) -> str:
    assert exit_code("openworld", "estimate", *arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    return error


QRELS = ("judged.txt", "one.run", "two.run", "--labels", "labels.txt")


def test_qrels_and_runs_give_tables(files, capsys):
    text = estimated(capsys, *QRELS, "--truth", "truth.txt")
    assert text.startswith(
        "2 questions, 3 labels; to rank 10, 2 systems found 3 of the labels (100.0%) and 2 true answers without a label"
    )
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert rows["labels"][rows["labels"].index("true") + 1] == "5"
    assert rows["truth"] == ["truth", "5", "0.4000", "0.6000"]


@pytest.mark.slow
def test_out_takes_its_form_from_the_suffix(files, capsys):
    """JSON by the suffix, one table of CSV; standard output stays empty, and the same bytes come out again."""
    assert estimated(capsys, *QRELS, "--out", "o.json") == ""
    whole = json.loads((files / "o.json").read_text())
    assert whole["found_missing"] == 2
    for table, size in (("missing", 3), ("scores", 4), ("separations", 2)):
        assert estimated(capsys, *QRELS, "--table", table, "--out", "o.csv", "--force") == ""
        rows = list(csv.DictReader(io.StringIO((files / "o.csv").read_text())))
        assert len(rows) == len(whole[table]) == size
    assert estimated(capsys, *QRELS, "--format", "json") == (files / "o.json").read_text()
    assert estimated(capsys, *QRELS, "--format", "csv") == estimated(
        capsys, *QRELS, "--table", "missing", "--out", "-", "--format", "csv"
    )


def test_known_answers_and_depth_reach_the_estimate(files, capsys):
    """Without judgements of them, c and f are true as known; to rank 1 only f is found."""
    (files / "nothing.txt").write_text("q 0 x 0\n")
    arguments = ("nothing.txt", *QRELS[1:], "--known", "known.txt", "--format", "json")
    assert json.loads(estimated(capsys, *arguments))["found_missing"] == 2
    cut = json.loads(estimated(capsys, *arguments, "--depth", "1"))
    assert (cut["found_missing"], cut["set_aside"]) == (1, 1)


@pytest.mark.parametrize("depth", ["1000", "1000000000"])
def test_a_depth_beyond_all_lists_is_the_whole_lists(files, capsys, depth):
    """No memory is taken for ranks that there are not."""
    deep, usual = (json.loads(estimated(capsys, *QRELS, "--format", "json", "--depth", to)) for to in (depth, "10"))
    assert deep.pop("depth") == int(depth)
    assert usual.pop("depth") == 10
    assert deep == usual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("judged.txt", "one.run"), "judged.txt: expected a campaign, whose known answers are the labels, or qrels"),
        (("none.txt", "one.run", "--labels", "labels.txt"), "none.txt: no such file"),
        (("judged.txt", "one.run", "--labels", "none.txt"), "none.txt: no such file"),
        (("judged.txt", "one.run", "--labels", "one.run"), "one.run:1: expected 4 columns (question iter entity grade"),
        (("judged.txt", "judged.txt", "--labels", "labels.txt"), "judged.txt:1: expected 6 columns"),
        ((".", "one.run", "--labels", "labels.txt"), ".: expected the folder of a collection"),
        (("judged.txt", "folder", "--labels", "labels.txt"), "folder: expected a folder of NAME.ranks.parquet or NAME"),
        (("-", "-", "--labels", "labels.txt"), "expected standard input (-) once, found it again"),
        ((*QRELS, "--truth", "known.txt"), "expected every label to be in the truth, found (q, a) in the labels only"),
        ((*QRELS[:1], *QRELS[1:3], "--labels", "wrong.txt"), "that are not judged wrong, found (q, x)"),
        ((*QRELS[:1], *QRELS[1:3], "--labels", "no.txt"), "expected labels with at least one answer, found none"),
        ((*QRELS, "-m", "micro.nDCG"), "unknown measure 'micro.nDCG'"),
        ((*QRELS, "-m", "micro.MR"), "micro.MR: expected a measure that is the mean over answers of a function"),
        ((*QRELS[:2], "--labels", "labels.txt", "--method", "runs"), "expected two systems for the method 'runs'"),
        (("lone.txt", "one.run", "--labels", "lone.txt"), "expected judgements of candidates that have no label"),
        ((*QRELS, "--out", "o.xlsx"), "--out o.xlsx: expected a name that ends in .txt, .csv, .json"),
    ],
)
def test_user_errors_are_one_line_and_exit_code_2(files, capsys, arguments, message):
    (files / "folder").mkdir()
    (files / "wrong.txt").write_text("q 0 x 1\n")
    (files / "no.txt").write_text("q 0 a 0\n")
    (files / "lone.txt").write_text("q 0 a 1\nr 0 f 1\n")
    error = refused(capsys, *arguments)
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "o.csv", "--table", "all"), "'all' is not one of 'missing', 'scores', 'separations'"),
        (("--depth", "0"), "Invalid value for '--depth'"),
        (("--wrong-order", "0.5"), "Invalid value for '--wrong-order'"),
        (("--confidence", "1"), "Invalid value for '--confidence'"),
        (("--method", "all"), "Invalid value for '--method'"),
    ],
)
def test_options_that_make_no_sense_are_refused(files, capsys, arguments, message):
    assert message in refused(capsys, *QRELS, *arguments)
    assert not (files / "o.csv").exists()


# -- campaigns


def campaign_of(folder, settled) -> Path:
    """Four questions, e0 to e3 asked, with five triples each, e4 to e8; one seed more, every other triple true."""
    pool = pool_of([5] * 4)
    events = [(row, who, "annotator", "YN"[row % 2]) for row in range(settled) for who in ("ann", "bob")]
    question = np.arange(4, dtype=np.int32)
    entities = pool.questions.entities
    # of each question the entity asked about, which is not pooled for it
    known_answers = Qrels.of(question, question, np.ones(4, np.int32), pool.questions.ids, entities)
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True))
    none = Assignments.none(people.names)
    made = Campaign(pool, known_answers, Automatic.none(20), people, none, judgements_of(events), sources=())
    return folder_of(made, folder)


def runs_in(folder) -> None:
    """Two systems that list the seed and the pool, in turn."""
    for name, step in (("up", 1), ("down", -1)):
        lines = []
        for q in range(4):
            listed = [f"e{q}", *[f"e{4 + place}" for place in range(5)]][::step]
            lines += [f"tail{q} Q0 {entity} {place} {-place} t\n" for place, entity in enumerate(listed, 1)]
        (folder / f"{name}.run").write_text("".join(lines))


def test_a_campaign_brings_its_labels_and_is_told_apart_from_qrels(tmp_path, monkeypatch, capsys):
    """Ten of twenty triples are true; one seed a question leaves beta open."""
    monkeypatch.chdir(tmp_path)
    campaign_of(tmp_path / "C", 20)
    runs_in(tmp_path)
    whole = json.loads(estimated(capsys, "C", "up.run", "down.run", "--format", "json"))
    assert (whole["n_labels"], whole["found_missing"]) == (4, 10)
    assert whole["judged"] == {"up": 1.0, "down": 1.0}
    assert [row["missing"] for row in whole["missing"]] == [None] * 3
    # other labels: two of question tail0
    (tmp_path / "two.txt").write_text("tail0 0 e0 1\ntail0 0 e4 1\n")
    other = json.loads(estimated(capsys, "C", "up.run", "--labels", "two.txt", "--depth", "6", "--format", "json"))
    assert (other["n_questions"], other["n_labels"], other["found_missing"]) == (1, 2, 2)
    assert other["missing"][2]["missing"] == pytest.approx(4 / 6)


def test_the_depth_is_that_of_the_campaigns_pool_unless_told(tmp_path, monkeypatch, capsys):
    """Five triples a question; and several measures may come in one option, as in the help."""
    monkeypatch.chdir(tmp_path)
    campaign_of(tmp_path / "C", 20)
    runs_in(tmp_path)
    options = ("C", "up.run", "-m", "micro.MRR micro.logMRR", "--format", "json")
    found = json.loads(estimated(capsys, *options))
    assert (found["depth"], json.loads(estimated(capsys, *options, "--depth", "2"))["depth"]) == (5, 2)
    assert {row["measure"] for row in found["scores"]} == {"micro.MRR", "micro.logMRR"}


def test_a_campaign_judged_by_half_lets_the_settled_half_stand_for_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    campaign_of(tmp_path / "C", 10)
    runs_in(tmp_path)
    kgtrec("openworld", "estimate", "C", "up.run", "--depth", "6", "--format", "json")
    out, error = capsys.readouterr()
    assert "note: 10 of 20 triples have no decision; triples decided by people represent them, as if" in error
    assert json.loads(out)["found_missing"] == 5 * 2
    campaign_of(tmp_path / "D", 0)
    assert "expected a settled triple in each stratum" in refused(capsys, "D", "up.run")


def test_a_broken_campaign_is_told_by_file_and_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = campaign_of(tmp_path / "C", 20)
    runs_in(tmp_path)
    with (folder / "judgements.jsonl").open("a") as stream:
        stream.write("junk\n")
    error = refused(capsys, "C", "up.run")
    assert error.startswith("error: C/judgements.jsonl:41: expected JSON")

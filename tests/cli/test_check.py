"""kgtrec check, as a user calls it."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kgtrec.cli import cli
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.runs import write_run
from tests.campaign_folders import pool_folder, say_in
from tests.evaluation.test_plausibility import clustered, run_of
from tests.formats.trec_files import written
from tests.program import exit_code, kgtrec, printed_by

TOPICS = "tail0\tfrance\tcapital\ntail1\titaly\tcapital\n"
QRELS = "tail0 0 paris 1\ntail1 0 rome 1\n"
RUN = "tail0 Q0 paris 1 0.9 sys\ntail1 Q0 rome 1 0.8 sys\ntail1 Q0 paris 2 0.1 sys\n"
ENTITIES = "france\nitaly\nparis\nrome\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in (("topics.tsv", TOPICS), ("qrels.txt", QRELS), ("sys.run", RUN), ("entities.txt", ENTITIES)):
        written(tmp_path, name, text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*files: str, **options) -> tuple[int, list[str]]:
    result = CliRunner().invoke(cli, ["check", *files], catch_exceptions=False, **options)
    return result.exit_code, result.stdout.splitlines()


def test_a_line_per_file_where_all_is_well(folder):
    """With what each holds."""
    assert check("topics.tsv", "qrels.txt", "sys.run", "entities.txt") == (
        0,
        [
            "topics.tsv: ok, topics: 2 questions",
            "qrels.txt: ok, qrels: 2 rows, 2 questions",
            "sys.run: ok, run 'sys': 3 rows, 2 questions",
            "entities.txt: ok, entities: 4 labels",
        ],
    )


def test_a_collection_stands_for_its_files(folder):
    """A run is held against them."""
    code, lines = check(".", "sys.run")
    assert code == 0
    assert [line.split(":")[0] for line in lines] == ["topics.tsv", "qrels.txt", "entities.txt", "sys.run"]


def test_findings_across_files_name_file_and_line(folder):
    """Unknown questions and entities, and missing questions, each in one line."""
    written(folder, "bad.run", "# sys\ntail0 Q0 paris 1 2 sys\ntail0 Q0 oslo 2 1 sys\n\ntail9 Q0 paris 1 1 sys\n")
    assert check(".", "bad.run") == (
        2,
        [
            "topics.tsv: ok, topics: 2 questions",
            "qrels.txt: ok, qrels: 2 rows, 2 questions",
            "entities.txt: ok, entities: 4 labels",
            "bad.run:5: expected only questions of topics.tsv, found 1 other: 'tail9'",
            "bad.run: expected all questions of topics.tsv, found 1 missing: 'tail1'",
            "bad.run:3: expected only entities of entities.txt, found 1 other: 'oslo'",
        ],
    )


def test_topics_without_qrels_are_found(folder):
    """And qrels for questions that are no topics."""
    written(folder, "qrels.txt", "tail0 0 paris 1\ntail7 0 rome 1\n")
    code, lines = check("topics.tsv", "qrels.txt")
    assert code == 2
    assert lines[1:] == [
        "qrels.txt:2: expected only questions of topics.tsv, found 1 other: 'tail7'",
        "qrels.txt: expected judgements for every topic of topics.tsv, found 1 missing: 'tail1'",
    ]


def test_several_tags_are_found(folder):
    """With the lines of the first and of the second."""
    written(folder, "two.run", RUN.replace("0.8 sys", "0.8 other"))
    assert check("two.run") == (
        2,
        ["two.run:2: expected one run tag, found 2: 'other' here, 'sys' on line 1; write one file per system"],
    )


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.run", "q Q0 e 1 1 t\nq Q0 e 2 1 t\n", "x.run:2: expected each (question, entity) once, found 'q' 'e' here"),
        ("x.run", "q Q0 e 1 nan t\n", "x.run:1: expected a number as score, got 'nan'"),
        ("x.run", "q Q0 e 1 1 t\nq Q0 e f 2 1 t\n", "x.run:2: expected 6 columns (question Q0 entity rank score "),
        ("x.run.gz", gzip.compress(RUN.encode() * 9, mtime=0)[:-9], "x.run.gz: expected whole compressed data, found"),
        ("x.run", "", "x.run: expected lines of 6 columns (question Q0 entity rank score tag), found an empty file"),
        ("x.qrels", "q 0 e 0.7\n", "x.qrels:1: expected a whole number of 32 bits as grade, got '0.7'"),
        ("x.parquet", "no", "x.parquet: expected a whole Parquet file"),
    ],
)
def test_what_no_reader_accepts_is_one_finding(name, content, expected, folder):
    """The other files are checked all the same."""
    written(folder, name, content)
    code, lines = check(name, "sys.run")
    assert code == 2
    assert lines[0].startswith(expected)
    assert lines[1:] == ["sys.run: ok, run 'sys': 3 rows, 2 questions"]


def test_missing_files_and_other_folders(folder):
    """Are findings, and what else is named is checked all the same."""
    (folder / "empty").mkdir()
    assert check("none.run", "empty", "sys.run") == (
        2,
        [
            "none.run: no such file",
            "empty: expected the folder of a collection, a campaign, a study, or runs and answer ranks, found another "
            "one",
            "sys.run: ok, run 'sys': 3 rows, 2 questions",
        ],
    )


def test_the_folder_of_a_campaign_is_read_as_a_whole(tmp_path, capsys):
    """A line per file with counts; or what is wrong, with its place."""
    campaign = pool_folder(tmp_path / "P", automatic=(2,))
    assert printed_by(capsys, "check", campaign) == (
        f"{campaign}/pool.tsv: ok, pool: 3 triples for 2 questions out of 1 run\n"
        f"{campaign}/seeds.txt: ok, known answers: 0 rows\n"
        f"{campaign}/automatic.tsv: ok, automatic: 1 triple\n"
    )
    kgtrec("campaign", "init", campaign, "--annotator", "ann", "--annotator", "bob")
    kgtrec("campaign", "assign", campaign)
    say_in(campaign, (0, "ann", "annotator", "unsure"))
    lines = printed_by(capsys, "check", campaign).splitlines()
    for line in (
        "people.tsv: ok, people: 2 names",
        "templates.tsv: ok, templates: 2 relations",
        "sources.txt: ok, sources: 0 hosts",
        "assignments.tsv: ok, assignments: 4 tasks",
        "judgements.jsonl: ok, judgements: 1 event",
    ):
        assert f"{campaign}/{line}" in lines
    for name, text, told in (
        ("people.tsv", "person\trole\tactive\nann\tjudge\tyes\n", "people.tsv:2: expected a role of"),
        ("pool.tsv", "x\n", "pool.tsv: expected the file that kgtrec pool wrote"),
    ):
        (campaign / name).write_text(text)
        assert exit_code("check", campaign) == 2
        shown = capsys.readouterr().out
        assert shown.startswith(f"{campaign}/{told}")
        assert "ok" not in shown


def test_standard_input(folder):
    """Its kind is told by its content too."""
    assert check("-", "qrels.txt", input=RUN) == (
        0,
        ["-: ok, run 'sys': 3 rows, 2 questions", "qrels.txt: ok, qrels: 2 rows, 2 questions"],
    )


CITIES = Path(__file__).parents[2] / "examples" / "cities"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection, ranks and runs of one system filtered and raw, and a small study, made once."""
    folder = tmp_path_factory.mktemp("made")
    splits = [str(CITIES / f"{name}.tsv") for name in ("train", "valid", "test")]
    kgtrec("questions", *splits, "--out", f"{folder}/C")
    kgtrec("rank", f"{folder}/C", "--baseline", "svd", "--out", f"{folder}/ranks")
    kgtrec("rank", f"{folder}/C", "--baseline", "svd", "--out", f"{folder}/raw", "--filter", "raw")
    (folder / "study.toml").write_text(
        'title = "T"\n[data]\ncollection = "C"\n[systems]\nbaselines = ["svd", "rules"]\n[[labels]]\nname = "test"\n'
        'kind = "test"\n[measures]\nnames = ["micro.MRR", "AP"]\nresamples = 2\n[stability]\nlabels = []\n[power]\n'
        'labels = []\n[report]\nformats = ["csv"]\n'
    )
    kgtrec("study", f"{folder}/study.toml", "--out", f"{folder}/S")
    return folder


@pytest.fixture
def copies(made, tmp_path, monkeypatch):
    """The same to be damaged."""
    shutil.copytree(made, tmp_path / "made")
    monkeypatch.chdir(tmp_path / "made")
    return tmp_path / "made"


def test_what_is_whole_is_ok(copies):
    """A collection, a folder of ranks and runs, a study, and one of its steps."""
    step = next((copies / "S" / "steps").glob("scores-*"))
    code, lines = check("C", "ranks", "S", str(step))
    assert code == 0
    assert all(": ok, " in line for line in lines)
    assert [line.split(":")[0] for line in lines] == [
        "C/topics.tsv",
        "C/qrels.txt",
        "C/entities.txt",
        "C",
        "ranks/svd.ranks.parquet",
        "ranks/svd.run.gz",
        "S",
        str(step),
    ]
    assert lines[3].startswith("C: ok, collection ")
    assert lines[6] == "S: ok, study: 2 systems, 1 label set, 3 tables, 6 steps"


def test_what_is_wrong_with_two_files_together_is_one_line(copies):
    """Though it is found in a run and in the answer ranks beside it, which are of other scores."""
    shutil.copy("raw/svd.ranks.parquet", "ranks")
    code, lines = check("ranks")
    assert code == 2
    assert [line.partition(" they")[0] for line in lines] == [
        "ranks/svd.run.gz: does not belong to ranks/svd.ranks.parquet:"
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("known.parquet", "C/known.parquet: expected the file that kgtrec questions wrote, found another one"),
        ("train.parquet", "C/train.parquet: expected the file that kgtrec questions wrote, found another one"),
        ("relations.tsv", "C/relations.tsv: expected the file that kgtrec questions wrote, found another one"),
        ("manifest.json", "C/manifest.json:1: expected JSON, found something else"),
        ("entities.txt", "C/entities.txt: expected the file that kgtrec questions wrote, found another one"),
    ],
)
def test_garbage_in_any_file_of_a_collection_is_found(copies, name, told):
    """As every command finds it; the other files are checked all the same."""
    (copies / "C" / name).write_bytes(b"garbage\n")
    code, lines = check("C", "ranks/svd.run.gz")
    assert code == 2
    assert any(line.startswith(told) for line in lines)
    assert any(line.startswith("ranks/svd.run.gz:") for line in lines)


def test_each_damaged_file_of_a_collection_is_a_line(copies):
    """And one that is gone."""
    for name in ("known.parquet", "train.parquet"):
        (copies / "C" / name).write_bytes(b"garbage")
    (copies / "C" / "relations.tsv").unlink()
    code, lines = check("C")
    assert code == 2
    assert [line.split(": ")[0] for line in lines if ": ok" not in line] == [
        "C/relations.tsv",
        "C/known.parquet",
        "C/train.parquet",
    ]


def test_what_a_part_says_is_not_said_again(copies):
    """A topics file that is none is one finding of its own, and one of the checksum."""
    (copies / "C" / "qrels.txt").write_text("tail0 0 x\n")
    _, lines = check("C")
    assert len([line for line in lines if line.startswith("C/qrels.txt")]) == 1


def test_replaced_qrels_are_a_note(copies):
    """They are allowed."""
    qrels = copies / "C" / "qrels.txt"
    text = qrels.read_text()
    qrels.write_text(text + text.splitlines()[0].replace(" 1", "").rsplit(" ", 1)[0] + " lyon 0\n")
    code, lines = check("C")
    assert code == 0
    assert "C: note: qrels.txt: not the file that kgtrec questions wrote; using its 25 judgements" in lines


def test_a_damaged_study_is_found_file_by_file(copies):
    """Tables, collections and ranks in its steps; one that was stopped; a step by itself."""
    steps = copies / "S" / "steps"
    table = next(steps.glob("scores-*")) / "parts.parquet"
    ranks = next(steps.glob("ranks-*svd*")) / "svd.ranks.parquet"
    stranger = ranks.parent / "mine.txt"
    ranks.write_bytes(b"x")
    stranger.write_text("x")
    code, lines = check("S", "C")
    assert code == 2
    where = f"S/steps/{ranks.parent.name}"
    assert lines[:2] == [
        f"{where}/svd.ranks.parquet: expected the file that the study wrote, found another; run kgtrec study again",
        f"{where}/mine.txt: expected only files of the step, found another, because of which kgtrec "
        "study computes the step again; move it away",
    ]
    assert all(": ok" in line for line in lines[2:])
    assert check(where) == (2, lines[:2])
    table.unlink()
    assert check("S")[0] == 2
    (copies / "S" / "manifest.json").unlink()
    assert check("S") == (
        2,
        [
            "S: expected the folder of a study, found no manifest.json in it; kgtrec study CONFIG.toml writes one, and "
            "continues one that was stopped"
        ],
    )


def test_scores_that_contradict_the_rank_column_are_found(folder):
    """On how many lines, and the first of them; ranks from 0, gaps, ties and files in any order are fine."""
    text = "q Q0 a 1 0.1 t\nq Q0 b 2 0.2 t\nq Q0 c 3 0.3 t\nr Q0 a 1 9 t\nr Q0 b 2 8 t\n"
    written(folder, "x.run", text)
    assert check("x.run") == (
        2,
        [
            "x.run:1: expected the rank column to have the order of the scores, found another order on 2 of 5 lines, "
            "first here (position 1 by rank, 3 by score); kgtrec and trec_eval use the scores"
        ],
    )
    written(folder, "x.run", text.replace("0.1", "-0.1").replace("r Q0 a 1 9", "r Q0 a 1 7"))
    assert check("x.run")[1][0].endswith(
        "use the scores; check whether the scores are distances, where lower is better"
    )
    fine = "r Q0 b 7 8 t\nq Q0 a 0 0.5 t\nr Q0 a 3 9 t\nq Q0 b 2 0.5 t\nq Q0 c 1 0.5 t\nq Q0 d 9 0.1 t\n"
    written(folder, "x.run", fine)
    assert check("x.run") == (0, ["x.run: ok, run 't': 6 rows, 2 questions"])


def test_what_may_be_meant_is_a_note(folder):
    """Lists without an order, and ranks that are no numbers: exit code 0."""
    written(folder, "x.run", "q Q0 a - 0.5 t\nq Q0 b 2 0.5 t\nr Q0 a 1 3 t\nr Q0 b 2 2 t\n")
    assert check("x.run") == (
        0,
        [
            "x.run: note: the rank column has no number on 1 of 4 lines, first on line 1 ('-'); kgtrec and trec_eval "
            "do not use this column",
            "x.run: note: no order of candidates in 1 of 2 lists, such as that of q: equal scores, so labels decide "
            "the order",
            "x.run: ok, run 't': 4 rows, 2 questions",
        ],
    )
    written(folder, "x.run", "q Q0 a 1 0.5 t\nq Q0 b 2 0.5 t\nr Q0 a 1 0.5 t\n")
    assert "x.run: note: no order of candidates in all 1 list: equal scores" in check("x.run")[1][0]


def test_filtered_answers_in_a_run_are_told(copies):
    """A note for a run that says nothing, a finding beside ranks that were filtered, nothing beside raw ranks."""
    assert check("C", "raw")[0] == 0
    assert not any("lists filtered" in line for line in check("C", "raw")[1])
    assert not any("note" in line for line in check("C", "raw/svd.run.gz")[1]), "it says itself that it is raw"
    Path("raw/svd.run.gz.json").unlink()
    code, lines = check("C", "raw/svd.run.gz")
    assert code == 0
    (note,) = [line for line in lines if "note" in line]
    assert note.startswith(
        "raw/svd.run.gz: note: it lists filtered answers, as runs do that are not filtered by all splits: "
    )
    assert " from train and" in note
    shutil.copy("raw/svd.run.gz", "ranks/svd.run.gz")
    code, lines = check("C", "ranks")
    assert code == 2
    assert any("svd.run.gz.json: expected the origin of svd.run.gz, found that of another" in line for line in lines)
    Path("ranks/svd.run.gz.json").unlink()
    code, lines = check("C", "ranks")
    assert code == 2
    assert any(
        line.startswith(
            "ranks/svd.run.gz: expected a run that was filtered by train, valid, test, as "
            "recorded in ranks/svd.ranks.parquet, found answers "
        )
        for line in lines
    )


def test_answer_ranks_that_cannot_be_evaluated_together_are_found(copies):
    """Of other filters, of other collections, without the answers of the qrels."""
    shutil.copy("raw/svd.ranks.parquet", "ranks/raw.ranks.parquet")
    code, lines = check("C", "ranks")
    assert code == 2
    assert any(
        line.startswith("ranks/svd.ranks.parquet: expected answer ranks that were filtered in") for line in lines
    )
    splits = [str(CITIES / f"{name}.tsv") for name in ("train", "valid", "test")]
    kgtrec("questions", *splits[:2], splits[1], "--out", "D", "--leaked", "keep")
    code, lines = check("D", "raw/svd.ranks.parquet")
    assert code == 2
    assert any("was ranked on collection" in line for line in lines)
    qrels = copies / "C" / "qrels.txt"
    qrels.write_text(qrels.read_text() + "tail0 0 lyon 1\n")
    code, lines = check("C", "raw/svd.ranks.parquet")
    assert code == 2
    told = "raw/svd.ranks.parquet: expected a rank for each of the 25 answers of C/qrels.txt, found none for 1, such as"
    assert any(line.startswith(told) for line in lines)


def test_shifted_ids_are_told(tmp_path, monkeypatch):
    """Many strangers, with their share; or one, which is one number too high."""
    monkeypatch.chdir(tmp_path)
    labels = [f"e{number}" for number in range(40)]
    written(tmp_path, "entities.txt", "".join(f"{label}\n" for label in labels))

    def run_of(numbers) -> str:
        return "".join(f"q Q0 e{number} {place} {-place} t\n" for place, number in enumerate(numbers))

    written(tmp_path, "x.run", run_of(range(1, 41)))
    assert check("entities.txt", "x.run")[1][1] == (
        "x.run:40: expected only entities of entities.txt, found 1 other: 'e40'. It has no 'e0': are its entities "
        "numbered from 1?"
    )
    written(tmp_path, "x.run", run_of(range(30, 60)))
    assert check("entities.txt", "x.run")[1][1].endswith(
        "found 20 others: 'e40', 'e41', 'e42' and 17 more. That is 67% of its 30 entities: are they those of another "
        "collection, or numbered differently?"
    )


def test_qrels_of_every_depth_are_read(tmp_path, monkeypatch):
    """A shallow one need not judge every topic, but may judge no others."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("topics.tsv", TOPICS),
        ("qrels.txt", QRELS),
        ("qrels.depth0.txt", "tail0 0 paris 1\n"),
        ("qrels.depth1.txt", "tail0 0 paris 1\ntail7 0 rome 1\n"),
    ):
        written(tmp_path, name, text)
    assert check(".") == (
        2,
        [
            "topics.tsv: ok, topics: 2 questions",
            "qrels.txt: ok, qrels: 2 rows, 2 questions",
            "qrels.depth0.txt: ok, qrels: 1 row, 1 question",
            "qrels.depth1.txt:2: expected only questions of topics.tsv, found 1 other: 'tail7'",
        ],
    )


def test_a_run_of_other_question_numbers_is_not_ok_and_evaluate_tells(tmp_path, monkeypatch, capsys):
    """Its record is gone, and the test triples of the collection are in another order: check ends with 2."""
    monkeypatch.chdir(tmp_path)
    one, other, scores = clustered()
    write_collection("one", one)
    write_collection("other", other)
    write_run("s.run", run_of(one, scores, 10))
    write_run("random.run", run_of(one, np.random.default_rng(0).normal(size=scores.shape), 10))
    assert exit_code("check", "one", "s.run") == 0
    capsys.readouterr()
    assert exit_code("check", "other", "s.run") == 2
    told = "s.run: expected lists for the questions of the collection, found"
    out = capsys.readouterr().out
    assert told in out
    assert "s.run: ok" not in out
    assert exit_code("evaluate", "other", "s.run", "-m", "macro.MRR") == 0
    assert told.replace(".run", "", 1) in " ".join(capsys.readouterr().err.split())
    for words in (("one", "s.run"), ("one", "random.run")):
        assert exit_code("evaluate", *words, "-m", "macro.MRR") == 0
        assert exit_code("check", *words) == 0
        assert "expected lists" not in "".join(capsys.readouterr())

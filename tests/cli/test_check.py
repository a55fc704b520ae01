"""kgtrec check, as a user calls it."""

from __future__ import annotations

import gzip

import pytest
from click.testing import CliRunner

from kgtrec.cli import main
from kgtrec.cli.check import command
from tests.campaign_folders import pool_folder, say_in
from tests.formats.trec_files import written

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
    result = CliRunner().invoke(command, files, catch_exceptions=False, **options)
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
)  # fmt: skip
def test_what_no_reader_accepts_is_one_finding(name, content, expected, folder):
    """The other files are checked all the same."""
    written(folder, name, content)
    code, lines = check(name, "sys.run")
    assert code == 2
    assert lines[0].startswith(expected)
    assert lines[1:] == ["sys.run: ok, run 'sys': 3 rows, 2 questions"]


def test_missing_files_and_other_folders(folder, capsys):
    """A finding, and an error."""
    assert check("none.run") == (2, ["none.run: no such file"])
    (folder / "empty").mkdir()
    with pytest.raises(SystemExit) as stopped:
        main(["check", "empty"])
    assert stopped.value.code == 2
    expected = (
        "error: empty: expected a collection with topics.tsv and qrels.txt, or a campaign, found another folder\n"
    )
    assert capsys.readouterr() == ("", expected)


def test_the_folder_of_a_campaign_is_read_as_a_whole(tmp_path, capsys):
    """A line per file with counts; or what is wrong, with its place."""
    campaign = pool_folder(tmp_path / "P", automatic=(2,))
    main(["check", str(campaign)])
    assert capsys.readouterr().out == (
        f"{campaign}/pool.tsv: ok, pool: 3 triples for 2 questions out of 1 run\n"
        f"{campaign}/seeds.txt: ok, seeds: 0 rows\n"
        f"{campaign}/automatic.tsv: ok, automatic: 1 triple\n"
    )
    main(["campaign", "init", str(campaign), "--annotator", "ann", "--annotator", "bob"])
    main(["campaign", "assign", str(campaign)])
    say_in(campaign, (0, "ann", "annotator", "unsure"))
    capsys.readouterr()
    main(["check", str(campaign)])
    lines = capsys.readouterr().out.splitlines()
    for line in ("people.tsv: ok, people: 2 names", "templates.tsv: ok, templates: 2 relations",
                 "sources.txt: ok, sources: 0 hosts", "assignments.tsv: ok, assignments: 4 tasks",
                 "judgements.jsonl: ok, judgements: 1 event"):  # fmt: skip
        assert f"{campaign}/{line}" in lines
    for name, text, told in (
        ("people.tsv", "person\trole\tactive\nann\tjudge\tyes\n", "people.tsv:2: expected a role of"),
        ("pool.tsv", "x\n", "pool.tsv: expected the file that kgtrec pool wrote"),
    ):
        (campaign / name).write_text(text)
        with pytest.raises(SystemExit):
            main(["check", str(campaign)])
        shown = capsys.readouterr().out
        assert shown.startswith(f"{campaign}/{told}")
        assert "ok" not in shown


def test_standard_input(folder):
    """Its kind is told by its content too."""
    assert check("-", "qrels.txt", input=RUN) == (
        0,
        ["-: ok, run 'sys': 3 rows, 2 questions", "qrels.txt: ok, qrels: 2 rows, 2 questions"],
    )


def test_help_has_examples():
    """And says what the exit codes are."""
    _, lines = check("--help")
    assert "  kgtrec check topics.tsv qrels.txt transe.run.gz" in lines
    assert any("Exit code" in line for line in lines)

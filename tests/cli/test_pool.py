"""kgtrec pool: what it writes and prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtrec.formats.campaign.pools import read_pool
from tests.program import exit_code, kgtrec, printed_by, said_by

TRAIN = "fr\tborders\tde\nde\tborders\tat\nat\tborders\tit\nfr\tcapital\tparis\nit\tcapital\trome\n"
RUN = "tail0 Q0 paris 1 3 x\ntail0 Q0 rome 2 2 x\ntail0 Q0 fr 3 1 x\nhead0 Q0 it 1 3 x\nhead0 Q0 at 2 2 x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("train", TRAIN),
        ("valid", "it\tborders\tfr\n"),
        ("test", "de\tcapital\tberlin\nat\tcapital\twien\n"),
    ):
        Path(f"{name}.tsv").write_text(text)
    kgtrec("questions", "train.tsv", "valid.tsv", "test.tsv", "--out", "C")
    Path("runs").mkdir()
    Path("families.tsv").write_text("run\tfamily\none\t\n")
    Path("none.txt").touch()
    Path("runs", "one.run").write_text(RUN)
    Path("runs", "two.run").write_text(RUN.replace("rome", "it").replace("paris", "berlin"))
    capsys.readouterr()
    return tmp_path


def refused(*arguments: str, capsys) -> str:
    assert exit_code("pool", "C", *arguments) == 2
    return capsys.readouterr().err


def test_a_pool_is_written_and_reported(folder, capsys):
    """The report tells its size, and what each run has put in; the settings, how it was made."""
    kgtrec("pool", "C", "runs", "--out", "P", "--depth", "2", "--family", "on*=first", "--report", "report.json")
    out, err = capsys.readouterr()
    report = json.loads(Path("report.json").read_text())
    found = read_pool("P")
    assert f"triples                        {len(found.pool)}" in out
    assert f"wrote P: {len(found.pool)} triples for people to judge, {2 * len(found.pool)} verdicts with two" in err
    size = {row["what"]: row["count"] for row in report["size"]}
    assert size["known answers"] == 2
    assert "known answers                  2\n" in out
    assert size["triples"] == len(found.pool) == sum(row["new"] for row in report["ranks"])
    assert size["questions with nothing pooled"] == 2  # of the second test triple, which no run was asked about
    assert found.families == {"one": "first", "two": ""}
    made = found.settings["pool"]
    assert (made["strategy"], made["options"]) == ("depth", {"depth": 2, "cut": "filtered"})
    assert [item["name"] for item in made["inputs"]] == ["one.run", "two.run"]
    assert str(folder) not in Path("P", "campaign.json").read_text()


def test_the_same_pool_has_the_same_bytes(folder):
    """Whatever the order of runs."""
    kgtrec("pool", "C", "runs/one.run", "runs/two.run", "--out", "P")
    kgtrec("pool", "C", "runs/two.run", "runs/one.run", "--out", "Q")
    for name in ("pool.tsv", "topics.tsv", "seeds.txt", "runs.tsv", "automatic.tsv", "campaign.json"):
        assert Path("P", name).read_bytes() == Path("Q", name).read_bytes()


def test_answer_ranks_among_runs_are_left_out_and_told(folder, capsys):
    """As `*.parquet` of a folder gives them; by the name of a system of which there is no run among the files."""
    for run in ("one", "two"):
        kgtrec("convert", f"runs/{run}.run", f"runs/{run}.parquet")
        Path("runs", f"{run}.ranks.parquet").write_text("never read")
    capsys.readouterr()
    files = ["runs/one.parquet", "runs/one.ranks.parquet", "runs/two.parquet", "runs/two.ranks.parquet"]
    assert said_by(capsys, "pool", "C", *files, "--out", "P").startswith(
        "note: 2 files of answer ranks, such as runs/one.ranks.parquet, left out, as they contain only answers; "
        "2 runs pooled\n"
    )
    assert read_pool("P").pool.runs == ("one", "two")
    kgtrec("pool", "C", files[0], files[3], "--out", "Q")
    assert "left out, as they contain only answers; 1 run pooled, and none of two\n" in capsys.readouterr().err


def test_seeds_and_questions(folder, capsys):
    """Only the questions of the known answers, or those named, are pooled for."""
    Path("seeds.tsv").write_text("de\tcapital\tberlin\n")
    kgtrec("pool", "C", "runs", "--out", "P", "--seeds", "seeds.tsv")
    assert list(read_pool("P").pool.questions.ids) == ["head0", "tail0"]
    Path("ids.txt").write_text("tail0\n")
    kgtrec("pool", "C", "runs", "--out", "Q", "--questions", "ids.txt")
    assert list(read_pool("Q").pool.questions.ids) == ["tail0"]
    Path("ids.txt").write_text("tail9\n")
    assert "expected ids of questions" in refused("runs", "--out", "R", "--questions", "ids.txt", capsys=capsys)


def test_budget_interactive_and_stratified_strategies(folder):
    """Each makes a pool of its own."""
    kgtrec("pool", "C", "runs", "--strategy", "rrf", "--budget", "2", "--out", "P")
    assert len(read_pool("P").pool) == 2
    kgtrec("pool", "C", "runs", "--strategy", "mtf", "--budget", "2", "--judged", "C/qrels.txt", "--out", "Q")
    assert len(read_pool("Q").pool) == 2
    kgtrec("pool", "C", "runs", "--strategy", "stratified", "--strata", "1:1,5:0.5", "--out", "R")
    assert set(read_pool("R").pool.probability) > {1.0}
    kgtrec("pool", "C", "runs", "--strategy", "stratified", "--strata", "1:1,5:0.5", "--least", "5", "--out", "S")
    assert set(read_pool("S").pool.probability) == {1.0}
    assert read_pool("S").settings["pool"]["options"]["least"] == 5


def test_a_dry_run_shows_the_rules_and_writes_nothing(folder, capsys):
    """By rule and by relation; without it the rules are in automatic.tsv."""
    assert "1-1 tail question" in printed_by(capsys, "pool", "C", "runs", "--trivial", "category", "--dry-run")
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["C", "runs"]
    kgtrec("pool", "C", "runs", "--trivial", "category", "--out", "P")
    assert "1-1 tail question" in Path("P", "automatic.tsv").read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("runs", "--out", "P", "--strategy", "two-level", "--budget", "3"),
            "strategy two-level takes no budget but --share",
        ),
        (("runs",), "expected --out CAMPAIGN"),
        (("runs", "--out", "P", "--strategy", "mtf", "--budget", "1"), "expected --judged QRELS with strategy mtf"),
        (("runs", "--out", "P", "--judged", "q"), "expected a strategy that needs judgements (mtf"),
        (("runs", "--out", "P", "--dry-run"), "expected --trivial together with --dry-run"),
        (("runs", "--out", "P", "--trivial", "types"), "or take the types observed in train (--observed-types)"),
        (("runs", "--out", "P", "--observed-types"), "judge by types too (--trivial types)"),
        (("runs", "--out", "P", "--trivial", "typ"), "found 'typ'; did you mean types?"),
        (("runs", "--out", "P", "--family", "x*=y"), "expected a pattern that matches a run (one, two), found 'x*'"),
        (("runs", "--out", "P", "--strata", "5"), "expected last ranks and fractions such as 10:1,100:0.1, found '5'"),
        (("runs", "runs/one.run", "--out", "P"), "expected runs of different names, found 'one' twice"),
        (("empty", "--out", "P"), "expected a folder of NAME.run files, found none"),
        (("a.ranks.parquet", "--out", "P"), "expected a run, found answer ranks"),
        (("-", "--out", "P"), "found standard input"),
        (("runs", "--out", "C"), "expected a folder of its own, found an input; choose another folder"),
        (
            ["runs", "--out", "P", "--seed", "-5"],
            "expected a whole number from 0 to 9,223,372,036,854,775,807",
        ),  # such a campaign could not be read
        (["runs", "--out", "P", "--strata", "1:1"], "found --strata with --strategy depth; leave it out"),
        (
            ["runs", "--out", "P", "--strategy", "rrf", "--budget", "3", "--by-question"],
            "found --by-question with --strategy rrf; leave it out",
        ),
        (["runs", "--out", "P", "--least", "3"], "found --least with --strategy depth; leave it out"),
        (["runs", "--out", "P", "--strategy", "stratified", "--strata", f"{10**22}:1"], "at rank 2147483647 at most"),
        (["runs", "--out", "P", "--family", "families.tsv"], "families.tsv:2: expected a tab and a family after"),
        (["runs", "--out", "P", "--questions", "none.txt"], "none.txt: expected ids of questions, one per line"),
        (
            ["runs", "--out", "P", "--family", "on*=a\tb"],
            "--family: expected a name without tab and line break, found 'a\\tb'",
        ),
        (["runs", "--out", "P", "--report", "runs"], "runs: expected a file to write, found a folder"),
        (["runs", "--out", "P", "--report", "r.doc"], "--report r.doc: expected a name that ends in .txt, .csv"),
    ],
)
def test_what_is_refused(folder, arguments, expected, capsys):
    """In one line, before anything is written, also where only the report cannot be written."""
    Path("empty").mkdir()
    assert expected in " ".join(refused(*arguments, capsys=capsys).split())
    assert not Path("P").exists()


def test_the_strategies_are_listed(capsys):
    """Each with its source."""
    assert "rrf         A budget of triples" in printed_by(capsys, "pool", "--list-strategies")


def test_the_name_of_a_run_is_one_field_of_a_table(folder, capsys):
    """A tab in it is told before anything is read, and by the name of the run."""
    Path("runs", "a\tb.run").write_text(RUN)
    assert "found 'a\\tb'; rename the file" in refused("runs", "--out", "P", capsys=capsys)


def test_a_depth_that_no_run_reaches_is_as_good_as_all(folder):
    """To the largest that is taken."""
    kgtrec("pool", "C", "runs", "--out", "P", "--depth", 10**9)
    kgtrec("pool", "C", "runs", "--out", "Q", "--depth", "100")
    assert Path("P", "pool.tsv").read_bytes() == Path("Q", "pool.tsv").read_bytes()

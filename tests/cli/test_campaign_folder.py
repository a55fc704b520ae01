from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgtrec.campaign import sharing
from kgtrec.cli import main
from kgtrec.data_sets.wording import FOLDER
from kgtrec.formats.campaign.folder import read_campaign
from tests.campaign_folders import pool_folder, say_in
from tests.program import exit_code, kgtrec, printed_by, refusal, said_by
from tests.trees import tree

PEOPLE = ("--annotator", "ann", "--annotator", "bob", "--adjudicator", "eve", "--expert", "xan")
FILES = {
    "README.md",
    "guidelines.md",
    "templates.tsv",
    "sources.txt",
    "names.tsv",
    "people.tsv",
    "assignments.tsv",
    "judgements.jsonl",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three triples of two relations, the last one judged by a rule."""
    return pool_folder(tmp_path / "c", automatic=(2,))


def contents(folder) -> dict[str, bytes]:
    return tree(folder)


def failing(capsys, *args: str) -> str:
    message = refusal(capsys, "campaign", *args)
    assert message.count("\n") == 1
    return message


def test_init_adds_what_annotators_need(folder, capsys):
    """A draft of a template per relation, guidelines, no sources, no names, the people; the pool stays as it is."""
    before = contents(folder)
    kgtrec("campaign", "init", folder, *PEOPLE)
    after = contents(folder)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == FILES - {"judgements.jsonl"}  # which the pool came with
    assert after["people.tsv"].decode() == (
        "person\trole\tactive\nann\tannotator\tyes\nbob\tannotator\tyes\neve\tadjudicator\tyes\nxan\texpert\tyes\n"
    )
    assert after["templates.tsv"].decode() == (
        "relation\ttemplate\nr0\tOn a fact sheet about {head}, is the line “r0: {tail}” true?\n"
        "r1\tOn a fact sheet about {head}, is the line “r1: {tail}” true?\n"
    )
    assert after["judgements.jsonl"] == b""
    campaign = read_campaign(folder)
    assert (campaign.sources, campaign.names, len(campaign.people)) == ((), {}, 4)
    said = capsys.readouterr().err
    assert "relations without a template of their own are asked about in general words: r0;" in said
    assert said.endswith(f"next: kgtrec campaign assign {folder}\n")


def pool_about(folder: Path, relation: str) -> Path:
    """Of triples of one relation."""
    for name, rows in (("train", f"a\t{relation}\tb\n"), ("test", f"a\t{relation}\tc\n")):
        (folder / f"{name}.txt").write_text(rows)
    kgtrec("questions", folder, "--out", folder / "C", "--force")
    kgtrec("rank", folder / "C", "--baseline", "popularity", "--out", folder / "r", "--force")
    run = next((folder / "r").glob("*.run.gz"))
    kgtrec("pool", folder / "C", run, "--depth", 1, "--out", folder / "P", "--force")
    return folder / "P"


def test_init_has_the_questions_for_the_relations_of_a_known_data_set(tmp_path, capsys):
    """All of that data set, since later rounds may ask about others; it says so once. Those that are given go first."""
    line = "templates.tsv: the questions for the relations of wn18rr that come with kgtrec\n"
    (tmp_path / "mine.tsv").write_text("relation\ttemplate\n_hypernym\tMine: {head} {tail}?\n")
    folder = pool_about(tmp_path, "_hypernym")
    capsys.readouterr()
    kgtrec("campaign", "init", folder, *PEOPLE)
    said = capsys.readouterr().err
    assert line in said
    assert "general words" not in said
    assert (folder / "templates.tsv").read_bytes() == (FOLDER / "wn18rr.tsv").read_bytes()
    kgtrec("campaign", "init", folder, "--annotator", "cleo")
    assert line not in capsys.readouterr().err
    (folder / "templates.tsv").unlink()
    kgtrec("campaign", "init", folder, "--templates", tmp_path / "mine.tsv")
    assert line not in capsys.readouterr().err
    assert read_campaign(folder).templates == {"_hypernym": "Mine: {head} {tail}?"}


def test_init_drafts_for_a_relation_that_any_graph_may_have(tmp_path, capsys):
    """UMLS calls one of its 46 relations so, but so do others."""
    folder = pool_about(tmp_path, "causes")
    kgtrec("campaign", "init", folder, *PEOPLE)
    assert "come with kgtrec" not in capsys.readouterr().err
    assert list(read_campaign(folder).templates) == ["causes"]


def test_init_takes_what_is_given(folder, tmp_path, capsys):
    """Names that the pool needs, templates of all relations, sources with their comments, any guidelines."""
    given = {
        "names.tsv": "e2\tParis\nelsewhere\tRome\n",
        "templates.tsv": "relation\ttemplate\nr0\tIs {head} in {tail}?\nr9\t{tail}, {head}?\n",
        "sources.txt": "# ours\nen.wikipedia.org # good\n",
        "guidelines.md": "# Judge\n",
    }
    options = []
    for name, text in given.items():
        (tmp_path / name).write_text(text)
        options += [f"--{Path(name).stem}", str(tmp_path / name)]
    kgtrec("campaign", "init", folder, *PEOPLE, *options)
    assert "names.tsv: names of 1 of the pool's 4 entities" in capsys.readouterr().err
    campaign = read_campaign(folder)
    assert campaign.names == {"e2": "Paris"}
    assert campaign.templates == {"r0": "Is {head} in {tail}?", "r9": "{tail}, {head}?"}
    assert campaign.sources == ("en.wikipedia.org",)
    assert contents(folder)["sources.txt"].decode() == given["sources.txt"]
    assert contents(folder)["guidelines.md"].decode() == given["guidelines.md"]


def test_init_never_overwrites_what_somebody_edited(folder, tmp_path, capsys):
    """Again, it changes nothing; a file named anew needs --force, and without it nothing at all is written."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    (folder / "templates.tsv").write_text("relation\ttemplate\nr0\tIs {head} in {tail}?\n")
    (folder / "guidelines.md").write_text("ours\n")
    before = contents(folder)
    capsys.readouterr()
    kgtrec("campaign", "init", folder)
    assert contents(folder) == before
    assert f"{folder}: nothing to change" in capsys.readouterr().err
    better = tmp_path / "better.tsv"
    better.write_text("relation\ttemplate\nr0\tDoes {head} lie in {tail}?\n")
    message = failing(capsys, "init", str(folder), "--templates", str(better), "--annotator", "cleo")
    assert message.startswith(f"error: {folder}/templates.tsv: is there already, and may have been edited; ")
    assert message.endswith(f"replace it by {better} with --force\n")
    assert contents(folder) == before
    kgtrec("campaign", "init", folder, "--templates", better, "--force")
    assert read_campaign(folder).templates == {"r0": "Does {head} lie in {tail}?"}
    assert contents(folder)["guidelines.md"] == b"ours\n"


def test_init_again_adds_people_and_marks_who_left(folder, capsys):
    """Nobody is ever removed; who comes back is the same person."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "init", folder, "--annotator", "cleo", "--left", "bob")
    assert "cleo is now annotator\nbob has left as annotator\n" in capsys.readouterr().err
    rows = (folder / "people.tsv").read_text().splitlines()[1:]
    assert rows == [
        "ann\tannotator\tyes",
        "bob\tannotator\tno",
        "eve\tadjudicator\tyes",
        "xan\texpert\tyes",
        "cleo\tannotator\tyes",
    ]
    assert "bob is back as annotator\n" in said_by(capsys, "campaign", "init", folder, "--annotator", "bob")
    assert (folder / "people.tsv").read_text().count("\n") == 6
    assert "did you mean cleo?" in failing(capsys, "init", str(folder), "--left", "clea")
    assert "either to take part or" in failing(capsys, "init", str(folder), "--left", "ann", "--annotator", "ann")
    assert "expected a name without white space around it" in failing(capsys, "init", str(folder), "--expert", " x")


def test_init_with_a_wrong_file_writes_nothing(folder, tmp_path, capsys):
    """All that is given is read first."""
    before = contents(folder)
    (tmp_path / "bad.tsv").write_text("relation\ttemplate\nr0\tIs {head}?\n")
    assert f"{tmp_path}/bad.tsv:2: " in failing(
        capsys, "init", str(folder), *PEOPLE, "--templates", str(tmp_path / "bad.tsv")
    )
    (tmp_path / "bad.txt").write_text("https://a.org\n")
    assert "bad.txt:1: expected a host" in failing(
        capsys, "init", str(folder), *PEOPLE, "--sources", str(tmp_path / "bad.txt")
    )
    assert contents(folder) == before


@pytest.mark.parametrize(
    "name", ["assignments.tsv", "judgements.jsonl", "templates.tsv", "sources.txt", "names.tsv", "people.tsv"]
)
def test_init_into_a_damaged_campaign_writes_nothing(name, folder, capsys):
    """The files that stay are read before anybody is added."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    with (folder / name).open("ab") as stream:
        stream.write(b"\xff\n")
    before = contents(folder)
    capsys.readouterr()
    message = failing(capsys, "init", str(folder), "--annotator", "zoe")
    assert message.startswith(f"error: {folder}/{name}:")
    assert contents(folder) == before


def test_judgements_without_people_are_not_passed_over(folder, tmp_path, capsys):
    """Qrels would be made as though nobody had judged."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    say_in(folder, (0, "ann", "annotator", "Y"))
    (folder / "people.tsv").unlink()
    capsys.readouterr()
    for command in (["status", str(folder)], ["qrels", str(folder), "--out", str(tmp_path / "q")]):
        assert f"{folder}/people.tsv: expected the people who judged" in failing(capsys, *command)
    assert not (tmp_path / "q").exists()
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "status", folder)


@pytest.mark.slow
def test_two_programs_that_add_somebody_lose_nobody(folder):
    """Each waits until the other has written."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    added = [f"ann{number}" for number in range(4)]
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "kgtrec", "campaign", "init", str(folder), "--annotator", name],
            stderr=subprocess.DEVNULL,
        )
        for name in added
    ]
    assert [one.wait() for one in both] == [0] * len(both)
    assert set(added) < set(read_campaign(folder).people.names)


def test_lost_judgements_are_not_replaced_by_none(folder, capsys):
    """An empty file in their place would make all open again."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    (folder / "judgements.jsonl").unlink()
    capsys.readouterr()
    assert "judgements.jsonl: expected the judgements" in failing(capsys, "init", str(folder), "--annotator", "cleo")
    assert not (folder / "judgements.jsonl").exists()


def test_assign_prints_loads_and_changes_nothing_the_second_time(folder, capsys):
    """Two of three triples are for people; both annotators get both."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    capsys.readouterr()
    kgtrec("campaign", "assign", folder)
    shown = capsys.readouterr()
    assert shown.out == (
        "annotator  assigned  judged  to do\nann               2       0      2\nbob               2       0      2\n"
    )
    assert shown.err == (
        "2 triples for people to judge, 4 verdicts with two annotators each\n"
        f"next: kgtrec campaign serve {folder}, or export {folder} --annotator NAME --out NAME.csv for each annotator "
        "(ann, bob), and import what comes back\n"
    )
    before = contents(folder)
    kgtrec("campaign", "assign", folder)
    assert contents(folder) == before


def test_who_comes_later_is_given_tasks_by_assigning_again(folder, capsys):
    """init says so, and so does export for somebody who has none."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    capsys.readouterr()
    kgtrec("campaign", "init", folder, "--annotator", "cleo")
    assert capsys.readouterr().err.endswith(f"next: kgtrec campaign assign {folder}\n")
    for name, said in (("cleo", True), ("ann", False)):
        kgtrec("campaign", "export", folder, "--annotator", name, "--out", folder.parent / f"{name}.csv")
        told = f"{name} was assigned nothing; kgtrec campaign assign {folder} shares out what is open\n"
        assert capsys.readouterr().err.endswith(told) is said
    assert "next: kgtrec campaign serve" in said_by(capsys, "campaign", "init", folder, "--adjudicator", "max")


def test_assign_remembers_its_options(folder, capsys):
    """So that it can be run again without them, and that status and qrels know how many verdicts a triple needs."""
    kgtrec("campaign", "init", folder, *PEOPLE, "--annotator", "cleo")
    kgtrec("campaign", "assign", folder, "--per-triple", "3", "--seed", "5")
    settings = json.loads((folder / "campaign.json").read_text())
    assert (settings["annotators_per_triple"], settings["assignment_seed"]) == (3, 5)
    before = contents(folder)
    kgtrec("campaign", "assign", folder)
    assert contents(folder) == before
    assert before["assignments.tsv"].count(b"\n") == 1 + 2 * 3
    capsys.readouterr()
    assert "at least 4 active annotators" in failing(capsys, "assign", str(folder), "--per-triple", "4")
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("before", "options"), [("2", ["--per-triple", "3"]), ("3", ["--per-triple", "2"]), ("2", ["--seed", "7"])]
)
def test_assigning_that_was_interrupted_is_done_by_assigning_again(
    before, options, folder, tmp_path, capsys, monkeypatch
):
    """Between its two files, and without the options again; until then everything works, and status says what to do."""
    kgtrec("campaign", "init", folder, *PEOPLE, "--annotator", "cleo")
    kgtrec("campaign", "assign", folder, "--per-triple", before)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    kgtrec("campaign", "assign", whole, *options)
    with monkeypatch.context() as patched:
        patched.setattr(sharing, "write_assignments", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert exit_code("campaign", "assign", folder, *options) == 130
    assert contents(folder)["campaign.json"] == contents(whole)["campaign.json"]
    capsys.readouterr()
    kgtrec("campaign", "status", folder)
    if "--seed" not in options:
        assert f"next: kgtrec campaign assign {folder}" in capsys.readouterr().out
    labels = read_campaign(folder).pool.triples
    (tmp_path / "ann.csv").write_text(
        "task,head,relation,tail,verdict\n"
        f"1,{labels.entities[labels.head[0]]},{labels.relations[labels.relation[0]]},"
        f"{labels.entities[labels.tail[0]]},unsure\n"
    )
    for place in (folder, whole):
        kgtrec(
            "campaign",
            "import",
            place,
            tmp_path / "ann.csv",
            "--person",
            "ann",
            "--unassigned",
            "--time",
            "2026-11-21T20:00:00Z",
        )
        kgtrec("campaign", "assign", place)
    assert contents(folder) == contents(whole)


NOT_FILES = (
    "people.tsv",
    "judgements.jsonl",
    "assignments.tsv",
    "sources.txt",
    "templates.tsv",
    "names.tsv",
    "campaign.json",
    "pool.tsv",
    "runs.tsv",
    "guidelines.md",
    "expert_sample.tsv",
)


@pytest.mark.parametrize("name", NOT_FILES)
def test_a_pipe_in_place_of_a_file_is_refused(name, folder, tmp_path, capsys):
    """Reading it would take for ever; whichever command."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    (tmp_path / "ann.jsonl").write_text("")
    for words in (
        ["check", str(folder)],
        ["campaign", "status", str(folder)],
        ["campaign", "assign", str(folder)],
        ["campaign", "import", str(folder), str(tmp_path / "ann.jsonl")],
        ["campaign", "init", str(folder)],
    ):
        if name == "expert_sample.tsv" and words[0] != "check":
            continue
        capsys.readouterr()
        signal.alarm(60)
        with pytest.raises(SystemExit) as stopped:
            main(words)
        signal.alarm(0)
        assert stopped.value.code == 2
        told = "".join(capsys.readouterr())
        assert f"{folder / name}: expected a file of the campaign, found a pipe; remove it" in told


def test_a_pipe_is_a_file_to_import_as_good_as_any(folder, tmp_path):
    """One that somebody names on purpose, as bash's <(...) does."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    triples = read_campaign(folder).pool.triples
    one = {
        "task": 1,
        "annotator": "ann",
        "head": triples.entities[triples.head[0]],
        "verdict": "unsure",
        "relation": triples.relations[triples.relation[0]],
        "tail": triples.entities[triples.tail[0]],
    }
    reading, writing = os.pipe()
    os.write(writing, json.dumps(one).encode() + b"\n")
    os.close(writing)
    (tmp_path / "ann.jsonl").symlink_to(f"/dev/fd/{reading}")
    kgtrec("campaign", "import", folder, tmp_path / "ann.jsonl")
    os.close(reading)
    assert len(read_campaign(folder).judgements) == 1


def test_assign_and_status_before_init(folder, capsys):
    """The one cannot work, the other tells what to do."""
    assert failing(capsys, "assign", str(folder)) == (
        f"error: {folder}: found no people.tsv; run kgtrec campaign init first\n"
    )
    shown = printed_by(capsys, "campaign", "status", folder)
    assert shown.splitlines()[-1].startswith(f"next: kgtrec campaign init {folder} --annotator NAME")
    assert ".tsv" not in shown  # there are no templates yet
    assert "sources.txt" not in shown
    assert "kgtrec pool" in failing(capsys, "status", str(folder.parent))


def test_the_one_who_has_tasks_left_is_named(folder, capsys):
    """Nobody else gets any."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    say_in(folder, (0, "ann", "annotator", "Y"), (1, "ann", "annotator", "Y"))
    capsys.readouterr()
    kgtrec("campaign", "status", folder)
    assert f"export {folder} --annotator bob --out tasks.csv, and import" in capsys.readouterr().out


@pytest.mark.parametrize("named", [True, False])
def test_a_campaign_without_verified_sources_says_so(named, folder, capsys):
    """When it begins, and in its status; not once a host is listed."""
    (folder.parent / "hosts").write_text("en.wikipedia.org\n")
    kgtrec("campaign", "init", folder, *PEOPLE, *(("--sources", str(folder.parent / "hosts")) if named else ()))
    kgtrec("campaign", "status", folder)
    told = capsys.readouterr()
    assert ["any https page counts" in text for text in (told.out, told.err)] == [not named] * 2


def test_status_tells_how_far_it_is(folder, capsys):
    """One triple agreed, one doubted, one automatic; ann said Y and unsure."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    (folder / "templates.tsv").write_text("relation\ttemplate\nr0\t{head} {tail}?\nr1\t{head} {tail}?\n")
    say_in(folder, (0, "ann", "annotator", "N"), (0, "ann", "annotator", "Y"), (0, "bob", "annotator", "Y"))
    say_in(folder, (1, "ann", "annotator", "unsure"), (1, "bob", "annotator", "N"))
    assert printed_by(capsys, "campaign", "status", folder, "--per", "relation") == (
        "relation  triples  automatic  open  agreed  conflict  doubted  adjudicated  undecidable  Y  N\n"
        "all             3          1     0       1         0        1            0            0  1  1\n"
        "r0              2          0     0       1         0        1            0            0  1  0\n"
        "r1              1          1     0       0         0        0            0            0  0  1\n"
        "\n"
        "annotator  active  assigned  judged  to do      Y      N  unsure\n"
        "ann        yes            2       2      0  50.0%   0.0%   50.0%\n"
        "bob        yes            2       2      0  50.0%  50.0%    0.0%\n"
        "\n"
        "sources.txt lists no host, so that any https page counts as a source\n"
        "\n"
        f"next: kgtrec campaign adjudicate {folder} --out queue.csv\n"
    )
    say_in(folder, (1, "eve", "adjudicator", "N"))
    shown = printed_by(capsys, "campaign", "status", folder)
    assert shown.startswith("     triples  automatic")
    assert shown.endswith(f"next: kgtrec campaign qrels {folder} --out qrels\n")


def test_somebody_leaves_with_work_undone(folder, capsys):
    """The verdict of the one stays, the rest goes to somebody new."""
    kgtrec("campaign", "init", folder, *PEOPLE)
    kgtrec("campaign", "assign", folder)
    say_in(folder, (0, "bob", "annotator", "Y"))
    kgtrec("campaign", "init", folder, "--left", "bob")
    capsys.readouterr()
    assert "found 1 (ann)" in failing(capsys, "assign", str(folder))
    kgtrec("campaign", "init", folder, "--annotator", "cleo")
    capsys.readouterr()
    kgtrec("campaign", "assign", folder)
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["ann", "2", "0", "2"],
        ["bob", "1", "1", "0"],
        ["cleo", "1", "0", "1"],
    ]

"""A campaign, a collection and qrels under version control, by git itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kgtrec.campaign.decide import decisions_of
from kgtrec.data.judgements import STATES
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.pools import read_pool
from kgtrec.formats.collections import read_collection
from kgtrec.formats.output.folders import GIT_ATTRIBUTES, GIT_IGNORE, JUDGEMENTS, PEOPLE
from tests.campaign_folders import folder_of, people_of, said, task_fields
from tests.campaigns_by_hand import campaign_of
from tests.program import exit_code, kgtrec

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
WIKI = "https://en.wikipedia.org/wiki/Paris"
CITIES = Path(__file__).parents[2] / "examples" / "cities"
WHO = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]


def git(folder, *words: str) -> str:
    done = subprocess.run(["git", *WHO, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def committed(folder) -> Path:
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=begin")
    return folder


@pytest.fixture
def origin(tmp_path) -> Path:
    """A repository with a campaign that two people have begun."""
    events = [(0, "ann", "annotator", "Y", WIKI, ""), (0, "bob", "annotator", "N", WIKI, "")]
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
    folder_of(replace(campaign_of(events), people=people), tmp_path / "origin" / "C")
    kgtrec("campaign", "init", tmp_path / "origin" / "C")
    return committed(tmp_path / "origin")


def clone(origin, name, *options: str) -> Path:
    git(origin, *options, "clone", "--quiet", str(origin), f"../{name}")
    return origin.with_name(name)


def imports(copy, *rows: tuple[int, str, str], time=None) -> None:
    """Take in verdicts (task, person, verdict), and commit them."""
    file = copy.with_name("rows.jsonl")
    lines = [
        {"annotator": person, **task_fields(read_pool(copy / "C").pool, task), "verdict": verdict, "source": WIKI}
        for task, person, verdict in rows
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kgtrec("campaign", "import", copy / "C", file, "--correct", *(["--time", time] if time else []))
    git(copy, "commit", "--quiet", "--all", "--allow-empty", "--message=verdicts")


def merged(copy, other) -> None:
    git(copy, "pull", "--quiet", "--no-rebase", "--no-edit", str(other), "main")


def test_a_clone_on_windows_settings_is_the_same_to_the_byte(origin, tmp_path):
    """Campaign, collection and qrels, cloned with core.autocrlf=true; without .gitattributes the pool is refused."""
    kgtrec("questions", CITIES, "--out", origin / "cities")
    imports(origin, (3, "ann", "Y"), (3, "bob", "Y"))
    kgtrec("campaign", "qrels", origin / "C", "--out", origin / "qrels")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", "--message=more")
    copy = clone(origin, "copy", "-c", "core.autocrlf=true")
    git(copy, "config", "core.autocrlf", "true")
    listed = git(origin, "ls-files").splitlines()
    assert {Path(name).parts[0] for name in listed} == {"C", "cities", "qrels"}
    for name in listed:
        assert (copy / name).read_bytes() == (origin / name).read_bytes()
    kgtrec("check", copy / "C", copy / "cities")
    assert read_collection(copy / "cities").fingerprint == read_collection(origin / "cities").fingerprint
    imports(copy, (2, "ann", "Y"))
    assert b"\r" not in (copy / "C" / JUDGEMENTS).read_bytes()
    assert git(copy, "status", "--porcelain", "--untracked-files=no") == ""
    for folder in ("C", "cities", "qrels"):
        (origin / folder / GIT_ATTRIBUTES).unlink()
    git(origin, "commit", "--quiet", "--all", "--message=without")
    git(origin, "-c", "core.autocrlf=true", "clone", "--quiet", str(origin), "../without")
    with pytest.raises(FormatError, match="found another one"):
        read_pool(tmp_path / "without" / "C")


def test_two_clones_that_each_add_verdicts_and_a_person_merge(origin):
    """Without a conflict; what both have taken in counts once, and the page's own files are in neither."""
    one, other = clone(origin, "one"), clone(origin, "other")
    for copy, name, task in ((one, "dan", 2), (other, "cleo", 3)):
        kgtrec("campaign", "init", copy / "C", "--annotator", name, "--annotator", "fay")
        imports(copy, (task, "ann", "Y"), (4, "bob", "N"))
        (copy / "C" / "serve.key").touch()
        (copy / "C" / "serve.sqlite-wal").touch()
    merged(one, other)
    found = read_campaign(one / "C")
    assert sorted(found.people.names) == ["ann", "bob", "cleo", "dan", "eve", "fay"]
    assert (one / "C" / PEOPLE).read_text().startswith("person\trole\tactive\n")
    counted = sorted(event[:4] for event in said(found.judgements.latest()))
    assert counted == [
        (0, "ann", "annotator", 1),
        (0, "bob", "annotator", 0),
        (1, "ann", "annotator", 1),
        (2, "ann", "annotator", 1),
        (3, "bob", "annotator", 0),
    ]
    kgtrec("check", one / "C")
    assert "serve" not in git(one, "status", "--porcelain")


@pytest.mark.parametrize("first", [True, False])
def test_a_later_verdict_is_later_whichever_copy_is_merged_into_the_other(first, origin):
    """Ann's second thoughts in both copies: times decide, not the order of lines."""
    one, other = clone(origin, "one"), clone(origin, "other")
    imports(one, (2, "ann", "Y"), time="2026-12-01T10:00:00Z")
    imports(one, (2, "ann", "N"), (2, "bob", "N"), time="2026-12-01T12:00:00Z")
    imports(other, (2, "ann", "unsure"), time="2026-12-01T11:00:00Z")
    into = one if first else other
    merged(into, other if first else one)
    found = read_campaign(into / "C")
    assert [event[6] for event in said(found.judgements) if event[:2] == (1, "ann")] == [
        f"2026-12-01T1{hour}:00:00Z" for hour in (0, 1, 2)
    ]
    assert STATES[decisions_of(found).state[1]] == "agreed"
    kgtrec("check", into / "C")
    imports(into, (2, "ann", "N"))  # which is what she has said last
    assert len(read_campaign(into / "C").judgements) == len(found.judgements)


def test_two_verdicts_of_one_second_are_a_finding_after_a_merge(origin, capsys):
    """Nothing tells which of them is the later one, and it is said so."""
    one, other = clone(origin, "one"), clone(origin, "other")
    for copy, verdict in ((one, "Y"), (other, "N")):
        imports(copy, (2, "ann", verdict), time="2026-12-01T10:00:00Z")
    merged(one, other)
    assert exit_code("check", one / "C") == 2
    out = capsys.readouterr().out
    assert "judgements.jsonl:4: expected times that show which verdict on the triple is the last" in out


def test_a_file_of_git_that_somebody_wrote_stays(tmp_path):
    """In a campaign, and in a collection that is replaced."""
    folder = tmp_path / "C"
    folder_of(campaign_of(), folder)
    for name in (GIT_ATTRIBUTES, GIT_IGNORE):
        (folder / name).write_text("# mine\n")
    kgtrec("campaign", "init", folder)
    assert {(folder / name).read_text() for name in (GIT_ATTRIBUTES, GIT_IGNORE)} == {"# mine\n"}
    for force in ([], ["--force"]):
        kgtrec("questions", CITIES, "--out", tmp_path / "cities", *force)
        assert (tmp_path / "cities" / GIT_ATTRIBUTES).read_text() == ("# mine\n" if force else "* -text\n")
        (tmp_path / "cities" / GIT_ATTRIBUTES).write_text("# mine\n")
    assert not (tmp_path / "cities" / GIT_IGNORE).exists()

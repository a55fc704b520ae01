"""A person's ten ordinary days with what kgtrec writes: no false refusal, and nothing of theirs is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_every_output import ROOT, STUDY, words_of
from tests.program import kgtrec
from tests.trees import is_part, tree

#: the whole job, a command a line, with what it writes behind --out
JOB = [
    "questions kg --out C",
    "rank C --baseline rules --depth 5 --out ranks",
    "rank C --baseline popularity --depth 5 --out ranks",
    "rank C zeros.npy --topics C/topics.tsv --entities C/entities.txt --depth 5 --out ranks",
    "evaluate C RANKS --out scores.csv",
    "pool C RUNS --depth 2 --out campaign --report pool.txt",
    "campaign qrels judged --out qrels",
    "convert ranks/rules.run.gz rules.parquet",
    "openworld curve C RANKS --densities 0.5 -m micro.MRR --out curve",
    "study study --out paper/report.html --formats html,csv",
    "study study.toml",
]


def run(words, *more: str) -> int:
    try:
        kgtrec(*words_of(words), *more)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A folder in which the whole job was done once."""
    folder = tmp_path_factory.mktemp("days") / "work"
    folder.mkdir()
    shutil.copytree(ROOT / "examples" / "cities", folder / "kg")
    shutil.copytree(ROOT / "annotation", folder / "judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("study.toml").write_text(STUDY)
        for words in JOB[:1] + JOB[-1:]:
            assert run(words) == 0
        n = len(Path("C/topics.tsv").read_text().splitlines()), len(Path("C/entities.txt").read_text().splitlines())
        np.save("zeros.npy", np.zeros(n, np.float32))
        for words in JOB[1:-1]:
            assert run(words) == 0
        shutil.copy("campaign/.gitattributes", "judged")  # as every campaign has
    hidden = {Path(path).name for path in tree(folder) if Path(path).name.startswith(".")}
    assert hidden == {".gitattributes", ".gitignore"}  # what git is told, and no others
    return folder


@pytest.fixture
def work(done, tmp_path, monkeypatch) -> Path:
    """A copy of it, by ``cp -r``."""
    folder = tmp_path / "copy"
    subprocess.run(["cp", "-r", done, folder], check=True)
    monkeypatch.chdir(folder)
    return folder


def is_done_again(before, *mine: str) -> None:
    """The whole job once more, without and with --force, makes the same again, and ``mine`` are as they were."""
    for words in JOB[:-1]:
        assert run(words) == 2, words  # it exists
    assert run(JOB[-1]) == 0  # a study goes on
    for words in JOB:
        assert run(words, "--force") == 0, words
    after = {path: text for path, text in tree(Path()).items() if path not in mine}
    assert not before or after == {path: text for path, text in before.items() if path not in mine}


def zipped(folder) -> None:
    """By a program that keeps no times, and out again."""
    with zipfile.ZipFile("../all.zip", "w") as archive:
        for path in tree(folder):
            archive.write(path)
    _emptied(folder)
    zipfile.ZipFile("../all.zip").extractall()  # noqa: S202 (made above)


def tarred(folder) -> None:
    with tarfile.open("../all.tar", "w") as archive:
        archive.add(".")
    _emptied(folder)
    with tarfile.open("../all.tar") as archive:
        archive.extractall(filter="data")


#: folders whose files git leaves as they are; it may give single files the line ends of Windows
PROTECTED = ("C", "campaign", "judged", "qrels", "study")


def _emptied(folder) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def under_git(folder) -> None:
    """With every file, and back as a clone with the settings of Windows, under which a person's own inputs are kept."""
    Path(".gitattributes").write_text("kg/* -text\nstudy.toml -text\n")
    names = sorted(path.name for path in folder.iterdir())
    for words in (
        "init -q .",
        "add",
        "-c user.name=a -c user.email=b commit -qm x",
        "clone -q -c core.autocrlf=true . ../clone",
    ):
        more = names if words == "add" else []
        subprocess.run(["git", *words.split(), *more], check=True, capture_output=True)
    shutil.rmtree(".git")
    _emptied(folder)
    shutil.copytree("../clone", ".", dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    Path(".gitattributes").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("day", [lambda folder: None, zipped, tarred, under_git])
def test_what_was_copied_moved_or_packed_is_as_good(work, tmp_path, monkeypatch, day):
    """By cp -r; then as ZIP, tar or clone; and moved."""
    before = tree(work)
    day(work)
    kept = {path: before[path] for path in before if day is not under_git or Path(path).parts[0] in PROTECTED}
    assert {path: text for path, text in tree(work).items() if path in kept} == kept
    work.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    # inputs with other line ends are other inputs, of which manifests have the sums
    is_done_again({} if day is under_git else before)


@pytest.mark.slow
def test_jupyter_git_and_notes_beside_it_do_not_matter(work):
    """In each folder; they stay."""
    mine = []
    for folder in ("C", "ranks", "campaign", "qrels", "curve", "paper", "study"):
        for name in (".ipynb_checkpoints/README-checkpoint.md", ".git/HEAD", ".DS_Store", "my notes.md"):
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text("mine")
            mine.append(str(path))
    before = tree(work)
    is_done_again(before)
    assert {before[path] for path in mine} == {b"mine"}


@pytest.mark.slow
def test_what_was_edited_or_deleted_is_made_again(work):
    """Edited files are replaced with --force only, deleted ones without it."""
    before = tree(work)
    for path in ("scores.csv", "C/report.txt", "qrels/README.md", "study/report.html", "campaign/runs.tsv"):
        with Path(path).open("a") as stream:
            stream.write("edited")
    edited = tree(work)
    for words in JOB:
        assert run(words) == 2, words
    assert tree(work) == edited
    for words in JOB:
        assert run(words, "--force") == 0, words
    assert tree(work) == before
    for path in ("scores.csv", "rules.parquet"):
        Path(path).unlink()
    for folder in ("C", "qrels", "study", "campaign"):
        shutil.rmtree(folder)
    for words in (JOB[0], JOB[4], *JOB[6:8], JOB[-1]):
        assert run(words) == 0, words
    Path("pool.txt").unlink()
    assert run(JOB[5]) == 0
    for path in (
        "C/report.txt",
        "ranks/rules.run.gz",
        "qrels/qrels.depth0.txt",
        "study/report.html",
        "paper/report.html",
    ):
        Path(path).unlink()
    for words in JOB:
        assert run(words, "--force") == 0, words
    assert tree(work) == before


@pytest.mark.slow
def test_a_read_only_share_is_refused_before_anything_changes(work):
    """Folder and files, even with --force; reading from it goes on."""
    before = tree(work)
    places = [path for path in work.rglob("*") if path.is_dir()]
    for path in (work, *places):
        path.chmod(0o555)
    try:
        for words in JOB:
            assert run(words, "--force") == 2, words
        assert run("evaluate C RANKS") == 0
    finally:
        for path in (work, *places):
            path.chmod(0o755)
    assert tree(work) == before
    is_done_again(before)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle_and_given_again(work, number):
    """Nothing is left of the first time, and the second one makes the same."""
    before = tree(work)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words in (JOB[0], JOB[1], JOB[3], JOB[5], JOB[6], JOB[-1]):
        for delay in (0.3, 0.6, 0.9):
            command = [sys.executable, "-m", "kgtrec", *words_of(words), "--force"]
            with subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as child:
                time.sleep(delay)
                child.send_signal(number)
            assert tree(work) == before, (words, delay)
            assert child.returncode in (0, 130, -number), words
    is_done_again(before)
    assert not [path for path in tree(work) if is_part(path)]

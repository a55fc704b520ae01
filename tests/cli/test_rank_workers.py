"""kgtrec rank with workers, and interrupted: the same files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.formats.score_matrix import write_score_matrix
from kgtrec.workers import results
from tests.program import exit_code, refusal, said_by
from tests.trees import tree, without_parts

TRAIN = [(f"e{number}", "knows", f"e{(number * 7 + 3) % 30}") for number in range(30)]
TEST = [(f"e{number}", "knows", f"e{(number * 5 + 1) % 30}") for number in range(0, 30, 3)]


def write_world(folder, name="a"):
    """A collection C of thirty entities and a factorised system."""
    made = build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST))
    write_collection(folder / "C", made)
    write_system(folder, made, np.random.default_rng(5), name)


def write_system(folder, made, rng, name):
    """A factorised system with many equal scores."""
    questions = made.questions
    asked = np.stack([questions.is_head, questions.relation, questions.anchor], axis=1).astype(np.int64)
    E, Q = rng.integers(-2, 3, (len(made.entities), 3)), rng.integers(-2, 3, (len(questions), 3))
    np.savez(folder / f"{name}.npz", E=E.astype(np.float32), Q=Q.astype(np.float32), questions=asked)
    for what, labels in (("entities", made.entities), ("relations", made.relations)):
        (folder / f"{what}.txt").write_text("".join(f"{label}\n" for label in labels))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The world in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_world(tmp_path)
    return tmp_path


run = partial(exit_code, "rank")


@pytest.fixture
def expected(folder):
    assert run("C", "a.npz", "--out", "one", "--block", 4) == 0
    return tree(folder / "one")


@pytest.mark.slow
def test_workers_change_no_byte(folder, expected, monkeypatch):
    """Processes that are started after the first block; the folder of what is finished is gone."""
    monkeypatch.setattr(results, "_WORTH", 0)
    assert run("C", "a.npz", "--out", "many", "--block", 4, "--workers", 2) == 0
    assert tree(folder / "many") == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["C", "--out", "o"], "expected a SOURCE, or --baseline NAME"),
        (["C", "a.npz"], "Missing option '--out'"),
        (["C", "a.npz", "--out", "o", "--workers", 2, "--scheduler", "tcp://h:1"], "--workers or --scheduler, found"),
    ],
    ids=["no-source", "no-out", "two-helpers"],
)
def test_what_is_missing_is_told(folder, capsys, arguments, told):
    assert told in " ".join(refusal(capsys, "rank", *arguments).split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["C", "a.npz", "--out", "o", "--depth", 0, "--run-format", "run"], "--run-format with --depth 0, which"),
        (["C", "a.npz", "--out", "o", "--topics", "C/topics.tsv", "--device", "cpu"], "--topics, --device with these"),
        (["C", "m.npy", "--out", "o", "--unknown-entities", "last"], "--unknown-entities with these systems; leave it"),
        (["C", "m.npy", "--out", "o", "--relations", "relations.txt"], "--relations with these systems"),
        (["C", "a.jsonl", "--out", "o", "--sides", "tail", "--block", 2], "--block with these systems"),
        (["C", "a.jsonl", "--out", "o", "--sides", "tail", "--data", "."], "--data with these systems"),
        (
            ["C", "a.jsonl", "m.npy", "--sides", "tail", "--out", "o", "--unknown-entities", "last"],
            "--unknown-entities",
        ),
    ],
)
def test_an_option_without_effect_is_refused(folder, capsys, arguments, told):
    """Whoever gives one expects it to change something."""
    made = read_collection("C")
    write_score_matrix("m.npy", np.zeros((len(made.questions), len(made.entities)), np.float32), made)
    (folder / "a.jsonl").write_text('{"head": "e0", "relation": "knows", "tail": null, "candidates": ["e1"]}\n')
    assert run(*arguments) == 2
    assert f"expected options that have an effect, found {told}" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "o").exists()


def test_an_option_that_one_of_several_sources_uses_is_taken(folder):
    """A permission, which does nothing by itself, is always taken."""
    made = read_collection("C")
    write_score_matrix("m.npy", np.zeros((len(made.questions), len(made.entities)), np.float32), made)
    options = ["--unknown-entities", "last", "--block", 3, "--relations", "relations.txt", "--trust"]
    assert run("C", "a.npz", "m.npy", "--out", "o", *options) == 0


def test_a_matrix_cannot_be_cut(folder, capsys):
    """Its scores are there already."""
    np.save("m.npy", np.zeros((len(np.load("a.npz")["questions"]), 30), np.float32))
    (folder / "topics.tsv").write_bytes((folder / "C" / "topics.tsv").read_bytes())
    (folder / "entities.txt").write_bytes((folder / "C" / "entities.txt").read_bytes())
    assert run("C", "m.npy", "--out", "o", "--workers", 2) == 2
    assert "m.npy: expected a factorised model for several workers, such as" in capsys.readouterr().err
    assert not (folder / "o").exists()


INTERRUPTED = """
import os, sys
from kgtrec.cli import main
from kgtrec.ranking import grid
from kgtrec.workers import results
results._WORTH = 0
tell, left = grid.Counted.add_rounding, [3]
def harm(*arguments):
    left[0] -= 1
    if left[0] == 0:
        {what}
    tell(*arguments)
grid.Counted.add_rounding = harm
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("what", "code", "told"),
    [
        (
            "raise KeyboardInterrupt",
            130,
            "o/a.unfinished: what is finished stays there, and the same command goes on\nstopped",
        ),
        ("os.kill(os.getpid(), 9)", -9, ""),
        ("raise OSError(28, 'Full', 'o/a.run.gz')", 2, "and give the command again"),
    ],
    ids=["stopped", "killed", "full"],
)
def test_the_same_command_goes_on(folder, expected, capsys, workers, what, code, told):
    """After Ctrl-C, SIGKILL and an error: what is finished is not done again, and the files are the same."""
    words = ["C", "a.npz", "--out", "o", "--block", "4", "--workers", str(workers)]
    program = [sys.executable, "-W", "ignore", "-c", INTERRUPTED.format(what=what), "rank", *words]
    found = subprocess.run(program, capture_output=True, text=True, check=False)
    assert found.returncode == code
    assert found.stderr.rstrip().endswith(told)
    assert len(list((folder / "o" / "a.unfinished").glob("*.block"))) == 3
    assert "o/a.unfinished: an interrupted ranking, which goes on" in said_by(capsys, "rank", *words)
    assert without_parts(tree(folder / "o")) == expected


@pytest.mark.slow
def test_of_several_systems_those_that_are_left_go_on(folder, capsys):
    """The error says which they are; those that are whole are there, and are not ranked again without --force."""
    (folder / "b.npz").write_bytes((folder / "a.npz").read_bytes())
    script = INTERRUPTED.format(what="raise KeyboardInterrupt").replace("[3]", "[7]")
    words = ["C", "a.npz", "b.npz", "--out", "o", "--block", "4"]
    found = subprocess.run([sys.executable, "-c", script, "rank", *words], capture_output=True, text=True, check=False)
    assert "b.unfinished: what is finished stays there, and the same command for b.npz goes on" in found.stderr
    assert "o/a.ranks.parquet: exists; --force replaces it" in refusal(capsys, "rank", *words)
    assert run("C", "b.npz", "--out", "o", "--block", 4) == 0
    assert "o/b.unfinished: an interrupted ranking, which goes on" in capsys.readouterr().err
    assert (folder / "o" / "a.ranks.parquet").exists()
    assert not (folder / "o" / "b.unfinished").exists()


@pytest.mark.slow
def test_blocks_of_an_older_model_are_not_joined(folder, capsys):
    """A model that was trained again, in a file of the same size and time: as if it were ranked for the first time."""
    words = ["C", "a.npz", "--out", "o", "--block", "4"]
    program = [sys.executable, "-c", INTERRUPTED.format(what="os.kill(os.getpid(), 9)"), "rank", *words]
    subprocess.run(program, capture_output=True, check=False)
    before = (folder / "a.npz").stat()
    with np.load("a.npz") as archive:
        arrays = dict(archive)
    np.savez("a.npz", **(arrays | {"E": -arrays["E"]}))
    os.utime("a.npz", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (folder / "a.npz").stat().st_size == before.st_size
    assert run(*words) == 0
    assert "o/a.unfinished: found blocks of other scores or options, which are removed" in capsys.readouterr().err
    assert run("C", "a.npz", "--out", "fresh", "--block", 4) == 0
    found = tree(folder / "o")
    assert found["a.ranks.parquet"] == tree(folder / "fresh")["a.ranks.parquet"]
    assert not (folder / "o" / "a.unfinished").exists()


AT_ONCE = """
import sys
from kgtrec.cli import main
from kgtrec.workers import results
results._WORTH = 0
if __name__ == "__main__":
    main(["rank", *sys.argv[1:]])
"""


@pytest.mark.long
def test_a_ranking_that_is_interrupted_at_any_moment_goes_on(tmp_path, monkeypatch):
    """By Ctrl-C, SIGTERM and SIGKILL: no process is left, and the same command gives the same bytes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    made = build_questions(
        Triples.of([(f"e{n}", "knows", f"e{(n * 7 + 3) % 900}") for n in range(900)]),
        Triples.of([]),
        Triples.of([(f"e{n}", "knows", f"e{(n * 5 + 1) % 900}") for n in range(900)]),
    )
    write_collection("C", made)
    write_system(tmp_path, made, rng, "a")
    (tmp_path / "at_once.py").write_text(AT_ONCE)
    words = [sys.executable, "at_once.py", "C", "a.npz", "--block", "20", "--workers", "2", "--out"]
    begun = time.monotonic()
    subprocess.run([*words, "whole"], check=True, capture_output=True)
    took, expected, kept = time.monotonic() - begun, tree(tmp_path / "whole"), 0
    for number in range(30):
        out = f"out{number}"
        process = subprocess.Popen([*words, out], start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(float(rng.uniform(0.2, 1.0)) * took)
        process.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3])
        process.wait()
        assert ended(process.pid), number
        kept += any((tmp_path / out).glob("a.unfinished/*.block"))
        subprocess.run([*words, out, "--force"], check=True, capture_output=True)  # it may have been done
        assert without_parts(tree(tmp_path / out)) == expected, number
    assert kept > 5


def ended(group):
    """Whether all processes of a group end within ten seconds."""
    for _ in range(1000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False

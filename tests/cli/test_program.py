"""The program as a whole: exit codes, signals, pipes. Each test runs it as a process of its own."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

KGTREC = [sys.executable, "-m", "kgtrec"]


def ran(*words: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KGTREC, *words], text=True, capture_output=True, check=False, **more)


@pytest.fixture
def files(tmp_path) -> Path:
    """Qrels and a run of 20,000 questions, whose scores per question fill any pipe."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(20_000)))
    (tmp_path / "s.run").write_text("".join(f"q{i} Q0 a 1 1 s\n" for i in range(20_000)))
    return tmp_path


def test_help_and_version_leave_with_zero():
    """And standard error stays empty."""
    for words in (["--help"], ["--version"], ["evaluate", "-h"]):
        done = ran(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert "kgtrec" in done.stdout


def test_the_version_comes_with_those_that_numbers_depend_on():
    """kgtrec's own on the first line; a bug report needs the others."""
    lines = [line.split() for line in ran("--version").stdout.splitlines()]
    assert lines[0] == ["kgtrec", version("kgtrec")]
    assert lines[1] == ["python", platform.python_version()]
    packages = ("numpy", "pandas", "pyarrow", "scipy", "ir-measures", "pytrec-eval-terrier")
    assert lines[2:] == [[name, version(name)] for name in packages]


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("evalute", "unknown command 'evalute'; did you mean evaluate?"),
        ("ties C ranks", "unknown command 'ties'; use kgtrec evaluate QRELS SYSTEMS --ties all"),
        ("campaign links", "unknown command 'links'; use kgtrec campaign serve"),
        ("power C ranks", "unknown command 'power'; did you mean kgtrec meta power?"),
        ("evaluate C ranks --trust-ids", "No such option '--trust-ids'; use --mixed"),
        ("evaluate C ranks --hits@3", "No such option '--hits@3'; kgtrec evaluate takes it as -m micro.Hits@3"),
    ],
)
def test_a_name_that_nothing_has_is_answered_by_what_was_meant(words, instead):
    """Exit code 2, one clear line."""
    done = ran(*words.split())
    assert done.returncode == 2
    assert instead.replace("'", "") in done.stderr.replace("'", "")


def test_a_mistake_is_one_line_and_no_trace(tmp_path):
    """The file is named; nothing of Python shows."""
    done = ran("evaluate", str(tmp_path / "none.txt"), str(tmp_path / "none.run"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_failure(files, unbuffered):
    """`kgtrec evaluate ... | head -1` ends quietly, as SIGPIPE ends a program, with and without Python's buffers."""
    with subprocess.Popen(
        [*KGTREC, "evaluate", str(files / "qrels.txt"), str(files / "s.run"), "--per", "question", "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout.readline() == "system,measure,question,value\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    """A folder with a collection, C, its triples, kg, and the answer ranks and run of rules in ranks."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(Path(__file__).parents[2] / "examples" / "cities", folder / "kg")
    for words in ("questions kg --out C", "rank C --baseline rules --out ranks"):
        assert ran(*words.split(), cwd=folder).returncode == 0
    return folder


@pytest.fixture
def collection(cities, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(cities, tmp_path / "copy"))


def in_bash(command, folder) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which ``kgtrec`` is this one, with pipefail."""
    script = f'set -o pipefail; kgtrec() {{ {" ".join(KGTREC)} "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", script], cwd=folder, text=True, capture_output=True, check=False, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["2>&1 | head -1", "2>/dev/full", "2>&-", "2>&1 | true"])
def test_messages_that_nobody_reads_stop_no_work(collection, sink):
    """All six baselines are there, with exit code 0, although the reader left after the first line at most."""
    done = in_bash(f"kgtrec rank C --baseline all --out b {sink}", collection)
    assert done.returncode == 0
    assert len(list((collection / "b").glob("*.ranks.parquet"))) == 6
    assert len(list((collection / "b").glob("*.run.gz"))) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "made"),
    [("questions kg --out D", 9), ("convert ranks/rules.run.gz -", None), ("demo --people 30 --out D", None)],
)
def test_a_result_that_nobody_reads_ends_with_141(collection, words, made):
    """And what was being written is there as a whole, or not at all."""
    done = in_bash(f"kgtrec {words} | true", collection)
    assert (done.returncode, done.stderr.count("error")) == (141, 0)
    left = collection / "D"
    assert (len(os.listdir(left)) if left.exists() else None) == made  # noqa: PTH208
    assert not [name for name in os.listdir(collection) if name.startswith(".D")]  # noqa: PTH208


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["evaluate C pipe", "evaluate pipe ranks", "convert pipe new.run", "questions kg/train.tsv pipe pipe --out D"],
)
def test_a_named_pipe_is_refused_at_once(collection, words):
    """Most commands open a file twice, and would wait for a second writer for ever."""
    os.mkfifo(collection / "pipe")
    writer = os.open(collection / "pipe", os.O_RDWR)
    os.write(writer, b"tail0 Q0 paris 1 0.7 s\n")
    done = ran(*words.split(), cwd=collection, timeout=60)
    os.close(writer)
    assert done.returncode == 2
    assert done.stderr == (
        "error: pipe: expected a file, found a named pipe, which can be read only once; write its contents to a file "
        "first\n"
    )


@pytest.mark.slow
def test_an_open_pipe_is_read(collection):
    """As bash's <(...) and standard input are; its contents are gone when they would be summed."""
    done = in_bash("kgtrec evaluate <(cat C/qrels.txt) <(zcat ranks/rules.run.gz) -m AP@20", collection)
    assert done.stdout.split()[-1] == "0.8417"
    files = " ".join(f"<(cat kg/{split}.tsv)" for split in ("train", "valid", "test"))
    assert in_bash(f"kgtrec questions {files} --out D", collection).returncode == 0
    inputs = json.loads((collection / "D" / "manifest.json").read_text())["inputs"]
    assert [each["sha256"] for each in inputs] == [None] * 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words", ["evaluate C -", "evaluate C /dev/stdin", "evaluate /dev/stdin ranks", "convert - new.run"]
)
def test_a_command_that_waits_for_a_pipe_ends_by_the_first_signal(collection, words, number):
    """Whichever of its files it waits for."""
    command = [*KGTREC, *words.split()]
    with subprocess.Popen(command, cwd=collection, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(process.stdin.fileno(), b"# no line yet\n")
        while int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder):
            time.sleep(0.05)  # until it is read
        process.send_signal(number)
        assert process.wait(20) == 130
        assert process.stderr.read() == b"stopped\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", ["evaluate C s.run", "questions kg --out D", "campaign status c"])
def test_a_deleted_current_folder_is_named(tmp_path, words):
    """And not a file that is not there."""
    (tmp_path / "gone").mkdir()
    done = in_bash(f"cd gone; rmdir ../gone; kgtrec {words}", tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(": expected a current folder, found a deleted one; change to another\n")


@pytest.mark.slow
def test_a_file_is_named_once(collection):
    """An archive without the first question of the collection: not m.npz: m.npz: expected."""
    topics = [line.split("\t") for line in (collection / "C/topics.tsv").read_text().splitlines()]
    entities = (collection / "C/entities.txt").read_text().split("\n")[:-1]
    relations = sorted({relation for *_, relation in topics})
    asked = [[id_.startswith("head"), relations.index(of), entities.index(anchor)] for id_, anchor, of in topics[1:]]
    (collection / "entities.txt").write_text("\n".join(entities) + "\n")
    (collection / "relations.txt").write_text("\n".join(relations) + "\n")
    np.savez(collection / "m.npz", E=np.ones((len(entities), 2)), Q=np.ones((len(asked), 2)), questions=asked)
    done = ran("rank", "C", "m.npz", "--out", "new", cwd=collection)
    assert done.stderr == (
        "error: m.npz: expected all 20 questions of the collection, found no (?, city_in, austria)\n"
    )


def test_closed_standard_streams_are_no_crash(files):
    """Without a standard output there is an error, but no trace."""
    command = f"{' '.join(KGTREC)} evaluate {files / 'qrels.txt'} {files / 's.run'} >&-"
    done = subprocess.run(["bash", "-c", command], text=True, capture_output=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_demo_leaves_nothing(tmp_path, number):
    """Whoever ends it, the half-made folder goes."""
    with subprocess.Popen(
        [*KGTREC, "demo", "--out", str(tmp_path / "d"), "--people", "3000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 60
        while not os.listdir(tmp_path) and time.monotonic() < deadline:  # noqa: PTH208
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait() == 130
        assert b"stopped" in process.stderr.read()
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("error", ["TypeError('incompatible function arguments')", "kgtrec.errors.KgtrecError('x')"])
def test_whatever_a_signal_becomes_on_its_way_the_program_was_stopped(error):
    """Code that is not Python may turn KeyboardInterrupt into another error."""
    script = (
        "import os, signal, kgtrec.errors, kgtrec.cli as cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell's background jobs do not have
        "def interrupted(*_):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        signal.pause()\n"
        "    except KeyboardInterrupt:\n"
        f"        raise {error} from None\n"
        "cli.cli.invoke = interrupted\n"
        "cli.run()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, "chance"], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


@pytest.mark.slow
def test_shells_complete_commands_options_and_choices():
    """``eval "$(_KGTREC_COMPLETE=bash_source kgtrec)"`` is all that it takes."""
    script = ran(env={**os.environ, "_KGTREC_COMPLETE": "bash_source"})
    assert script.returncode == 0
    assert "complete -o nosort -F _kgtrec_completion kgtrec" in script.stdout
    for words, expected in (
        ("kgtrec eva", "plain,evaluate\n"),
        ("kgtrec meta co", "plain,correlate\nplain,compare\n"),
        ("kgtrec evaluate --tie", "plain,--ties\n"),
        ("kgtrec evaluate --ties exp", "plain,expected\n"),
    ):
        asked = {"_KGTREC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert ran(env={**os.environ, **asked}).stdout == expected


def test_the_documented_line_for_completion_is_all_that_bash_needs(tmp_path):
    """And there is a script for each of the other shells that docs/install.md names."""
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
    (line,) = re.findall(r"^eval .*$", page, re.MULTILINE)
    program = tmp_path / "kgtrec"
    program.write_text(f'#!/bin/sh\nexec {" ".join(KGTREC)} "$@"\n')
    program.chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", f"{line}\ncomplete -p kgtrec"]
    done = subprocess.run(command, env=variables, text=True, capture_output=True, check=True)
    assert done.stdout == "complete -o nosort -F _kgtrec_completion kgtrec\n"
    for shell, start in (("zsh", "#compdef kgtrec"), ("fish", "function _kgtrec_completion")):
        assert f"{shell}_source" in page
        assert ran(env={**os.environ, "_KGTREC_COMPLETE": f"{shell}_source"}).stdout.startswith(start)


_WITHOUT_PANDAS = """
import os, sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise AssertionError("pandas is imported")
sys.meta_path.insert(0, Refusing())
from kgtrec.cli import main
for words in (
    ["evaluate", "qrels.txt", "s.run"],
    ["evaluate", "qrels.txt", "s.run", "-m", "AP@20 macro.MRR", "--format", "csv"],
    ["evaluate", "qrels.txt", "s.run", "--format", "json"],
    ["convert", "s.run", "s.parquet"],
    ["evaluate", "qrels.txt", "s.parquet", "--ties", "all"],
):
    main(words)
"""


@pytest.mark.slow
def test_commands_on_runs_load_no_pandas(files):
    """It takes longer to import than a run of millions of lines to score; Arrow imports it for a list of Python."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PANDAS], cwd=files, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "s.parquet: 20,000 rows\n")

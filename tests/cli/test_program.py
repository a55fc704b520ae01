"""The program as a whole: exit codes, signals, pipes. Each test runs it as a process of its own."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

KGTREC = [sys.executable, "-m", "kgtrec"]


def ran(*words: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KGTREC, *words], text=True, capture_output=True, check=False, **more)


@pytest.fixture
def files(tmp_path: Path) -> Path:
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


def test_an_unknown_command_has_its_neighbours():
    """Exit code 2, one clear line."""
    done = ran("evalute")
    assert done.returncode == 2
    assert "unknown command 'evalute'; did you mean evaluate?" in done.stderr


def test_a_mistake_is_one_line_and_no_trace(tmp_path: Path):
    """The file is named; nothing of Python shows."""
    done = ran("evaluate", str(tmp_path / "none.txt"), str(tmp_path / "none.run"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure(files: Path):
    """`kgtrec evaluate ... | head -1` ends well and quietly."""
    with subprocess.Popen(
        [*KGTREC, "evaluate", str(files / "qrels.txt"), str(files / "s.run"), "--per", "question", "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "system,measure,question,value\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_closed_standard_streams_are_no_crash(files: Path):
    """Without a standard output there is an error, but no trace."""
    command = f"{' '.join(KGTREC)} evaluate {files / 'qrels.txt'} {files / 's.run'} >&-"
    done = subprocess.run(["bash", "-c", command], text=True, capture_output=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_demo_leaves_nothing(tmp_path: Path, number: int):
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
def test_whatever_a_signal_becomes_on_its_way_the_program_was_stopped(error: str):
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


def test_readmes_line_for_completion_is_all_that_bash_needs(tmp_path: Path):
    """And there is a script for each of the other shells that README names."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (line,) = re.findall(r"^eval .*$", readme, re.MULTILINE)
    program = tmp_path / "kgtrec"
    program.write_text(f'#!/bin/sh\nexec {" ".join(KGTREC)} "$@"\n')
    program.chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", f"{line}\ncomplete -p kgtrec"]
    done = subprocess.run(command, env=variables, text=True, capture_output=True, check=True)
    assert done.stdout == "complete -o nosort -F _kgtrec_completion kgtrec\n"
    for shell, start in (("zsh", "#compdef kgtrec"), ("fish", "function _kgtrec_completion")):
        assert f"{shell}_source" in readme
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
    ["ties", "qrels.txt", "s.parquet"],
):
    main(words)
"""


def test_commands_on_runs_load_no_pandas(files: Path):
    """It takes longer to import than a run of millions of lines to score; Arrow imports it for a list of Python."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PANDAS], cwd=files, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "s.parquet: 20,000 rows\n")

"""What is computed in another process comes back, or its error does."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.serve.aside import aside


def refuse() -> None:
    raise KgtrecError("expected something else")


def fill() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def fail() -> None:
    raise ZeroDivisionError


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_another_process_computes():
    """Of lower priority than this one."""
    assert aside(os.getpid) != os.getpid()
    assert aside(os.getpriority, os.PRIO_PROCESS, 0) == min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)


def test_nothing_is_computed_for_a_process_that_was_killed(tmp_path: Path):
    """The other process ends too."""
    code = (
        "import subprocess, sys, time\n"
        "from kgtrec.serve.aside import aside\n"
        "from tests.serve.test_aside import tell_and_sleep\n"
        "if __name__ == '__main__':\n"
        "    aside(tell_and_sleep, sys.argv[1])\n"
    )
    (tmp_path / "program.py").write_text(code)
    told = tmp_path / "told"
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root}
    words = [sys.executable, str(tmp_path / "program.py"), str(told)]
    with subprocess.Popen(words, env=environment) as program:
        assert until(lambda: told.exists() and told.read_text().endswith("\n"))
        program.kill()
    assert until(lambda: has_ended(int(told.read_text())))


def has_ended(process: int) -> bool:
    """Whether a process runs no more, though nobody may have asked how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def tell_and_sleep(path: str) -> None:
    Path(path).write_text(f"{os.getpid()}\n")
    time.sleep(60)


def until(condition: Callable[[], bool]) -> bool:
    """Whether a condition is true within some seconds."""
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (refuse, KgtrecError, "expected something else"),
        (fill, OSError, "No space left"),
        (fail, RuntimeError, "ZeroDivisionError"),
        (be_killed, KgtrecError, "was ended from outside"),
    ],
    ids=["refused", "no room", "failed", "killed"],
)
def test_errors_come_back(function, kind, message):
    """Those that are told to people as they are."""
    with pytest.raises(kind, match=message) as error:
        aside(function)
    if kind is OSError:
        assert error.value.errno == errno.ENOSPC

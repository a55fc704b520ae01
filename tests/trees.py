"""What is in folders, by path; and programs that are stopped at any call of the system that changes one."""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

#: calls that change files or folders
CALLS = (
    "open",
    "write",
    "rename",
    "replace",
    "unlink",
    "remove",
    "mkdir",
    "rmdir",
    "link",
    "chmod",
    "chown",
    "ftruncate",
    "fsync",
)
PART = re.compile(r"\..+\.[0-9a-f]{8}\.part", re.DOTALL)  # what is being written
FAULTS = ("kill", "kill after", "interrupt", "interrupt after", "fail")


def tree(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below a folder; links as what they lead to."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in files:
            path = Path(place, name)
            link = f"link to {path.readlink()}".encode() if path.is_symlink() else b""
            found[str(path.relative_to(folder))] = link or path.read_bytes()
        found |= {f"{Path(place, name).relative_to(folder)}/": b"" for name in folders}
    return found


def is_part(path: str) -> bool:
    """Whether a path leads to, or into, what is being written."""
    return any(PART.fullmatch(name) for name in Path(path).parts)


def without_parts(found: dict[str, bytes]) -> dict[str, bytes]:
    """The same without what a program that was killed has left half done."""
    return {path: held for path, held in found.items() if not is_part(path)}


def faulty_runs(
    action: Callable[[], Any], reset: Callable[[], None], faults: Sequence[str] = FAULTS
) -> Iterator[tuple[str, int, int]]:
    """Run ``action`` in processes that are stopped at the first, second, ... call, in one of the faults each.

    Parameters
    ----------
    action : callable
        Runs in a child process.
    reset : callable
        Puts the folders back to what they were; called before each run.
    faults : sequence of str
        Of ``FAULTS``.

    Yields
    ------
    (str, int, int)
        The fault, the number of the call, and how the child ended: 0 if it came to its end.
    """
    for number in count(1):
        for fault in faults:
            reset()
            ended, reached = _run(action, fault, number)
            if not reached:
                return  # there are not so many calls
            yield fault, number, ended


def _run(action: Callable[[], Any], fault: str, number: int) -> tuple[int, bool]:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of programs with threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            silence = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(silence, stream)
            _inject(fault, number, lambda: os.write(writer, b"x"))
            action()
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:
            code = 3
        finally:
            os._exit(code)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as signals:
        reached = bool(signals.read())
    return os.waitstatus_to_exitcode(status), reached


def _inject(fault: str, number: int, tell: Callable[[], Any]) -> None:
    """Have the ``number``-th call from now on go wrong."""
    left = [number]

    def struck() -> bool:
        left[0] -= 1
        if left[0]:
            return False
        left[0] = -1
        tell()
        return True

    def faulty(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not struck():
                return call(*args, **kwargs)
            if fault == "fail":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            if fault.endswith("after"):
                call(*args, **kwargs)
            if fault.startswith("kill"):
                os._exit(9)
            raise KeyboardInterrupt

        return wrapper

    for name in CALLS:
        setattr(os, name, faulty(getattr(os, name)))

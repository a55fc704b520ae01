"""Commands whose disk is full: at any file that they open, and at any size of a file."""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

FULL = "/dev/full"
TOLD = {"full": os.strerror(errno.ENOSPC), "limit": os.strerror(errno.EFBIG)}
needs_full_disk = pytest.mark.skipif(not Path(FULL).exists(), reason="a disk is made full by Linux's /dev/full")


def full_disk_runs(
    action: Callable[[], Any], reset: Callable[[], Any], folder: Path, sizes: Sequence[int]
) -> Iterator[tuple[str, int, int, str]]:
    """Run an action again and again, each time with a full disk at another place.

    A file of which there are some bytes already takes no more ("full", by its number in the order in which files of the
    folder are opened), or no file takes more than so many bytes ("limit").

    Parameters
    ----------
    action : callable
        Runs in a child process.
    reset : callable
        Puts the folder back to what it was; called before each run.
    folder : path
    sizes : sequence of int, bytes

    Yields
    ------
    (str, int, int, str)
        The fault, its number, how the child ended, and what it wrote to standard error.
    """
    number, is_reached = 0, True
    while is_reached:
        number += 1
        reset()
        code, errors, is_reached = _run(action, "full", number, folder)
        if is_reached:
            yield "full", number, code, errors
    for size in sizes:
        reset()
        code, errors, _ = _run(action, "limit", size, folder)
        yield "limit", size, code, errors


def _run(action: Callable[[], Any], fault: str, number: int, folder: Path) -> tuple[int, str, bool]:
    errors, to_errors = os.pipe()
    signals, to_signals = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of programs with threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.stdout, sys.stderr = io.StringIO(), os.fdopen(to_errors, "w", buffering=1)
            if fault == "full":
                _fill(number, folder, lambda: os.write(to_signals, b"x"))
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (number, resource.RLIM_INFINITY))
            action()
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:
            code = 3
        finally:
            os._exit(code)
    for end in (to_errors, to_signals):
        os.close(end)
    with os.fdopen(errors, "rb") as told, os.fdopen(signals, "rb") as signal:
        said, is_reached = told.read().decode(), bool(signal.read())
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said, is_reached


def _fill(number: int, folder: Path, tell: Callable[[], Any]) -> None:
    """Let the disk be full after some bytes of the ``number``-th file in the folder that is opened for writing."""
    left, real_open, real_io = [number], os.open, io.open

    def is_struck(path: Any) -> bool:
        if not isinstance(path, str | os.PathLike) or folder not in Path(path).absolute().parents:
            return False
        left[0] -= 1
        if left[0]:
            return False
        tell()
        return True

    def os_open(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        handle = real_open(path, flags, *args, **kwargs)
        # what is only made, such as by Path.touch, takes no bytes
        if flags & (os.O_WRONLY | os.O_RDWR) and not flags & os.O_EXCL and is_struck(path):
            os.write(handle, b"{")
            os.dup2(full := real_open(FULL, os.O_RDWR), handle)
            os.close(full)
        return handle

    def io_open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if set("wax") & set(mode) and is_struck(file):
            Path(os.fspath(file)).write_bytes(b"{") if "b" in mode else None
            file = FULL
        return real_io(file, mode, *args, **kwargs)

    os.open = os_open  # type: ignore[assignment]
    io.open = builtins.open = io_open  # type: ignore[assignment]

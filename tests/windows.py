"""What stands in for Windows where verdicts are stored: no fcntl, no os.pread, no open folders, text files, msvcrt.

It behaves as the documentation of Python and of the C library says; it was not compared with Windows.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

LK_UNLCK, LK_LOCK, LK_NBLCK = 0, 1, 2  # of sys/locking.h
O_BINARY = 0x8000_0000
_ABSENT = ("pread", "pwrite", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "fchmod", "getuid")


def locking(descriptor: int, mode: int, n_bytes: int) -> None:
    """Lock so many bytes from the file's position on, for this descriptor alone; unlock what was locked before."""
    if mode == LK_LOCK:
        raise AssertionError("it gives up after ten seconds")
    kind = fcntl.F_UNLCK if mode == LK_UNLCK else fcntl.F_WRLCK
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, position, n_bytes, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        raise PermissionError(13, "Permission denied") from None


def pretend_windows(patch: pytest.MonkeyPatch) -> None:
    """Take away what Windows does not have, and add what it has."""
    real_open, real_write = os.open, os.write
    is_text: dict[int, bool] = {}

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", os.fspath(path))
        descriptor = real_open(path, flags & ~O_BINARY, *rest, **more)
        is_text[descriptor] = not flags & O_BINARY
        return descriptor

    def written(descriptor: int, data: Any) -> int:
        text = bytes(data).replace(b"\n", b"\r\n") if is_text.get(descriptor) else data
        return min(real_write(descriptor, text), len(data))

    for name in _ABSENT:
        patch.delattr(os, name)
    patch.setattr(os, "O_BINARY", O_BINARY, raising=False)
    patch.setattr(os, "open", opened)
    patch.setattr(os, "write", written)
    patch.setitem(sys.modules, "fcntl", None)
    stand_in = SimpleNamespace(locking=locking, LK_UNLCK=LK_UNLCK, LK_LOCK=LK_LOCK, LK_NBLCK=LK_NBLCK)
    patch.setitem(sys.modules, "msvcrt", stand_in)

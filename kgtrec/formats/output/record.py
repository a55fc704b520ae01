"""The record of what kgtrec wrote in a folder: ``.kgtrec``, in every folder that something was written to.

JSON Lines below a header: one line per file, with its writer (``by``), its path below the folder, and its SHA-256.
Lines are only ever added, each in one write, so that several programs can write to a folder at once; a file counts as
kgtrec's as long as any line has it as it is. A partly written line is ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike

RECORD = ".kgtrec"
_HEADER = b'{"kgtrec": "what it wrote in this folder; see docs/files.md", "format": 1}\n'
Row = tuple[str, str, str]  # by, path, SHA-256


def read_record(folder: Path, path: PathLike | None = None) -> list[Row]:
    """The record of a folder: writer, file, SHA-256.

    A damaged line is ignored, and so is a record that this user may not read.
    """
    place = folder / RECORD
    try:
        data = place.read_bytes() if place.is_file() or not place.exists() else b"\0"  # reading a pipe would wait
        data = data.replace(b"\r\n", b"\n")  # as git may check it out
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except OSError:
        data = b"\0"
    if not data.startswith(_HEADER) and not _HEADER.startswith(data):  # a writer may have been killed in the header
        raise FormatError(
            "expected kgtrec's record of what it wrote in this folder, found another file of that name; move it away",
            path=(folder if path is None else Path(path)) / RECORD,
        )
    found = []
    for line in data[len(_HEADER) :].splitlines():
        try:
            row = json.loads(line)
            found.append((str(row["by"]), str(row["path"]), str(row["sha256"])))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def record(folder: Path, rows: Sequence[Row]) -> None:
    """Add missing lines to a folder's record, or create it.

    Raises
    ------
    PermissionError
        If it belongs to another user.
    """
    known = set(read_record(folder))
    if not (rows := [row for row in rows if row not in known]):
        return
    lines = [json.dumps({"by": by, "path": name, "sha256": sha256}) + "\n" for by, name, sha256 in rows]
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(folder / RECORD, flags, 0o666)
    try:
        size = os.lseek(handle, 0, os.SEEK_END)
        os.lseek(handle, max(0, size - 1), os.SEEK_SET)
        is_torn = size > len(_HEADER) and os.read(handle, 1) != b"\n"  # a writer was killed in a line
        data = memoryview(_HEADER[size:] + b"\n" * is_torn + "".join(lines).encode())
        while data:
            data = data[os.write(handle, data) :]
    finally:
        os.close(handle)

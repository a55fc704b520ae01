"""The beginning of a file, to recognise its format."""

from __future__ import annotations

from pathlib import Path

from kgtrec.errors import FormatError
from kgtrec.formats.files import reading

_HEAD = 1 << 16  # bytes
_BOM = b"\xef\xbb\xbf"


def first_bytes(path: Path) -> bytes:
    """Read the first 64 KiB of a file, decompressed; empty if there is no such file or it cannot be read."""
    if not path.is_file():
        return b""
    try:
        with reading(path) as stream:
            return stream.read(_HEAD).removeprefix(_BOM)
    except (FormatError, OSError):
        return b""


def first_lines(path: Path, count: int) -> list[bytes]:
    """Read the first lines of a file that are not blank, at most ``count``; the last one may be cut off."""
    lines = (line.rstrip(b"\r") for line in first_bytes(path).split(b"\n"))
    return [line for line in lines if line][:count]

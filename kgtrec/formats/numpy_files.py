"""numpy's own files: a matrix, which is mapped, and an archive of arrays, which is read.

Only arrays of plain numbers are accepted, and the header with their type and shape is matched against a pattern:
numpy's own reader evaluates it as Python, and does not catch the errors of that.
"""

from __future__ import annotations

import errno
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import shown

_MAGIC = b"\x93NUMPY"
_ARCHIVE_MAGIC = b"PK"
_LENGTH_OF_HEADER = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}  # version -> how the header's length is stored
_LONGEST_HEADER = 1 << 16  # a few hundred bytes describe any array of numbers
_MOST_DIMENSIONS = 32
_ITEM = rb"""(?:["']descr["']\s*:\s*["'](?P<type>[^"']*)["']
    |["']fortran_order["']\s*:\s*(?P<order>True|False)
    |["']shape["']\s*:\s*\((?P<shape>[0-9L,\s]*)\))\s*(?:,\s*|(?=\}))"""
_HEADER = re.compile(rb"\s*\{\s*(?:" + _ITEM + rb"){3}\}\s*", re.VERBOSE)
_SHAPE = re.compile(rb"(?:|(?:[0-9]+L?\s*,\s*)+(?:[0-9]+L?)?)\s*")  # L: from Python 2
_NUMBERS = re.compile(r"[<>=|]?[biuf][0-9]{1,2}")  # including true and false
_PIECE = 1 << 20  # bytes of an archive that are read at a time
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    OverflowError,
    IndexError,
    RuntimeError,  # from zipfile: encrypted, or of an unknown compression
)


class _ArrayError(Exception):
    """What is wrong with an array: put in brackets after what was expected, or a whole message."""

    def __init__(self, found: str, *, is_whole: bool = False) -> None:
        super().__init__(found)
        self.is_whole = is_whole


@dataclass(frozen=True, slots=True)
class _Array:
    """The contents of the header of an array, and its length."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    offset: int  # bytes before the first number

    @property
    def n_bytes(self) -> int:
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


def mapped_matrix(path: PathLike) -> NDArray[Any]:
    """The matrix in an ``.npy`` file, mapped: unused parts are not read.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or of another kind.
    """
    found = _mapped(path, "matrix")
    if found.ndim != 2:
        raise FormatError(f"expected a .npy matrix, found an array of shape {found.shape}", path=path)
    return found


def mapped_array(path: PathLike) -> NDArray[Any]:
    """The array of any shape in an ``.npy`` file, mapped.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or holds something else.
    """
    return _mapped(path, "array")


def _mapped(path: PathLike, what: str) -> NDArray[Any]:
    with reading(path) as stream:
        try:
            found = _header(stream, f"the {what}")
            size = Path(path).stat().st_size
            if size != found.n_bytes:
                raise _ArrayError(f"{size:,} bytes, but its header of shape {found.shape} requires {found.n_bytes:,}")
        except _ArrayError as wrong:
            raise _refusal(
                path, f"a whole .npy {what} of numbers", "cut-off", wrong, "; copy or write the file again"
            ) from None
    if math.prod(found.shape) == 0:
        return np.empty(found.shape, found.dtype, found.order)  # nothing to map
    return np.memmap(Path(path), found.dtype, "r", found.offset, found.shape, found.order)


def archived_arrays(path: PathLike, needed: Sequence[str], optional: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some of the arrays in an ``.npz`` archive, by name.

    Raises
    ------
    FormatError
        If the file is missing, damaged or not an archive, lacks a needed array or has one of them twice, or has one
        that is encrypted, has values that are not numbers, or does not fit in memory.
    """
    with reading(path) as stream:
        try:
            if stream.read(len(_MAGIC)) == _MAGIC:
                raise _ArrayError("expected an .npz archive, found a single array", is_whole=True)
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
                _require_names(names, needed, optional)
                arrays = {
                    name: _member(archive, info, name)
                    for name, info in zip(names, archive.infolist(), strict=True)
                    if name in needed or name in optional
                }
        except _ArrayError as wrong:
            raise _refusal(path, "a whole .npz archive of numbers", "damaged", wrong) from None
        except OSError as error:
            if error.errno not in (None, errno.EINVAL):  # EINVAL: an offset before the beginning of the file
                raise  # the disk failed
            raise _refusal(path, "a whole .npz archive of numbers", "damaged", _ArrayError(str(error))) from None
        except _DAMAGES as error:
            raise _refusal(path, "a whole .npz archive of numbers", "damaged", _ArrayError(str(error))) from None
    return {name: arrays[name] for name in (*needed, *optional) if name in arrays}


def _refusal(path: PathLike, expected: str, damage: str, wrong: _ArrayError, way_out: str = "") -> FormatError:
    if wrong.is_whole:
        return FormatError(str(wrong), path=path)
    return FormatError(f"expected {expected}, found other or {damage} data ({wrong}){way_out}", path=path)


def _require_names(names: Iterable[str], needed: Sequence[str], optional: Sequence[str]) -> None:
    counts = Counter(names)
    if any(name not in counts for name in needed):
        wanted = " and ".join(filter(None, [", ".join(needed[:-1]), needed[-1]]))
        raise _ArrayError(
            f"expected the arrays {wanted} (and {', '.join(optional)}, if there is one), "
            f"found {', '.join(counts) or 'none'}",
            is_whole=True,
        )
    if twice := next((name for name in (*needed, *optional) if counts[name] > 1), None):
        raise _ArrayError(f"expected the array {twice} once, found it {counts[twice]} times", is_whole=True)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """One array of an archive."""
    with archive.open(info) as member:
        found = _header(member, name)
        if info.file_size != found.n_bytes:
            raise _ArrayError(
                f"{name} has {info.file_size:,} bytes, but its header of shape {found.shape} requires {found.n_bytes:,}"
            )
        try:
            array = np.empty(found.shape, found.dtype, found.order)
        except MemoryError:
            raise _ArrayError(
                f"expected arrays that fit in memory, found {name} of shape {found.shape}", is_whole=True
            ) from None
        values = array.ravel("K").view(np.uint8)
        for first in range(0, len(values), _PIECE):
            piece = values[first : first + _PIECE]
            data = member.read(len(piece))
            if len(data) < len(piece):
                raise _ArrayError(f"{name} ends too early")
            piece[:] = np.frombuffer(data, np.uint8)
        member.read(1)  # at its end the checksum is compared
    return array


def _header(stream: BinaryIO | IO[bytes], name: str) -> _Array:
    """The type and shape of an array, from its first bytes."""
    start = stream.read(len(_MAGIC) + 2)
    if not start.startswith(_MAGIC) or len(start) < len(_MAGIC) + 2:
        if start.startswith(_ARCHIVE_MAGIC):
            raise _ArrayError("expected a .npy matrix, found an .npz archive", is_whole=True)
        raise _ArrayError(f"{name} does not begin like an array of numpy: {shown(start)}" if start else "no bytes")
    layout = _LENGTH_OF_HEADER.get((start[-2], start[-1]))
    if layout is None:
        raise _ArrayError(f"{name} is of format version {start[-2]}.{start[-1]}")
    length = stream.read(struct.calcsize(layout))
    if len(length) < struct.calcsize(layout):
        raise _ArrayError(f"{name} ends within its header")
    (n_bytes,) = struct.unpack(layout, length)
    if n_bytes > _LONGEST_HEADER:
        raise _ArrayError(f"{name} has a header of {n_bytes:,} bytes")
    text = stream.read(n_bytes)
    if len(text) < n_bytes:
        raise _ArrayError(f"{name} ends within its header")
    dtype, shape, order = _parsed(text, name)
    return _Array(dtype, shape, order, len(start) + len(length) + n_bytes)


def _parsed(text: bytes, name: str) -> tuple[np.dtype[Any], tuple[int, ...], Literal["C", "F"]]:
    match = _HEADER.fullmatch(text)
    if match is None or None in (match["type"], match["order"], match["shape"]):
        raise _ArrayError(f"{name} has the header {shown(text)}, which is not that of an array of numbers")
    kind = match["type"].decode("latin-1")
    try:
        dtype = np.dtype(kind) if _NUMBERS.fullmatch(kind) else None
    except TypeError:
        dtype = None
    if dtype is None:
        raise _ArrayError(f"expected numbers in {name}, found {shown(match['type'])[1:-1]}", is_whole=True)
    sizes = re.findall(rb"[0-9]+", match["shape"]) if _SHAPE.fullmatch(match["shape"]) else None
    # longer numbers are impossible in an array, and Python may refuse to read them
    if sizes is None or len(sizes) > _MOST_DIMENSIONS or any(len(size) > 19 for size in sizes):
        raise _ArrayError(f"{name} has the shape ({shown(match['shape'])[1:-1]})")
    shape = tuple(map(int, sizes))
    if math.prod(size or 1 for size in shape) * dtype.itemsize > np.iinfo(np.int64).max:
        raise _ArrayError(f"{name} has the shape ({shown(match['shape'])[1:-1]})")
    return dtype, shape, "F" if match["order"] == b"True" else "C"

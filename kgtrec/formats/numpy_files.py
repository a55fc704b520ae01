"""numpy's own files: an array, which is mapped, also in shards, and an archive of arrays, which is read.

numpy reads them, without pickles. Only arrays of plain numbers are accepted, and no byte may be missing or left over.
An array in a folder is ``NAME.npy``, or shards ``NAME-00000.npy`` and so on, which are not joined.
"""

from __future__ import annotations

import errno
import mmap
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.kernels.rows import JoinedRows, LargeArray

_MAGIC = b"\x93NUMPY"


def mapped_matrix(path: PathLike) -> NDArray[Any]:
    """Return the matrix in an ``.npy`` file, mapped: unused parts are not read.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or of another kind.
    """
    matrix = mapped_array(path, "matrix")
    if matrix.ndim != 2:
        raise FormatError(f"expected a .npy matrix, found an array of shape {matrix.shape}", path)
    return matrix


def mapped_array(path: PathLike, what: str = "array") -> NDArray[Any]:
    """Return the array of any shape in an ``.npy`` file, mapped; ``what`` is its name in errors.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or holds something else.
    """
    with reading(path) as stream:
        magic = stream.read(len(_MAGIC))
    if magic.startswith(b"PK"):
        raise FormatError("expected a .npy matrix, found an .npz archive", path)
    try:
        if magic != _MAGIC:
            raise ValueError(f"the {what} does not begin like an array of numpy: {magic!a}" if magic else "no bytes")
        with np.errstate(over="ignore"):  # of a shape that is none
            array: np.memmap[Any, Any] = np.load(Path(path), mmap_mode="r", allow_pickle=False)
        size, needed = Path(path).stat().st_size, array.offset + array.nbytes
        if size != needed:
            raise ValueError(f"{size:,} bytes, but its header of shape {array.shape} requires {needed:,}")
    except OSError:
        raise  # the disk failed
    except Exception as error:  # also those of Python's parser, at a header
        raise FormatError(
            f"expected a whole .npy {what} of numbers, found other or cut-off data ({_line(error)}); copy or write the "
            "file again",
            path,
        ) from None
    _require_numbers(path, array, f"the {what}")
    return array


def archived_arrays(path: PathLike, needed: Sequence[str], optional: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return some of the arrays in an ``.npz`` archive, by name.

    Raises
    ------
    FormatError
        If the file is missing, damaged or not an archive, lacks a needed array or has one of them twice, or has one
        that is encrypted, has values that are not numbers, or does not fit in memory.
    """
    arrays, at = {}, ""
    with reading(path) as stream:
        if stream.read(len(_MAGIC)) == _MAGIC:
            raise FormatError("expected an .npz archive, found a single array", path)
        stream.seek(0)
        try:
            with zipfile.ZipFile(stream) as archive:
                names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
                _require_names(path, names, needed, optional)
                infos = dict(zip(names, archive.infolist(), strict=True))
                for name in filter(infos.__contains__, (*needed, *optional)):
                    at = f"{name}: "
                    with archive.open(infos[name]) as member:
                        arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
                        if member.read(1):  # else the checksum was compared with the last byte
                            raise ValueError(f"more bytes than its header of shape {arrays[name].shape} requires")
        except FormatError:
            raise
        except Exception as error:  # of the archive, of a method of compression, of a header
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise  # the disk failed; EINVAL: an offset before the beginning of the file
            raise FormatError(
                f"expected a whole .npz archive of numbers, found other or damaged data ({at}{_line(error)})", path
            ) from None
    for name, array in arrays.items():
        _require_numbers(path, array, name)
    return arrays


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _require_numbers(path: PathLike, array: NDArray[Any], name: str) -> None:
    if array.dtype.kind not in "biuf":
        raise FormatError(f"expected numbers in {name}, found {str(array.dtype)[:40]}", path)


def _require_names(path: PathLike, names: Sequence[str], needed: Sequence[str], optional: Sequence[str]) -> None:
    counts = Counter(names)
    if any(name not in counts for name in needed):
        raise FormatError(
            f"expected the arrays {' and '.join(filter(None, [', '.join(needed[:-1]), needed[-1]]))} "
            f"(and {', '.join(optional)}, if there is one), "
            f"found {', '.join(counts) or 'none'}",
            path,
        )
    if twice := next((name for name in (*needed, *optional) if counts[name] > 1), None):
        raise FormatError(f"expected the array {twice} once, found it {counts[twice]} times", path)


_PIECE = 16 << 20  # bytes that are in memory at a time


def array_files(folder: PathLike, name: str) -> list[Path]:
    """Return the file of an array, or those of its shards in their order; none if the folder lacks it.

    Raises
    ------
    FormatError
        If the folder has both, or shards that are not numbered from 0 on.
    """
    whole, pattern = Path(folder, f"{name}.npy"), re.compile(rf"{re.escape(name)}-([0-9]{{1,9}})\.npy")
    shards: dict[int, Path] = {}
    for path in sorted(Path(folder).glob(f"{name}-*.npy")):
        if match := pattern.fullmatch(path.name):
            other = shards.setdefault(int(match[1]), path)
            if other != path:
                raise FormatError(
                    f"expected one shard {int(match[1])} of {name}, found {other.name} and {path.name}; remove one",
                    path=folder,
                )
    if not shards:
        return [whole] if whole.is_file() else []
    if whole.exists():
        raise FormatError(
            f"expected {whole.name} or shards of it, found both, such as {shards[min(shards)].name}; remove what is "
            "outdated",
            path=folder,
        )
    if (lacking := next((number for number in range(len(shards)) if number not in shards), None)) is not None:
        names = [shards[number].name for number in sorted(shards)]
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        raise FormatError(
            f"expected shards of {name} numbered from 0 without a gap, found {listed} and no "
            f"{name}-{lacking:05}.npy; add what is missing, or number them again in the order of the labels",
            path=folder,
        )
    return [shards[number] for number in range(len(shards))]


def mapped_rows(paths: Sequence[PathLike]) -> LargeArray:
    """Return an array in one file or several, mapped.

    Raises
    ------
    FormatError
        If a file is missing or damaged, or is not of the same type and width as the first.
    """
    parts = [mapped_array(path) for path in paths]
    if len(parts) == 1:
        return parts[0]
    first, name = parts[0], Path(paths[0]).name
    for path, part in zip(paths, parts, strict=True):
        if part.ndim == 0 or len(part) == 0 or part.shape[1:] != first.shape[1:] or part.dtype != first.dtype:
            raise FormatError(
                f"expected rows of {first.dtype} and of the shape {first.shape[1:]}, as in {name}, found {part.dtype} "
                f"and the shape {part.shape}; write all shards again from one model, each with rows",
                path,
            )
    return JoinedRows(parts)


def files_of(rows: LargeArray) -> list[Path] | None:
    """Return the .npy files that :func:`mapped_rows` maps to an array again; None: there are none."""
    paths: list[Path] = []
    for part in rows.parts if isinstance(rows, JoinedRows) else (rows,):
        # a part of a map has the map as its base
        if not isinstance(part, np.memmap) or not isinstance(part.base, mmap.mmap):
            return None
        path = Path(str(part.filename))
        if path.suffix != ".npy":
            return None
        again = mapped_array(path)
        if again.shape != part.shape or again.dtype != part.dtype:
            return None
        paths.append(path.resolve())
    return paths


def save_array(folder: Path, name: str, rows: LargeArray) -> None:
    """Write an array as ``NAME.npy``, or its parts as shards, a few rows at a time."""
    parts = rows.parts if isinstance(rows, JoinedRows) else None
    for number, part in enumerate(parts or (rows,)):
        save_rows(folder / (f"{name}.npy" if parts is None else f"{name}-{number:05}.npy"), part)


def save_rows(path: Path, rows: LargeArray) -> None:
    """Write an array to one file, a few rows at a time."""
    with path.open("wb") as stream:
        descr = np.lib.format.dtype_to_descr(rows.dtype)
        np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": rows.shape})
        for piece in pieces_of(rows):
            stream.write(piece.data)


def pieces_of(rows: LargeArray) -> Iterator[NDArray[np.uint8]]:
    """Return the bytes of an array, a few rows at a time."""
    row_bytes = max(1, int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize)
    step = max(1, _PIECE // row_bytes)
    for first in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[first : first + step]).reshape(-1).view(np.uint8)


def spanned(paths: Sequence[Path]) -> str:
    """Return the files of one array, for messages."""
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} to {paths[-1].name}"

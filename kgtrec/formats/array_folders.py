"""Arrays in a folder, each as ``NAME.npy`` or in shards, ``NAME-00000.npy`` and so on, which are not joined."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import mapped_array
from kgtrec.kernels.rows import JoinedRows, LargeArray

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
        raise FormatError(
            f"expected shards of {name} numbered from 0 without a gap, found {_listed(shards)} and no "
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
                path=path,
            )
    return JoinedRows(parts)


def files_of(rows: LargeArray) -> list[Path] | None:
    """Return the .npy files that :func:`mapped_rows` maps to an array again; None: there are none."""
    found: list[Path] = []
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
        found.append(path.resolve())
    return found


def save_array(folder: Path, name: str, rows: LargeArray) -> None:
    """Write an array as ``NAME.npy``, or its parts as shards, a few rows at a time."""
    parts = rows.parts if isinstance(rows, JoinedRows) else None
    for number, part in enumerate(parts or (rows,)):
        save_rows(folder / (f"{name}.npy" if parts is None else f"{name}-{number:05}.npy"), part)


def save_rows(path: Path, rows: LargeArray) -> None:
    """Write an array to one file, a few rows at a time."""
    with path.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(rows.dtype), "fortran_order": False, "shape": rows.shape}
        np.lib.format.write_array_header_1_0(stream, header)
        for piece in pieces_of(rows):
            stream.write(piece.data)


def pieces_of(rows: LargeArray) -> Iterator[NDArray[np.uint8]]:
    """Return the bytes of an array, a few rows at a time."""
    row_bytes = max(1, int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize)
    step = max(1, _PIECE // row_bytes)
    for first in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[first : first + step]).reshape(-1).view(np.uint8)


def _listed(shards: dict[int, Path]) -> str:
    names = [shards[number].name for number in sorted(shards)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def spanned(paths: Sequence[Path]) -> str:
    """Return the files of one array, for messages."""
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} to {paths[-1].name}"

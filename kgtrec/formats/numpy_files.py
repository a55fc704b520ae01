"""numpy's own files: a matrix, which is mapped, and an archive of arrays, which is read.

numpy reads them, without pickles. Only arrays of plain numbers are accepted, and no byte may be missing or left over.
"""

from __future__ import annotations

import errno
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading

_MAGIC = b"\x93NUMPY"


def mapped_matrix(path: PathLike) -> NDArray[Any]:
    """Return the matrix in an ``.npy`` file, mapped: unused parts are not read.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or of another kind.
    """
    found = mapped_array(path, "matrix")
    if found.ndim != 2:
        raise FormatError(f"expected a .npy matrix, found an array of shape {found.shape}", path=path)
    return found


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
        raise FormatError("expected a .npy matrix, found an .npz archive", path=path)
    try:
        if magic != _MAGIC:
            raise ValueError(f"the {what} does not begin like an array of numpy: {magic!a}" if magic else "no bytes")
        with np.errstate(over="ignore"):  # of a shape that is none
            found: np.memmap[Any, Any] = np.load(Path(path), mmap_mode="r", allow_pickle=False)
        size, needed = Path(path).stat().st_size, found.offset + found.nbytes
        if size != needed:
            raise ValueError(f"{size:,} bytes, but its header of shape {found.shape} requires {needed:,}")
    except OSError:
        raise  # the disk failed
    except Exception as error:  # also those of Python's parser, at a header
        raise FormatError(
            f"expected a whole .npy {what} of numbers, found other or cut-off data ({_line(error)}); copy or write the "
            "file again",
            path=path,
        ) from None
    _require_numbers(path, found, f"the {what}")
    return found


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
            raise FormatError("expected an .npz archive, found a single array", path=path)
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
                f"expected a whole .npz archive of numbers, found other or damaged data ({at}{_line(error)})", path=path
            ) from None
    for name, array in arrays.items():
        _require_numbers(path, array, name)
    return arrays


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _require_numbers(path: PathLike, array: NDArray[Any], name: str) -> None:
    if array.dtype.kind not in "biuf":
        raise FormatError(f"expected numbers in {name}, found {str(array.dtype)[:40]}", path=path)


def _require_names(path: PathLike, names: Sequence[str], needed: Sequence[str], optional: Sequence[str]) -> None:
    counts = Counter(names)
    if any(name not in counts for name in needed):
        wanted = " and ".join(filter(None, [", ".join(needed[:-1]), needed[-1]]))
        raise FormatError(
            f"expected the arrays {wanted} (and {', '.join(optional)}, if there is one), "
            f"found {', '.join(counts) or 'none'}",
            path=path,
        )
    if twice := next((name for name in (*needed, *optional) if counts[name] > 1), None):
        raise FormatError(f"expected the array {twice} once, found it {counts[twice]} times", path=path)

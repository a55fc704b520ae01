"""numpy's own files: a matrix that is mapped, an archive of arrays that is read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading


def mapped_matrix(path: PathLike) -> NDArray[Any]:
    """The matrix in an ``.npy`` file, mapped: what is not looked at is not read.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or holds something else.
    """
    with reading(path):
        pass  # a missing or unreadable file is reported the same way for every format
    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FormatError(
            f"expected a whole .npy matrix of numbers, found other or cut-off data ({error})", path=path
        ) from None
    if not isinstance(matrix, np.ndarray):
        raise FormatError("expected a .npy matrix, found an .npz archive", path=path)
    if matrix.ndim != 2:
        raise FormatError(f"expected a .npy matrix, found an array of shape {matrix.shape}", path=path)
    return matrix


def archived_arrays(path: PathLike, needed: Sequence[str], optional: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some of the arrays in an ``.npz`` archive, by name.

    Raises
    ------
    FormatError
        If the file is missing, damaged or no archive, or lacks a needed array.
    """
    with reading(path) as stream:
        try:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise FormatError("expected an .npz archive, found a single array", path=path)
            names = archive.files
            arrays = {name: archive[name] for name in (*needed, *optional) if name in names}
        except FormatError:
            raise
        except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error, KeyError) as error:
            raise FormatError(
                f"expected a whole .npz archive of numbers, found other or damaged data ({error})", path=path
            ) from None
    if any(name not in arrays for name in needed):
        wanted = " and ".join(filter(None, [", ".join(needed[:-1]), needed[-1]]))
        raise FormatError(
            f"expected the arrays {wanted} (and {', '.join(optional)}, if there is one), "
            f"found {', '.join(names) or 'none'}",
            path=path,
        )
    return arrays

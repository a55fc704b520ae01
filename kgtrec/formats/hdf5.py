"""HDF5 files, through h5py: arrays that lie in the file itself, and nothing that it points to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import PathLike, reading
from kgtrec.kernels.rows import LargeArray

_LARGEST_CHUNK = 1 << 28  # bytes, which are read at once; h5py's own choice is below a megabyte
_FILTERS = ("gzip", "lzf", "szip", None)  # what h5py brings along; others would be loaded from elsewhere


@contextmanager
def opened_hdf5(path: PathLike) -> Iterator[Any]:
    """Open a file for reading.

    Raises
    ------
    KgtrecError
        If h5py is not installed.
    FormatError
        If there is no such file, or it is damaged or another one.
    """
    try:
        import h5py
    except ImportError:
        raise KgtrecError(f"{path}: HDF5 needs h5py, which is not installed here: pip install h5py") from None
    with reading(path):
        pass  # raises the usual file errors
    try:
        with h5py.File(path, "r") as file:
            yield file
    except KgtrecError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:  # h5py's, of damaged data
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(f"expected a whole HDF5 file, found other or damaged data ({reason})", path) from None


def hdf5_dataset(file: Any, name: str, path: PathLike, *, dimensions: int | None = None) -> Any:
    """Return a data set of numbers, by its path within the file.

    Raises
    ------
    FormatError
        If there is none, if it lies outside of the file, or if it holds something else.
    """
    import h5py

    dataset = file
    for step in name.split("/"):
        link = dataset.get(step, getlink=True) if isinstance(dataset, h5py.Group) and step in dataset.keys() else None  # noqa: SIM118
        if link is None:
            raise FormatError(
                f"expected a data set {name}, found none; the file holds {', '.join(sorted(file)[:6]) or 'nothing'}",
                path,
            )
        if not isinstance(link, h5py.HardLink):
            raise FormatError(
                f"expected {name} in the file itself, found a link to elsewhere; copy the data into the file", path
            )
        dataset = dataset[step]
    if not isinstance(dataset, h5py.Dataset):
        raise FormatError(f"expected a data set {name}, found a group", path)
    rules = (
        (not dataset.external and not dataset.is_virtual, f"{name} in the file itself", "its data in other files"),
        (dataset.dtype.kind in "fiu", f"numbers in {name}", dataset.dtype),
        (dataset.compression in _FILTERS, f"{name} plain or compressed by gzip", dataset.compression),
        (dimensions in (None, dataset.ndim), f"{name} of {dimensions} dimensions", f"the shape {dataset.shape}"),
    )
    for is_right, expected, found in rules:
        if not is_right:
            raise FormatError(f"expected {expected}, found {found}", path)
    if dataset.chunks and (n_bytes := math.prod(dataset.chunks) * dataset.dtype.itemsize) > _LARGEST_CHUNK:
        raise FormatError(
            f"expected {name} in chunks of at most {_LARGEST_CHUNK >> 20} MiB, found chunks of {n_bytes >> 20:,} MiB, "
            f"{' x '.join(f'{side:,}' for side in dataset.chunks)}; store it in smaller ones, such as with chunks=True",
            path,
        )
    return dataset


def hdf5_array(file: Any, name: str, path: PathLike, *, dimensions: int) -> NDArray[Any]:
    """Read a whole data set.

    Raises
    ------
    FormatError
        As :func:`hdf5_dataset`, or if it has other dimensions.
    """
    dataset = hdf5_dataset(file, name, path, dimensions=dimensions)
    try:
        return np.asarray(dataset[...])
    except MemoryError:
        raise FormatError(f"expected {name} to fit in memory, found the shape {dataset.shape}", path) from None


def hdf5_matrix(path: PathLike, name: str) -> LargeArray:
    """Open a matrix in a data set: mapped if it is in the file in one piece, else read by the rows asked for.

    Raises
    ------
    KgtrecError
        If h5py is not installed.
    FormatError
        If the file is damaged, or has no such matrix of numbers.
    """
    matrix = Hdf5Matrix(path, name)
    if matrix.offset is None:
        return matrix
    if math.prod(matrix.shape) == 0:
        return np.empty(matrix.shape, matrix.dtype)  # nothing to map
    try:
        return np.memmap(Path(path), matrix.dtype, "r", matrix.offset, (matrix.shape[0], matrix.shape[1]))
    except (ValueError, OverflowError) as error:
        raise FormatError(f"expected a whole HDF5 file, found cut-off data ({error})", path) from None


class Hdf5Matrix:
    """A matrix in a data set, of which only the rows that are asked for are read.

    Raises
    ------
    KgtrecError
        If h5py is not installed.
    FormatError
        If the file is damaged, or has no such matrix of numbers.
    """

    def __init__(self, path: PathLike, name: str) -> None:
        self.path, self.name = path, name
        with opened_hdf5(path) as file:
            import h5py

            dataset = hdf5_dataset(file, name, path, dimensions=2)
            self.shape: tuple[int, ...] = dataset.shape
            self.dtype: np.dtype[Any] = dataset.dtype
            is_as_in_numpy = h5py.h5t.py_create(dataset.dtype).equal(dataset.id.get_type())
            is_in_one_piece = dataset.chunks is None and not file.userblock_size and is_as_in_numpy
            # where the numbers begin in the file, as numpy has them
            self.offset: int | None = dataset.id.get_offset() if is_in_one_piece else None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> NDArray[Any]:
        with opened_hdf5(self.path) as file:
            dataset = hdf5_dataset(file, self.name, self.path)
            if isinstance(rows, slice):
                return dataset[rows]
            ascending, place = np.unique(rows, return_inverse=True)  # HDF5 reads rows in ascending order, each once
            return dataset[ascending][place]

"""numpy <-> Arrow by their buffers. pyarrow's own conversions import pandas, which takes longer than reading a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_ARROW = {
    np.dtype(name): getattr(pa, name)() for name in ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]
}
_KINDS = {arrow: kind for kind, arrow in _ARROW.items()}


class _Compute:
    """``pyarrow.compute``, imported when it is first used: it takes longer to import than qrels take to read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pyarrow.compute"), name)


compute = _Compute()


def arrow_of(values: NDArray[Any]) -> pa.Array:
    """Return a numpy array of numbers or truth values as an Arrow array of the same type; numbers are not copied.

    Examples
    --------
    >>> arrow_of(np.array([1.5, 2.0])).to_pylist()
    [1.5, 2.0]
    """
    values = np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(
            pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))]
        )
    return pa.Array.from_buffers(_ARROW[values.dtype], len(values), [None, pa.py_buffer(values)])


def values_of(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return an Arrow array of numbers or truth values as a numpy array; a missing value becomes an arbitrary number.

    Examples
    --------
    >>> values_of(pa.chunked_array([[1, 2], [3]])), values_of(pa.array([True, False]))
    (array([1, 2, 3]), array([ True, False]))
    """
    if isinstance(array, pa.ChunkedArray):
        parts = list(map(values_of, array.chunks))
        return np.concatenate(parts) if parts else values_of(pa.array([], array.type))
    first, last = array.offset, array.offset + len(array)
    if pa.types.is_boolean(array.type):
        if len(array) == 0:
            return np.empty(0, np.bool_)
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        return np.unpackbits(bits, bitorder="little", count=last)[first:].astype(np.bool_)
    kind = _KINDS[array.type]
    return np.frombuffer(array.buffers()[1], kind)[first:last] if len(array) else np.empty(0, kind)


def bytes_and_offsets(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of all texts, and the offset at which each begins, then that of the end; without copying.

    Examples
    --------
    >>> data, offsets = bytes_and_offsets(pa.array(["ab", "", "c"])[1:])
    >>> offsets.tolist(), bytes(data[offsets[0] : offsets[-1]])
    ([2, 2, 3], b'c')
    """
    if len(texts) == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), bounds


def labels_of(texts: Sequence[str]) -> pa.StringArray:
    """Return strings as an Arrow array.

    Examples
    --------
    >>> labels_of(["paris", "", "é"]).to_pylist()
    ['paris', '', 'é']
    """
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.add.accumulate(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    values = pa.py_buffer(b"".join(encoded))
    if offsets[-1] <= np.iinfo(np.int32).max:
        return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(offsets.astype(np.int32)), values)
    # the cast refuses what does not fit into 32 bits
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), values).cast(pa.string())


def places_of(places: Sequence[int | None]) -> pa.Array:
    """Return rows to take of an Arrow array, None for a missing value; ``pa.array`` of a list would import pandas.

    Examples
    --------
    >>> labels_of(["a", "b"]).take(places_of([1, None])).to_pylist()
    ['b', None]
    """
    is_known = np.array([place is not None for place in places], np.bool_)
    values = np.array([0 if place is None else place for place in places], np.int64)
    bits = pa.py_buffer(np.packbits(is_known, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(values), [None if is_known.all() else bits, pa.py_buffer(values)])


def long_table(shape: tuple[int, ...], columns: Mapping[str, Any]) -> pa.Table:
    """Return a row for each cell of an array of this shape, in its order: the last dimension changes fastest.

    Parameters
    ----------
    shape : tuple of int
    columns : mapping
        Name -> an array that broadcasts to the shape; or a dimension, and the labels or numbers along it.

    Examples
    --------
    >>> values = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> table = long_table(values.shape, {"row": (0, ["a", "b"]), "column": (1, np.arange(2)), "value": values})
    >>> [list(row.values()) for row in table.to_pylist()]
    [['a', 0, 1.0], ['a', 1, 2.0], ['b', 0, 3.0], ['b', 1, 4.0]]
    """
    return pa.table({name: _each_cell(shape, values) for name, values in columns.items()})


def _each_cell(shape: tuple[int, ...], values: Any) -> pa.Array:
    if not isinstance(values, tuple):
        found = np.broadcast_to(values, shape).ravel()
        return labels_of(found.tolist()) if found.dtype.kind in "OU" else arrow_of(found)
    dimension, along = values
    place = np.indices(shape, sparse=True)[dimension]
    if not isinstance(along, pa.Array):
        along = arrow_of(along) if isinstance(along, np.ndarray) else labels_of(along)
    return along.take(arrow_of(np.broadcast_to(place, shape).ravel()))


def unified(dictionaries: Sequence[pa.StringArray]) -> tuple[pa.StringArray, list[NDArray[np.int32]]]:
    """Join several arrays of distinct labels, in order of first appearance; also return each label's code.

    Examples
    --------
    >>> labels, places = unified([labels_of(["b", "a"]), labels_of(["c", "b"])])
    >>> labels.to_pylist(), places
    (['b', 'a', 'c'], [array([0, 1], dtype=int32), array([2, 0], dtype=int32)])
    """
    each_once = [
        pa.DictionaryArray.from_arrays(arrow_of(np.arange(len(labels), dtype=np.int32)), labels)
        for labels in dictionaries
    ]
    chunks = pa.chunked_array(each_once).unify_dictionaries().chunks
    return chunks[0].dictionary, [values_of(chunk.indices) for chunk in chunks]

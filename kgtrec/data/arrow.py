"""numpy <-> Arrow by their buffers. pyarrow's own conversions import pandas, which takes longer than reading a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_KINDS = {
    pa.int8(): np.int8, pa.int32(): np.int32, pa.int64(): np.int64, pa.uint8(): np.uint8, pa.uint64(): np.uint64,
    pa.float32(): np.float32, pa.float64(): np.float64,
}  # fmt: skip
_ARROW = {np.dtype(kind): arrow for arrow, kind in _KINDS.items()}


def arrow_of(values: NDArray[Any]) -> pa.Array:
    """A numpy array of numbers as an Arrow array of the same type, without copying.

    Examples
    --------
    >>> arrow_of(np.array([1.5, 2.0])).to_pylist()
    [1.5, 2.0]
    """
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_ARROW[values.dtype], len(values), [None, pa.py_buffer(values)])


def values_of(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """An Arrow array of numbers or truth values as a numpy array; a missing value has an arbitrary number.

    Examples
    --------
    >>> values_of(pa.chunked_array([[1, 2], [3]])), values_of(pa.array([True, False]))
    (array([1, 2, 3]), array([ True, False]))
    """
    if isinstance(array, pa.ChunkedArray):
        parts = [values_of(chunk) for chunk in array.chunks]
        return np.concatenate(parts) if parts else values_of(pa.array([], array.type))
    first, last = array.offset, array.offset + len(array)
    if pa.types.is_boolean(array.type):
        if len(array) == 0:
            return np.empty(0, np.bool_)
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        return np.unpackbits(bits, bitorder="little", count=last)[first:].astype(np.bool_)
    kind = _KINDS[array.type]
    return np.frombuffer(array.buffers()[1], kind)[first:last] if len(array) else np.empty(0, kind)


def labels_of(texts: Sequence[str]) -> pa.StringArray:
    """Strings as an Arrow array.

    Examples
    --------
    >>> labels_of(["paris", "", "é"]).to_pylist()
    ['paris', '', 'é']
    """
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    values = pa.py_buffer(b"".join(encoded))
    # 64-bit offsets first, since the cast refuses what does not fit into 32 bits
    large = pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), values)
    return large.cast(pa.string())

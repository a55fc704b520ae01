"""Columns as bytes: what a page unpacks when a question is opened."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import bytes_and_offsets

_WORD = 8  # columns begin at multiples of it
_MOST_LEVELS = 1 << 16
_WHOLE = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32}


def packed(columns: Mapping[str, Any]) -> bytes:
    """Return columns of whole numbers of at least 0, floats, or text as one compressed slice.

    docs/explore.md has the format. The same columns give the same bytes.

    Parameters
    ----------
    columns : mapping of str to array
        Of numpy, with one or more dimensions; or Arrow's of text.
    """
    heads, parts = [], list[bytes]()
    for name, column in columns.items():
        if isinstance(column, pa.Array):
            text, offsets = bytes_and_offsets(column)
            heads.append({"name": name, "type": "text", "length": len(column)})
            parts += [(offsets - offsets[0]).astype("<u4").tobytes(), text[offsets[0] : offsets[-1]].tobytes()]
        elif column.dtype.kind == "f":
            head, own = _floats(column)
            heads.append({"name": name, **head, "shape": list(column.shape)})
            parts += own
        else:
            kind, whole = _whole(column)
            heads.append({"name": name, "type": kind, "shape": list(column.shape)})
            parts.append(whole.tobytes())
    header = json.dumps(heads, separators=(",", ":")).encode()
    raw = b"".join(map(_padded, [len(header).to_bytes(4, "little") + header, *parts]))
    return gzip.compress(raw, 9, mtime=0)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _WORD)


def _whole(column: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """The narrowest type that has room."""
    most = int(column.max(initial=0))
    kind = next(kind for kind, own in _WHOLE.items() if most <= np.iinfo(own).max)
    return kind, column.astype(np.dtype(_WHOLE[kind]).newbyteorder("<"))


def _floats(column: NDArray[np.float64]) -> tuple[dict[str, Any], list[bytes]]:
    """Codes of the distinct values, NaN the last, if there are few; else the numbers."""
    levels, codes = np.unique(column.ravel() + 0.0, return_inverse=True)  # 0 for -0
    if len(levels) > _MOST_LEVELS:
        return {"type": "f64"}, [column.astype("<f8").tobytes()]
    kind, whole = _whole(codes)
    return {"type": kind, "levels": len(levels)}, [levels.astype("<f8").tobytes(), whole.tobytes()]

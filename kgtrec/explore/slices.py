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
_MOST_DECIMALS = 10
_MOST_SCALED = 2.0**53 / 10.0**_MOST_DECIMALS  # so that whole steps are exact
_WHOLE = {"u8": 1, "u16": 2, "u32": 4}  # bytes


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
        else:
            head, data = (_floats if column.dtype.kind == "f" else _whole)(column)
            heads.append({"name": name, **head, "shape": list(column.shape)})
            parts.append(data)
    header = json.dumps(heads, separators=(",", ":")).encode()
    raw = b"".join(map(_padded, [len(header).to_bytes(4, "little") + header, *parts]))
    return gzip.compress(raw, 9, mtime=0)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _WORD)


def _whole(column: NDArray[Any], *, in_planes: bool = True) -> tuple[dict[str, Any], bytes]:
    """Numbers of the narrowest type that has room, or their differences modulo its size if these compress better.

    ``in_planes``: all lowest bytes come first, then all of the next.
    """
    most = int(column.max(initial=0))
    kind, n_bytes = next((kind, n_bytes) for kind, n_bytes in _WHOLE.items() if most < 256**n_bytes)
    whole = column.ravel().astype(f"<u{n_bytes}")
    steps = np.diff(whole, prepend=whole.dtype.type(0))
    planes, of_steps = (own.view(np.uint8).reshape(-1, n_bytes).T for own in (whole, steps))
    is_delta = _bits(of_steps) < _bits(planes)
    chosen = of_steps if is_delta else planes
    return {"type": kind, **({"delta": True} if is_delta else {})}, (chosen if in_planes else chosen.T).tobytes()


def _bits(planes: NDArray[np.uint8]) -> float:
    """About how many bits a number takes: the entropy of its lowest bytes, of the next, ..."""
    n, total = max(planes.shape[1], 1), 0.0
    for own in planes:
        share = np.bincount(own) / n
        share = share[share > 0]
        total -= float((share * np.log2(share)).sum())
    return total


def _floats(column: NDArray[np.float64]) -> tuple[dict[str, Any], bytes]:
    """Steps of a decimal place if there are few; codes of the distinct values, NaN the last; or the numbers."""
    levels, codes = np.unique(column.ravel() + 0.0, return_inverse=True)  # 0 for -0
    is_small = bool(len(levels) and np.isfinite(levels).all() and np.abs(levels).max() < _MOST_SCALED)
    for decimals in range(_MOST_DECIMALS * is_small):
        steps = np.rint(levels * 10.0**decimals)
        if steps[-1] - steps[0] < _MOST_LEVELS and np.array_equal(steps / 10.0**decimals, levels):
            head, data = _whole((steps - steps[0])[codes], in_planes=False)
            return {**head, "from": int(steps[0]), "decimals": decimals}, data
    if len(levels) > _MOST_LEVELS:
        return {"type": "f64"}, column.astype("<f8").tobytes()
    head, data = _whole(codes, in_planes=False)
    return {**head, "levels": len(levels)}, _padded(levels.astype("<f8").tobytes()) + data

"""Hashes of (question, entity) pairs, to rule most of them out before any is compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MIX = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint32)  # xxHash's primes


def pair_hashes(question: NDArray[np.int32], entity: NDArray[np.int32], bits: int) -> NDArray[np.intp]:
    """(n,) indices into a table of ``2 ** bits``: 32-bit products, whose upper bits are well mixed.

    Examples
    --------
    >>> pair_hashes(np.zeros(2, np.int32), np.arange(2, dtype=np.int32), bits=4).tolist()
    [0, 2]
    """
    mixed = question.astype(np.uint32) * _MIX[0]
    mixed ^= entity.astype(np.uint32) * _MIX[1]
    mixed *= _MIX[2]
    mixed >>= np.uint32(32 - bits)
    places: NDArray[np.intp] = mixed.astype(np.intp)
    return places

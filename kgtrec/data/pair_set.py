"""Sets of pairs of question and entity, to look up many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.hashing import pair_hashes
from kgtrec.kernels.integer_keys import distinct, is_among_sorted

_PLACES_PER_PAIR = 16  # in the table that rules out most pairs before a look-up


class PairSet:
    """A set of (question, entity) pairs, to look up many at once."""

    def __init__(self, question: NDArray[np.int32], entity: NDArray[np.int32], n_entities: int) -> None:
        self._n_entities = n_entities
        self._keys = distinct(question.astype(np.int64) * n_entities + entity)
        # one byte per hash: nearly all pairs that are not in the set are ruled out by it
        self._bits = min((_PLACES_PER_PAIR * len(question)).bit_length() + 1, 24)
        self._table = np.zeros(1 << self._bits, np.bool_)
        self._table[pair_hashes(question, entity, self._bits)] = True

    def holds(self, question: NDArray[np.int32], entity: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(n,) whether each pair is in the set."""
        found = self._table[pair_hashes(question, entity, self._bits)]
        maybe = np.flatnonzero(found)
        key = question[maybe].astype(np.int64) * self._n_entities + entity[maybe]
        found[maybe] = is_among_sorted(key, self._keys)
        return found

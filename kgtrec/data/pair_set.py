"""Sets of pairs of question and entity, to look up many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.vocabulary import Vocabulary
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
        """Return (n,) whether each pair is in the set."""
        found = self._table[pair_hashes(question, entity, self._bits)]
        maybe = np.flatnonzero(found)
        key = question[maybe].astype(np.int64) * self._n_entities + entity[maybe]
        found[maybe] = is_among_sorted(key, self._keys)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Columns):
    """Pairs of question and entity, and their labels."""

    question: NDArray[np.int32]  # (n,) row in questions
    entity: NDArray[np.int32]  # (n,) row in entities
    questions: Vocabulary
    entities: Vocabulary

    @classmethod
    def of(cls, table: Any) -> Pairs:
        """Make the pairs of a run, of answer ranks or of qrels."""
        return cls(table.question, table.entity, table.questions, table.entities)

    def among(self, others: Pairs) -> NDArray[np.bool_]:
        """Return which of the pairs are among the others, (n,)."""
        own = self.recoded(questions=others.questions, entities=others.entities)
        is_among: NDArray[np.bool_] = (own.question >= 0) & (own.entity >= 0)
        if is_among.any():
            pairs = PairSet(others.question, others.entity, len(others.entities))
            is_among[is_among] = pairs.holds(own.question[is_among], own.entity[is_among])
        return is_among


_MIX = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint32)  # xxHash's primes


def pair_hashes(question: NDArray[np.int32], entity: NDArray[np.int32], bits: int) -> NDArray[np.intp]:
    """Return (n,) indices into a table of ``2 ** bits``: 32-bit products, whose upper bits are well mixed.

    Examples
    --------
    >>> pair_hashes(np.zeros(2, np.int32), np.arange(2, dtype=np.int32), bits=4).tolist()
    [0, 2]
    """
    mixed = question.astype(np.uint32) * _MIX[0]
    mixed ^= entity.astype(np.uint32) * _MIX[1]
    mixed *= _MIX[2]
    mixed >>= np.uint32(32 - bits)
    return mixed.astype(np.intp)

"""Triple questions: the topics of a knowledge-graph test collection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary

SIDES = ("head", "tail")


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """One row per triple question: (?, relation, anchor) on the head side, (anchor, relation, ?) on the tail side."""

    ids: Vocabulary  # (n,) head0, head1, ..., tail0, ...
    is_head: NDArray[np.bool_]  # (n,) True: the head is asked for
    relation: NDArray[np.int32]  # (n,) row in relations
    anchor: NDArray[np.int32]  # (n,) row in entities
    entities: Vocabulary
    relations: Vocabulary

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        n_head = int(self.is_head.sum())
        return f"<Questions: {len(self):,} ({n_head:,} head, {len(self) - n_head:,} tail)>"

    def rows(
        self, is_head: NDArray[np.bool_], relation: NDArray[np.int32], anchor: NDArray[np.int32]
    ) -> NDArray[np.intp]:
        """Row of each (side, relation, anchor), -1 where there is no such question."""
        own, asked = self._keys(self.is_head, self.relation, self.anchor), self._keys(is_head, relation, anchor)
        if len(own) == 0:
            return np.full(len(asked), -1, np.intp)
        order = np.argsort(own)
        place = np.minimum(np.searchsorted(own, asked, sorter=order), len(own) - 1)
        return np.where(own[order[place]] == asked, order[place], -1)

    def _keys(
        self, is_head: NDArray[np.bool_], relation: NDArray[np.int32], anchor: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        return (is_head.astype(np.int64) * len(self.relations) + relation) * len(self.entities) + anchor

    def triples(self, question: NDArray[np.int32], entity: NDArray[np.int32]) -> Triples:
        """(n,) what each entity (row in ``entities``) says as an answer to its question (row in these)."""
        is_head, anchor = self.is_head[question], self.anchor[question]
        head, tail = np.where(is_head, entity, anchor), np.where(is_head, anchor, entity)
        return Triples(head, self.relation[question], tail, self.entities, self.relations)

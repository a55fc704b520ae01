"""Train facts as every baseline sees them: from an anchor, in a direction, to an answer.

A tail question (a, r, ?) has direction r; a head question (?, r, a) has direction r + number of relations, which is
against the relation. So one rule, count or factor is enough for both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.integer_keys import ranges

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Two rows per distinct train fact, one in each direction, sorted by (anchor, direction, answer)."""

    anchor: Codes  # (2m,)
    direction: Codes  # (2m,) relation of a fact read forwards, relation + n_relations read backwards
    answer: Codes  # (2m,)
    key: Codes  # (2m,) anchor * n_directions + direction, never decreasing
    n_entities: int
    relations: Vocabulary  # with times where a baseline uses them
    training: Graph | None = None  # of other entities and the same relations, which a system learns from; None: itself

    @classmethod
    def of(cls, train: Triples, training: Triples | None = None) -> Graph:
        """Build the graph of ``train``; a repeated fact counts once.

        Examples
        --------
        >>> graph = Graph.of(Triples.of([("a", "likes", "b"), ("a", "likes", "b")]))
        >>> graph.anchor.tolist(), graph.direction.tolist(), graph.answer.tolist()
        ([0, 1], [0, 1], [1, 0])
        """
        once = np.unique(train.keys(), return_index=True)[1]
        head, relation, tail = (column[once].astype(np.int64) for column in (train.head, train.relation, train.tail))
        n_relations = len(train.relations)
        anchor, answer = np.concatenate([head, tail]), np.concatenate([tail, head])
        direction = np.concatenate([relation, relation + n_relations])
        order = np.lexsort((answer, direction, anchor))
        anchor, direction, answer = anchor[order], direction[order], answer[order]
        key = anchor * (2 * n_relations) + direction
        graph = cls(anchor, direction, answer, key, len(train.entities), train.relations)
        return graph if training is None else replace(graph, training=cls.of(training))

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @property
    def n_directions(self) -> int:
        return 2 * self.n_relations

    def from_anchor(self, anchor: Codes) -> tuple[Codes, Codes]:
        """Find all rows that start at each of ``anchor``, as (which anchor, row)."""
        first = np.searchsorted(self.anchor, anchor, "left")
        return ranges(first, np.searchsorted(self.anchor, anchor, "right") - first)

    def from_anchor_in(self, anchor: Codes, direction: Codes) -> tuple[Codes, Codes]:
        """Find the rows that start at each of ``anchor`` in its ``direction``, as (which anchor, row)."""
        return ranges(*self.span(anchor, direction))

    def span(self, anchor: Codes, direction: Codes) -> tuple[Codes, Codes]:
        """Find the first row and the number of rows of each (anchor, direction)."""
        key = anchor * self.n_directions + direction
        first = np.searchsorted(self.key, key, "left")
        return first, np.searchsorted(self.key, key, "right") - first


def asked(questions: Questions) -> tuple[Codes, Codes]:
    """Give (anchor, direction) of questions."""
    against = questions.is_head * len(questions.relations)
    return questions.anchor.astype(np.int64), questions.relation.astype(np.int64) + against


def slices(size: Codes, limit: int) -> list[tuple[int, int]]:
    """Cuts items into runs [first, last) whose sizes sum to at most ``limit``; a larger item is a run by itself.

    Examples
    --------
    >>> slices(np.array([3, 3, 9, 1]), limit=6)
    [(0, 2), (2, 3), (3, 4)]
    """
    total, cuts, first = np.cumsum(size), [], 0
    while first < len(size):
        base = total[first - 1] if first else 0
        last = max(int(np.searchsorted(total, base + limit, "right")), first + 1)
        cuts.append((first, last))
        first = last
    return cuts

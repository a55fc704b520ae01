"""Answers of complex queries over a graph, by set algebra, and how many missing links an answer needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import ranges

#: cost of what is no answer; a sum of as many as a structure has links fits into a byte
NO_ANSWER = 63
_CELLS, _PAIRS = 1 << 22, 1 << 22  # of a block of queries; of a join, at a time

Shape = Any  # "e", "r", "n", "u", or a tuple of shapes

_HOP, _TWO, _NOT = ("e", ("r",)), ("e", ("r", "r")), ("e", ("r", "n"))
_EITHER = (_HOP, _HOP, ("u",))
#: structure -> its shape as BetaE nests it: e an anchor, r a relation, n a negation, u a union
STRUCTURES: dict[str, Shape] = {
    "1p": _HOP, "2p": _TWO, "3p": ("e", ("r", "r", "r")),
    "2i": (_HOP, _HOP), "3i": (_HOP, _HOP, _HOP), "ip": ((_HOP, _HOP), ("r",)), "pi": (_TWO, _HOP),
    "2in": (_HOP, _NOT), "3in": (_HOP, _HOP, _NOT), "inp": ((_HOP, _NOT), ("r",)), "pin": (_TWO, _NOT),
    "pni": (("e", ("r", "r", "n")), _HOP), "2u": _EITHER, "up": (_EITHER, ("r",)),
    "4p": ("e", ("r", "r", "r", "r")), "4i": (_HOP, _HOP, _HOP, _HOP),
}  # fmt: skip
#: by De Morgan's laws: the same queries as 2u and up, written without a union
WITHOUT_UNION: dict[Shape, str] = {((_NOT, _NOT), ("n",)): "2u", ((_NOT, _NOT), ("n", "r")): "up"}


def letters(shape: Shape) -> str:
    """Return e for each anchor and r for each relation of a shape, from left to right: the order of evaluation.

    Examples
    --------
    >>> letters(STRUCTURES["inp"])
    'ererr'
    """
    return (shape if shape in "er" else "") if isinstance(shape, str) else "".join(map(letters, shape))


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links of a graph, sorted by relation and head."""

    key: NDArray[np.int64]  # (m,) relation * n_entities + head, never decreasing
    tail: NDArray[np.int32]  # (m,)
    missing: NDArray[np.uint8]  # (m,) 1: the link has to be predicted, 0: it is known
    n_entities: int

    @classmethod
    def of(cls, key: NDArray[np.int64], tail: NDArray[np.int32], missing: NDArray[np.bool_], n_entities: int) -> Links:
        """Sort the (m,) links; one that is there twice is known if it is known once."""
        order = np.argsort(key, kind="stable")
        return cls(key[order], tail[order], missing[order].astype(np.uint8), n_entities)

    def known(self) -> Links:
        """Return those that are not missing."""
        rows = self.missing == 0
        return Links(self.key[rows], self.tail[rows], self.missing[rows], self.n_entities)


def missing_links(shape: Shape, codes: NDArray[np.integer], links: Links) -> NDArray[np.uint8]:
    r"""Count the missing links of the easiest explanation of every entity as an answer to some queries.

    An explanation assigns an entity to every variable so that all links of the query are in the graph. With the fewest
    missing links of a partial query q at entity x, :math:`c_q(x)`: 0 at an anchor, :math:`\min_y c_q(y) + m(y, r, x)`
    after a step along r, the sum at an intersection, the minimum at a union. A negated part is complemented, and costs
    nothing: a link that is not there need not be predicted.

    Parameters
    ----------
    shape : one of STRUCTURES' values
    codes : (q, k) int array
        The anchors and relations of each query, in the order of :func:`letters`.
    links : Links

    Returns
    -------
    (q, n_entities) uint8 array
        ``NO_ANSWER`` where an entity is no answer. What is less than that are the answers over the whole graph.

    References
    ----------
    Ren and Leskovec (2020), arXiv:2010.11465 (the structures); Gregucci et al. (2025), arXiv:2410.12537, which reduce
    a query to its missing links. A link that an explanation needs at two positions counts twice, as there.

    Examples
    --------
    Ann knows Bob, who likes tea; that Ann knows Cid, who likes jam, is missing.

    >>> head, relation, tail = np.array([[0, 1, 0, 2], [0, 1, 0, 1], [1, 3, 2, 4]])
    >>> links = Links.of(relation * 5 + head, tail, np.array([False, False, True, False]), 5)
    >>> missing_links(STRUCTURES["2p"], np.array([[0, 0, 1]]), links)
    array([[63, 63, 63,  0,  1]], dtype=uint8)
    """
    n_queries, n, code = len(codes), links.n_entities, iter(codes.T)

    def walk(shape: Shape) -> NDArray[np.uint8]:
        if not _is_path(shape):
            costs = [walk(part) for part in shape if part != ("u",)]
            if shape[-1] == ("u",):
                return np.minimum.reduce(costs)
            return np.minimum(np.add.reduce(costs, dtype=np.uint8), NO_ANSWER)
        start, steps = shape
        if start == "e":
            at = np.arange(n_queries) * n + next(code)
            cost = np.zeros(len(at), np.uint8)
        else:
            at, cost = _answers(walk(start))
        for step in steps:
            if step == "n":
                whole = np.zeros(n_queries * n, np.uint8)
                whole[at] = NO_ANSWER
            else:
                whole = _step(at, cost, next(code), links, n_queries)
            at, cost = _answers(whole)
        return whole.reshape(n_queries, n)

    return walk(shape)


def each_block(shape: Shape, codes: NDArray[np.integer], links: Links) -> Iterator[NDArray[np.uint8]]:
    """Yield :func:`missing_links` of a block of queries after another."""
    size = max(1, _CELLS // max(links.n_entities, 1))
    for first in range(0, len(codes), size):
        yield missing_links(shape, codes[first : first + size], links)


def _is_path(shape: Shape) -> bool:
    """Whether a shape is a start and the steps from it.

    Examples
    --------
    >>> _is_path(STRUCTURES["2p"]), _is_path(STRUCTURES["ip"]), _is_path(STRUCTURES["2i"]), _is_path(STRUCTURES["2u"])
    (True, True, False, False)
    """
    return len(shape) == 2 and set(shape[1]) <= {"r", "n"}


def _answers(costs: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    at = np.flatnonzero(costs < NO_ANSWER)
    return at, costs.ravel()[at]


def _step(
    at: NDArray[np.intp], cost: NDArray[np.uint8], relation: NDArray[np.integer], links: Links, n_queries: int
) -> NDArray[np.uint8]:
    """(queries * entities,) costs after a step along the relation of each query, from the entities ``at``."""
    query, entity = np.divmod(at, links.n_entities)
    key = relation[query].astype(np.int64) * links.n_entities + entity
    first = np.searchsorted(links.key, key)
    count = np.searchsorted(links.key, key, "right") - first
    whole = np.full(n_queries * links.n_entities, NO_ANSWER, np.uint8)
    ends = np.flatnonzero(np.diff(np.cumsum(count) // _PAIRS)) + 1
    for begin, end in zip([0, *ends], [*ends, len(at)], strict=True):
        part = slice(begin, end)
        owner, place = ranges(first[part], count[part])
        goal = query[part][owner] * links.n_entities + links.tail[place]
        total = cost[part][owner] + links.missing[place]
        for level in range(int(total.max(initial=0)), -1, -1):
            better = goal[total == level]
            whole[better[whole[better] > level]] = level
    return whole

"""A baseline that counts walks: entities close to the anchor, over any relations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.systems.baselines.graph import Codes, Graph
from kgtrec.systems.baselines.record import Baseline, Option, Scorer, each


def _fit_neighbours(graph: Graph, *, seed: int, steps: int, damping: int, candidates: str) -> Scorer:
    r"""Katz's index cut after L steps and scaled to whole numbers, :math:`\sum_l B^{L-l} (A^l)_{ae}`."""
    from scipy.sparse import csr_array

    n = graph.n_entities
    pair = np.unique(graph.anchor * n + graph.answer)
    pair = pair[pair // n != pair % n]
    adjacency = csr_array((np.ones(len(pair)), (pair // n, pair % n)), shape=(n, n))
    seen = csr_array(
        (np.ones(len(graph.answer), np.bool_), (graph.direction, graph.answer)), shape=(graph.n_directions, n)
    )

    def score(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        # questions with one anchor share their walks
        anchors, which = np.unique(anchor, return_inverse=True)
        walks = adjacency[anchors].toarray()
        block: NDArray[np.float64] = walks.copy()
        for _ in range(steps - 1):
            walks = walks @ adjacency
            block = block * damping + walks
        block = block[which]
        if candidates == "seen":
            block += seen[direction].toarray() * (block.max(axis=1, keepdims=True) + 1)
        return block

    return score


NEIGHBOURS = Baseline(
    "neighbours",
    each(_fit_neighbours),
    "Katz's index: walks of few steps between anchor and candidate over any relations, short ones counting more; "
    "candidates seen at the asked position of the relation come first.",
    "Katz, A new status index derived from sociometric analysis, Psychometrika 1953; Liben-Nowell and Kleinberg, The "
    "link prediction problem for social networks, CIKM 2003",
    {
        "steps": Option(3, "longest walk"),
        "damping": Option(200, "how many walks of one more step have the same weight as one walk"),
        "candidates": Option(
            "seen",
            "seen: those that occur at the asked position of the relation come first; any: the relation is ignored",
            ("seen", "any"),
        ),
    },
)

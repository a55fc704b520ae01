"""Baselines that count: popularity at a position, walks over any relations, and two controls that ignore the facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.systems.baselines.graph import Codes, Graph
from kgtrec.systems.baselines.record import Baseline, Option, Scorer, each


def _fit_popularity(graph: Graph, *, seed: int) -> Scorer:
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.answer))
    counts = csr_array((ones, (graph.direction, graph.answer)), shape=(graph.n_directions, graph.n_entities))
    facts = np.bincount(graph.answer, minlength=graph.n_entities)
    # below 1, so that it orders only the entities that never occur at this position of the relation
    share = np.round(facts / (facts.max() + 1), 6)

    def score(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        block: NDArray[np.float64] = counts[direction].toarray()
        return np.where(block > 0, block, share)

    return score


def _fit_constant(graph: Graph, *, seed: int) -> Scorer:
    return lambda anchor, direction: np.zeros((len(anchor), graph.n_entities))


def _fit_random(graph: Graph, *, seed: int) -> Scorer:
    entity = hashed(np.arange(graph.n_entities, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32))

    def score(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        question = hashed((anchor * graph.n_directions + direction).astype(np.uint64))
        # the upper 32 bits: whole numbers, which are exact and rarely tie
        return (hashed(question[:, None] ^ entity) >> np.uint64(32)).astype(np.float64)

    return score


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


POPULARITY = Baseline(
    "popularity",
    each(_fit_popularity),
    "How many train facts have the entity at the asked position of the relation; entities that never occur there "
    "come after, by their share of all facts.",
    "Akrami et al., Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD 2020 (simple statistics for "
    "comparison)",
    takes_queries=True,
)
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
CONSTANT = Baseline(
    "constant",
    each(_fit_constant),
    "The same score for all: all candidates are tied.",
    "Berrendorf et al. 2020, arXiv:2002.06914 (why ties need a rule)",
    is_control=True,
    takes_queries=True,
)
RANDOM = Baseline(
    "random",
    each(_fit_random),
    "A seeded random order of the candidates, the chance level of every measure.",
    "Steele et al., Fast splittable pseudorandom number generators, OOPSLA 2014 (the hash)",
    is_control=True,
    takes_queries=True,
)

"""Baselines that count: how popular an entity is at its place, and two controls that know nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.baselines.graph import Graph, Places
from kgtrec.baselines.record import Baseline, Scorer


def _fit_popularity(graph: Graph, *, seed: int) -> Scorer:
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.answer))
    counts = csr_array((ones, (graph.direction, graph.answer)), shape=(graph.n_directions, graph.n_entities))
    facts = np.bincount(graph.answer, minlength=graph.n_entities)
    # below 1, so that it orders only the entities that never stood at this place of the relation
    share = np.round(facts / (facts.max() + 1), 6)

    def score(anchor: Places, direction: Places) -> NDArray[np.float64]:
        block: NDArray[np.float64] = counts[direction].toarray()
        return np.where(block > 0, block, share)

    return score


def _fit_constant(graph: Graph, *, seed: int) -> Scorer:
    return lambda anchor, direction: np.zeros((len(anchor), graph.n_entities))


def _fit_random(graph: Graph, *, seed: int) -> Scorer:
    entity = _mixed(np.arange(graph.n_entities, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32))

    def score(anchor: Places, direction: Places) -> NDArray[np.float64]:
        question = _mixed((anchor * graph.n_directions + direction).astype(np.uint64))
        # the upper 32 bits: whole numbers, which are exact and seldom tie
        return (_mixed(question[:, None] ^ entity) >> np.uint64(32)).astype(np.float64)

    return score


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijective hash of 64 bits (the finaliser of SplitMix64), so that each cell is drawn without its neighbours."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


POPULARITY = Baseline(
    "popularity",
    _fit_popularity,
    "How many train facts have the entity at the asked place of the relation; entities that never stood there come "
    "after, by their share of all facts.",
    "Akrami et al., Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD 2020 (simple statistics as "
    "a yardstick)",
)
CONSTANT = Baseline(
    "constant",
    _fit_constant,
    "The same score for all: every candidate ties.",
    "Berrendorf et al. 2020, arXiv:2002.06914 (why ties need a rule)",
    is_control=True,
)
RANDOM = Baseline(
    "random",
    _fit_random,
    "A seeded random order of the candidates, the chance level of every measure.",
    "Steele et al., Fast splittable pseudorandom number generators, OOPSLA 2014 (the hash)",
    is_control=True,
)

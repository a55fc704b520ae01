"""Other programs' models and files, as what :mod:`kgtrec.ranking` ranks: one module a framework."""

from __future__ import annotations

from kgtrec.lazy import offer

__all__ = offer(
    __name__,
    {
        "systems.registry": ("adapters", "read_system"),
        "systems.adapter": ("ReadOptions",),
        "systems.kinds": ("Scorer", "Factors", "ScoreBlocks", "RankedLists", "CollectionLists", "TripleRanks"),
        "systems.own_ranks": ("triple_ranks",),
        "systems.pykeen": ("pykeen_system",),
        "systems.torchkge": ("torchkge_system",),
    },
)

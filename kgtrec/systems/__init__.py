"""What :mod:`kgtrec.ranking` ranks: models and files of other programs, one module a framework, and baselines."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "systems.registry": ("adapters", "read_system"),
        "systems.adapter": ("ReadOptions",),
        "systems.kinds": ("Scorer", "Factors", "ScoreBlocks", "RankedLists", "CollectionLists", "TripleRanks"),
        "systems.baselines": (
            "BASELINES",
            "baseline",
            "baseline_blocks",
            "baseline_checkpoints",
            "baselines_of",
            "fit_baseline",
            "score_blocks",
        ),
        "systems.baselines.record": ("Baseline", "Model", "Option"),
        "systems.own_ranks": ("triple_ranks",),
        "systems.pykeen": ("pykeen_system",),
        "systems.torchkge": ("torchkge_system",),
    },
)

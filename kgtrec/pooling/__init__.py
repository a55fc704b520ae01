"""From several runs to a pool of triples to be judged."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "pooling.pool_runs": ("pool_runs", "known_answers_of_triples"),
        "pooling.designs": ("draw_design",),
        "data.design": ("DESIGNS",),
        "pooling.interactive": ("asking", "replay", "Asker"),
        "pooling.summary": ("summarise_pool",),
        "pooling.trivial": ("judge_trivial",),
        "data.triples": ("EntityTypes", "RelationTypes"),
        "formats.entity_types": ("read_entity_types", "read_relation_types"),
    },
)

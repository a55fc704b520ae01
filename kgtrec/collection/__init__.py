"""From triples to questions and qrels."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "collection.questions": ("build_questions",),
        "collection.queries": ("build_queries",),
        "data.queries": ("Queries",),
        "formats.queries": ("read_queries", "write_queries"),
        "data.triples": ("POLICIES_LIKE",),
    },
)

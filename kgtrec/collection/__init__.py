"""From triples to questions and qrels."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(__name__, {"collection.questions": ("build_questions",), "data.triples": ("POLICIES_LIKE",)})

"""Entity alignment: from similarities of entities to ranks."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "alignment.align": ("align", "alignment_collection"),
        "alignment.by_size": ("study_alignment",),
        "data.alignments": ("Alignments", "EntityVectors"),
        "formats.alignment": ("read_alignment_system", "read_pairs"),
    },
)

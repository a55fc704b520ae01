"""From a published table to what is impossible or doubtful in it."""

from __future__ import annotations

from kgtrec.lazy import offer

__all__ = offer(
    __name__,
    {
        "published.check_paper": ("check_paper", "PaperCheck"),
        "published.findings": ("PaperFinding", "MeanBounds"),
        "data.scores": ("PublishedTable", "PublishedValue"),
        "formats.published_tables": ("read_published_table",),
    },
)

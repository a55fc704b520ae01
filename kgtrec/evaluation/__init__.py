"""From runs and answer ranks to scores; published numbers against what is possible."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "evaluation.evaluate": ("evaluate",),
        "evaluation.prepared": ("default_measures",),
        "evaluation.graphs": ("evaluate_graphs",),
        "evaluation.item_scores": ("item_scores", "ItemScores"),
        "evaluation.ties": ("compare_ties", "TieComparison"),
        "evaluation.chance": ("adjust", "chance_of_split", "chance_table"),
        "evaluation.published.check_paper": ("check_paper", "PaperCheck"),
        "evaluation.published.findings": ("PaperFinding", "MeanBounds"),
        "data.scores": ("ChanceTable", "PublishedTable", "PublishedValue"),
        "formats.chance_tables": ("read_chance_table", "write_chance_table"),
        "formats.published_tables": ("read_published_table",),
    },
)

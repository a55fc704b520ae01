"""From runs and answer ranks to scores."""

from __future__ import annotations

from kgtrec.lazy import offer

__all__ = offer(
    __name__,
    {
        "evaluation.evaluate": ("evaluate", "default_measures"),
        "evaluation.item_scores": ("item_scores", "ItemScores"),
        "evaluation.ties": ("compare_ties", "TieComparison"),
        "evaluation.chance": ("adjust", "chance_of_split", "chance_table"),
        "data.scores": ("ChanceTable",),
        "formats.chance_tables": ("read_chance_table", "write_chance_table"),
    },
)

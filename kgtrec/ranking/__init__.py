"""From scores to answer ranks and runs."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "ranking.rank": ("rank_scores", "ranked_blocks", "Ranked"),
        "ranking.system": ("rank_model", "rank_system", "grid_of"),
        "ranking.write": ("write_ranked",),
    },
)

"""From scores to answer ranks and runs."""

from __future__ import annotations

from kgtrec.lazy import offer

__all__ = offer(
    __name__,
    {
        "ranking.rank": ("rank_scores", "ranked_blocks", "Ranked"),
        "ranking.system": ("rank_model", "rank_system", "grid_of"),
        "ranking.plans": ("write_plan", "read_plan", "do_unit", "RankPlan"),
        "ranking.executors": ("done_in_order",),
        "ranking.write": ("write_ranked",),
    },
)

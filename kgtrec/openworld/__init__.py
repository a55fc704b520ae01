"""The effect of missing facts on measures."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "openworld.theory": (
            "correlation_range",
            "expected_score",
            "logarithmic_approximation",
            "question_variance",
            "questions_needed",
            "questions_needed_by_logarithm",
            "score_slope",
            "wrong_order_probability",
            "OpenWorld",
        ),
        "openworld.simulate": ("simulate", "OpenWorldSimulation"),
        "openworld.family_tree": ("family_tree", "hide_facts"),
        "openworld.curve": ("open_world_curve", "degradation", "inconsistency", "OpenWorldCurve"),
        "openworld.estimate": ("estimate_missing", "judged_answers", "MissingEstimate"),
        "openworld.annotators": ("annotate",),
    },
)

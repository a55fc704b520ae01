"""Evaluation of measures: comparison of label sets, stability, power, comparison of systems."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "meta.correlation": ("correlate", "between_measures", "swaps", "Correlations", "Swaps"),
        "meta.sparsity": ("sparsity", "label_scores"),
        "meta.stability": ("stability", "subsample", "Stability"),
        "meta.strata": ("per_stratum",),
        "meta.withstand": ("withstand", "Withstanding"),
        "meta.power": ("power", "Power"),
        "meta.comparison": ("compare", "Comparison"),
        "meta.sampled": ("sampled_bounds", "expected_sampled", "PROTOCOLS"),
        "meta.candidate_lists": ("candidate_lists",),
        "data.sampled_ranks": ("SampledRanks",),
        "systems.sampled_scores": ("read_sampled_scores",),
        "kernels.statistics.correlation": ("kendall_tau_b", "tau_ap", "spearman_rho", "rank_biased_overlap"),
        "data.scores": ("ScoreTable",),
        "formats.score_tables": ("read_score_table",),
    },
)

"""Measures over answers (micro), and those over the best answer of a question (macro)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.chance import lists as chance_lists
from kgtrec.kernels.chance import ranks as chance
from kgtrec.kernels.lists import expected_ties, gain, list_measures
from kgtrec.kernels.lists.answer_measures import hit, identity, log_reciprocal, power, reciprocal
from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking
from kgtrec.measures.chance_forms import register_forms, register_with_forms
from kgtrec.measures.record import Chance, Measure, Rule
from kgtrec.measures.registry import register

_UNIFIED = "Hoyt et al. 2022, arXiv:2203.07544"
_OPEN_WORLD = "Yang et al. 2022, NeurIPS"
_AMBIGUITY = "Berrendorf et al. 2020, arXiv:2002.06914"
_PYKEEN = "PyKEEN, MacroRankBasedEvaluator"
_RANK = Chance(chance.expected_rank, chance.variance_rank)
_RECIPROCAL = Chance(chance.expected_reciprocal_rank, chance.variance_reciprocal_rank)
_HIT = Chance(chance.expected_hit, chance.variance_hit)
_UNBOUNDED = (1.0, np.inf)
_RETHINKING = "Zhou et al. 2022, SIGIR"


def _best_rank(ranking: JudgedRanking) -> NDArray[np.float64]:
    return _known(ranking.best_rank())


def _expected_best_rank(ranking: TiedRanking) -> NDArray[np.float64]:
    return _known(expected_ties.best_rank(ranking))


def _known(best: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isinf(best), np.nan, best)  # a cut list does not show how far below the cut the answer is


def _best_reciprocal(ranking: JudgedRanking) -> NDArray[np.float64]:
    return reciprocal(ranking.best_rank())


def _best_hit(ranking: JudgedRanking, cutoff: int) -> NDArray[np.float64]:
    return hit(ranking.best_rank(), cutoff)


register_with_forms(
    Measure(
        "micro.MR",
        identity,
        "answers",
        expected=expected_ties.rank,
        chance=_RANK,
        has_chance=True,
        bounds=_UNBOUNDED,
        better="lower",
        description="Mean rank of the answers.",
        source=_UNIFIED,
    ),
    ratio="micro.AMR",
)
register_with_forms(
    Measure(
        "micro.MRR",
        reciprocal,
        "answers",
        expected=expected_ties.reciprocal,
        chance=_RECIPROCAL,
        has_chance=True,
        description="Mean reciprocal rank of the answers.",
        source=_UNIFIED,
    )
)
register_with_forms(
    Measure(
        "micro.Hits",
        hit,
        "answers",
        expected=expected_ties.hit,
        cutoff="required",
        chance=_HIT,
        has_chance=True,
        description="Share of answers ranked at the cutoff or better: a success, not a precision.",
        source=_UNIFIED,
    )
)
register_with_forms(
    Measure(
        "micro.GMR",
        identity,
        "answers",
        expected=expected_ties.geometric_rank,
        aggregate="geometric mean",
        has_chance=True,
        bounds=_UNBOUNDED,
        better="lower",
        description="Geometric mean of the answers' ranks.",
        source=_UNIFIED,
    )
)
register(
    Measure(
        "micro.IGMR",
        identity,
        "answers",
        expected=expected_ties.geometric_rank,
        aggregate="inverse geometric mean",
        description="1 / the geometric mean of the answers' ranks.",
        source=_UNIFIED,
    )
)
register(
    Measure(
        "micro.HMR",
        identity,
        "answers",
        expected=expected_ties.harmonic_rank,
        aggregate="harmonic mean",
        bounds=_UNBOUNDED,
        better="lower",
        description="Harmonic mean of the answers' ranks, 1 / MRR.",
        source=_UNIFIED,
    )
)
register(
    Measure(
        "micro.IMR",
        identity,
        "answers",
        expected=expected_ties.rank,
        aggregate="inverse mean",
        description="1 / the mean rank of the answers.",
        source=_UNIFIED,
    )
)
register_with_forms(
    Measure(
        "micro.MedianRank",
        identity,
        "answers",
        expected=expected_ties.rank,
        aggregate="median",
        has_chance=True,
        bounds=_UNBOUNDED,
        better="lower",
        description="Median rank of the answers; chance by simulation.",
        source=_UNIFIED,
    )
)
register_with_forms(
    Measure(
        "micro.logMRR",
        log_reciprocal,
        "answers",
        expected=expected_ties.log_reciprocal,
        has_chance=True,
        chance=Chance(chance.expected_log_reciprocal_rank, chance.variance_log_reciprocal_rank),
        description="Mean of 1 / log2(rank + 1): less focus on the top than MRR.",
        source=_OPEN_WORLD,
    )
)
register_with_forms(
    Measure(
        "micro.pMRR",
        power,
        "answers",
        expected=expected_ties.power,
        has_chance=True,
        parameters={"p": 0.5},
        rules={"p": Rule(float, low=1e-6, high=1.0)},
        chance=Chance(chance.expected_power_rank, chance.variance_power_rank),
        description="Mean of 1 / rank**p, 0 < p <= 1: less focus on the top than MRR, which is p = 1.",
        source=_OPEN_WORLD,
    )
)
register(
    Measure(
        "micro.WMR",
        identity,
        "answers",
        expected=expected_ties.geometric_rank,
        aggregate="geometric mean",
        bounds=_UNBOUNDED,
        better="lower",
        weighting="relation",
        source=_AMBIGUITY,
        description="Geometric mean of the answers' ranks in which each relation counts equally.",
    )
)
for _name, _value, _more in (
    ("MR", identity, {"bounds": _UNBOUNDED, "better": "lower", "expected": expected_ties.rank}),
    ("MRR", reciprocal, {"expected": expected_ties.reciprocal}),
    ("Hits", hit, {"cutoff": "required", "expected": expected_ties.hit}),
):
    register(
        Measure(
            f"pykeen.macro.{_name}",
            _value,
            "answers",
            weighting="question",
            source=_PYKEEN,
            description=f"micro.{_name}{'@k' if _more.get('cutoff') else ''}, each question counting equally, with "
            "all its answers, not only its best one.",
            **_more,
        )
    )
register_with_forms(
    Measure(
        "macro.MR",
        _best_rank,
        "questions",
        expected=_expected_best_rank,
        bounds=_UNBOUNDED,
        better="lower",
        has_chance=True,
        chance=Chance(chance_lists.expected_best_rank, chance_lists.variance_best_rank),
        description="Mean over questions of the best answer's rank; the other answers stay in the list.",
        source=_RETHINKING,
    )
)
register_with_forms(
    Measure(
        "macro.MRR",
        _best_reciprocal,
        "questions",
        expected=expected_ties.reciprocal_rank,
        has_chance=True,
        chance=Chance(chance_lists.expected_reciprocal_best_rank, chance_lists.variance_reciprocal_best_rank),
        description="Mean over questions of 1 / the best answer's rank; the other answers stay in the list.",
        source=_RETHINKING,
    )
)
register_with_forms(
    Measure(
        "macro.Hits",
        _best_hit,
        "questions",
        expected=expected_ties.success,
        cutoff="required",
        has_chance=True,
        chance=Chance(chance_lists.expected_success, chance_lists.variance_success),
        description="Share of questions whose best answer is ranked at the cutoff or better.",
        source=_RETHINKING,
    )
)
register_forms(
    Measure(
        "AP",
        list_measures.average_precision,
        "questions",
        cutoff="optional",
        has_chance=True,
        chance=Chance(chance_lists.expected_average_precision, chance_lists.variance_average_precision),
        expected=expected_ties.average_precision,
        description="",
        source="",
    )
)
register_forms(
    Measure(
        "nDCG",
        gain.ndcg,
        "questions",
        cutoff="optional",
        has_chance=True,
        binary=True,
        chance=Chance(chance_lists.expected_ndcg, chance_lists.variance_ndcg),
        expected=expected_ties.ndcg,
        description="",
        source="",
    )
)

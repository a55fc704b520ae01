"""Measures over answers (micro), and those over the best answer of a question (macro)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.chance import lists as chance_lists
from kgtrec.kernels.chance import ranks as chance
from kgtrec.kernels.lists import credit, expected_ties, gain, list_measures
from kgtrec.kernels.lists.answer_measures import hit, identity, log_reciprocal, power, power_above_last, reciprocal
from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking
from kgtrec.measures.chance_forms import register_forms, register_with_forms
from kgtrec.measures.record import Chance, Measure, Rule
from kgtrec.measures.registry import register

Kernel = Callable[..., NDArray[np.float64]]

_UNIFIED = "Hoyt et al. 2022, arXiv:2203.07544"
_OPEN_WORLD = "Yang et al. 2022, NeurIPS"
_AMBIGUITY = "Berrendorf et al. 2020, arXiv:2002.06914"
_PYKEEN = "PyKEEN, MacroRankBasedEvaluator"
_PROBE = "Moon, Kang, Ko 2026, arXiv:2606.08921; with relations=False the weights of Moon, Ko 2026, arXiv:2512.06296"
_RETHINKING = "Zhou et al. 2022, SIGIR"
_AS_RANKS: dict[str, Any] = {"bounds": (1.0, np.inf), "better": "lower"}


Add = Callable[[Measure], Any]


def _of_answers(
    name: str,
    value: Kernel,
    expected: Kernel,
    description: str,
    source: str = _UNIFIED,
    add: Add = register_with_forms,
    **more: Any,
) -> None:
    """Register a measure over answers, with its forms if its chance level is known."""
    add(Measure(name, value, "answers", description, source, expected=expected, **more))


def _of_best_answers(
    name: str, value: Kernel, expected: Kernel, description: str, add: Add = register_with_forms, **more: Any
) -> None:
    add(Measure(name, value, "questions", description, _RETHINKING, expected=expected, **more))


def _unweighted(kernel: Kernel) -> Kernel:
    """A kernel without the parameters of its measure's weights."""

    def value(*inputs: Any, beta: float, relations: bool, **parameters: Any) -> NDArray[np.float64]:
        return kernel(*inputs, **parameters)

    return value


def _best_rank(ranking: JudgedRanking) -> NDArray[np.float64]:
    return _known(ranking.best_rank())


def _expected_best_rank(ranking: TiedRanking) -> NDArray[np.float64]:
    return _known(expected_ties.best_rank(ranking))


def _known(best: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isinf(best), np.nan, best)  # a cut list does not show how far below the cut the answer is


_of_answers(
    "micro.MR",
    identity,
    expected_ties.rank,
    "Mean rank of the answers.",
    chance=Chance(chance.expected_rank, chance.variance_rank),
    add=partial(register_with_forms, ratio="micro.AMR"),
    **_AS_RANKS,
)
_of_answers(
    "micro.MRR",
    reciprocal,
    expected_ties.reciprocal,
    "Mean reciprocal rank of the answers.",
    chance=Chance(chance.expected_reciprocal_rank, chance.variance_reciprocal_rank),
)
_of_answers(
    "micro.Hits",
    hit,
    expected_ties.hit,
    "Share of answers ranked at the cutoff or better: a success, not a precision.",
    cutoff="required",
    chance=Chance(chance.expected_hit, chance.variance_hit),
)
_of_answers(
    "micro.GMR",
    identity,
    expected_ties.geometric_rank,
    "Geometric mean of the answers' ranks.",
    aggregate="geometric mean",
    **_AS_RANKS,
)
_of_answers(
    "micro.IGMR",
    identity,
    expected_ties.geometric_rank,
    "1 / the geometric mean of the answers' ranks.",
    aggregate="inverse geometric mean",
    add=register,
)
_of_answers(
    "micro.HMR",
    identity,
    expected_ties.harmonic_rank,
    "Harmonic mean of the answers' ranks, 1 / MRR.",
    aggregate="harmonic mean",
    add=register,
    **_AS_RANKS,
)
_of_answers(
    "micro.IMR",
    identity,
    expected_ties.rank,
    "1 / the mean rank of the answers.",
    aggregate="inverse mean",
    add=register,
)
_of_answers(
    "micro.MedianRank",
    identity,
    expected_ties.rank,
    "Median rank of the answers; chance by simulation.",
    aggregate="median",
    **_AS_RANKS,
)
_of_answers(
    "micro.logMRR",
    log_reciprocal,
    expected_ties.log_reciprocal,
    "Mean of 1 / log2(rank + 1): less focus on the top than MRR.",
    _OPEN_WORLD,
    chance=Chance(chance.expected_log_reciprocal_rank, chance.variance_log_reciprocal_rank),
)
_of_answers(
    "micro.pMRR",
    power,
    expected_ties.power,
    "Mean of 1 / rank**p, 0 < p <= 1: less focus on the top than MRR, which is p = 1.",
    _OPEN_WORLD,
    parameters={"p": 0.5},
    rules={"p": Rule(float, low=1e-6, high=1.0)},
    chance=Chance(chance.expected_power_rank, chance.variance_power_rank),
)
_of_answers(
    "micro.PROBE",
    _unweighted(power_above_last),
    _unweighted(expected_ties.power_above_last),
    "Mean of rank**-alpha, scaled to 1 for the first and 0 for the last rank, rare answers counting more if beta > 0.",
    _PROBE,
    parameters={"alpha": 1.0, "beta": 0.0, "relations": True},
    rules={"alpha": Rule(float, low=-1.0, high=1.0), "beta": Rule(float, low=0.0, high=10.0)},
    chance=Chance(_unweighted(chance.expected_power_above_last), _unweighted(chance.variance_power_above_last)),
    weighting="beta",
    sees_candidates=True,
)
_of_answers(
    "micro.WMR",
    identity,
    expected_ties.geometric_rank,
    "Geometric mean of the answers' ranks in which each relation counts equally.",
    _AMBIGUITY,
    aggregate="geometric mean",
    weighting="relation",
    add=register,
    **_AS_RANKS,
)
for _name, _value, _expected, _more in (
    ("MR", identity, expected_ties.rank, _AS_RANKS),
    ("MRR", reciprocal, expected_ties.reciprocal, {}),
    ("Hits", hit, expected_ties.hit, {"cutoff": "required"}),
):
    _shown = f"{_name}@k" if _name == "Hits" else _name
    _description = f"micro.{_shown}, each question counting equally, with all its answers, not only its best one."
    _of_answers(
        f"pykeen.macro.{_name}", _value, _expected, _description, _PYKEEN, register, weighting="question", **_more
    )
_of_best_answers(
    "macro.MR",
    _best_rank,
    _expected_best_rank,
    "Mean over questions of the best answer's rank; the other answers stay in the list.",
    chance=Chance(chance_lists.expected_best_rank, chance_lists.variance_best_rank),
    credit=credit.best_rank,
    **_AS_RANKS,
)
_of_best_answers(
    "macro.MRR",
    list_measures.reciprocal_rank,
    expected_ties.reciprocal_rank,
    "Mean over questions of 1 / the best answer's rank; the other answers stay in the list.",
    chance=Chance(chance_lists.expected_reciprocal_best_rank, chance_lists.variance_reciprocal_best_rank),
    credit=credit.reciprocal_rank,
)
_of_best_answers(
    "macro.Hits",
    list_measures.success,
    expected_ties.success,
    "Share of questions whose best answer is ranked at the cutoff or better.",
    cutoff="required",
    chance=Chance(chance_lists.expected_success, chance_lists.variance_success),
    credit=credit.success,
)
# the plain forms of these two are registered in lists.py
_of_best_answers(
    "AP",
    list_measures.average_precision,
    expected_ties.average_precision,
    "",
    cutoff="optional",
    chance=Chance(chance_lists.expected_average_precision, chance_lists.variance_average_precision),
    add=register_forms,
)
_of_best_answers(
    "nDCG",
    gain.ndcg,
    expected_ties.ndcg,
    "",
    cutoff="optional",
    binary=True,
    chance=Chance(chance_lists.expected_ndcg, chance_lists.variance_ndcg),
    add=register_forms,
)

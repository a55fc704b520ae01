"""Measures over answers (micro), and those over the best answer of a question (macro)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.answer_measures import hit, identity, reciprocal
from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.measures.record import Measure
from kgtrec.measures.registry import register

_UNIFIED = "Hoyt et al. 2022, arXiv:2203.07544"
_RETHINKING = "Zhou et al. 2022, SIGIR"


def _best_rank(ranking: JudgedRanking) -> NDArray[np.float64]:
    best = ranking.best_rank()
    return np.where(np.isinf(best), np.nan, best)  # a cut list does not tell how far below the cut the answer is


def _best_reciprocal(ranking: JudgedRanking) -> NDArray[np.float64]:
    return reciprocal(ranking.best_rank())


def _best_hit(ranking: JudgedRanking, cutoff: int) -> NDArray[np.float64]:
    return hit(ranking.best_rank(), cutoff)


register(
    Measure(
        "micro.MR", identity, "answers", bounds=(1.0, np.inf), better="lower",
        description="Mean rank of the answers.", source=_UNIFIED,
    )
)  # fmt: skip
register(
    Measure(
        "micro.MRR", reciprocal, "answers",
        description="Mean reciprocal rank of the answers.", source=_UNIFIED,
    )
)  # fmt: skip
register(
    Measure(
        "micro.Hits", hit, "answers", cutoff="required",
        description="Share of answers ranked at the cutoff or better.", source=_UNIFIED,
    )
)  # fmt: skip
register(
    Measure(
        "macro.MR", _best_rank, "questions", bounds=(1.0, np.inf), better="lower", needs_full_list=True,
        description="Mean over questions of the best answer's rank; the other answers stay in the list.",
        source=_RETHINKING,
    )
)  # fmt: skip
register(
    Measure(
        "macro.MRR", _best_reciprocal, "questions",
        description="Mean over questions of 1 / the best answer's rank; the other answers stay in the list.",
        source=_RETHINKING,
    )
)  # fmt: skip
register(
    Measure(
        "macro.Hits", _best_hit, "questions", cutoff="required",
        description="Share of questions whose best answer is ranked at the cutoff or better.", source=_RETHINKING,
    )
)  # fmt: skip

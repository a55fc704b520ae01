"""How likely every candidate of a pool is to be true: by a machine if it has skill, else by the share of Y."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.pool import Pool
from kgtrec.data.triples import label_hashes
from kgtrec.kernels.statistics.calibration import Skill, fold_of, recalibrated, skill

FOLDS = 5


class Prediction(NamedTuple):
    """One row per triple of the pool and question for which it was pooled, sorted by triple, then by question."""

    triple: NDArray[np.int32]  # (m,) row in the pool's triples
    question: NDArray[np.int32]  # (m,) row in the pool's questions
    probability: NDArray[np.float64]  # (m,) that the triple is true, in (0, 1)
    skill: Skill  # of the machine; NaN without one


def predict(
    campaign: Campaign,
    machine: MachineVerdicts | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Prediction:
    """Predict each candidate from people's decisions on other questions, and from a machine if it has skill.

    A candidate's prediction depends on no verdict on any candidate of its question: questions are in five folds, and a
    triple that is pooled for two questions is used in the fold of neither. Only whether the machine is used depends on
    all verdicts. What a rule has judged is not used.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.
    machine : MachineVerdicts, optional
        Of the campaign's pool. Default: the share of Y of the other folds, for every candidate.
    confidence, resamples
        Of the interval of the machine's skill, questions resampled; the machine is used where this is above 0.
    seed : int
        Of the folds and the samples.

    Returns
    -------
    Prediction

    References
    ----------
    See :mod:`kgtrec.kernels.statistics.calibration`.

    Examples
    --------
    See docs/machine-verdicts.md.
    """
    pool, decisions = campaign.pool, decisions_of(campaign)
    triple, question = np.unique(np.stack([pool.triple, pool.question]), axis=1)
    # a question of the pool, also where a design has drawn the triple for another one
    home = groups_of(pool, replace(campaign.automatic, design=None), seed=campaign.assignment_seed)[triple]
    is_used = (question == home) & (decisions.verdict >= 0)[triple] & ~campaign.automatic.is_automatic[triple]
    label = np.where(is_used, decisions.verdict[triple], np.nan)
    weight = 1.0 / campaign.chance[triple]
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    return Prediction(triple, question, *predict_pairs(pool, triple, question, label, weight, machine, **options))


def predict_pairs(
    pool: Pool,
    triple: NDArray[np.integer],
    question: NDArray[np.integer],
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    machine: MachineVerdicts | None = None,
    *,
    by_ranks: bool = False,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[NDArray[np.float64], Skill]:
    """Predict as :func:`predict` does, for any pairs of a triple of the pool and a question that it answers, (n,) each.

    A label is 1, 0, or NaN where there is none. Returned are the probabilities, and the skill of the machine.
    """
    known = np.column_stack([np.log(pool.depth), np.log1p(pool.is_from.sum(axis=0))])[triple] if by_ranks else None
    fold = fold_of(label_hashes(pool.questions.ids), FOLDS, seed)[question]
    folds = np.column_stack([fold, folds_of_triples(triple, fold, len(pool))[triple]])
    nothing = np.full(len(triple), -1), np.full(len(triple), np.nan)
    share = recalibrated(*nothing, label, weight, folds, known)
    if machine is None:
        return share, Skill(np.nan, np.nan, np.nan)
    verdict, given = machine.of_pool(len(pool))
    predicted = recalibrated(verdict[triple], given[triple], label, weight, folds, known)
    cluster = pool.questions.ids.byte_order[question]
    worth = skill(predicted, share, label, weight, cluster, confidence=confidence, resamples=resamples, seed=seed)
    return predicted if worth.is_shown else share, worth


def folds_of_triples(triple: NDArray[np.integer], fold: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Return the lowest and the highest fold of the pairs of each of n triples, (n, 2), of which it has at most two.

    Examples
    --------
    >>> folds_of_triples(np.array([0, 1, 0]), np.array([4, 2, 3]), 2).tolist()
    [[3, 4], [2, 2]]
    """
    folds = np.stack([np.full(n, np.iinfo(np.int64).max), np.full(n, -1)], axis=1)
    np.minimum.at(folds[:, 0], triple, fold)
    np.maximum.at(folds[:, 1], triple, fold)
    return folds


def skill_text(worth: Skill, confidence: float, than: str = "the share of Y", end: str = "") -> str:
    """Say whether a machine has skill beyond a prediction without it; ``end`` follows where none is shown."""
    if np.isnan(worth.low):
        return "Too few questions are settled to show any skill: estimates leave it out."
    parts = [f"{round(part, 3) + 0.0:.1%}" for part in (worth.value, worth.low, worth.high)]  # never -0.0%
    found = (
        f"recalibrated, it takes away {parts[0]} of the squared error of {than} "
        f"({confidence * 100:g}% interval {parts[1]} to {parts[2]})"
    )
    return f"It has skill: {found}." if worth.is_shown else f"No skill is shown: {found}.{end}"

"""How likely every candidate of a pool is to be true: by a machine if it has skill, else by the share of Y."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.machines import MachineVerdicts
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
    said: MachineVerdicts | None = None,
    *,
    probability: NDArray[np.float64] | None = None,
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
    said : MachineVerdicts, optional
        Of the campaign's pool. Default: the share of Y of the other folds, for every candidate.
    probability : (n,) float array, optional
        Of each triple of the pool to be judged by people. Default: that to be in the pool.
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
    home = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)[triple]
    fold = fold_of(label_hashes(pool.questions.ids), FOLDS, seed)
    # the pairs of a triple, of which it has one or two, are neighbours
    ends = np.searchsorted(triple, triple, "left"), np.searchsorted(triple, triple, "right") - 1
    folds = np.stack([fold[question], *(fold[question[end]] for end in ends)], axis=1)
    is_used = (question == home) & (decisions.verdict >= 0)[triple] & ~campaign.automatic.is_automatic[triple]
    label = np.where(is_used, decisions.verdict[triple], np.nan)
    weight = 1.0 / (pool.probability if probability is None else probability)[triple]
    nothing = np.full(len(triple), -1), np.full(len(triple), np.nan)
    share, none = recalibrated(*nothing, label, weight, folds), Skill(np.nan, np.nan, np.nan)
    if said is None:
        return Prediction(triple, question, share, none)
    verdict, given = said.of_pool(len(pool))
    predicted = recalibrated(verdict[triple], given[triple], label, weight, folds)
    cluster = pool.questions.ids.byte_order[question]
    worth = skill(predicted, share, label, weight, cluster, confidence=confidence, resamples=resamples, seed=seed)
    return Prediction(triple, question, predicted if worth.is_shown else share, worth)

"""The verdicts of a campaign whose people judge a designed sample of the pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.qrels import question_level
from kgtrec.data.campaign import Campaign
from kgtrec.data.design import Design
from kgtrec.data.judgements import UNDECIDABLE, Decisions
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, counted, warn
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.pooling.designs import PRIOR

_FOLDS = 10
_PRIOR_WEIGHT = 10.0  # triples


def sampled_qrels(campaign: Campaign, *, warns: bool = True) -> SampledQrels:
    """Collect what is judged of a designed sample, for estimates of what judging the whole pool would give.

    A question counts as opened once every triple that was drawn for it is settled, or undecidable, which counts as N
    like every unjudged triple; those that are not done yet count as not opened, as if they came last in the random
    order. A triple that nobody has judged is predicted to be true with the share of Y among the verdicts in other
    questions, each weighted by 1 / pi: those of other folds, into which a hash of their labels puts the questions.

    Parameters
    ----------
    campaign : Campaign
        With a design.
    warns : bool
        Whether to warn of opened questions that are not done.

    Raises
    ------
    KgtrecError
        If it has no design, or no question is done yet.

    Warns
    -----
    KgtrecWarning
        If some opened questions are not done.
    """
    design = campaign.design
    if design is None:
        raise KgtrecError(
            "expected a campaign whose people judge a designed sample (kgtrec pool --strategy two-level), found one "
            "whose people judge the whole pool; kgtrec campaign qrels makes its qrels"
        )
    pool, decisions = campaign.pool, decisions_of(campaign)
    ids, entities = pool.questions.ids, pool.questions.entities
    by_rules = np.where(campaign.automatic.is_automatic, np.int8(0), np.int8(-1))
    known = question_level(pool, campaign.known_answers, Decisions(decisions.state, by_rules))
    triples = pool.triples.take(design.triple)
    entity = np.where(pool.questions.is_head[design.question], triples.head, triples.tail)
    is_opened = opened_and_done(design, decisions)
    done, opened = (len(np.unique(design.question[rows])) for rows in (is_opened, design.is_opened))
    if done == 0:
        raise KgtrecError("expected a question of which every drawn triple is settled, found none; judge some first")
    if warns and done < opened:
        warn(
            f"{counted(opened - done, 'opened question')} of {opened:,} not judged to the end: the estimates are from "
            f"the other {done:,}, as if these had been done at random"
        )
    rate = design.pi / design.theta
    label = np.where(is_opened & design.is_drawn, decisions.verdict[design.triple] == 1, np.nan)
    known_label, is_known = (known.grade >= 1).astype(np.float64), np.repeat([True, False], [len(known), len(design)])
    sampled = SampledQrels(
        np.r_[known.question, design.question],
        np.r_[known.entity, entity],
        np.r_[known_label, label],
        np.r_[np.ones(len(known)), rate],
        np.r_[known_label, _shares(ids, design.question, label, rate)],
        ~is_known,
        np.r_[np.zeros(len(known), np.bool_), is_opened],
        ids,
        entities,
        str(campaign.settings.get("collection", "")),
    )
    return sampled.take(np.lexsort((sampled.entity, sampled.question)))


def opened_and_done(design: Design, decisions: Decisions) -> NDArray[np.bool_]:
    """Find the rows of a design, (n,), of opened questions that are done: their drawn triples are all decided."""
    is_done = (decisions.verdict >= 0) | (decisions.state == UNDECIDABLE)
    is_lacking = design.is_drawn & ~is_done[design.triple]
    lacking = np.bincount(design.question[is_lacking], minlength=int(design.question.max(initial=-1)) + 1)
    return np.asarray(design.is_opened & (lacking[design.question] == 0))


def _shares(
    ids: Vocabulary, question: NDArray[np.int32], label: NDArray[np.float64], rate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n,) the share of Y among the verdicts of other folds than the question's own."""
    fold = (hashed(0, label_hashes(ids)) % np.uint64(_FOLDS)).astype(np.intp)[question]
    weight = np.where(np.isnan(label), 0.0, 1.0 / rate)
    of_fold = np.bincount(fold, weight, _FOLDS)
    yes = np.bincount(fold, weight * np.nan_to_num(label), _FOLDS)
    share = (yes.sum() - yes + _PRIOR_WEIGHT * PRIOR) / (of_fold.sum() - of_fold + _PRIOR_WEIGHT)
    return np.asarray(share[fold])

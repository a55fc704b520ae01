"""The verdicts of a campaign whose people judge a designed sample of the pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.predict import predict_pairs, skill_text
from kgtrec.campaign.qrels import question_level
from kgtrec.data.campaign import Campaign
from kgtrec.data.design import Design
from kgtrec.data.judgements import UNDECIDABLE, Decisions
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.qrels import Qrels
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, counted, warn


def sampled_qrels(campaign: Campaign, machine: MachineVerdicts | None = None, *, warns: bool = True) -> SampledQrels:
    """Collect what is judged of a designed sample, for estimates of what judging the whole pool would give.

    A question counts as opened once every triple that was drawn for it is settled, or undecidable, which counts as N
    like every unjudged triple; those that are not done yet count as not opened, as if they came last in the random
    order, and so does a like share of those of which nothing was drawn. A triple that nobody has judged is predicted by
    its best rank and the number of its runs, with a logistic regression fitted to the verdicts in other questions, each
    weighted by 1 / pi: those of other folds, into which a hash of their labels puts the questions. With a machine, also
    by what it says, if it is shown that this lowers the squared error.

    Parameters
    ----------
    campaign : Campaign
        With a design.
    machine : MachineVerdicts, optional
        Of the campaign's pool.
    warns : bool
        Whether to warn of opened questions that are not done.

    Raises
    ------
    KgtrecError
        If it has no design, or no question is done yet.

    Warns
    -----
    KgtrecWarning
        If some opened questions are not done; if no skill is shown of the machine, which is left out then.
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
    is_opened = opened_and_done(ids, design, decisions)
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
    pairs = design.triple, design.question, label, 1.0 / rate
    prediction, worth = predict_pairs(pool, *pairs, machine, by_ranks=True)
    if machine is not None and not worth.is_shown:
        warn(f"machine left out: {skill_text(worth, 0.95, 'a prediction by ranks in finished questions')}")
    known_label, is_known = (known.grade >= 1).astype(np.float64), np.repeat([True, False], [len(known), len(design)])
    sampled = SampledQrels(
        np.r_[known.question, design.question],
        np.r_[known.entity, entity],
        np.r_[known_label, label],
        np.r_[np.ones(len(known)), rate],
        np.r_[known_label, prediction],
        ~is_known,
        np.r_[np.zeros(len(known), np.bool_), is_opened],
        ids,
        entities,
        str(campaign.settings.get("collection", "")),
    )
    return sampled.take(np.lexsort((sampled.entity, sampled.question)))


def is_decided(decisions: Decisions) -> NDArray[np.bool_]:
    """Find the triples, (n,), that are settled, or that an adjudicator could not decide."""
    return np.asarray((decisions.verdict >= 0) | (decisions.state == UNDECIDABLE))


def opened_and_done(ids: Vocabulary, design: Design, decisions: Decisions) -> NDArray[np.bool_]:
    """Find the rows of a design, (n,), of opened questions that are done: their drawn triples are all decided.

    Of opened questions without a drawn triple, the same share as of the others is done: from the start all of them
    would be, and the first estimates would be those of questions of which nothing was judged.
    """
    is_lacking = design.is_drawn & ~is_decided(decisions)[design.triple]
    n = len(ids)
    opened, drawn, lacking = (
        np.bincount(design.question[rows], minlength=n) > 0 for rows in (design.is_opened, design.is_drawn, is_lacking)
    )
    share = 1.0 - float(lacking.sum()) / max(int(drawn.sum()), 1)
    empty = np.flatnonzero(opened & ~drawn)
    empty = empty[np.argsort(label_hashes(ids)[empty], kind="stable")]
    lacking[empty[round(share * len(empty)) :]] = True
    return np.asarray(design.is_opened & ~lacking[design.question])


def pool_pairs(campaign: Campaign) -> Qrels:
    """Make qrels of all pairs that the whole pool would judge: grade 1 for answers known before, 0 for all others."""
    no = np.zeros(len(campaign.pool), np.int8)
    return question_level(campaign.pool, campaign.known_answers, Decisions(no, no))

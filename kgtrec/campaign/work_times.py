"""How long the people of a campaign take for a question and for a candidate, from the times of their verdicts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import verdict_counts
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.judgements import ANNOTATOR
from kgtrec.kernels.statistics.work_time import PAUSE, WorkTimes, fit_work_times

#: what a fact took laymen and experts on the page of Marchesin et al. (2024): 6,744 batches of one to five facts about
#: one entity, 217 with breaks left out; see tests/campaign/test_work_times.py
DEFAULT_TIMES = WorkTimes(opening=7.0, candidate=53.0)
_FEW = 30  # steps, with fewer of which times are not fitted


def moments(times: pa.StringArray) -> NDArray[np.int64]:
    """Convert times as judgements hold them to seconds since 1970, (n,) in their order.

    Examples
    --------
    >>> moments(pa.array(["1970-01-02T00:00:01Z"])).tolist()
    [86401]
    """
    seconds = pc.cast(pc.utf8_slice_codeunits(times, 0, 19), pa.timestamp("s"))
    return values_of(pc.cast(seconds, pa.int64()))


def work_times(campaign: Campaign) -> WorkTimes:
    """Fit the time for a question and the time for a candidate to the first verdicts of each annotator.

    Verdicts of one person with the same time, as a page or a file brings them, are one step of work, which began with
    the person's verdict before; steps with several questions are left out, since what came between is unknown.

    Parameters
    ----------
    campaign : Campaign

    Returns
    -------
    WorkTimes
        :data:`DEFAULT_TIMES` where fewer than 30 steps are known.
    """
    own = campaign.judgements.take(campaign.judgements.role == ANNOTATOR)
    if len(own) <= _FEW:
        return DEFAULT_TIMES
    pair = own.annotator.astype(np.int64) * max(len(campaign.pool), 1) + own.triple
    own = own.take(np.unique(pair, return_index=True)[1])
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)[own.triple]
    when = moments(own.time)
    order = np.lexsort((question, when, own.annotator))
    person, when, question = own.annotator[order], when[order], question[order]
    first = np.flatnonzero(np.r_[True, (np.diff(person) != 0) | (np.diff(when) != 0)])
    last = np.r_[first[1:], len(order)] - 1
    follows = np.r_[False, person[first[1:]] == person[first[:-1]]]
    is_one = follows & (question[first] == question[last])
    step, before = first[is_one], first[is_one] - 1
    seconds, candidates = (when[step] - when[before]).astype(np.float64), (last - first + 1)[is_one]
    if np.count_nonzero((seconds > 0) & (seconds <= PAUSE * candidates)) < _FEW:
        return DEFAULT_TIMES
    return fit_work_times(seconds, question[step] != question[before], candidates)


def work_left(campaign: Campaign, automatic: Automatic) -> tuple[int, int]:
    """Count the questions that annotators have still to open, once for each of them, and the verdicts left to give.

    Parameters
    ----------
    campaign : Campaign
    automatic : Automatic
        Which triples they are asked about.
    """
    n = len(campaign.pool)
    votes = verdict_counts(campaign.judgements, n).sum(axis=1)
    left = np.where(automatic.for_people, np.maximum(campaign.per_triple - votes, 0), 0)
    most = np.zeros(len(campaign.pool.questions), np.int64)
    np.maximum.at(most, groups_of(campaign.pool, automatic, seed=campaign.assignment_seed), left)
    return int(most.sum()), int(left.sum())

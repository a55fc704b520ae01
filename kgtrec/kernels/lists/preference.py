"""Measures over questions for incomplete judgements: bpref and inferred average precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.relevant_rows import ratio, running_sum

Values = NDArray[np.float64]
# trec_eval's INFAP_EPSILON: avoids 0 / 0 where nothing judged is above
SMOOTHING = 0.00001


def bpref(ranking: JudgedRanking, rel: int = 1) -> Values:
    """Mean over all relevant candidates of 1 - n / min(N, R), by judged candidates only.

    n is the number of judged non-relevant candidates above it, at most R; R and N are the numbers of relevant and of
    judged non-relevant candidates of the question.

    References
    ----------
    Buckley, Voorhees (2004), SIGIR; trec_eval, m_bpref.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> bpref(ranking_of([[1, None, 0, 1, 0]]))
    array([0.75])
    """
    num_relevant, relevant = ranking.num_relevant(rel), ranking.grade >= rel
    wrong = (ranking.grade >= 0) & ~relevant
    above = running_sum(wrong, ranking.question, ranking.n_questions)[relevant]
    question = ranking.question[relevant]
    bound = num_relevant[question]
    lost = ratio(np.minimum(above, bound), np.minimum(ranking.num_relevant(0)[question] - bound, bound))
    return ratio(ranking.total(question, 1.0 - lost), num_relevant)


def inferred_average_precision(ranking: JudgedRanking, rel: int = 1) -> Values:
    """Average precision estimated from a judged sample of the pool.

    A negative grade marks a candidate that is in the pool but was not sampled: relevant ones are assumed to be as
    frequent among those as among the judged ones above. A candidate without a grade was not pooled and is not relevant.

    References
    ----------
    Yilmaz, Aslam (2006), CIKM; trec_eval, m_infap.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> inferred_average_precision(ranking_of([[1, -1, 1]])).round(4)
    array([1.])
    """
    relevant = ranking.grade >= rel
    # numbers above each relevant candidate: in the pool, judged, and relevant
    pooled, seen, hits = (
        running_sum(counted, ranking.question, ranking.n_questions)[relevant] - 1.0
        for counted in (np.ones(len(relevant)), ranking.grade >= 0, relevant)
    )
    position, question = ranking.position[relevant], ranking.question[relevant]
    likely = (hits + SMOOTHING) / (seen + 2.0 * SMOOTHING)
    # pooled is 0 at the first position, so the estimate there is 1
    return ratio(ranking.total(question, (1.0 + pooled * likely) / position), ranking.num_relevant(rel))

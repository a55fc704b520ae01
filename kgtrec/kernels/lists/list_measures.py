"""Measures over questions by the positions of relevant candidates: precision, recall, reciprocal rank, sets.

Every function takes a :class:`JudgedRanking` and gives one value per question, 0 for a question without any of what
is measured. ``rel`` is the lowest grade that counts as relevant. "trec_eval" with a file name cites
https://github.com/usnistgov/trec_eval, whose values these are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking, Ranking
from kgtrec.kernels.lists.relevant_rows import ratio, relevant_rows

Values = NDArray[np.float64]
RECALL_POINTS = tuple(tenth / 10 for tenth in range(11))
# recall points and multiples of R become whole counts by adding this and rounding down: nearly up for multiples,
# and in trec_eval 9 (so in pytrec_eval and ir-measures) for recall points too; trec_eval 10 rounds those to the nearest
ALMOST_UP = 0.9
NEAREST = 0.5


def average_precision(ranking: JudgedRanking, rel: int = 1, cutoff: int | None = None) -> Values:
    """Mean over all relevant candidates, retrieved or not, of the precision at their positions.

    A cutoff ignores what is below it; the divisor stays the number of all relevant candidates.

    References
    ----------
    trec_eval, m_map.c and m_map_cut.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> average_precision(ranking_of([[1, None, 1]], [[1]]))
    array([0.55555556])
    """
    rows = relevant_rows(ranking, rel, cutoff)
    return ratio(ranking.total(rows.question, rows.nth / rows.position), ranking.num_relevant(rel))


def precision(ranking: Ranking, cutoff: int, rel: int = 1) -> Values:
    """Relevant candidates at the first ``cutoff`` positions, divided by ``cutoff``, for a shorter list too.

    References
    ----------
    trec_eval, m_P.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> precision(ranking_of([[1, None, 1]]), cutoff=5)
    array([0.4])
    """
    return ranking.count(rel, cutoff) / cutoff


def recall(ranking: Ranking, cutoff: int | None = None, rel: int = 1) -> Values:
    """Share of the relevant candidates that are at the first ``cutoff`` positions, or anywhere in the list.

    References
    ----------
    trec_eval, m_recall.c and m_set_recall.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> recall(ranking_of([[1, None, 1]], [[1, 1]]), cutoff=2)
    array([0.25])
    """
    return ratio(ranking.count(rel, cutoff), ranking.num_relevant(rel))


def relative_precision(ranking: Ranking, cutoff: int, rel: int = 1) -> Values:
    """Precision divided by the greatest precision that any list could have at ``cutoff``.

    References
    ----------
    trec_eval, m_rel_P.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> relative_precision(ranking_of([[1, None, None]], [[1]]), cutoff=3)
    array([0.5])
    """
    return ratio(ranking.count(rel, cutoff), np.minimum(ranking.num_relevant(rel), cutoff))


def success(ranking: JudgedRanking, cutoff: int, rel: int = 1) -> Values:
    """1 if a relevant candidate ranks at ``cutoff`` or better.

    References
    ----------
    trec_eval, m_success.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> success(ranking_of([[None, 1], [None, None, 1]]), cutoff=2)
    array([1., 0.])
    """
    return (ranking.best_rank(rel) <= cutoff).astype(np.float64)


def reciprocal_rank(ranking: JudgedRanking, rel: int = 1, cutoff: int | None = None) -> Values:
    """1 / rank of the best relevant candidate, 0 if it is below the cutoff.

    References
    ----------
    trec_eval, m_recip_rank.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> reciprocal_rank(ranking_of([[None, 1], [None, None]]))
    array([0.5, 0. ])
    """
    best = ranking.best_rank(rel)
    if cutoff is not None:
        best = np.where(best <= cutoff, best, np.inf)
    return 1.0 / best


def r_precision(ranking: Ranking, rel: int = 1, multiple: float = 1.0) -> Values:
    """Precision at position R, R = number of relevant candidates; or at ``multiple`` x R + 0.9, rounded down.

    References
    ----------
    Buckley, Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation in Information
    Retrieval; trec_eval, m_Rprec.c and m_Rprec_mult.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> r_precision(ranking_of([[1, None, 1]])), r_precision(ranking_of([[1, None, 1]]), multiple=1.5)
    (array([0.5]), array([0.66666667]))
    """
    last = (multiple * ranking.num_relevant(rel) + ALMOST_UP).astype(np.int64)
    return ratio(ranking.count(rel, last), last)


def interpolated_precision(ranking: JudgedRanking, recall: float, rel: int = 1, rounding: float = ALMOST_UP) -> Values:
    """Greatest precision at or below the position where ``recall`` is reached; 0 if it never is.

    Parameters
    ----------
    ranking : JudgedRanking
    recall : float
        From 0 to 1.
    rel : int
    rounding : float
        ``recall`` times the number of relevant candidates is rounded down after adding this: 0.9 in
        trec_eval 9, pytrec_eval and ir-measures, 0.5 in trec_eval 10.

    References
    ----------
    trec_eval, m_iprec_at_recall.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> interpolated_precision(ranking_of([[None, 1, 1]]), recall=0.5)
    array([0.66666667])
    """
    needed = (recall * ranking.num_relevant(rel) + rounding).astype(np.int64)
    rows = relevant_rows(ranking, rel)
    reached = rows.nth >= needed[rows.question]
    best = np.zeros(ranking.n_questions)
    np.maximum.at(best, rows.question[reached], rows.nth[reached] / rows.position[reached])
    return best


def eleven_point_average(ranking: JudgedRanking, rel: int = 1, rounding: float = NEAREST) -> Values:
    """Mean of the interpolated precision at recall 0, 0.1, ..., 1; ``rounding`` as in :func:`interpolated_precision`.

    References
    ----------
    trec_eval, m_11pt_avg.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> eleven_point_average(ranking_of([[None, 1]]))
    array([0.5])
    """
    at_points = (interpolated_precision(ranking, point, rel, rounding) for point in RECALL_POINTS)
    return sum(at_points, np.zeros(ranking.n_questions)) / len(RECALL_POINTS)


def set_precision(ranking: Ranking, rel: int = 1, relative: bool = False) -> Values:
    """Relevant candidates divided by the length of the list; ``relative``: by the most that this length allows.

    References
    ----------
    trec_eval, m_set_P.c and m_set_rel_P.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> set_precision(ranking_of([[1, None, None, None]])), set_precision(ranking_of([[1, None]]), relative=True)
    (array([0.25]), array([1.]))
    """
    whole = ranking.num_retrieved
    if relative:
        whole = np.minimum(whole, ranking.num_relevant(rel))
    return ratio(ranking.count(rel), whole)


def set_average_precision(ranking: Ranking, rel: int = 1) -> Values:
    """Precision times recall of the whole list.

    References
    ----------
    trec_eval, m_set_map.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> set_average_precision(ranking_of([[1, None]], [[1]]))
    array([0.25])
    """
    return ratio(ranking.count(rel) ** 2, ranking.num_retrieved * ranking.num_relevant(rel))


def set_f(ranking: Ranking, rel: int = 1, beta: float = 1.0) -> Values:
    """Weighted harmonic mean of the precision and recall of the whole list, (b + 1) P R / (b P + R).

    As in trec_eval, ``beta`` is the weight itself; in van Rijsbergen's measure it would be squared.

    References
    ----------
    trec_eval, m_set_F.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> set_f(ranking_of([[1, None, None, None]], [[1]]))
    array([0.33333333])
    """
    p, r = set_precision(ranking, rel), recall(ranking, rel=rel)
    return ratio((beta + 1) * p * r, beta * p + r)


def set_utility(
    ranking: Ranking, rel: int = 1, relevant: float = 1.0, nonrelevant: float = -1.0, missed: float = 0.0
) -> Values:
    """Weighted count of the retrieved that are relevant, the retrieved that are not, and the relevant that are missed.

    References
    ----------
    trec_eval, m_utility.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> set_utility(ranking_of([[1, None, 0]]))
    array([-1.])
    """
    retrieved = ranking.count(rel)
    wrong, lacking = ranking.num_retrieved - retrieved, ranking.num_relevant(rel) - retrieved
    return relevant * retrieved + nonrelevant * wrong + missed * lacking


def rank_biased_precision(
    ranking: JudgedRanking, p: float = 0.8, rel: int | None = None, cutoff: int | None = None
) -> Values:
    """(1 - p) times the sum of p ** (position - 1) x gain, for a reader who continues to the next with probability p.

    The gain is 1 from grade ``rel`` on; without ``rel`` it is the grade, as a share of the question's highest grade.

    References
    ----------
    Moffat, Zobel (2008), ACM TOIS 27(1); trec_eval, m_rbp.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> rank_biased_precision(ranking_of([[2, 1]]), p=0.5), rank_biased_precision(ranking_of([[2, 1]]), p=0.5, rel=1)
    (array([0.625]), array([0.75]))
    """
    gain = rank_biased_gain(ranking, rel)
    seen = np.ones(len(gain)) if cutoff is None else ranking.position <= cutoff
    return (1.0 - p) * ranking.total(ranking.question, seen * gain * p ** (ranking.position - 1.0))


def rank_biased_gain(ranking: Ranking, rel: int | None = None) -> Values:
    """(m,) gain of each judged candidate of the list in :func:`rank_biased_precision`.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> rank_biased_gain(ranking_of([[2, 1]])), rank_biased_gain(ranking_of([[2, 1]]), rel=1)
    (array([1. , 0.5]), array([1., 1.]))
    """
    if rel is not None:
        return (ranking.grade >= rel).astype(np.float64)
    highest = np.zeros(ranking.n_questions, np.int64)
    np.maximum.at(highest, ranking.judged_question, ranking.judged_grade)
    return ratio(np.maximum(ranking.grade, 0), highest[ranking.question])


def trec_eval_residual(ranking: JudgedRanking, p: float = 0.9) -> Values:
    """Return how much rank-biased precision could gain if every unjudged and every unseen candidate were perfect.

    0 where the list has no unjudged candidate, as in trec_eval.

    References
    ----------
    Moffat, Zobel (2008), ACM TOIS 27(1); trec_eval, m_rbp_resid.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> trec_eval_residual(ranking_of([[1, None], [1, 0]]), p=0.5)
    array([0.5, 0. ])
    """
    judged = ranking.grade >= 0
    question = ranking.question[judged]
    seen = ranking.total(question, (1.0 - p) * p ** (ranking.position[judged] - 1.0))
    # the weights of all positions add up to 1
    return np.where(ranking.num_retrieved > ranking.per_question(question), 1.0 - seen, 0.0)


def rank_biased_residual(ranking: JudgedRanking, p: float = 0.8, cutoff: int | None = None) -> Values:
    """Return the weights of all positions but those of judged candidates: the residual of rank-biased precision.

    The weights of all positions add up to 1, so it includes those below the list or the cutoff. With it the interval
    from RBP to RBP + residual holds the value under any judgements of the others.

    References
    ----------
    Moffat, Zobel (2008), ACM TOIS 27(1), section 4.3.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> rank_biased_residual(ranking_of([[1, None], [1, 0]]), p=0.5)
    array([0.5 , 0.25])
    """
    return 1.0 - rank_biased_precision(ranking, p, 0, cutoff)


def judged_share(ranking: Ranking, cutoff: int | None = None) -> Values:
    """Share of judged candidates among the first ``cutoff`` positions, or among all of a shorter list.

    References
    ----------
    ir-measures, Judged.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> judged_share(ranking_of([[1, None, 0, None]]), cutoff=3)
    array([0.66666667])
    """
    return ratio(ranking.count(0, cutoff), ranking.length(cutoff))


def unjudged(ranking: Ranking, cutoff: int) -> Values:
    """Unjudged candidates at the first ``cutoff`` positions, divided by ``cutoff``.

    References
    ----------
    trec_eval, m_unjudged.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> unjudged(ranking_of([[1, None, -1]]), cutoff=4)
    array([0.5])
    """
    return (ranking.length(cutoff) - ranking.count(0, cutoff)) / cutoff


def num_retrieved(ranking: Ranking, rel: int | None = None) -> Values:
    """Length of the list; with ``rel``, how many relevant candidates are in it.

    References
    ----------
    trec_eval, m_num_ret.c and m_num_rel_ret.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> num_retrieved(ranking_of([[1, None]])), num_retrieved(ranking_of([[1, None]]), rel=1)
    (array([2.]), array([1.]))
    """
    return ranking.num_retrieved.astype(np.float64) if rel is None else ranking.count(rel)


def num_relevant(ranking: Ranking, rel: int = 1) -> Values:
    """Return how many relevant candidates the qrels have.

    References
    ----------
    trec_eval, m_num_rel.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> num_relevant(ranking_of([[1, None]], [[1, 0]]))
    array([2.])
    """
    return ranking.num_relevant(rel).astype(np.float64)


def num_nonrelevant_retrieved(ranking: Ranking, rel: int = 1) -> Values:
    """Return how many candidates of the list are judged not relevant.

    References
    ----------
    trec_eval, m_num_nonrel_judged_ret.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> num_nonrelevant_retrieved(ranking_of([[1, None, 0, -1]]))
    array([1.])
    """
    return ranking.count(0) - ranking.count(rel)


def num_questions(ranking: Ranking) -> Values:
    """1 for every question, so that the sum counts them.

    References
    ----------
    trec_eval, m_num_q.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> num_questions(ranking_of([[1], []]))
    array([1., 1.])
    """
    return np.ones(ranking.n_questions)

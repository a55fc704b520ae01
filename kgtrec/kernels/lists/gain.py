"""Measures over questions in which a candidate's grade is its gain: nDCG and its relatives.

Every function takes a :class:`JudgedRanking` and gives one value per question, 0 for a question whose judged
candidates have no gain. An unjudged candidate, or one of negative grade, has no gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking, Ranking, number_within
from kgtrec.kernels.lists.relevant_rows import ratio, relevant_rows, running_sum

Values = NDArray[np.float64]
Dcg = Literal["log2", "exp-log2"]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Candidates with a gain, in the order of a list."""

    question: NDArray[np.int32]  # (m,)
    position: NDArray[np.float64]  # (m,)
    gain: NDArray[np.float64]  # (m,) above 0

    @property
    def discounted(self) -> NDArray[np.float64]:
        """(m,) gain / log2(position + 1)."""
        return self.gain / np.log2(self.position + 1.0)


def gain_of(grade: NDArray[np.int32], dcg: Dcg) -> NDArray[np.float64]:
    """The gain of candidates of these grades, (m,): the grade g itself, or 2 ** g - 1.

    Examples
    --------
    >>> gain_of(np.array([1, 3]), "exp-log2")
    array([1., 7.])
    """
    gain = grade.astype(np.float64)
    return gain if dcg == "log2" else np.exp2(gain) - 1.0


def _retrieved(ranking: JudgedRanking, dcg: Dcg = "log2", cutoff: int | None = None) -> _Rows:
    """The list as it is, down to the cutoff."""
    worth = ranking.grade > 0
    if cutoff is not None:
        worth &= ranking.position <= cutoff
    return _Rows(ranking.question[worth], ranking.position[worth], gain_of(ranking.grade[worth], dcg))


def _ideal(ranking: Ranking, dcg: Dcg = "log2", cutoff: int | None = None) -> _Rows:
    """All judged candidates, the highest grades first, down to the cutoff."""
    worth = ranking.judged_grade > 0
    question, grade = ranking.judged_question[worth], ranking.judged_grade[worth]
    if np.any((grade[1:] > grade[:-1]) & (question[1:] == question[:-1])):
        order = np.lexsort((-grade, question))
        question, grade = question[order], grade[order]
    position = number_within(question, ranking.n_questions)
    if cutoff is not None:
        seen = position <= cutoff
        question, grade, position = question[seen], grade[seen], position[seen]
    return _Rows(question, position.astype(np.float64), gain_of(grade, dcg))


def ndcg(ranking: JudgedRanking, cutoff: int | None = None, dcg: Dcg = "log2") -> Values:
    """Discounted cumulative gain divided by that of the best possible list.

    Parameters
    ----------
    ranking : JudgedRanking
    cutoff : int, optional
        Last position that counts, in the list and in the best possible one.
    dcg : {"log2", "exp-log2"}
        The gain of grade g is g, or 2 ** g - 1; the discount is 1 / log2(position + 1) with both.

    References
    ----------
    Jarvelin, Kekalainen (2002), ACM TOIS 20(4); trec_eval, m_ndcg.c and m_ndcg_cut.c. Burges et al. (2005), ICML,
    for exp-log2.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> ndcg(ranking_of([[None, None, 1]]))
    array([0.5])
    """
    listed = _retrieved(ranking, dcg, cutoff)
    return ratio(ranking.total(listed.question, listed.discounted), ideal_dcg(ranking, cutoff, dcg))


def ideal_dcg(ranking: Ranking, cutoff: int | None = None, dcg: Dcg = "log2") -> Values:
    """Discounted cumulative gain of the best possible list, which :func:`ndcg` divides by.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> ideal_dcg(ranking_of([[None, 1]], [[2]])).round(4)
    array([2.6309])
    """
    ideal = _ideal(ranking, dcg, cutoff)
    return ranking.total(ideal.question, ideal.discounted)


def ndcg_at_relevant(ranking: JudgedRanking) -> Values:
    """Mean nDCG over the positions of the candidates with a gain; one not retrieved counts as at the list's end.

    References
    ----------
    trec_eval, m_ndcg_rel.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> ndcg_at_relevant(ranking_of([[1, None, 1]])).round(4)
    array([0.9599])
    """
    n = ranking.n_questions
    listed, ideal = _retrieved(ranking), _ideal(ranking)
    size = ranking.per_question(ideal.question)
    # the best possible list ends at position R: from there on its sum is constant
    place = np.minimum(np.floor(listed.position).astype(np.int64), size[listed.question])
    best = running_sum(ideal.discounted, ideal.question, n)[(np.cumsum(size) - size)[listed.question] + place - 1]
    total = ranking.total(listed.question, running_sum(listed.discounted, listed.question, n) / best)
    return ratio(total + (size - ranking.per_question(listed.question)) * ndcg(ranking), size)


def ndcg_at_levels(ranking: JudgedRanking) -> Values:
    """Mean nDCG over the positions where the best possible list changes to a lower grade, and the list's end.

    The end counts if at least two more candidates are retrieved than have a gain.

    References
    ----------
    trec_eval, m_Rndcg.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> ndcg_at_levels(ranking_of([[None, None, 1]]))
    array([0.25])
    """
    listed, ideal = _retrieved(ranking), _ideal(ranking)
    best = running_sum(ideal.discounted, ideal.question, ranking.n_questions)
    changes = (ideal.question[1:] != ideal.question[:-1]) | (ideal.gain[1:] != ideal.gain[:-1])
    last_of_level = np.r_[changes, True][: len(best)]
    question, place = ideal.question[last_of_level], ideal.position[last_of_level]
    at_levels = _sum_up_to(listed, ranking.n_questions, question, place) / best[last_of_level]
    size = ranking.per_question(ideal.question)
    at_end = (size > 0) & (ranking.num_retrieved > size + 1)
    total = ranking.total(question, at_levels) + np.where(at_end, ndcg(ranking), 0.0)
    return ratio(total, ranking.per_question(question) + at_end)


def _sum_up_to(
    listed: _Rows, n_questions: int, question: NDArray[np.int32], place: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(m,) discounted gain of the list of each ``question`` down to ``place``."""
    if len(listed.question) == 0:
        return np.zeros(len(question))
    # (question, place) as one number, to look all pairs up in one search; exact for halves
    span = max(float(listed.position.max()), float(place.max(initial=0.0))) + 1.0
    end = np.searchsorted(listed.question * span + listed.position, question * span + place, side="right")
    everything = np.r_[0.0, np.cumsum(listed.discounted)]
    size = np.bincount(listed.question, minlength=n_questions)
    first = np.cumsum(size) - size
    return everything[end] - everything[first[question]]


def normalized_gain(ranking: JudgedRanking) -> Values:
    """Sum of gain / log2(2 + lead of the best possible list in gain by then), divided by the sum of all gains.

    "By then" includes the candidate itself; a position of the best possible list counts at least 1, also below its end.
    Unlike its relatives, it can fall when a higher grade moves up.

    References
    ----------
    trec_eval, m_G.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> normalized_gain(ranking_of([[None, None, 1]]))
    array([0.5])
    """
    listed, ideal = _retrieved(ranking), _ideal(ranking)
    size = ranking.per_question(ideal.question)
    first = (np.cumsum(size) - size)[listed.question]
    best = np.r_[0.0, np.cumsum(ideal.gain)]  # whole numbers, so differences are exact
    place = np.minimum(listed.position, size[listed.question])
    whole = np.floor(place).astype(np.int64)
    last = first + np.minimum(whole + 1, size[listed.question])
    by_then = best[first + whole] - best[first]
    by_then += (place - whole) * (best[last] - best[first + whole])  # a half is between two positions
    by_then += listed.position - place
    behind = np.maximum(by_then - running_sum(listed.gain, listed.question, ranking.n_questions), 0.0)
    total = ranking.total(listed.question, listed.gain / np.log2(2.0 + behind))
    return ratio(total, ranking.total(ideal.question, ideal.gain))


def binary_gain(ranking: JudgedRanking, rel: int = 1) -> Values:
    """Mean over all relevant candidates of 1 / log2(2 + non-relevant candidates before it).

    References
    ----------
    trec_eval, m_binG.c.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> binary_gain(ranking_of([[1, None, None, 1]]))
    array([0.75])
    """
    rows = relevant_rows(ranking, rel)
    gain = 1.0 / np.log2(2.0 + (rows.position - rows.nth))
    return ratio(ranking.total(rows.question, gain), ranking.num_relevant(rel))


def q_measure(ranking: JudgedRanking, cutoff: int | None = None, beta: float = 1.0) -> Values:
    """Mean over all relevant candidates of the blended ratio of precision and gain at their positions.

    The blended ratio is (relevant candidates by then + beta x their gain) / (position + beta x the gain of the best
    possible list by then): average precision if beta is 0, and nearer to a ratio of gains the greater beta is.

    Parameters
    ----------
    ranking : JudgedRanking
    cutoff : int, optional
        Last position that counts; the sum is then divided by the cutoff where that is less than the number of relevant
        candidates.
    beta : float, at least 0

    References
    ----------
    Sakai (2007), Information Processing and Management 43(2). Sakai, Song (2011), SIGIR, and NTCIREVAL for the cutoff.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> q_measure(ranking_of([[None, 2, 1]]))  # (1 + 2) / (2 + 3) and (2 + 3) / (3 + 3)
    array([0.71666667])
    """
    listed, (relevant, best) = _retrieved(ranking, cutoff=cutoff), best_gains(ranking)
    place = np.minimum(np.floor(listed.position).astype(np.int64), relevant[listed.question])
    by_then = best[(np.cumsum(relevant) - relevant)[listed.question] + place - 1]
    gained = running_sum(listed.gain, listed.question, ranking.n_questions)
    blended = number_within(listed.question, ranking.n_questions) + beta * gained
    total = ranking.total(listed.question, blended / (listed.position + beta * by_then))
    return ratio(total, relevant if cutoff is None else np.minimum(relevant, cutoff))


def best_gains(ranking: Ranking) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the candidates with a gain, (n_questions,), and add up the gains of the best possible lists to each place.

    Examples
    --------
    >>> from kgtrec.kernels.lists.relevant_rows import ranking_of
    >>> best_gains(ranking_of([[1, 2], [1]]))
    (array([2, 1]), array([2., 3., 1.]))
    """
    ideal = _ideal(ranking)
    return ranking.per_question(ideal.question), running_sum(ideal.gain, ideal.question, ranking.n_questions)

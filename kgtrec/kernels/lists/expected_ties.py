"""Measures in expectation over all orders of tied candidates, every order equally likely, in closed form.

The functions over answers take the ranks of an answer when it is first and last among the candidates tied with it; its
rank is uniform between the two. Where a link function is averaged, such as the logarithm, the result is the rank whose
linked value is the mean: exp(E[ln r]), 1 / E[1 / r].

The functions over questions take a :class:`TiedRanking` and give the mean over the orders of the function of the same
name in :mod:`list_measures` or :mod:`gain`; measures that only count candidates down to a position, such as precision,
are the same function. A group of tied candidates is never written out: the work grows with the relevant candidates, not
with the number of tied ones.

References
----------
McSherry, Najork (2008), ECIR: Computing information retrieval performance measures efficiently in the presence of tied
scores, for precision, recall, average precision, reciprocal rank and discounted cumulative gain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists import gain, list_measures
from kgtrec.kernels.lists.first_of_tied import mean_first, reciprocal_of_first, share_with
from kgtrec.kernels.lists.gain import Dcg
from kgtrec.kernels.lists.place_sums import sum_log_discounts, sum_logs, sum_places_behind, sum_powers, sum_reciprocals
from kgtrec.kernels.lists.relevant_rows import ratio, running_sum
from kgtrec.kernels.lists.tied_ranking import TiedGroups, TiedRanking, groups_of

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


# over answers


def rank(best: Counts, worst: Counts) -> Values:
    """E[r], which is the realistic rank.

    Parameters
    ----------
    best, worst : (n,) int arrays
        The optimistic and the pessimistic rank, 1-based.

    Examples
    --------
    >>> rank(np.array([1]), np.array([4]))
    array([2.5])
    """
    return (best + worst) / 2.0


def reciprocal(best: Counts, worst: Counts) -> Values:
    """E[1 / r], (H(worst) - H(best - 1)) / (worst - best + 1).

    Examples
    --------
    >>> reciprocal(np.array([1, 2]), np.array([4, 2]))
    array([0.52083333, 0.5       ])
    """
    return sum_reciprocals(best - 1, worst - best + 1) / (worst - best + 1)


def geometric_rank(best: Counts, worst: Counts) -> Values:
    """exp(E[ln r]): the rank whose logarithm is the mean logarithm.

    Examples
    --------
    >>> geometric_rank(np.array([1, 3]), np.array([4, 3])).round(6)  # 24 ** (1 / 4)
    array([2.213364, 3.      ])
    """
    return np.exp(sum_logs(best - 1, worst - best + 1) / (worst - best + 1))


def harmonic_rank(best: Counts, worst: Counts) -> Values:
    """1 / E[1 / r]: the rank whose reciprocal is the mean reciprocal.

    Examples
    --------
    >>> harmonic_rank(np.array([1, 3]), np.array([2, 3])).round(6)
    array([1.333333, 3.      ])
    """
    return 1.0 / reciprocal(best, worst)


def hit(best: Counts, worst: Counts, cutoff: int) -> Values:
    """P(r <= cutoff).

    Examples
    --------
    >>> hit(np.array([1, 3]), np.array([4, 3]), cutoff=3)
    array([0.75, 1.  ])
    """
    places = worst - best + 1
    return np.clip(cutoff - best + 1, 0, places) / places


def log_reciprocal(best: Counts, worst: Counts) -> Values:
    """E[1 / log2(r + 1)].

    Examples
    --------
    >>> log_reciprocal(np.array([1, 3]), np.array([1, 3]))
    array([1. , 0.5])
    """
    return sum_log_discounts(best - 1, worst - best + 1) / (worst - best + 1)


def power(best: Counts, worst: Counts, p: float) -> Values:
    """E[r ** -p]; p above 0.

    Examples
    --------
    >>> power(np.array([1, 4]), np.array([1, 4]), p=0.5)
    array([1. , 0.5])
    """
    return sum_powers(best - 1, worst - best + 1, p) / (worst - best + 1)


def power_above_last(best: Counts, worst: Counts, candidates: Counts, alpha: float) -> Values:
    """E[(r ** -alpha - N ** -alpha) / (1 - N ** -alpha)], see :func:`answer_measures.power_above_last`.

    Examples
    --------
    >>> power_above_last(np.array([1]), np.array([2]), np.array([4]), alpha=1.0).round(6)
    array([0.666667])
    """
    most, single = np.log(np.maximum(candidates, 2)), worst - best + 1
    if abs(alpha) < 1e-8:  # the limit, within 1e-7: what is below would cancel
        return 1.0 - sum_logs(best - 1, single) / single / most
    last = np.exp(-alpha * most)
    return (sum_powers(best - 1, single, alpha) / single - last) / (1.0 - last)


# over questions: the best relevant candidate


def best_rank(ranking: TiedRanking, rel: int = 1) -> Values:
    """Rank of the best relevant candidate; inf where none was retrieved.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> best_rank(tied_ranking_of([[[None], [1, 1, None]]]))
    array([2.33333333])
    """
    top = _best_groups(ranking, rel)
    return _scattered(ranking, top, top.before + mean_first(top.size, top.members), np.inf)


def reciprocal_rank(ranking: TiedRanking, rel: int = 1, cutoff: int | None = None) -> Values:
    """1 / rank of the best relevant candidate, 0 if it is below the cutoff.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> reciprocal_rank(tied_ranking_of([[[1, None]], [[None], [1]], [[None]]]))
    array([0.75, 0.5 , 0.  ])
    """
    top = _best_groups(ranking, rel)
    return _scattered(ranking, top, reciprocal_of_first(top.before, top.size, top.members, cutoff), 0.0)


def success(ranking: TiedRanking, cutoff: int, rel: int = 1) -> Values:
    """1 if a relevant candidate ranks at ``cutoff`` or better.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> success(tied_ranking_of([[[1, None, 1, None]]]), cutoff=1)
    array([0.5])
    """
    top = _best_groups(ranking, rel)
    return _scattered(ranking, top, share_with(top.size, top.up_to(cutoff), top.members), 0.0)


def _best_groups(ranking: TiedRanking, rel: int) -> TiedGroups:
    """The first group with a relevant candidate, for each question that has one."""
    groups = groups_of(ranking, (ranking.grade >= rel).astype(np.float64))
    first = np.ones(len(groups.question), np.bool_)
    first[1:] = groups.question[1:] != groups.question[:-1]
    return TiedGroups(
        groups.question[first], groups.before[first], groups.size[first], groups.members[first], groups.worth[first]
    )


def _scattered(ranking: TiedRanking, top: TiedGroups, value: Values, otherwise: float) -> Values:
    values = np.full(ranking.n_questions, otherwise)
    values[top.question] = value
    return values


# over questions: all relevant candidates


def average_precision(ranking: TiedRanking, rel: int = 1, cutoff: int | None = None) -> Values:
    """Mean over all relevant candidates, retrieved or not, of the precision at their positions down to ``cutoff``.

    In a group of s candidates, r of them relevant, with b candidates and c relevant ones above it, position b + j is
    relevant with probability r / s, and then c + 1 + (j - 1) (r - 1) / (s - 1) of the first b + j are relevant.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> average_precision(tied_ranking_of([[[1, None]], [[1], [None, 1]]]))
    array([0.75      , 0.91666667])
    """
    groups = groups_of(ranking, (ranking.grade >= rel).astype(np.float64))
    per_question = ranking.total(groups.question, groups.members.astype(np.float64)).astype(np.int64)
    above = np.cumsum(groups.members) - groups.members - (np.cumsum(per_question) - per_question)[groups.question]
    places = groups.up_to(cutoff)
    total = (above + 1) * sum_reciprocals(groups.before, places)
    total += ratio(groups.members - 1, groups.size - 1) * sum_places_behind(groups.before, places)
    return ratio(ranking.total(groups.question, total * groups.members / groups.size), ranking.num_relevant(rel))


# over questions: grades


def ndcg(ranking: TiedRanking, cutoff: int | None = None, dcg: Dcg = "log2") -> Values:
    """DCG divided by that of the best possible list; every position of a group has the group's mean gain.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> ndcg(tied_ranking_of([[[1, None, None]]]), cutoff=2).round(4)
    array([0.5436])
    """
    worth = np.where(ranking.grade > 0, gain.gain_of(ranking.grade, dcg), 0.0)
    groups = groups_of(ranking, worth)
    discount = sum_log_discounts(groups.before, groups.up_to(cutoff))
    return ratio(
        ranking.total(groups.question, groups.worth / groups.size * discount), gain.ideal_dcg(ranking, cutoff, dcg)
    )


def rank_biased_precision(
    ranking: TiedRanking, p: float = 0.8, rel: int | None = None, cutoff: int | None = None
) -> Values:
    """(1 - p) times the sum of p ** (position - 1) x gain; every position of a group has the group's mean gain.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> rank_biased_precision(tied_ranking_of([[[1, None]]]), p=0.5)
    array([0.375])
    """
    groups = groups_of(ranking, list_measures.rank_biased_gain(ranking, rel))
    places = groups.up_to(cutoff)
    # the weights (1 - p) p ** (position - 1) of a group add up to p ** before - p ** (before + positions)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(places > 0, p**groups.before * -np.expm1(places * np.log(p)), 0.0)
    return ranking.total(groups.question, groups.worth / groups.size * weight)


def rank_biased_residual(ranking: TiedRanking, p: float = 0.8, cutoff: int | None = None) -> Values:
    """The residual of rank-biased precision, see :func:`list_measures.rank_biased_residual`.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> rank_biased_residual(tied_ranking_of([[[0, None]]]), p=0.5)
    array([0.625])
    """
    return 1.0 - rank_biased_precision(ranking, p, 0, cutoff)


def q_measure(ranking: TiedRanking, cutoff: int | None = None, beta: float = 1.0) -> Values:
    """Sum over the positions of relevant candidates of the blended ratio, divided by their number.

    In a group of s candidates, r of them relevant with gains of sum g, and c relevant ones of sum h above it, place j
    is relevant with probability r / s, and there count + beta x gain is in the mean level + slope (j - 1), with
    level = c + 1 + beta (h + g / r) and slope = (r - 1) (1 + beta g / r) / (s - 1). What it is divided by, position +
    beta x best gain, depends on the position alone, and from position R on the best gain is constant.

    Examples
    --------
    >>> from kgtrec.kernels.lists.tied_ranking import tied_ranking_of
    >>> q_measure(tied_ranking_of([[[1, None]], [[1], [None, 1]]]))
    array([0.83333333, 0.95      ])
    """
    from scipy.special import digamma

    n = ranking.n_questions
    groups = groups_of(ranking, np.maximum(ranking.grade, 0).astype(np.float64))
    question, size, before, places = groups.question, groups.size, groups.before, groups.up_to(cutoff)
    members, mean_gain = groups.members.astype(np.float64), groups.worth / groups.members
    level = running_sum(members, question, n) - members + 1.0
    level += beta * (running_sum(groups.worth, question, n) - groups.worth + mean_gain)
    slope = ratio((members - 1.0) * (1.0 + beta * mean_gain), size - 1)
    relevant, best = gain.best_gains(ranking)
    first = (np.cumsum(relevant) - relevant)[question]
    single = np.clip(relevant[question] - before, 0, places)  # places down to position R, added up one by one
    row = np.repeat(np.arange(len(single)), single)
    j = np.arange(len(row)) - (np.cumsum(single) - single)[row]
    position = before[row] + j + 1
    ratios = (level[row] + slope[row] * j) / (position + beta * best[first[row] + position - 1])
    total = np.bincount(row, ratios, len(single)).astype(np.float64)
    # sum over the others of (level + slope (j - 1)) / (shift + j)
    rest, shift = places - single, before + beta * best[first + relevant[question] - 1]
    inverses = digamma(shift + places + 1.0) - digamma(shift + single + 1.0)
    total += slope * rest + (level - slope * (shift + 1.0)) * inverses
    most = relevant if cutoff is None else np.minimum(relevant, cutoff)
    return ratio(ranking.total(question, total * members / size), most)

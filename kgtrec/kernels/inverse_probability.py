r"""Estimates from a stratified random sample of a pool: how many positives it holds, and average precision.

Of the :math:`N_h` items of stratum h, :math:`n_h` are drawn at random without replacement and judged, independently of
the other strata. So an item of h is in the sample with probability :math:`\pi_i = n_h / N_h`, two of them with
:math:`n_h (n_h - 1) / (N_h (N_h - 1))`, and two of different strata with the product of their probabilities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.kernels.preference import SMOOTHING
from kgtrec.kernels.relevant_rows import ratio

Values = NDArray[np.float64]
Codes = NDArray[Any]


class Estimate(NamedTuple):
    """Estimated totals and the variances of the estimates, one per group."""

    total: Values  # (n_groups,)
    variance: Values  # (n_groups,) NaN where a stratum of more than one item has a sample of one


def estimated_totals(
    value: Values, stratum: Codes, population: Codes, *, group: Codes | None = None, n_groups: int = 1
) -> Estimate:
    r"""Horvitz-Thompson estimates of sums over all items, of which only a stratified sample has been judged.

    .. math::

        \hat T = \sum_i y_i / \pi_i, \qquad
        \hat V = \sum_h N_h^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2}{n_h}

    with :math:`s_h^2` the sample variance of y in stratum h. The total of a group of items is that of y set to 0
    outside of the group, so its variance takes into account that the group's share of the sample was left to chance.

    Parameters
    ----------
    value : (n,) float array
        Of each item of the sample; 1 for a positive and 0 for a negative gives numbers of positives.
    stratum : (n,) int array, from 0
    population : (n_strata,) int array
        How many items each stratum has, in the sample or not.
    group : (n,) int array, optional
        Below ``n_groups``; by default all items are of one group.

    Returns
    -------
    Estimate
        Unbiased, both the total and the variance; the total is also over strata without a sampled item, which count 0.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47; Cochran (1977), Sampling Techniques,
    sections 5.3 and 5A.14.

    Examples
    --------
    >>> estimated_totals(np.array([1.0, 0.0]), np.array([0, 0]), np.array([10]))
    Estimate(total=array([5.]), variance=array([20.]))
    """
    n_strata = len(population)
    group = np.zeros(len(value), np.int64) if group is None else group
    drawn = np.bincount(stratum, minlength=n_strata)
    cell = group.astype(np.int64) * n_strata + stratum
    # cells that hold no item add neither to totals nor to variances, so only the others are worked out
    cells, place = np.unique(cell[value != 0], return_inverse=True)
    worth = value[value != 0]
    total = np.bincount(place, weights=worth, minlength=len(cells))
    square = np.bincount(place, weights=worth**2, minlength=len(cells))
    of_group, of_stratum = np.divmod(cells, max(n_strata, 1))
    n, size = drawn[of_stratum].astype(np.float64), population[of_stratum].astype(np.float64)
    spread = np.divide(square - total**2 / n, n - 1, out=np.full(len(cells), np.nan), where=n > 1)
    variance = np.where(n == size, 0.0, size**2 * (1 - n / size) * spread / n)
    return Estimate(*(_summed(part, of_group, n_groups) for part in (total * size / n, variance)))


def _summed(value: Values, group: Codes, n_groups: int) -> Values:
    return np.bincount(group, weights=value, minlength=n_groups).astype(np.float64, copy=False)


def extended_inferred_ap(ranking: JudgedRanking, stratum: Codes, judged_stratum: Codes, rel: int = 1) -> Values:
    r"""Average precision estimated from a stratified sample: xinfAP.

    For a relevant candidate at rank k, with :math:`p_h` candidates above it that are of stratum h, :math:`n_h` of them
    judged and :math:`r_h` relevant, the precision there is expected to be

    .. math:: \frac{1}{k} \left(1 + \sum_h p_h \frac{r_h + \epsilon}{n_h + 2 \epsilon}\right)

    and the mean over the judged relevant candidates of a stratum stands for all relevant ones of it, of which there are
    :math:`R_h`, estimated by the share of the relevant among the judged. With a single stratum this is infAP.

    Parameters
    ----------
    ranking : JudgedRanking
        A negative grade is in the pool and was not sampled; a candidate without a grade is not in the pool, and not
        relevant.
    stratum : (m,) int array, from 0
        Of each row of the ranking.
    judged_stratum : (j,) int array
        Of each row of the qrels. Strata are those of the question: two questions may use the same numbers.

    Returns
    -------
    (n_questions,) float array; 0 where nothing relevant is judged

    References
    ----------
    Yilmaz, Kanoulas, Aslam (2008), SIGIR: A simple and efficient sampling method for estimating AP and NDCG.

    Examples
    --------
    >>> from kgtrec.kernels.relevant_rows import ranking_of
    >>> ranking = ranking_of([[1, -1, 1, 0]])
    >>> extended_inferred_ap(ranking, np.zeros(4, int), np.zeros(4, int)).round(4)
    array([1.])
    >>> extended_inferred_ap(ranking, np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])).round(4)
    array([0.9167])
    """
    n, n_strata = ranking.n_questions, int(max(stratum.max(initial=-1), judged_stratum.max(initial=-1))) + 1
    relevant = ranking.grade >= rel
    question, position = ranking.question[relevant], ranking.position[relevant]
    above = np.ones(len(question))  # 1 + the relevant expected above
    for number in range(n_strata):
        own = stratum == number
        pooled, seen, hits = (
            _running(mask & own, ranking.question)[relevant]
            for mask in (np.ones(len(own), np.bool_), ranking.grade >= 0, relevant)
        )
        above += pooled * (hits + SMOOTHING) / (seen + 2.0 * SMOOTHING)
    cell = ranking.judged_question.astype(np.int64) * n_strata + judged_stratum
    counts = [
        np.bincount(cell[mask], minlength=n * n_strata)
        for mask in (np.ones(len(cell), np.bool_), ranking.judged_grade >= 0, ranking.judged_grade >= rel)
    ]
    # each judged relevant candidate stands for as many as its stratum has candidates to a judged one
    weight = ratio(counts[0], counts[1]).reshape(n, n_strata)
    precision = above / position * weight[question, stratum[relevant]]
    return ratio(ranking.total(question, precision), (counts[2].reshape(n, n_strata) * weight).sum(axis=1))


def _running(mask: NDArray[np.bool_], question: NDArray[np.int32]) -> Values:
    """(m,) how many rows of the mask stand above each row, within its question."""
    before: NDArray[np.int64] = np.cumsum(mask) - mask
    first = np.searchsorted(question, question)
    return (before - before[first]).astype(np.float64)


def sampled_ap(
    ranking: JudgedRanking,
    stratum: Codes,
    judged_stratum: Codes,
    drawn: Codes,
    population: Codes,
    rel: int = 1,
) -> Values:
    r"""Average precision estimated from the sampled candidates and their probabilities alone: statAP.

    AP times the number of relevant candidates is a sum over pairs of relevant ones, i = j included,

    .. math:: \sum_i \frac{1}{k_i} \sum_{j: k_j \le k_i} 1

    so dividing each pair by the probability that both were sampled makes it unbiased; it is divided by the number of
    relevant candidates, estimated likewise. Both are unbiased where at least two candidates of every stratum are drawn
    (or all of it); their quotient is so only as samples grow.

    Parameters
    ----------
    ranking : JudgedRanking
        Of the sampled candidates; where the unsampled ones stand is not asked.
    stratum : (m,) int array, from 0
        Of each row of the ranking.
    judged_stratum : (j,) int array
        Of each row of the qrels. Strata may span questions.
    drawn, population : (n_strata,) int arrays
        How many items of each stratum are in the sample, and in all.

    Returns
    -------
    (n_questions,) float array; 0 where nothing relevant is judged

    References
    ----------
    Aslam, Pavlu (2007), A practical sampling strategy for efficient retrieval evaluation; Horvitz, Thompson (1952).

    Examples
    --------
    >>> from kgtrec.kernels.relevant_rows import ranking_of
    >>> all_judged = ranking_of([[1, 0, 1]])
    >>> zeros = np.zeros(3, int)
    >>> sampled_ap(all_judged, zeros, zeros, np.array([3]), np.array([3])).round(4)
    array([0.8333])
    """
    total, relevant = sampled_precision_sum(ranking, stratum, judged_stratum, drawn, population, rel)
    return ratio(total, relevant)


def sampled_precision_sum(
    ranking: JudgedRanking, stratum: Codes, judged_stratum: Codes, drawn: Codes, population: Codes, rel: int = 1
) -> tuple[Values, Values]:
    """The two unbiased parts of :func:`sampled_ap`: the sum of precisions, and the number of relevant candidates."""
    share = np.divide(drawn, population, out=np.ones(len(population)), where=population > 0)
    both = np.divide(
        drawn * (drawn - 1.0), population * (population - 1.0), out=np.ones(len(population)), where=population > 1
    )
    row = ranking.grade >= rel
    question, own = ranking.question[row], stratum[row]
    above = np.ones(len(question)) / share[own]  # the pair of the candidate with itself
    for number in np.unique(own):
        earlier = _running(own == number, question)
        same = own == number
        # of a sample of one there are no pairs, neither here nor in the expectation
        above[same] += earlier[same] / both[number] if both[number] > 0 else 0.0
        above[~same] += earlier[~same] / (share[number] * share[own[~same]])
    total = ranking.total(question, above / ranking.position[row])
    judged = ranking.judged_grade >= rel
    return total, ranking.total(ranking.judged_question[judged], 1.0 / share[judged_stratum[judged]])

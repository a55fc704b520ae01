"""How many of a random sample of candidates score higher than the answer, and what a measure of the sample then is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.ranking.positions import Ties

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
OfRank = Callable[[Floats], Floats]  # a value of each rank, in the shape of the ranks

_CELLS = 2_000_000  # of a law, at a time
_LEAST = 1e-18  # a smaller probability changes no digit of a moment
_POINTS = 20  # of a band: more of them widen it as much as they add
_EXACT, _RATIO = 300, 1.02  # best ranks, each a bin; the ratio of the ends of the other bins
_GROUPS, _ALIKE = 12, 1.02  # the most groups of answers by their number of candidates; the ratio of its ends in one


def above_law(above: Counts, n_candidates: Counts, n_sampled: Any, *, replace: bool) -> Floats:
    r"""Law of the number of candidates in a sample that are above the answer.

    Without replacement it is hypergeometric: :math:`\binom{a}{j} \binom{N - a}{m - j} / \binom{N}{m}`; with
    replacement it is binomial with the share a / N.

    Parameters
    ----------
    above, n_candidates : (n,) int arrays
        a and N; the answer itself is not one of the candidates.
    n_sampled : int, or (n,) int array
        m, at least 1; without replacement at most N.
    replace : bool
        Whether a candidate may be drawn again.

    Returns
    -------
    (n, largest m + 1) float array
        Probability of 0, 1, ... candidates above; a relative error below 1e-10 where m is at most 20,000.

    Examples
    --------
    >>> above_law(np.array([1, 2]), np.array([4, 4]), 2, replace=False).round(4)
    array([[0.5   , 0.5   , 0.    ],
           [0.1667, 0.6667, 0.1667]])
    >>> above_law(np.array([1]), np.array([4]), 2, replace=True)
    array([[0.5625, 0.375 , 0.0625]])
    """
    m = np.broadcast_to(np.asarray(n_sampled, np.int64), np.shape(above))[:, None]
    a, others = above[:, None].astype(np.int64), (n_candidates - above)[:, None]
    j = np.arange(m.max() + 1)
    if replace:
        least, most = np.where(others > 0, 0, m), np.where(a > 0, m, 0)
        up, down = a, others
    else:
        least, most = np.maximum(0, m - others), np.minimum(m, a)
        up, down = a - j[:-1], others - m + j[:-1] + 1
    step = (j[:-1] >= least) & (j[:-1] < most)
    ratio = np.where(step, (m - j[:-1]) * 1.0 * up, 1.0) / np.where(step, (j[:-1] + 1.0) * down, 1.0)
    law = np.zeros((len(above), len(j)))
    np.cumsum(np.log(ratio), axis=1, out=law[:, 1:])
    law[(j < least) | (j > most)] = -np.inf
    law = np.exp(law - law.max(axis=1, keepdims=True))
    return law / law.sum(axis=1, keepdims=True)


def sampled_moments(
    above: Counts,
    tied: Counts,
    n_candidates: Counts,
    n_sampled: int,
    values: Sequence[OfRank],
    *,
    replace: bool,
    ties: Ties,
) -> Floats:
    """Mean and variance of measures of an answer's rank among a random sample, over all samples.

    Parameters
    ----------
    above, tied, n_candidates : (n,) int arrays
        Over all candidates but the answer: those that score higher, those that score the same, and all.
    n_sampled : int
        Candidates in a sample.
    values : sequence of functions of ranks
    replace : bool
        Whether a candidate may be drawn again.
    ties : {"realistic", "optimistic", "pessimistic"}
        How the rank in the sample counts those that are tied with the answer.

    Returns
    -------
    (2, values, n) float array
        Means, then variances.

    Examples
    --------
    >>> from kgtrec.kernels.lists.answer_measures import reciprocal
    >>> one, none = np.array([1]), np.array([0])
    >>> sampled_moments(one, none, np.array([4]), 2, [reciprocal], replace=False, ties="realistic").tolist()
    [[[0.75]], [[0.0625]]]
    >>> sampled_moments(none, one, np.array([1]), 1, [reciprocal], replace=False, ties="realistic").round(4).tolist()
    [[[0.6667]], [[0.0]]]
    """
    if ties != "realistic":
        above, tied = above + tied * (ties == "pessimistic"), np.zeros_like(tied)
    cases, case = np.unique(np.stack([above, tied, n_candidates]), axis=1, return_inverse=True)
    moments = np.empty((2, len(values), cases.shape[1]))
    alone = np.flatnonzero(cases[1] == 0)
    of_rank = np.array([value(np.arange(1.0, n_sampled + 2)) for value in values])
    for rows in _tiles(alone, n_sampled):
        law = above_law(cases[0, rows], cases[2, rows], n_sampled, replace=replace)
        mean = of_rank @ law.T
        moments[0][:, rows] = mean
        moments[1][:, rows] = np.maximum((of_rank**2) @ law.T - mean**2, 0.0)
    for row in np.flatnonzero(cases[1]):
        a, t, n = cases[:, row]
        as_high = above_law(np.array([a + t]), np.array([n]), n_sampled, replace=replace)[0]
        drawn = np.flatnonzero(as_high > _LEAST)  # above or tied, of which those above are again a random part
        given = np.empty((2, len(values), len(drawn)))  # mean and variance, where so many are drawn
        for own in _tiles(np.arange(len(drawn)), int(drawn[-1])):
            part = above_law(np.full(len(own), a), np.full(len(own), a + t), drawn[own], replace=replace)
            rank = (drawn[own, None] + np.arange(part.shape[1])) / 2.0 + 1.0
            for place, value in enumerate(values):
                of_case = value(rank)
                given[0, place, own] = mean = (part * of_case).sum(axis=1)
                given[1, place, own] = (part * (of_case - mean[:, None]) ** 2).sum(axis=1)
        moments[0, :, row] = center = given[0] @ as_high[drawn]
        moments[1, :, row] = (given[1] + (given[0] - center[:, None]) ** 2) @ as_high[drawn]
    return moments[:, :, case.ravel()]


def _tiles(rows: Counts, n_sampled: int) -> Iterator[Counts]:
    """The rows of a law of the number above, as many at a time as memory is meant for."""
    step = max(1, _CELLS // (n_sampled + 1))
    return (rows[first : first + step] for first in range(0, len(rows), step))


def exact_interval(share: Floats, variance: Floats, most: float, least: float, confidence: float) -> Floats:
    """Interval of shares whose variances differ from those of independent draws, as exact as for a binomial one.

    The size of a simple sample with the variance takes the place of the number of draws in the interval of Clopper and
    Pearson.

    Parameters
    ----------
    share, variance : (k,) float arrays
    most : float
        Draws; more are not assumed.
    least : float
        The number of draws where the variance is 0, because nothing, or everything, was counted.
    confidence : float

    Returns
    -------
    (2, k) float array

    References
    ----------
    Korn, Graubard (1998), Survey Methodology 24, 193-201.

    Examples
    --------
    >>> exact_interval(np.array([0.5, 0.0]), np.array([0.0025, 0.0]), 100, 100, 0.95).round(4).tolist()
    [[0.3983, 0.0], [0.6017, 0.0362]]
    """
    from scipy.special import betaincinv

    simple = np.divide(share * (1 - share), variance, out=np.full(share.shape, float(least)), where=variance > 0)
    n = np.minimum(simple, most)
    x, outside = n * share, (1.0 - confidence) / 2
    tiny = np.finfo(float).tiny
    low = np.where(share > 0, betaincinv(np.maximum(x, tiny), n - x + 1, outside), 0.0)
    high = np.where(share < 1, betaincinv(x + 1, np.maximum(n - x, tiny), 1 - outside), 1.0)
    return np.stack([low, high])


def mean_share_above(
    above: Counts,
    tied: Counts,
    n_candidates: Counts,
    n_sampled: int,
    sample: Counts | None,
    confidence: float,
    *,
    replace: bool,
) -> tuple[float, float, float]:
    """Share of all candidates that are above the answers, half of the tied ones counted, from samples.

    Parameters
    ----------
    above, tied : (n,) int arrays
        In the sample of each answer.
    n_candidates : (n,) int array
        From which the sample was drawn.
    n_sampled : int
    sample : (n,) int array, optional
        Which sample: answers that share one have the same code. Default: each has its own.
    confidence : float
    replace : bool

    Returns
    -------
    share, low, high : float
        Unbiased, with an interval over all samples: of no width where samples have all candidates. The mean rank is
        1 + share x mean number of candidates.

    Examples
    --------
    >>> one, none, three = np.array([1]), np.array([0]), np.array([3])
    >>> np.round(mean_share_above(one, none, three, 3, None, 0.95, replace=False), 4).tolist()
    [0.3333, 0.3333, 0.3333]
    """
    y, part = above + tied / 2.0, n_candidates / n_candidates.sum()
    is_random = replace | (n_candidates > n_sampled)
    certain, drawn = ((part * y)[own].sum() / n_sampled for own in (~is_random, is_random))
    if not is_random.any():
        return certain, certain, certain
    spread = (above + tied / 4.0 - y**2 / n_sampled) / max(n_sampled - 1, 1) / n_sampled
    if not replace:
        spread = spread * (1.0 - n_sampled / n_candidates)
    own = (np.arange(len(above)) if sample is None else sample)[is_random]
    # the errors of one sample may all have the same sign
    error = np.bincount(own, (part * np.sqrt(np.maximum(spread, 0.0)))[is_random])
    weight = np.bincount(own, part[is_random])
    whole = weight.sum()
    least = n_sampled * whole**2 / (weight**2).sum()
    share, variance = np.array([min(drawn / whole, 1.0)]), np.array([(error**2).sum() / whole**2])
    low, high = certain + whole * exact_interval(share, variance, np.inf, least, confidence)[:, 0]
    return float(certain + drawn), float(low), float(high)


def cumulative_band(above: Counts, n_sampled: int, sample: Counts | None, confidence: float) -> tuple[Counts, Floats]:
    """Counts j from 0 to m - 1, and a band for the shares of answers that have at most j above them in the sample.

    The band has, with the given confidence, all expected shares at once. Where each answer has its own sample, these
    are means of independent trials of unequal chance, which vary less than a binomial share does. Where answers share
    samples, the variance is that between samples; the fewer they are, the less it is relied on.

    Parameters
    ----------
    above : (n,) int array
    n_sampled, sample, confidence
        As for :func:`mean_share_above`.

    Returns
    -------
    at : (k,) int array
        The counts, dense at the top.
    band : (2, k) float array

    References
    ----------
    Hoeffding (1956), Annals of Mathematical Statistics 27, 713-721; Korn, Graubard (1998), Survey Methodology 24,
    193-201, for the degrees of freedom.
    """
    from scipy.special import stdtrit

    at = np.unique(np.geomspace(1, n_sampled, _POINTS).round().astype(np.int64)) - 1
    at = at[at < n_sampled]
    level, n, least = 1 - (1 - confidence) / len(at), len(above), float(len(above))
    share = np.array([(above <= most).mean() for most in at])
    variance = share * (1 - share) / n
    if sample is not None:
        size = np.bincount(sample)
        least, freedom = n**2 / float((size**2).sum()), len(size) - 1
        variance *= n / least  # if the answers of a sample were all alike
        if freedom:
            of_sample = np.stack([np.bincount(sample, above <= most) for most in at]) - share[:, None] * size
            found = (of_sample**2).sum(axis=1) / n**2 * len(size) / freedom
            low, own = stdtrit([n - 1, freedom], (1 - level) / 2)
            variance = np.maximum(found, np.minimum(found * (own / low) ** 2, variance))
    return at, exact_interval(share, variance, n, least, level)


def law_bounds(
    at: Counts,
    band: Floats,
    n_candidates: Counts,
    n_sampled: int,
    values: Sequence[OfRank],
    *,
    replace: bool,
    falls: bool,
    others: tuple[int, int] = (0, 0),
) -> Floats:
    r"""Bounds on means over all laws of full ranks that agree with the law of sampled ranks, by linear programs.

    The variables are the shares of answers in bins of ranks :math:`r_b .. r'_b`, for groups of answers that have about
    as many candidates, :math:`N_g .. N'_g`. The chance :math:`P_j(r, N)` that at most j of the sample are above falls
    with r and rises with N, so that for every law in the bins :math:`\sum F_{gb} P_j(r'_b, N_g)` is at most, and
    :math:`\sum F_{gb} P_j(r_b, N'_g)` at least, its share of answers with at most j above. A value that falls with the
    rank is between those at the ends of its bin. So the bounds hold for all laws, also for those within a bin.

    Parameters
    ----------
    at : (k,) int array
        The counts j.
    band : (2, k) float array
        Between which the share with at most j above is.
    n_candidates : (n,) int array
        Of each answer.
    n_sampled : int
    values : sequence of functions of ranks
        None of which rises with the rank.
    replace : bool
    falls : bool
        Whether only laws are considered where no rank is more frequent than a better one.
    others : (int, int)
        How many candidates at least and at most are above each answer that are in no draw.

    Returns
    -------
    (values, 2) float array
        Lower and upper bounds; NaN where no law agrees.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    first, last = _bins(int(n_candidates.max()))
    blocks, masses, bins = [], [], []
    for own in _alike(n_candidates):
        of_bin = np.flatnonzero(first <= own.max() + 1)
        fewest = _at_most(at, last[of_bin], own.min(), n_sampled, replace=replace)
        most = _at_most(at, first[of_bin], own.max(), n_sampled, replace=replace)
        blocks.append(np.vstack([fewest, -most]))
        masses.append(len(own) / len(n_candidates))
        bins.append(of_bin)
    columns, group_of = np.concatenate(bins), np.repeat(np.arange(len(bins)), [len(part) for part in bins])
    limits, upper = [hstack([coo_array(block) for block in blocks])], [band[1], -band[0]]
    if falls:
        density = coo_array((1.0 / (last - first + 1)[columns], (columns, np.arange(len(columns))))).tocsr()
        limits.append(density[1:] - density[:-1])
        upper.append(np.zeros(len(first) - 1))
    sums = coo_array((np.ones(len(columns)), (group_of, np.arange(len(columns)))))
    found = np.full((len(values), 2), np.nan)
    constraints: Any = vstack(limits), np.concatenate(upper), sums, masses
    for place, value in enumerate(values):
        for side, (sign, rank) in enumerate(((1.0, last + others[1]), (-1.0, first + others[0]))):
            cost = sign * value(rank.astype(np.float64))[columns]
            solved: Any = linprog(cost, *constraints)
            if solved.status == 0:
                found[place, side] = sign * solved.fun
    return found


def _bins(n_candidates: int) -> tuple[Counts, Counts]:
    """The first and the last rank of each bin, to the worst: of one rank at the top, then ever wider."""
    starts = [*range(1, min(_EXACT, n_candidates + 1) + 1)]
    while starts[-1] <= n_candidates:
        starts.append(min(n_candidates + 1, max(starts[-1] + 1, int(starts[-1] * _RATIO))))
    first = np.array(starts)
    return first, np.append(first[1:] - 1, first[-1])


def _alike(n_candidates: Counts) -> list[Counts]:
    """The numbers of candidates in groups of answers that have about as many."""
    ratio = max(_ALIKE, (n_candidates.max() / n_candidates.min()) ** (1 / _GROUPS))
    group = np.log(n_candidates.max() / n_candidates) // np.log(ratio)
    return [n_candidates[group == one] for one in np.unique(group)]


def _at_most(at: Counts, rank: Counts, n_candidates: int, n_sampled: int, *, replace: bool) -> Floats:
    """(k, ranks) The chance that at most so many of the sample are above an answer of each rank."""
    above = np.minimum(rank - 1, n_candidates)
    laws = (
        above_law(own, np.full(len(own), n_candidates), n_sampled, replace=replace) for own in _tiles(above, n_sampled)
    )
    return np.concatenate([law.cumsum(axis=1)[:, at] for law in laws]).T

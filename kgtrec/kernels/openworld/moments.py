r"""Values of a measure when some true answers have no label: exact means and variances.

The model: a question has N true answers. Each lacks its label with probability beta, and is found by the system, which
is to be ranked above every false candidate, with probability l, its strength. Both are correlated by rho, so that the
system finds a missing answer with probability :math:`l_1 = l + \rho \sqrt{l (1 - l) \alpha / \beta}`, a labelled one
with :math:`l_2 = l - \rho \sqrt{l (1 - l) \beta / \alpha}`, where :math:`\alpha = 1 - \beta`. Answers are independent
of each other, and every order of the found ones is equally likely. A labelled answer then has rank 1 plus the number of
missing answers found and placed above it; one that is not found counts 0.

With m missing answers found, the rank of a found labelled answer is uniform on 1 .. m + 1, so its expected value is the
mean :math:`A(m)` of the weights w(1) .. w(m + 1), and everything here is a mean of A over binomial numbers m: sums of
positive terms, without the loss of digits that differences would have for small beta. Given m, the number of labelled
answers is binomial of N - m trials with probability :math:`\alpha / (1 - \beta l_1)`.

References
----------
Yang, Lin, Zhang (2022). Rethinking Knowledge Graph Evaluation Under the Open-World Assumption. NeurIPS, theorems 1, 2;
their lemma counts questions without any label as if they could be scored, see :func:`mean_score`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = Callable[[Floats], Floats]  # of ranks, from 1 on

_FEW = 1024  # up to so many answers, all numbers of them are computed for all strengths at once
_TAIL = 40.0  # standard deviations beyond which a binomial distribution is 0 in double precision
_NEVER = 1e-200  # smaller probabilities count as 0, for any number of trials; near 1e-308 scipy overflows


def correlated_strengths(strength: Floats, missing: float, correlation: float) -> tuple[Floats, Floats]:
    """Strength on missing and on labelled answers; outside [0, 1] where no joint distribution has the correlation.

    Examples
    --------
    >>> [part.tolist() for part in correlated_strengths(np.array([0.5]), 0.5, -0.2)]
    [[0.4], [0.6]]
    """
    if correlation == 0:
        return strength, strength
    spread = correlation * np.sqrt(strength * (1 - strength))
    odds = _odds(missing)
    return strength + spread * odds, strength - spread / odds


def _odds(missing: float) -> float:
    """The square root of alpha / beta, finite for every beta above 0."""
    return float(np.sqrt(1 - missing) / np.sqrt(missing))


def correlation_bounds(strength: Floats, missing: float) -> tuple[Floats, Floats]:
    """Least and greatest correlation that a joint distribution of "missing" and "found" can have; 0, 0 for certainties.

    References
    ----------
    Fréchet (1951), on the bounds of a joint distribution with given margins.

    Examples
    --------
    >>> [part.round(4).tolist() for part in correlation_bounds(np.array([0.8]), 0.5)]
    [[-0.5], [0.5]]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found, odds = np.sqrt(strength / (1 - strength)), np.sqrt(missing / (1 - missing))
        low = -np.minimum(found * odds, 1 / (found * odds))
        high = np.minimum(odds / found, found / odds)
    # an event that always or never happens correlates with nothing
    return np.nan_to_num(low) + 0.0, np.nan_to_num(high)


def _window(n: int, p: float) -> tuple[slice, Floats]:
    """Values of a binomial variable with a relevant probability, as a slice of 0 .. n, and these probabilities."""
    from scipy.stats import binom

    p = p if p > _NEVER else 0.0
    spread = _TAIL * np.sqrt(n * p * (1 - p)) + _TAIL
    first = int(max(0, np.floor(n * p - spread)))
    last = int(min(n, np.ceil(n * p + spread)))
    return slice(first, last + 1), np.asarray(binom.pmf(np.arange(first, last + 1), n, p), np.float64)


def _means(values: Floats, n: int, missing: float, on_missing: Floats, *, scored: bool) -> Floats:
    """Means of values over the number of missing answers found, of n.

    Parameters
    ----------
    values : (k, n + 1) float array
        For m = 0 .. n found missing answers.
    scored : bool
        Count only cases in which an answer is labelled; their probabilities sum to 1 - missing ** n.

    Returns
    -------
    (k, s) float array
    """
    if n <= _FEW:
        from scipy.stats import binom

        every, p = np.arange(n + 1), missing * on_missing[:, None]
        chance = np.asarray(binom.pmf(every, n, np.where(p > _NEVER, p, 0.0)), np.float64)
        if scored and missing > 0:
            chance *= _some_labelled(every, n, missing, on_missing[:, None])
        return values @ chance.T
    means = np.empty((len(values), len(on_missing)))
    for place, found in enumerate(on_missing):  # one window per system, which is narrow where n is large
        numbers, chance = _window(n, missing * found)
        if scored and missing > 0:
            chance *= _some_labelled(np.arange(numbers.start, numbers.stop), n, missing, found)
        means[:, place] = values[:, numbers] @ chance
    return means


def _some_labelled(numbers: NDArray[np.int64], n: int, missing: float, found: Floats) -> Floats:
    """Probability that one of the other answers is labelled, given how many of n are missing and found."""
    labelled = (1 - missing) / (1 - missing * found)  # of an answer that is not both missing and found
    others = n - numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        some: Floats = -np.expm1(others * np.log1p(-labelled))
    return np.where(others > 0, some, 0.0)


def _scored_share(n_answers: int, missing: float) -> float:
    """Probability that a question has a label."""
    return 1.0 if missing == 0 else float(-np.expm1(n_answers * np.log(missing)))


def mean_score(
    weights: Weights,
    n_draws: int,
    missing: float,
    on_missing: Floats,
    on_labelled: Floats,
    *,
    conditional: bool = False,
) -> Floats:
    """Expected value of one labelled answer, or of a question, which is the mean over its labelled answers.

    They are the limits of the micro and of the macro average over many questions.

    Parameters
    ----------
    weights : function of ranks
        Decreasing: 1 / rank for MRR, rank <= k for Hits@k.
    n_draws : int
        N - 1 for an answer, N for a question, of N true answers.
    missing : float
        Probability that one lacks its label, in [0, 1).
    on_missing, on_labelled : (s,) float arrays
        Probability that the system finds a missing, a labelled answer.
    conditional : bool
        True: for questions with a label, since only they can be scored. False with N: the published lemma, in which a
        question without a label counts as if a further answer had one.

    Returns
    -------
    (s,) float array

    Examples
    --------
    An answer of a question of five; the lemma; and a question with a label.

    >>> half = np.array([0.8])
    >>> [mean_score(lambda rank: 1 / rank, n, 0.5, half, half, conditional=only).round(4).tolist()
    ...  for n, only in ((4, False), (5, False), (5, True))]
    [[0.5534], [0.5141], [0.5187]]
    """
    ranks = np.arange(1.0, n_draws + 2)
    values = np.cumsum(weights(ranks)) / ranks
    mean: Floats = on_labelled * _means(values[None], n_draws, missing, on_missing, scored=conditional)[0]
    return mean / _scored_share(n_draws, missing) if conditional else mean


def mixed_mean(
    weights: Weights,
    n_answers: NDArray[np.int64],
    share: Floats,
    missing: float,
    on_missing: Floats,
    on_labelled: Floats,
    *,
    per_label: bool,
) -> Floats:
    """Expected average over questions with different numbers of answers, by labels or by questions.

    Parameters
    ----------
    n_answers : (k,) int array, at least 1
    share : (k,) float array
        Shares of the questions with a label that have so many answers, on any scale.
    per_label : bool
        Average over labels; False: over questions.

    Other parameters are those of :func:`mean_score`.

    Returns
    -------
    (s,) float array

    Examples
    --------
    >>> half, sizes = np.array([0.8]), np.array([1, 5])
    >>> mixed_mean(lambda rank: 1 / rank, sizes, np.ones(2), 0.5, half, half, per_label=False).round(4).tolist()
    [0.6594]
    """
    part = share * (_labels_of_scored(n_answers, missing) if per_label else 1.0)
    total = np.zeros(len(on_missing))
    for size, one in zip(n_answers.tolist(), part, strict=True):  # few: one per length of lists
        mean = mean_score(weights, size - per_label, missing, on_missing, on_labelled, conditional=not per_label)
        total += one * mean
    return total / part.sum()


def _labels_of_scored(n_answers: NDArray[np.int64], missing: float) -> Floats:
    """(k,) expected number of labels of a question that has one."""
    return n_answers * (1 - missing) / np.array([_scored_share(size, missing) for size in n_answers.tolist()])


def slope(
    weights: Weights, n_draws: int, missing: float, strength: Floats, correlation: float, *, conditional: bool = False
) -> Floats:
    r"""Derivative of the mean with respect to the strength: how much of an improvement a measure shows.

    ``n_draws`` is N for questions, N - 1 for labels. Without correlation the slope is the mean of w(m + 1) itself:
    :math:`\sum_m w(m + 1) \binom{n}{m} (l \beta)^m (1 - l \beta)^{n - m}`. With it,

    .. math:: \frac{l_2 l_1'}{l_1} E[w(m + 1)]
        + \frac{\rho l (\sqrt{\alpha / \beta} + \sqrt{\beta / \alpha})}{2 l_1 \sqrt{l (1 - l)}} E[A(m)],

    in which the second factor is :math:`l_2' - l_2 l_1' / l_1` with all cancelling terms removed. Where :math:`l_1` is
    small, both parts are large with different signs, and the same is better computed as

    .. math:: l_2' E[A(m)] + n \beta l_2 l_1' E\left[\frac{w(m + 2) - A(m + 1)}{m + 1}\right],

    with m of n - 1 trials in the second mean; the form with the smaller parts is used.

    Parameters
    ----------
    conditional : bool
        For the mean of questions with a label.

    Returns
    -------
    (s,) float array; not finite at strengths 0 and 1 under correlation

    Examples
    --------
    >>> slope(lambda rank: 1 / rank, 43, 0.01, np.array([0.7]), 0.0).round(4).tolist()
    [0.8632]
    """
    ranks = np.arange(1.0, n_draws + 2)
    own = weights(ranks)
    share = _scored_share(n_draws, missing) if conditional else 1.0
    if correlation == 0:
        return _means(own[None], n_draws, missing, strength, scored=conditional)[0] / share
    # at the ends of the range rounding may put them slightly outside [0, 1]
    apart = correlated_strengths(strength, missing, correlation)
    on_missing, on_labelled = np.clip(apart[0], 0.0, 1.0), np.clip(apart[1], 0.0, 1.0)
    values = np.cumsum(own) / ranks
    spread, odds = np.sqrt(strength * (1 - strength)), _odds(missing)
    alone, mean = _means(np.stack([own, values]), n_draws, missing, on_missing, scored=conditional)
    further = np.zeros(len(strength))
    if n_draws:
        fall = (own[1:] - values[1:]) / ranks[:-1]
        further = n_draws * missing * _means(fall[None], n_draws - 1, missing, on_missing, scored=conditional)[0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        curve = correlation * (1 - 2 * strength) / (2 * spread)
        rise, rise_labelled = 1 + curve * odds, 1 - curve / odds  # of the strengths on missing, on labelled answers
        of_mean = correlation * strength * (odds + 1 / odds) / (2 * spread * on_missing)
        one = on_labelled * rise / on_missing * alone, of_mean * mean
        other = rise_labelled * mean, on_labelled * rise * further
        smaller = np.abs(one[0]) + np.abs(one[1]) < np.abs(other[0]) + np.abs(other[1])
        total: Floats = np.where(smaller, one[0] + one[1], other[0] + other[1])
    return total / share


def _means_given_labels(values: Floats, n_answers: int, labels: NDArray[np.int64], found: float) -> Floats:
    """(k, a) means of values over how many of N - a missing answers are found, for descending numbers a of labels.

    One more missing answer moves a share ``found`` of the probabilities up by one.
    """
    first = n_answers - int(labels[0])
    low, chance = _window(first, found)
    top = min(n_answers - int(labels[-1]), _window(n_answers - int(labels[-1]), found)[0].stop - 1)
    chances = np.zeros(top - low.start + 1)
    chances[: len(chance)] = chance
    used = values[:, low.start : top + 1]
    means = np.empty((len(values), len(labels)))
    for row in range(len(labels)):
        means[:, row] = used @ chances
        moved = found * chances[:-1]
        chances *= 1 - found
        chances[1:] += moved
    return means


class ScoreMoments(NamedTuple):
    """Means and covariances of the contribution of a question with a label to an average."""

    mean: Floats  # (s,)
    variance: Floats  # (s,) of one question
    covariance: Floats  # (s, s) of two systems that see the same labels and are otherwise independent


def moments(
    weights: Weights,
    n_answers: int | NDArray[np.int64],
    missing: float,
    on_missing: Floats,
    on_labelled: Floats,
    *,
    per_label: bool,
    share: Floats | None = None,
) -> ScoreMoments:
    r"""Mean, variance and covariance of a question's contribution; divide by the number of questions for an average.

    A question with a labels, m found missing answers and the sum S over its labels contributes S / a to the average
    over questions. Two found labelled answers have ranks i, j with probability
    :math:`(1 + [i = j]) / ((m + 1)(m + 2))`, since the other one has two places around the first that give it the same
    rank; so the mean of their product is :math:`A(m)^2 + U(m) / (m + 2)` with U(m) the variance of w(1) .. w(m + 1).

    The average over labels is a ratio of two sums over questions, to which a question contributes
    :math:`(S - \mu a) / E[a]`: exact in the limit of many questions.

    Parameters
    ----------
    n_answers : int or (k,) int array
        True answers of a question; for several numbers, ``share`` has the shares of the questions with a label that
        have so many, on any scale.
    per_label : bool
        For the average over labels; False: over questions.

    Other parameters are those of :func:`mean_score`.

    Examples
    --------
    >>> half = np.array([0.8])
    >>> [part.round(4).tolist() for part in moments(lambda rank: 1 / rank, 5, 0.5, half, half, per_label=False)]
    [[0.5187], [0.0761], [[0.0078]]]
    """
    sizes = np.atleast_1d(np.asarray(n_answers, np.int64))
    share = np.ones(len(sizes)) if share is None else share
    share = share / share.sum()
    mean = mixed_mean(weights, sizes, share, missing, on_missing, on_labelled, per_label=per_label)
    labels_of_one = float(share @ _labels_of_scored(sizes, missing))
    variance, covariance = np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
    for size, part in zip(sizes.tolist(), share, strict=True):  # few: one per length of lists
        values, spread, labels, chance = _tables(weights, size, missing)
        worth = labels / labels_of_one if per_label else np.ones(len(labels))
        apart = np.empty((len(mean), len(labels)))
        stacked = np.stack([values[0], values[1], values[0] ** 2 + spread])
        for place, found in enumerate(on_labelled):
            once, twice, paired = _means_given_labels(stacked, size, labels, on_missing[place])
            apart[place] = worth * (found * once - mean[place])
            # (S / a) given a: each label's own variance, and the covariance of the labels of a question
            own = found * (twice - found * paired) / labels
            shared = found**2 * np.maximum(paired - once**2, 0.0)
            variance[place] += part * float(chance @ (worth**2 * (own + shared) + apart[place] ** 2))
        covariance += part * ((apart * chance) @ apart.T)
    return ScoreMoments(mean, variance, covariance)


def _tables(weights: Weights, n_answers: int, missing: float) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
    """A and the same of squared weights; U / (m + 2); numbers of labels, descending, and their probabilities."""
    ranks = np.arange(1.0, n_answers + 2)
    own = weights(ranks)
    values = np.stack([np.cumsum(own), np.cumsum(own**2)]) / ranks
    spread = np.maximum(values[1] - values[0] ** 2, 0.0) / (ranks + 1)
    window, chance = _window(n_answers, 1 - missing)
    labels = np.arange(window.start, window.stop, dtype=np.int64)
    chance = chance[labels > 0][::-1]  # descending, so that the missing ones ascend
    labels = labels[labels > 0][::-1]
    return values, spread, labels, chance / chance.sum()


def harmonic_approximation(n_answers: int, missing: float, strength: Floats) -> tuple[Floats, Floats, Floats]:
    r"""The logarithm that approximates MRR, and bounds of its difference from the lemma's MRR.

    With n = N + 1 and p = l beta the exact value is
    :math:`(\ln p + H_n + \sum_{j > n} (1 - p)^j / j) / (\beta n)`; the approximation has :math:`\ln(n + 1) + \gamma`
    for :math:`H_n` and omits the sum.

    Returns
    -------
    approximation, low, high : (s,) float arrays
        low <= exact - approximation <= high.

    References
    ----------
    Yang et al. (2022), equation 6.

    Examples
    --------
    >>> [part.round(3).tolist() for part in harmonic_approximation(43, 0.01, np.array([0.7]))]
    [[-1.314], [-0.051], [5.234]]
    """
    n, p = n_answers + 1, missing * strength
    scale = missing * n
    approximation = (np.log(p) + np.log(n + 1.0) + np.euler_gamma) / scale
    tail = np.exp((n + 1) * np.log1p(-p)) / ((n + 1) * p)
    return approximation, np.full(len(strength), -1 / (n + 1) / scale), (tail - 1 / (2 * (n + 1))) / scale

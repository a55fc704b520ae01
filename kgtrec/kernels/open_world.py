r"""What a measure comes to when some true answers have no label: exact means and variances.

The model: a question has N true answers. Each lacks its label with probability beta, and is found by the system, which
is to be ranked above every false candidate, with probability l, its strength. Both are correlated by rho, so that the
system finds a missing answer with probability :math:`l_1 = l + \rho \sqrt{l (1 - l) \alpha / \beta}`, a labelled one
with :math:`l_2 = l - \rho \sqrt{l (1 - l) \beta / \alpha}`, where :math:`\alpha = 1 - \beta`. Answers are independent
of each other, and every order of the found ones is equally likely. A labelled answer then has rank 1 plus the number of
missing answers found and placed above it; one that is not found counts 0.

With m missing answers found, the rank of a found labelled answer is uniform on 1 .. m + 1, so its expected value is the
mean :math:`A(m)` of the weights w(1) .. w(m + 1), and everything here is a mean of A over binomial numbers m: sums of
positive terms, without the loss that differences would bring for small beta.

References
----------
Yang, Lin, Zhang (2022). Rethinking Knowledge Graph Evaluation Under the Open-World Assumption. NeurIPS, theorems 1, 2;
their lemma counts questions without any label as if they could be scored, see :func:`mean_per_question`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = Callable[[Floats], Floats]  # of ranks, from 1 on

_TAIL = 40.0  # standard deviations of a binomial number beyond which there is nothing in double precision


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
    odds = np.sqrt((1 - missing) / missing)
    return strength + spread * odds, strength - spread / odds


def correlation_bounds(strength: Floats, missing: float) -> tuple[Floats, Floats]:
    """Least and greatest correlation that a joint distribution of "missing" and "found" can have.

    References
    ----------
    Fréchet (1951), on the bounds of a joint distribution with given margins.

    Examples
    --------
    >>> [part.round(4).tolist() for part in correlation_bounds(np.array([0.8]), 0.5)]
    [[-0.5], [0.5]]
    """
    with np.errstate(divide="ignore"):
        found, odds = np.sqrt(strength / (1 - strength)), np.sqrt(missing / (1 - missing))
        low = -np.minimum(found * odds, 1 / (found * odds))
        high = np.minimum(odds / found, found / odds)
    return low, high


def mean_weights(weights: Weights, n: int) -> Floats:
    """(n + 1,) A(m): the mean of the weights of ranks 1 .. m + 1, for m = 0 .. n.

    Examples
    --------
    >>> mean_weights(lambda rank: 1 / rank, 2).tolist()
    [1.0, 0.75, 0.611111111111111]
    """
    ranks = np.arange(1.0, n + 2)
    mean: Floats = np.cumsum(weights(ranks)) / ranks
    return mean


def _window(n: int, p: Floats) -> tuple[NDArray[np.int64], Floats]:
    """(k,) numbers that a binomial variable takes for all practical purposes, and their (len(p), k) probabilities."""
    from scipy.stats import binom

    spread = _TAIL * np.sqrt(n * p * (1 - p)) + _TAIL
    first = int(max(0, np.floor(np.min(n * p - spread, initial=n))))
    last = int(min(n, np.ceil(np.max(n * p + spread, initial=0))))
    numbers = np.arange(first, last + 1, dtype=np.int64)
    return numbers, np.asarray(binom.pmf(numbers, n, p[:, None]), np.float64)


def _binomial_mean(values: Floats, n: int, p: Floats) -> Floats:
    """(len(p),) mean of ``values[m]`` over m from a binomial distribution of n trials."""
    mean = np.empty(len(p))
    for place in range(len(p)):  # one window each, which is narrow where n is large
        numbers, probability = _window(n, p[place : place + 1])
        mean[place] = probability[0] @ values[numbers]
    return mean


def mean_per_label(weights: Weights, n_answers: int, missing: float, on_missing: Floats, on_labelled: Floats) -> Floats:
    """Expected value of one labelled answer of a question: what the micro average of many questions tends to.

    Parameters
    ----------
    weights : function of ranks
        Decreasing: 1 / rank for MRR, rank <= k for Hits@k.
    n_answers : int
        True answers of a question, at least 1.
    missing : float
        Probability that one lacks its label, in [0, 1).
    on_missing, on_labelled : (s,) float arrays
        Probability that the system finds a missing, a labelled answer.

    Returns
    -------
    (s,) float array

    Examples
    --------
    >>> half = np.array([0.8])
    >>> mean_per_label(lambda rank: 1 / rank, 5, 0.5, half, half).round(4).tolist()
    [0.5534]
    """
    values = mean_weights(weights, n_answers - 1)
    return on_labelled * _binomial_mean(values, n_answers - 1, missing * on_missing)


def mean_per_question(
    weights: Weights, n_answers: int, missing: float, on_missing: Floats, on_labelled: Floats, *, conditional: bool
) -> Floats:
    """Expected value of a question, the mean over its labelled answers: what the macro average tends to.

    Parameters
    ----------
    conditional : bool
        True: of questions with a label, as only they can be scored. False: the published lemma, in which a question
        without a label counts as if a further answer had one.

    Other parameters are those of :func:`mean_per_label`.

    Returns
    -------
    (s,) float array

    Examples
    --------
    >>> half = np.array([0.8])
    >>> [mean_per_question(lambda rank: 1 / rank, 5, 0.5, half, half, conditional=only).round(4).tolist()
    ...  for only in (False, True)]
    [[0.5141], [0.5187]]
    """
    values = mean_weights(weights, n_answers)
    mean = on_labelled * _binomial_mean(values, n_answers, missing * on_missing)
    if not conditional:
        return mean
    if missing == 0:
        return mean
    unlabelled = on_labelled * _binomial_mean(values, n_answers, on_missing)
    scored: Floats = (mean - missing**n_answers * unlabelled) / -np.expm1(n_answers * np.log(missing))
    return scored


def slope(weights: Weights, n_draws: int, missing: float, strength: Floats, correlation: float) -> Floats:
    r"""Derivative of the mean in the strength: how much a measure shows of an improvement.

    ``n_draws`` is N for the lemma of questions, N - 1 for labels. Without correlation it is
    :math:`\sum_k w(k + 1) \binom{n}{k} (l \beta)^k (1 - l \beta)^{n - k}`.

    Returns
    -------
    (s,) float array; infinite at strengths 0 and 1 under correlation

    Examples
    --------
    >>> slope(lambda rank: 1 / rank, 43, 0.01, np.array([0.7]), 0.0).round(4).tolist()
    [0.8632]
    """
    ranks = np.arange(1.0, n_draws + 2)
    own = weights(ranks)
    if correlation == 0:
        return _binomial_mean(own, n_draws, missing * strength)
    on_missing, on_labelled = correlated_strengths(strength, missing, correlation)
    values = mean_weights(weights, n_draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = correlation * (1 - 2 * strength) / (2 * np.sqrt(strength * (1 - strength)))
    odds = np.sqrt((1 - missing) / missing)
    # A(m + 1) - A(m) written so that nothing cancels
    rise = (own[1:] - values[:-1]) / ranks[1:]
    per_missing = missing * n_draws * _binomial_mean(rise, n_draws - 1, missing * on_missing) if n_draws else 0.0
    per_labelled = _binomial_mean(values, n_draws, missing * on_missing)
    total: Floats = (1 - bend / odds) * per_labelled + on_labelled * (1 + bend * odds) * per_missing
    return total


def second_moments(
    weights: Weights, n_answers: int, missing: float, on_missing: Floats, on_labelled: Floats
) -> tuple[Floats, Floats, Floats]:
    r"""Mean, mean square, and mean of the conditional mean's products, of a question that has a label.

    A question with a labels and m found missing answers is the mean of its labels' values. Two found labelled answers
    have ranks i, j with probability :math:`(1 + [i = j]) / ((m + 1)(m + 2))`, since where one stands the other has two
    places that give it the same rank.

    Returns
    -------
    mean : (s,) float array
    square : (s,) float array
        Mean of the squared value, of one system.
    shared : (s, s) float array
        Mean of the product of the values of two systems that see the same labels and are otherwise independent.
    """
    labels, chance = _window(n_answers, np.array([1 - missing]))
    chance = chance[0][labels > 0]
    labels = labels[labels > 0]
    chance = chance / chance.sum()
    ranks = np.arange(1.0, n_answers + 2)
    own = weights(ranks)
    once, twice = np.cumsum(own) / ranks, np.cumsum(own**2) / ranks
    # S1 ** 2 + S2 over (m + 1)(m + 2)
    both = (once**2 * ranks + twice) / (ranks + 1)
    mean, square = np.zeros((2, len(on_missing)))
    given = np.empty((len(on_missing), len(labels)))
    for place in range(len(on_missing)):
        for row, a in enumerate(labels):
            unlabelled = int(n_answers - a)
            numbers, probability = _window(unlabelled, on_missing[place : place + 1])
            found = on_labelled[place]
            given[place, row] = found * (probability[0] @ once[numbers])
            alone, paired = probability[0] @ twice[numbers], probability[0] @ both[numbers]
            square[place] += chance[row] * (found * alone + (a - 1) * found**2 * paired) / a
        mean[place] = given[place] @ chance
    shared = (given * chance) @ given.T
    return mean, square, shared


def harmonic_approximation(n_answers: int, missing: float, strength: Floats) -> tuple[Floats, Floats, Floats]:
    r"""The logarithm that MRR follows, and how far the lemma's MRR can be from it.

    With n = N + 1 and p = l beta the exact value is
    :math:`(\ln p + H_n + \sum_{j > n} (1 - p)^j / j) / (\beta n)`; the approximation has :math:`\ln(n + 1) + \gamma`
    for :math:`H_n` and leaves the sum out.

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

"""Tests of the difference between systems that scored the same items, for all pairs of systems at once.

Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ...; a difference is the first system's value minus the second's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.resampling import bootstrap_counts

Floats = NDArray[np.float64]


def pairs(n_systems: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second system of each pair.

    Examples
    --------
    >>> [part.tolist() for part in pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(n_systems, 1)
    return first, second


def differences(value: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (divisor n - 1) of each pair's differences.

    Parameters
    ----------
    value : (systems, n) float array
        Each system's score on each item.

    Returns
    -------
    mean, deviation : (pairs,) float arrays
        The deviation of equal columns is exactly 0; of a single item it is NaN.

    Examples
    --------
    >>> [part.tolist() for part in differences(np.array([[1.0, 3.0], [0.0, 0.0]]))]
    [[2.0], [1.4142135623730951]]
    """
    n_systems, n = value.shape
    first, _ = pairs(n_systems)
    mean, deviation = np.empty(len(first)), np.full(len(first), np.nan)
    for system in range(n_systems - 1):
        own = np.flatnonzero(first == system)
        difference = value[system] - value[system + 1 :]
        mean[own] = difference.mean(axis=1)
        if n > 1:
            deviation[own] = np.where(_is_flat(difference, value), 0.0, difference.std(axis=1, ddof=1))
    return mean, deviation


def effect_sizes(value: Floats) -> tuple[Floats, Floats]:
    r"""Standardised mean difference of each pair, by the spread of the differences and by that of the systems.

    Returns
    -------
    d_z, d_pooled : (pairs,) float arrays
        :math:`\bar d / s_d`, of which the t statistic is :math:`\sqrt n` times, and
        :math:`\bar d / \sqrt{(s_1^2 + s_2^2) / 2}`, which does not grow when systems agree on which items are hard. NaN
        where the denominator is 0.

    References
    ----------
    Cohen (1988). Statistical Power Analysis for the Behavioral Sciences, section 2.3.
    Lakens (2013). Calculating and reporting effect sizes. Frontiers in Psychology 4, eq. 6 and 10.

    Examples
    --------
    >>> d_z, d_pooled = effect_sizes(np.array([[1.0, 3.0], [0.0, 0.0]]))
    >>> d_z.round(4).tolist(), d_pooled.round(4).tolist()
    ([1.4142], [2.0])
    """
    mean, deviation = differences(value)
    first, second = pairs(len(value))
    spread = np.full(len(value), np.nan)
    if value.shape[1] > 1:
        spread = np.where(_is_flat(value, value), 0.0, value.std(axis=1, ddof=1))
    pooled = np.sqrt((spread[first] ** 2 + spread[second] ** 2) / 2)
    return _over(mean, deviation), _over(mean, pooled)


def _over(mean: Floats, spread: Floats) -> Floats:
    quotient = np.full(len(mean), np.nan)
    np.divide(mean, spread, out=quotient, where=spread > 0)
    return quotient


def _is_flat(difference: Floats, value: Floats) -> NDArray[np.bool_]:
    """(rows,) whether differences are all the same, apart from the rounding of values of that size."""
    flat: NDArray[np.bool_] = np.ptp(difference, axis=1) <= 8 * np.finfo(np.float64).eps * np.abs(value).max()
    return flat


def clustered_errors(value: Floats, cluster: NDArray[np.int64]) -> tuple[Floats, int]:
    r"""Standard error of each pair's mean difference when items of one cluster are not independent.

    With :math:`e_i` a difference minus the mean of all and G clusters it is
    :math:`\sqrt{G / (G - 1) \sum_g (\sum_{i \in g} e_i)^2} / n`, which for clusters of one item is that of the t-test.

    Parameters
    ----------
    value : (systems, n) float array
    cluster : (n,) int array, from 0 on

    Returns
    -------
    error : (pairs,) float array
    n_clusters : int
        Clusters with an item; the t statistic has one degree of freedom fewer.

    References
    ----------
    Liang, Zeger (1986). Longitudinal data analysis using generalized linear models. Biometrika 73.
    Cameron, Miller (2015). A practitioner's guide to cluster-robust inference. Journal of Human Resources 50.

    Examples
    --------
    >>> value = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 0.0]])
    >>> error, n_clusters = clustered_errors(value, np.array([0, 1, 2]))
    >>> bool(np.isclose(error[0], differences(value)[1][0] / 3**0.5)), n_clusters
    (True, 3)
    """
    n_systems, n = value.shape
    used, place = np.unique(cluster, return_inverse=True)
    n_clusters = len(used)
    first, _ = pairs(n_systems)
    error = np.full(len(first), np.nan)
    if n_clusters < 2:
        return error, n_clusters
    for system in range(n_systems - 1):
        difference = value[system] - value[system + 1 :]
        left = difference - difference.mean(axis=1, keepdims=True)
        left[_is_flat(difference, value)] = 0.0
        sums = np.array([np.bincount(place, weights=row, minlength=n_clusters) for row in left])
        sums[_cancels(sums, value, place)] = 0.0
        error[first == system] = np.sqrt(n_clusters / (n_clusters - 1) * (sums**2).sum(axis=1)) / n
    return error, n_clusters


def _cancels(sums: Floats, value: Floats, place: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(rows,) whether sums over clusters, of deviations from the mean, are 0 apart from rounding."""
    rounding = 8 * np.finfo(np.float64).eps * np.abs(value).max() * np.bincount(place).max()
    nothing: NDArray[np.bool_] = np.abs(sums).max(axis=1) <= rounding
    return nothing


def t_test(mean: Floats, error: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Student's t and its two-tailed p-value.

    Returns
    -------
    t, p : (pairs,) float arrays
        NaN where the error is 0 or NaN: without variance there is no test.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> t, p = t_test(np.array([1.0]), np.array([0.5]), 10)
    >>> t.tolist(), p.round(4).tolist()
    ([2.0], [0.0734])
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.nan)
    p: Floats = 2 * stdtr(max(freedom, 1), -np.abs(t)) if freedom > 0 else np.full(len(t), np.nan)
    return t, p


def holm(p: Floats) -> Floats:
    """P-values adjusted for their number, so that those below alpha hold together at level alpha.

    NaN stays NaN and does not count.

    References
    ----------
    Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def achieved_significance(value: Floats, cluster: NDArray[np.int64] | None, repeats: int, seed: int) -> Floats:
    r"""Achieved significance level of the paired bootstrap test, for each pair.

    Differences are shifted to mean 0, so that the null hypothesis holds; the level is the share of bootstrap
    samples whose studentised mean is at least as far from 0 as that of the data.

    Parameters
    ----------
    value : (systems, n) float array
    cluster : (n,) int array, from 0 on, or None
        Clusters that are resampled as one; None: single items.
    repeats : int
        Bootstrap samples; the same ones are used for all pairs.
    seed : int

    Returns
    -------
    (pairs,) float array, NaN where a pair has no variance

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR, figure 2.
    Efron, Tibshirani (1993). An Introduction to the Bootstrap, algorithm 16.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.random(200)
    >>> value = np.array([quality + 0.1 + rng.normal(0, 0.1, 200), quality, quality + rng.normal(0, 0.1, 200)])
    >>> (achieved_significance(value, None, 500, seed=0) < 0.05).tolist()
    [True, True, False]
    """
    n_systems, n = value.shape
    place = np.arange(n) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    n_clusters = int(place.max(initial=-1)) + 1
    first, second = pairs(n_systems)
    if n_clusters < 2:
        return np.full(len(first), np.nan)
    size = np.bincount(place, minlength=n_clusters).astype(np.float64)
    sums = np.empty((n_clusters, len(first)))
    for pair, (one, other) in enumerate(zip(first, second, strict=True)):
        difference = value[one] - value[other]
        sums[:, pair] = np.bincount(place, weights=difference - difference.mean(), minlength=n_clusters)
    observed = t_test(differences(value)[0], clustered_errors(value, place)[0], n_clusters - 1)[0]
    beyond = np.zeros(len(first))
    for counts in bootstrap_counts(n_clusters, repeats, seed):
        # a sample equal to the data counts as at least as extreme; rounding must not decide
        beyond += (np.abs(_studentised(counts, sums, size)) >= np.abs(observed) * (1 - 1e-12)).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, beyond / repeats)


def _studentised(counts: Floats, sums: Floats, size: Floats) -> Floats:
    """(b, pairs) mean divided by its cluster-robust error, for samples with each cluster ``counts`` times."""
    n_clusters = counts.shape[1]
    items = (counts @ size)[:, None]
    mean = counts @ sums / items
    # sum of counts * (sums - size * mean) ** 2, multiplied out so that it is products of matrices
    squares = counts @ sums**2 - 2 * mean * (counts @ (sums * size[:, None])) + mean**2 * (counts @ size**2)[:, None]
    error = np.sqrt(n_clusters / (n_clusters - 1) * np.maximum(squares, 0)) / items
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised: Floats = np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.inf))
    return studentised


def randomised_tukey(value: Floats, cluster: NDArray[np.int64] | None, repeats: int, seed: int) -> Floats:
    """P-values of the randomised Tukey honestly significant differences, which hold for all pairs at once.

    Under the null hypothesis that all systems are the same, the systems' names can be shuffled on every item (or every
    cluster). A pair's p-value is the share of shuffles whose largest difference of means is at least as large as the
    pair's difference.

    Parameters
    ----------
    value : (systems, n) float array
    cluster : (n,) int array, from 0 on, or None
        Items on which names are shuffled together; None: each item separately.
    repeats : int
        Shuffles.
    seed : int

    Returns
    -------
    (pairs,) float array in [0, 1]

    References
    ----------
    Carterette (2012). Multiple testing in statistical analysis of systems-based information retrieval experiments.
    ACM TOIS 30(1), algorithm 1.  Sakai (2018). Laboratory Experiments in Information Retrieval, section 4.4.

    Examples
    --------
    >>> value = np.array([[1.0] * 20, [0.0] * 20, [0.0] * 20])
    >>> randomised_tukey(value, None, 200, seed=0).tolist()
    [0.0, 0.0, 1.0]
    """
    n_systems, n = value.shape
    first, second = pairs(n_systems)
    if cluster is not None:
        place = np.unique(cluster, return_inverse=True)[1]
        value = np.array([np.bincount(place, weights=row) for row in value])
    sums = value.sum(axis=1)
    gap = np.abs(sums[first] - sums[second]) / n
    # a shuffle equal to the data counts as at least as extreme; rounding of the sums must not decide
    rounding = 64 * np.finfo(np.float64).eps * np.abs(value).sum(axis=1).max() / n
    beyond = np.zeros(len(first))
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        shuffled = rng.permuted(value, axis=0).sum(axis=1) / n  # the values of each unit separately
        beyond += (shuffled.max() - shuffled.min()) >= gap - rounding
    return beyond / repeats

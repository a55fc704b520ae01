"""Tests of the difference between systems that scored the same items, for all pairs of systems at once.

Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ...; a difference is the first system's value minus the second's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.exact_sums import group_sums

Floats = NDArray[np.float64]
_ROUNDING = 8 * np.finfo(np.float64).eps


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
    together = np.zeros(n, np.intp)
    mean, deviation = np.empty(len(first)), np.full(len(first), np.nan)
    for system in range(n_systems - 1):
        own = np.flatnonzero(first == system)
        difference = value[system] - value[system + 1 :]
        mean[own] = [group_sums(together, row, 1)[0] / n for row in difference]
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
    return np.ptp(difference, axis=1) <= _rounding(value)


def _rounding(value: Floats, axis: int | None = None) -> Any:
    """Rounding error of differences of values, by the largest finite one."""
    return _ROUNDING * np.abs(value).max(axis=axis, initial=0.0, where=np.isfinite(value))


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
    first, _ = pairs(len(value))
    error, rounding = np.empty(len(first)), _rounding(value)
    for system in range(len(value) - 1):
        error[first == system] = clustered_mean_errors(value[system] - value[system + 1 :], cluster, rounding)
    return error, int(np.count_nonzero(np.bincount(cluster)))


def clustered_mean_errors(value: Floats, cluster: NDArray[np.int64], rounding: Any = None) -> Floats:
    """Standard error of the mean of each row, (rows,), when items of one cluster are not independent.

    It is that of :func:`clustered_errors` for the difference from a system of zeros. Values that differ by ``rounding``
    only are equal; default: that of the row's own values.

    Examples
    --------
    Two clusters, whose sums are 1 and -1 apart from the mean 2: (2 (1 + 1))^1/2 / 3.

    >>> clustered_mean_errors(np.array([[3.0, 1.0, 2.0]]), np.array([0, 1, 1])).round(4)
    array([0.6667])
    """
    sizes = np.bincount(cluster)
    if (n_clusters := np.count_nonzero(sizes)) < 2:
        return np.full(len(value), np.nan)
    rounding = _rounding(value, axis=1) if rounding is None else rounding
    left = value - value.mean(axis=1, keepdims=True)
    left[np.ptp(value, axis=1) <= rounding] = 0.0
    sums = np.array([np.bincount(cluster, weights=row) for row in left])
    # sums over clusters, of deviations from the mean, which are 0 apart from rounding
    sums[np.abs(sums).max(axis=1) <= rounding * sizes.max()] = 0.0
    error: Floats = np.sqrt(n_clusters / (n_clusters - 1) * (sums**2).sum(axis=1)) / value.shape[1]
    return error


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
    return t, 2 * stdtr(max(freedom, 1), -np.abs(t)) if freedom > 0 else np.full(len(t), np.nan)


def preferences(value: Floats, cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the clusters on which each pair's first system, and its second one, has the higher sum: (pairs, 2).

    Sums that differ by rounding only are equal.

    Examples
    --------
    >>> preferences(np.array([[1.0, 3.0, 2.0, 0.0], [0.0, 4.0, 2.0, 1.0]]), np.array([0, 0, 1, 2])).tolist()
    [[0, 1]]
    """
    used, place = np.unique(cluster, return_inverse=True)
    sums = np.array([np.bincount(place, weights=row, minlength=len(used)) for row in value])
    all_of_one = np.zeros(len(used), np.int64)
    ahead = [outcomes(sums[one], sums[other], all_of_one, 1)[:2] for one, other in zip(*pairs(len(value)), strict=True)]
    return np.array(ahead, np.int64).reshape(-1, 2)


def sign_test(ahead: NDArray[np.int64]) -> Floats:
    """Two-tailed p-value of each pair's preferences, (pairs, 2), if either of both were as likely; equal ones left out.

    NaN where there is none.

    References
    ----------
    Dixon, Mood (1946). The statistical sign test. Journal of the American Statistical Association 41.

    Examples
    --------
    >>> sign_test(np.array([[3, 0], [2, 1], [0, 0]])).tolist()
    [0.25, 1.0, nan]
    """
    from scipy.special import bdtr

    least, n = ahead.min(axis=1), ahead.sum(axis=1)
    return np.where(n > 0, np.minimum(2 * bdtr(least.astype(np.float64), n, 0.5), 1.0), np.nan)


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


def outcomes(
    first: NDArray[np.float64], second: NDArray[np.float64], group: NDArray[Any], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return how often the first value is higher, lower, and the same, in each group of items.

    Parameters
    ----------
    first, second : (n,) float arrays
        NaN is neither higher nor lower nor the same. Values that differ by rounding only are the same.
    group : (n,) int array
        From 0 to ``size - 1``.
    size : int
        How many groups there are.

    Returns
    -------
    higher, lower, same : (size,) int arrays

    Examples
    --------
    >>> first, second = np.array([1.0, 0.0, 0.1 + 0.2]), np.array([0.5, 0.5, 0.3])
    >>> [part.tolist() for part in outcomes(first, second, np.array([0, 0, 1]), 2)]
    [[1, 0], [1, 0], [0, 1]]
    """
    with np.errstate(invalid="ignore"):  # of infinities that are the same
        near = np.abs(first - second) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second))
    same = (near & np.isfinite(first) & np.isfinite(second)) | (first == second)
    known = ~(np.isnan(first) | np.isnan(second))
    kinds = (known & ~same & (first > second), known & ~same & (first < second), known & same)
    higher, lower, equal = (np.bincount(group[kind], minlength=size) for kind in kinds)
    return higher, lower, equal

"""Expectation and variance of rank measures when every order of the candidates is equally likely (the chance model).

Ranks r_i are independent and uniform on 1..N_i; weights w_i are scaled to sum to 1. Items that share N (and, for the
geometric means, w) are computed once, so time and memory depend on the number of distinct N.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.kernels.chance.power_moments import log_mean_power, log_power_spread

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, Floats], Floats]

TABLE = 1024  # sums over at most this many ranks are added up; beyond, Euler-Maclaurin


class Moments(NamedTuple):
    """Expectation and variance of one measure under the chance model; NaN where there are no items."""

    expectation: float
    variance: float


def normalised_weights(weight: ArrayLike | None) -> Floats | None:
    """The weights scaled to sum to 1, or None."""
    if weight is None:
        return None
    weights = np.asarray(weight, np.float64).ravel()
    weights = weights / weights.max(initial=0.0)  # before the sum, which could overflow
    return weights / weights.sum()


def expected_rank(candidates: ArrayLike) -> Floats:
    """Expected rank, (N + 1) / 2 (Hoyt et al. 2022).

    Examples
    --------
    >>> expected_rank([1, 4])
    array([1. , 2.5])
    """
    return (np.asarray(candidates, np.int64) + 1) / 2


def variance_rank(candidates: ArrayLike) -> Floats:
    """Variance of the rank, (N^2 - 1) / 12 (Hoyt et al. 2022).

    Examples
    --------
    >>> variance_rank([1, 5])
    array([0., 2.])
    """
    n = np.asarray(candidates, np.int64).astype(np.float64)
    return (n - 1.0) * (n + 1.0) / 12.0


def expected_reciprocal_rank(candidates: ArrayLike) -> Floats:
    r"""Expected 1 / rank, :math:`H_N / N` (Hoyt et al. 2022).

    Examples
    --------
    >>> expected_reciprocal_rank([1, 2])
    array([1.  , 0.75])
    """
    n = np.asarray(candidates, np.int64)
    return harmonic(n) / n


def variance_reciprocal_rank(candidates: ArrayLike) -> Floats:
    r"""Variance of 1 / rank, :math:`(N H^{(2)}_N - H_N^2) / N^2` (Hoyt et al. 2022).

    Examples
    --------
    >>> variance_reciprocal_rank([1, 2])
    array([0.    , 0.0625])
    """
    n = np.asarray(candidates, np.int64)
    mean = harmonic(n) / n
    return harmonic_squares(n) / n - mean * mean


def expected_hit(candidates: ArrayLike, cutoff: ArrayLike) -> Floats:
    """Expected [rank <= cutoff], min(cutoff / N, 1) (Hoyt et al. 2022).

    Examples
    --------
    >>> expected_hit([1, 4], 2)
    array([1. , 0.5])
    """
    n = np.asarray(candidates, np.int64)
    return np.minimum(np.asarray(cutoff, np.int64), n) / n


def variance_hit(candidates: ArrayLike, cutoff: ArrayLike) -> Floats:
    """Variance of [rank <= cutoff], p (1 - p) with p = min(cutoff / N, 1) (Hoyt et al. 2022).

    Examples
    --------
    >>> variance_hit([1, 4], 2)
    array([0.  , 0.25])
    """
    n = np.asarray(candidates, np.int64)
    inside = np.minimum(np.asarray(cutoff, np.int64), n)
    return (inside / n) * ((n - inside) / n)


def expected_log_reciprocal_rank(candidates: ArrayLike) -> Floats:
    """Expected 1 / log2(rank + 1), the less focus-on-top measure of Yang et al. (2022).

    Up to 1,024 candidates by summation, above by the logarithmic integral and Euler-Maclaurin's corrections (first
    left-out term below 1e-18).

    Examples
    --------
    >>> expected_log_reciprocal_rank([1, 3]).round(6)  # (1 + 0.63093 + 0.5) / 3
    array([1.     , 0.71031])
    """
    n = np.asarray(candidates, np.int64)
    return discount_sums(n)[0] / n


def variance_log_reciprocal_rank(candidates: ArrayLike) -> Floats:
    """Variance of 1 / log2(rank + 1); see `expected_log_reciprocal_rank`.

    Examples
    --------
    >>> variance_log_reciprocal_rank([1, 3]).round(6)
    array([0.      , 0.044817])
    """
    n = np.asarray(candidates, np.int64)
    first, second = discount_sums(n)
    mean = first / n
    return np.maximum(second / n - mean * mean, 0.0)


def expected_power_rank(candidates: ArrayLike, p: float = 0.5) -> Floats:
    """Expected rank^-p, 0 < p <= 1 (Yang et al. 2022).

    Examples
    --------
    >>> expected_power_rank([1, 2]).round(6)  # (1 + 2^-1/2) / 2
    array([1.      , 0.853553])
    """
    return np.exp(log_mean_power(candidates, -p))


def variance_power_rank(candidates: ArrayLike, p: float = 0.5) -> Floats:
    """Variance of rank^-p, 0 < p <= 1.

    Examples
    --------
    >>> variance_power_rank([1, 2]).round(6)
    array([0.      , 0.021447])
    """
    mean = expected_power_rank(candidates, p)
    return mean * mean * np.expm1(log_power_spread(candidates, -p))


def expected_power_above_last(candidates: ArrayLike, alpha: float) -> Floats:
    """Expected (rank^-alpha - N^-alpha) / (1 - N^-alpha), -1 <= alpha <= 1; 1 for an only candidate.

    Moon, Kang, Ko (2026), arXiv:2606.08921, eq. 2, by the moments of :func:`expected_power_rank`.

    Examples
    --------
    >>> expected_power_above_last([1, 2, 3], 1.0).round(6)  # (1 + 1/4 + 0) / 3 among three
    array([1.      , 0.5     , 0.416667])
    """
    alpha, n = alpha or 1e-100, np.asarray(candidates, np.int64)
    most = alpha * np.log(np.maximum(n, 2))
    return np.expm1(log_mean_power(n, -alpha) + most) / np.expm1(most)


def variance_power_above_last(candidates: ArrayLike, alpha: float) -> Floats:
    """Variance of (rank^-alpha - N^-alpha) / (1 - N^-alpha), -1 <= alpha <= 1.

    Examples
    --------
    >>> variance_power_above_last([1, 2], 1.0)
    array([0.  , 0.25])
    """
    alpha, n = alpha or 1e-100, np.asarray(candidates, np.int64)
    most = alpha * np.log(np.maximum(n, 2))
    spread = np.sqrt(np.expm1(log_power_spread(n, -alpha)))  # of r^-alpha, relative to its mean
    return (np.exp(log_mean_power(n, -alpha) + most) * spread / np.expm1(most)) ** 2


@lru_cache(maxsize=1)
def _tables() -> NDArray[np.float64]:
    """(4, TABLE + 1) sums over 1..n of 1/r, 1/r^2, 1/log2(r + 1) and its square; column n."""
    rank = np.arange(1, TABLE + 1, dtype=np.longdouble)
    discount = 1 / np.log2(rank + 1)
    terms = np.stack([1 / rank, 1 / rank**2, discount, discount**2])
    return np.concatenate([np.zeros((4, 1)), np.cumsum(terms, axis=1).astype(np.float64)], axis=1)


def harmonic(n: ArrayLike) -> Floats:
    """The harmonic numbers H_n = 1 + 1/2 + ... + 1/n, n >= 0, to float64 rounding.

    Examples
    --------
    >>> harmonic([0, 1, 4])
    array([0.        , 1.        , 2.08333333])
    """
    counts = np.asarray(n, np.int64)
    x = np.maximum(counts, TABLE).astype(np.float64)
    y = 1 / (x * x)
    beyond = np.log(x) + (np.euler_gamma + (0.5 / x - y * (1 / 12 - y * (1 / 120 - y / 252))))
    return np.where(counts <= TABLE, _tables()[0][np.minimum(counts, TABLE)], beyond)


def harmonic_squares(n: ArrayLike) -> Floats:
    """The sums 1 + 1/4 + ... + 1/n^2, n >= 0, to float64 rounding.

    Examples
    --------
    >>> harmonic_squares([0, 1, 2])
    array([0.  , 1.  , 1.25])
    """
    counts = np.asarray(n, np.int64)
    x = np.maximum(counts, TABLE).astype(np.float64)
    y = 1 / (x * x)
    beyond = np.pi**2 / 6 - (1 - 0.5 / x + y * (1 / 6 - y * (1 / 30 - y / 42))) / x
    return np.where(counts <= TABLE, _tables()[1][np.minimum(counts, TABLE)], beyond)


def discount_sums(n: ArrayLike) -> tuple[Floats, Floats]:
    """The sums over ranks 1..n, n >= 0, of 1 / log2(rank + 1) and of its square.

    Examples
    --------
    >>> [float(total) for total in discount_sums(1)]
    [1.0, 1.0]
    """
    counts = np.asarray(n, np.int64)
    inside = np.minimum(counts, TABLE)
    first, second = _tables()[2][inside], _tables()[3][inside]
    if counts.size and counts.max() > TABLE:
        ends = (_discount_antidifference(end) for end in (np.maximum(counts, TABLE) + 1.0, np.array(TABLE + 1.0)))
        more, more_squared = (np.where(counts > TABLE, above - below, 0.0) for above, below in zip(*ends, strict=True))
        first, second = first + more * np.log(2.0), second + more_squared * np.log(2.0) ** 2
    return first, second


def _discount_antidifference(x: Floats) -> tuple[Floats, Floats]:
    """Integral, half the value, and derivatives at x by Euler-Maclaurin, of 1 / ln and of 1 / ln^2."""
    from scipy.special import expi

    log = np.log(x)
    integral = expi(log)
    cube = x * x * x
    first = integral + 0.5 / log - 1 / (12 * x * log**2) + (2 * log**2 + 6 * log + 6) / (720 * cube * log**4)
    second = (
        (integral - x / log)
        + 0.5 / log**2
        - 1 / (6 * x * log**3)
        + (4 * log**2 + 18 * log + 24) / (720 * cube * log**5)
    )
    return first, second


def _tallied(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct counts, ascending, and how many items have each."""
    if int(counts.max()) > 4 * counts.size + 65_536:  # too long a tally to pay off
        return np.unique(counts, return_counts=True)
    tally = np.bincount(counts)
    distinct = np.flatnonzero(tally)
    return distinct, tally[distinct]


def geometric_mean_moments(candidates: ArrayLike, weight: ArrayLike | None = None) -> Moments:
    r"""Exact expectation and variance of the weighted geometric mean rank.

    :math:`E = \prod E[r_i^{w_i}]` and :math:`Var = \prod E[r_i^{2 w_i}] - E^2 = E^2 (e^B - 1)`, where
    :math:`B = \sum \ln (E[r_i^{2 w_i}] / E[r_i^{w_i}]^2)` is added up from terms free of cancellation
    (`log_power_spread`), so that the variance holds its digits at any weight.

    Parameters
    ----------
    candidates : (n,) int array, entities
        Size of each filtered candidate set, the true answer included.
    weight : (n,) float array, optional
        Any scale, at least 0; by default all equal.

    Returns
    -------
    Moments
        Both NaN without items.

    References
    ----------
    The moments are products of those in Hoyt et al. (2022), arXiv:2203.07544.

    Examples
    --------
    >>> moments = geometric_mean_moments([2, 2])  # ((1 + sqrt 2) / 2)^2 and (3/2)^2 minus its square
    >>> round(moments.expectation, 6), round(moments.variance, 6)
    (1.457107, 0.12684)
    """
    counts = np.asarray(candidates, np.int64).ravel()
    if counts.size == 0:
        return Moments(float("nan"), float("nan"))
    weights = normalised_weights(weight)
    exponent: float | Floats
    if weights is None:
        n, times = _tallied(counts)
        exponent = 1.0 / counts.size
    else:  # each pair of a count and a weight once
        values, code = np.unique(weights, return_inverse=True)
        rows, times = np.unique(counts * np.int64(values.size) + code, return_counts=True)
        n, exponent = rows // values.size, values[rows % values.size] if values.size > 1 else float(values[0])
    mean = float(np.exp(np.sum(times * log_mean_power(n, exponent))))
    return Moments(mean, mean * mean * float(np.expm1(np.sum(times * log_power_spread(n, exponent)))))


def median_rank(ranks: Floats, weight: Floats) -> Floats:
    """Weighted median rank, along the last axis; the weights sum to 1.

    The lowest rank with at least half of the weight at or below it; where that weight is half (within rounding),
    the mean of it and the next rank that has weight, so that equal weights give the common median.

    Examples
    --------
    >>> median_rank(np.array([[4.0, 1.0, 2.0]]), np.array([0.5, 0.25, 0.25]))
    array([3.])
    """
    if np.ptp(weight) == 0:
        return np.median(ranks, axis=-1)
    ranks, weight = ranks[..., weight > 0], weight[weight > 0]
    order = np.argsort(ranks, axis=-1, kind="stable")
    ordered = np.take_along_axis(ranks, order, axis=-1)
    below = np.cumsum(weight[order], axis=-1)
    low, high = (
        np.take_along_axis(ordered, np.minimum(np.sum(left, axis=-1, keepdims=True), ranks.shape[-1] - 1), axis=-1)
        for left in (below < 0.5 - 1e-12, below <= 0.5 + 1e-12)
    )
    return (low + high)[..., 0] / 2


def monte_carlo(
    statistic: Statistic,
    candidates: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    seed: int,
    repeats: int = 1000,
    block: int = 1 << 22,
) -> Moments:
    """Expectation and variance under the chance model by simulation, for measures without a closed form.

    Parameters
    ----------
    statistic : callable
        Called with ``(ranks, weight)``, (b, n) and (n,) float arrays, weights summing to 1; returns (b,).
    candidates : (n,) int array, entities
    weight : (n,) float array, optional
    seed : int
        Equal seeds give equal bytes, for every order of the items and every block size.
    repeats : int
        How often all ranks are drawn, at least 2; the expectation has the standard error ``sqrt(variance / repeats)``.
    block : int
        How many ranks are in memory at once (at least those of one repeat).

    Returns
    -------
    Moments
        Both NaN without items.

    Examples
    --------
    >>> found = monte_carlo(median_rank, [2], seed=0, repeats=4000)  # the mean of 1 and 2
    >>> abs(found.expectation - 1.5) < 4 * (found.variance / 4000) ** 0.5
    True
    """
    counts = np.asarray(candidates, np.int64).ravel()
    weights = normalised_weights(weight)
    n = counts.size
    if n == 0:
        return Moments(float("nan"), float("nan"))
    if weights is None:
        counts, weights = np.sort(counts), np.full(n, 1.0 / n)
    else:
        order = np.lexsort((weights, counts))
        counts, weights = counts[order], weights[order]
    rng = np.random.default_rng(seed)
    values = np.empty(repeats)
    for part in np.split(values, range(max(1, block // n), repeats, max(1, block // n))):
        ranks = rng.random((len(part), n))  # one draw of the generator per rank, so blocks do not shift the stream
        ranks *= counts
        np.floor(ranks, out=ranks)
        ranks += 1.0
        part[:] = statistic(np.minimum(ranks, counts, out=ranks), weights)
    mean = values.mean()
    return Moments(float(mean), float(np.sum((values - mean) ** 2) / (repeats - 1)))

r"""Moments of powers of a uniform rank, :math:`E[r^t]` with r uniform on 1..N, in time that does not grow with N.

Three forms, chosen so that nothing cancels: a direct sum below 16 candidates; above, Euler-Maclaurin's expansion of
:math:`\sum r^t` about the upper end, whose constant is :math:`\zeta(-t)`, relative to :math:`N^t`. Its first left-out
term is below 1e-17 of the result at 16 candidates and falls with the 16th power of N, so what remains is float64
rounding: a relative error of about 1e-14 over -2 <= t <= 2 and N up to 1e8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.polynomial.polynomial import polyfromroots
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Exponent = Floats | float  # one per count, or the same for all: then values that depend only on it are one number
Form = Callable[[NDArray[np.int64], Exponent], Floats]

DIRECT = 16  # from this many candidates on, the expansion replaces the sum
_BLOCK = 1 << 16  # counts at a time
SMALL = 0.125  # exponents up to this size take the form of `log_power_spread` that is exact to first order

# Taylor coefficients at s = 0 of the entire function zeta(s) - 1 / (s - 1); those left out add < 1e-17 for |s| <= 2
ZETA_ENTIRE = (
    0.5,
    0.081061466795327258,
    -0.0031782279542924256,
    -0.00078519447704240796,
    0.00012070049942883504,
    -1.9408963204560378e-6,
    -1.3011460139596243e-6,
    1.6861582638922007e-7,
    -5.7646759799493944e-9,
    -9.1101648923141657e-10,
    1.4970075941901137e-10,
    -9.4068956656661769e-12,
    -4.0925826304158315e-14,
    6.5399048058910152e-14,
    -6.5439687498919194e-15,
    3.0124248713667868e-16,
    3.9888947063110555e-18,
    -1.8582150433785033e-18,
    1.6028856385292241e-19,
    -7.1155827392160068e-21,
    7.9303119150963888e-24,
)
BERNOULLI = tuple(Fraction(*pair) for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6)))
# B_2k / (2k)!, k = 1..7: the weights of the odd derivatives at N
EULER_MACLAURIN = tuple(float(b / math.factorial(2 * k)) for k, b in enumerate(BERNOULLI, start=1))


# The same weights times the second difference f(2t) - 2 f(t) of each falling factorial, coefficients from t^2 on
SECOND_DIFFERENCES = tuple(
    tuple(weight * float(c) * (2.0**j - 2.0) for j, c in enumerate(polyfromroots(range(2 * k - 1))) if j > 1)
    for k, weight in enumerate(EULER_MACLAURIN, start=1)
)


def log_mean_power(candidates: ArrayLike, exponent: ArrayLike) -> Floats:
    r"""The logarithm of :math:`E[r^t] = \frac{1}{N} \sum_{r=1}^N r^t`.

    Parameters
    ----------
    candidates : (...) int array, entities
        N, at least 1.
    exponent : (...) float array, dimensionless, in [-2, 2]
        t; broadcast against ``candidates``.

    Returns
    -------
    (...) float array, nats

    Raises
    ------
    ValueError
        If a number of candidates is below 1.

    Examples
    --------
    >>> np.exp(log_mean_power([1, 2, 100], 1.0)).round(12)
    array([ 1. ,  1.5, 50.5])
    """
    return _in_blocks(_log_mean_power_below, _log_mean_power_above, candidates, exponent)


def log_power_spread(candidates: ArrayLike, exponent: ArrayLike) -> Floats:
    r"""The logarithm of the second moment of r^t relative to its squared mean: :math:`\ln (E[r^{2t}] / E[r^t]^2)`.

    Equal to :math:`\ln (1 + Var[r^t] / E[r^t]^2)`, and about :math:`t^2 Var[\ln r]` where t is small; the relative
    error stays about 1e-14 however small t is.

    Parameters
    ----------
    candidates : (...) int array, entities
        N, at least 1.
    exponent : (...) float array, dimensionless, in [-1, 1]
        t; broadcast against ``candidates``.

    Returns
    -------
    (...) float array, nats, at least 0

    Raises
    ------
    ValueError
        If a number of candidates is below 1.

    Examples
    --------
    >>> np.expm1(log_power_spread([1, 2], 1.0)).round(6)  # Var / E^2 of the rank itself: 0 and (1/4) / (9/4)
    array([0.      , 0.111111])
    """
    return _in_blocks(_spread_below, _spread_above, candidates, exponent)


def _in_blocks(below: Form, above: Form, candidates: ArrayLike, exponent: ArrayLike) -> Floats:
    """Apply the form for few or for many candidates to each count, a cache-sized block at a time."""
    if isinstance(exponent, float) or np.ndim(exponent) == 0:
        counts, power = np.asarray(candidates, np.int64), float(np.asarray(exponent))
        return _either(below, counts.ravel() < DIRECT, above, counts.ravel(), power).reshape(counts.shape)
    counts, exponents = np.broadcast_arrays(np.asarray(candidates, np.int64), np.asarray(exponent, np.float64))
    flat, powers = counts.ravel(), exponents.ravel()
    out = np.empty(flat.size)
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = _either(below, flat[part] < DIRECT, above, flat[part], powers[part])
    return out.reshape(counts.shape)


def _either(first: Form, is_first: NDArray[np.bool_] | bool, second: Form, n: NDArray[np.int64], t: Exponent) -> Floats:
    """One form where ``is_first``, the other elsewhere."""
    chosen = np.broadcast_to(is_first, n.shape)
    if chosen.all():
        return first(n, t)
    if not chosen.any():
        return second(n, t)
    out = np.empty(n.size)
    for rows, form in ((chosen, first), (~chosen, second)):
        out[rows] = form(n[rows], t if isinstance(t, float) else t[rows])
    return out


def _mean_excess_below(n: NDArray[np.int64], t: Exponent) -> Floats:
    """E[r^t] - 1 by a direct sum of r^t - 1, without loss of digits for a tiny t."""
    excess = np.zeros(n.size)
    for rank in range(2, DIRECT):
        excess += np.where(rank <= n, np.expm1(t * math.log(rank)), 0.0)
    return excess / n


def _log_mean_power_below(n: NDArray[np.int64], t: Exponent) -> Floats:
    return np.log1p(_mean_excess_below(n, t))


def _spread_below(n: NDArray[np.int64], t: Exponent) -> Floats:
    mean = _mean_excess_below(n, t)
    # the variance in a second pass, as the mean squared distance from the mean: it is small if t is negative, n large
    spread = mean * mean
    for rank in range(2, DIRECT):
        spread += np.where(rank <= n, (np.expm1(t * math.log(rank)) - mean) ** 2, 0.0)
    return np.log1p(spread / n / (1.0 + mean) ** 2)


def _log_mean_power_above(n: NDArray[np.int64], t: Exponent) -> Floats:
    """The expansion: t ln N + ln E[(r/N)^t]."""
    return _either(_log_share_near_pole, t < -0.5, _log_share, n, t) + t * np.log(n)


def _log_share_near_pole(n: NDArray[np.int64], t: Exponent) -> Floats:
    return np.log(_mean_share_power(n.astype(np.float64), t))


def _log_share(n: NDArray[np.int64], t: Exponent) -> Floats:
    return np.log1p(_mean_share_power_less_one(n.astype(np.float64), t))


def _spread_above(n: NDArray[np.int64], t: Exponent) -> Floats:
    """From the second difference where t is small, else from the two logarithms."""
    return _either(_spread_of_small, np.abs(t) <= SMALL, _spread_of_large, n, t)


def _spread_of_large(n: NDArray[np.int64], t: Exponent) -> Floats:
    return _log_mean_power_above(n, 2 * t) - 2 * _log_mean_power_above(n, t)


def _spread_of_small(n: NDArray[np.int64], t: Exponent) -> Floats:
    x = n.astype(np.float64)
    mean = _mean_share_power_less_one(x, t)
    return np.log1p((_mean_square_excess(x, t) - mean * mean) / (1.0 + mean) ** 2)


def _tail(x: Floats, t: Exponent) -> Floats:
    """Euler-Maclaurin's correction terms at the upper end, relative to N^(t + 1)."""
    falling, coefficients = t, []
    for k, weight in enumerate(EULER_MACLAURIN, start=1):
        coefficients.append(weight * falling)
        falling = falling * ((t - (2 * k - 1)) * (t - 2 * k))
    return _odd_terms(x, coefficients)


def _tail_second_difference(x: Floats, t: Exponent) -> Floats:
    """The correction terms at 2t minus twice those at t."""
    return _odd_terms(
        x, [_horner(coefficients, t) if coefficients else 0.0 * t for coefficients in SECOND_DIFFERENCES]
    ) * (t * t)


def _odd_terms(x: Floats, coefficients: Sequence[Exponent]) -> Floats:
    """The sum of coefficients over x^2, x^4, ..."""
    inverse_square = 1.0 / (x * x)
    total = coefficients[-1] * inverse_square
    for coefficient in reversed(coefficients[:-1]):
        total += coefficient
        total *= inverse_square
    return total


def _horner(coefficients: tuple[float, ...], x: Exponent) -> Exponent:
    """The polynomial with these coefficients, constant first."""
    total: Exponent = coefficients[-1] if isinstance(x, float) else np.full(x.shape, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total *= x
        total += coefficient
    return total


def _zeta_plus_half(t: Exponent) -> Exponent:
    """The zeta function at -t plus 1/2, which is 0 at t = 0, for t > -1."""
    return t / (1.0 + t) - t * _horner(ZETA_ENTIRE[1:], -t)


def _mean_share_power(x: Floats, t: Exponent) -> Floats:
    """E[(r/N)^t]; the poles of 1 / (1 + t) and of zeta(-t) at t = -1 cancel by hand."""
    log_n = np.log(x)
    exponent = -(1.0 + t) * log_n
    integral = np.where(exponent == 0, log_n, np.expm1(exponent) * log_n / np.where(exponent == 0, 1.0, exponent))
    return integral + _horner(ZETA_ENTIRE, -t) * np.exp(exponent) + 0.5 / x + _tail(x, t)


def _mean_share_power_less_one(x: Floats, t: Exponent) -> Floats:
    """E[(r/N)^t] - 1, of relative accuracy also where t is tiny, for t > -1."""
    below_one = np.expm1(-t * np.log(x))  # N^-t - 1
    ends = _zeta_plus_half(t) * (1.0 + below_one) - 0.5 * below_one
    return ends / x - t / (1.0 + t) + _tail(x, t)


def _mean_square_excess(x: Floats, t: Exponent) -> Floats:
    """E[((r/N)^t - 1)^2], of relative accuracy also where t is tiny, for t > -1/2."""
    below_one = np.expm1(-t * np.log(x))
    power = 1.0 + below_one
    zeta = _zeta_plus_half(t)
    # zeta at -2t minus twice zeta at -t, each plus 1/2
    doubled = tuple(c * (2.0**j - 2.0) for j, c in enumerate(ZETA_ENTIRE) if j > 1)
    zeta_second = t * t * (_horner(doubled, -t) - 2.0 / ((1.0 + 2.0 * t) * (1.0 + t)))
    ends = power * power * zeta_second + 2.0 * zeta * power * below_one - 0.5 * below_one * below_one
    return 2.0 * t * t / ((1.0 + 2.0 * t) * (1.0 + t)) + ends / x + _tail_second_difference(x, t)

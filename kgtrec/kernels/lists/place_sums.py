"""Sums over a stretch of positions in a list: of 1 / position, 1 / log2(position + 1), ln position and powers.

Term by term up to position 256, from there on by the Euler-Maclaurin formula at midpoints, whose first term left out
is below 1e-15 of the sum. No difference of two large prefix sums is computed, so a short stretch far down a list of
10 ** 8 candidates keeps its digits too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_TERMS = 256  # up to this position terms are added one by one
_NODES = 32  # of the Gauss-Legendre rule; more than enough for the logarithm's range of 256 to 10 ** 15 positions


def sum_reciprocals(after: Counts, count: Counts) -> Floats:
    """Sum of 1 / i over the ``count`` positions after ``after``: H(after + count) - H(after).

    Parameters
    ----------
    after, count : (n,) int arrays, at least 0

    Returns
    -------
    (n,) float array, relative error below 1e-13

    References
    ----------
    Graham, Knuth, Patashnik (1994), Concrete Mathematics, section 9.6, for the summation formula.

    Examples
    --------
    >>> sum_reciprocals(np.array([0, 2]), np.array([4, 1]))
    array([2.08333333, 0.33333333])
    """
    return _sums(
        lambda x: 1.0 / x, lambda x: (-1.0 / x**2, -6.0 / x**4), lambda low, width: np.log1p(width / low), after, count
    )


def sum_log_discounts(after: Counts, count: Counts) -> Floats:
    """Sum of 1 / log2(i + 1) over the ``count`` positions after ``after``.

    Examples
    --------
    >>> sum_log_discounts(np.array([0, 2]), np.array([1, 1]))
    array([1. , 0.5])
    """

    def slopes(x: Floats) -> tuple[Floats, Floats]:
        y, log = x + 1.0, np.log1p(x)
        return -np.log(2.0) / (y * log**2), -np.log(2.0) * (2 * log**2 + 6 * log + 6) / (y**3 * log**4)

    return _sums(lambda x: 1.0 / np.log2(x + 1.0), slopes, _integral_of_log_discount, after, count)


def sum_logs(after: Counts, count: Counts) -> Floats:
    """Sum of ln i over the ``count`` positions after ``after``: ln ((after + count)! / after!).

    Examples
    --------
    >>> np.exp(sum_logs(np.array([0, 3]), np.array([3, 2]))).round(9)
    array([ 6., 20.])
    """

    def integral(low: Floats, width: Floats) -> Floats:
        # the terms that cancel where the width is small are small compared with width * log(low)
        return width * np.log(low) + ((low + width) * np.log1p(width / low) - width)

    return _sums(np.log, lambda x: (1.0 / x, 2.0 / x**3), integral, after, count)


def sum_powers(after: Counts, count: Counts, p: float) -> Floats:
    """Sum of i ** -p over the ``count`` positions after ``after``; p of at least -1.

    Examples
    --------
    >>> sum_powers(np.array([0, 3]), np.array([1, 1]), 0.5)
    array([1. , 0.5])
    """

    def slopes(x: Floats) -> tuple[Floats, Floats]:
        return -p * x ** (-p - 1), -p * (p + 1) * (p + 2) * x ** (-p - 3)

    def integral(low: Floats, width: Floats) -> Floats:
        log = np.log1p(width / low)
        return log if p == 1.0 else low ** (1.0 - p) * np.expm1((1.0 - p) * log) / (1.0 - p)

    return _sums(lambda x: x**-p, slopes, integral, after, count)


def sum_places_behind(after: Counts, count: Counts) -> Floats:
    """Sum of (j - 1) / (after + j) over j = 1 .. ``count``; used by average precision.

    It is ``count - (after + 1) * sum_reciprocals(after, count)``, without the cancellation where ``after`` is large.

    Examples
    --------
    >>> sum_places_behind(np.array([0, 1]), np.array([3, 2]))
    array([1.16666667, 0.33333333])
    """
    total = count - (after + 1.0) * sum_reciprocals(after, count)
    far = (count > 1) & (after > 2048) & (count * 16 < after)
    if far.any():
        total[far] = _places_behind_far_down(after[far], count[far])
    return total


def _places_behind_far_down(after: Counts, count: Counts) -> Floats:
    """As :func:`sum_places_behind` where ``count / after`` is small; h(x) = (x - 1) / (after + x), at midpoints."""
    start, width = after + 0.5, count.astype(np.float64)
    end, ratio = start + width, width / start
    # the integral of h is start * (u - log1p(u)) - log1p(u) / 2 with u = width / start; the bracket is a power series
    series = np.zeros(len(after))
    for power in range(16, 1, -1):
        series = 1.0 / power - ratio * series
    integral = start * ratio**2 * series - np.log1p(ratio) / 2.0
    # first derivative (after + 1) / (after + x) ** 2, third 6 (after + 1) / (after + x) ** 4; differences end - start
    first = -(after + 1.0) * width * (start + end) / (start * end) ** 2
    third = 6.0 * first * (start**-2 + end**-2)
    return integral - first / 24.0 + third * 7.0 / 5760.0


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    """Nodes and weights of the Gauss-Legendre rule on 0 .. 1."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    return (node + 1.0) / 2.0, weight / 2.0


def _integral_of_log_discount(low: Floats, width: Floats) -> Floats:
    """Integral of 1 / log2(x + 1) from ``low`` on, in the variable log(x + 1), in which it is smooth."""
    first, span = np.log1p(low), np.log1p(width / (low + 1.0))
    total = np.zeros(len(low))
    for node, weight in zip(*_rule(), strict=True):
        total += weight * np.exp(node * span) / (first + node * span)
    return np.log(2.0) * (low + 1.0) * span * total


def _sums(
    term: Callable[[Floats], Floats],
    slopes: Callable[[Floats], tuple[Floats, Floats]],
    integral: Callable[[Floats, Floats], Floats],
    after: Counts,
    count: Counts,
) -> Floats:
    """Sums of ``term``; ``slopes``: its first and third derivative; ``integral``: from a point on, over a width."""
    total = np.where(count > 0, term(after.astype(np.float64) + 1.0), 0.0)
    many = np.flatnonzero(count > 1)
    if len(many) == 0:
        return total
    # equal stretches are added up once: there are many answers at few positions
    width = int(count.max()) + 1
    pairs, back = np.unique(after[many] * width + count[many], return_inverse=True)
    after, count = pairs // width, pairs % width
    # the formula needs a start far enough from 0: up to there, term by term
    single = np.clip(_TERMS - after, 0, count)
    start = after.astype(np.float64)
    sums = np.zeros(len(after))
    rows = np.flatnonzero(single)
    for step in range(1, int(single.max()) + 1):
        rows = rows[single[rows] >= step]
        sums[rows] += term(start[rows] + step)
    beyond = np.flatnonzero(count > single)
    low, width_of_rest = start[beyond] + single[beyond] + 0.5, (count[beyond] - single[beyond]).astype(np.float64)
    (first, third), (first_end, third_end) = slopes(low), slopes(low + width_of_rest)
    sums[beyond] += integral(low, width_of_rest) - (first_end - first) / 24.0 + (third_end - third) * 7.0 / 5760.0
    total[many] = sums[back]
    return total

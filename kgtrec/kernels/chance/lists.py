"""Expectation and variance of list measures when R relevant among N candidates are in uniformly random order.

One row per question: ``relevant`` (R) and ``candidates`` (N), 0 <= R <= N. Everything is exact, by closed forms or by
short sums over at most min(R, cutoff) terms per question; equal (R, N) are summed once. Where R = 0 a measure is 0
for every order, so its expectation and variance are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.kernels.chance.ranks import discount_sums, harmonic, harmonic_squares, variance_log_reciprocal_rank

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
TAIL = 160  # enough terms if each is at most 3/4 of the one before: 0.75^160 < 1e-19


def expected_success(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike) -> Floats:
    """Probability that a relevant candidate is among the first ``cutoff``, 1 - C(N-R, k) / C(N, k).

    Examples
    --------
    >>> expected_success([1, 2, 3], [4, 4, 4], 2).round(6)
    array([0.5     , 0.833333, 1.      ])
    """
    return -np.expm1(_log_all_missed(*_arrays(relevant, candidates, cutoff)))


def variance_success(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike) -> Floats:
    """Variance of Success@cutoff, a 0/1 value.

    Examples
    --------
    >>> variance_success([1], [4], 2)
    array([0.25])
    """
    missed = _log_all_missed(*_arrays(relevant, candidates, cutoff))
    return -np.expm1(missed) * np.exp(missed)


def _log_all_missed(r: Counts, n: Counts, k: Counts) -> Floats:
    """Ln of C(N-R, k) / C(N, k), a product over the smaller of R and k; -inf where it is 0."""
    small, large = np.minimum(r, k), np.maximum(r, k)
    fits = small + large <= n

    def total(few: Counts, many: Counts, size: Counts) -> Floats:
        def term(row: NDArray[np.intp], j: Counts) -> Floats:
            whole, lost = size[row] - j, many[row]
            # near 1 the share itself is rounded, but its complement is not
            return np.where(2 * lost < whole, np.log1p(-lost / whole), np.log((whole - lost) / whole))

        return _ragged_sum(few, term)

    out = np.full(r.size, -np.inf)
    out[fits] = _once_per_distinct(total, small[fits], large[fits], n[fits])
    return out


def expected_best_rank(relevant: ArrayLike, candidates: ArrayLike) -> Floats:
    """Expected rank of the first relevant candidate, (N + 1) / (R + 1); inf where R = 0.

    Examples
    --------
    >>> expected_best_rank([1, 2], [5, 5])
    array([3., 2.])
    """
    r, n, _ = _arrays(relevant, candidates)
    return np.where(r == 0, np.inf, (n + 1) / (r + 1))


def variance_best_rank(relevant: ArrayLike, candidates: ArrayLike) -> Floats:
    """Variance of the rank of the first relevant candidate (negative hypergeometric); NaN where R = 0.

    Examples
    --------
    >>> variance_best_rank([1, 5], [5, 5])
    array([2., 0.])
    """
    r, n, _ = _arrays(relevant, candidates)
    spread = (r / (r + 1.0)) * ((n + 1.0) / (r + 1.0)) * ((n - r) / (r + 2.0))
    return np.where(r == 0, np.nan, spread)


def expected_reciprocal_best_rank(relevant: ArrayLike, candidates: ArrayLike) -> Floats:
    r"""Expected 1 / rank of the first relevant candidate, :math:`\frac{R}{N-R+1} (H_N - H_{R-1})`.

    It is the sum of :math:`\frac{1}{j} C(N-j, R-1) / C(N, R)` over j, whose generating function in N is
    :math:`-\ln(1-x) x^{R-1} / (1-x)^R`.

    Examples
    --------
    >>> expected_reciprocal_best_rank([0, 1, 2], [2, 2, 2])
    array([0.  , 0.75, 1.  ])
    """
    r, n, _ = _arrays(relevant, candidates)
    out = np.zeros(r.size)
    some = r > 0
    out[some] = _expected_rr(r[some], n[some])
    return out


def variance_reciprocal_best_rank(relevant: ArrayLike, candidates: ArrayLike) -> Floats:
    r"""Variance of 1 / rank of the first relevant candidate.

    Where R < N / 4, :math:`E[1/J^2] = \frac{R}{N-R+1} (H^{(2)}_N - \sum_{s=1}^{R-1} \frac{H_N - H_{s-1}}{N-s+1})`, by
    a recurrence in R; elsewhere the distribution of J falls off at least as fast as 0.75^j and is summed.

    Examples
    --------
    >>> variance_reciprocal_best_rank([0, 1, 2], [2, 2, 2])
    array([0.    , 0.0625, 0.    ])
    """
    r, n, _ = _arrays(relevant, candidates)
    out = np.zeros(r.size)
    sparse, dense = (r > 0) & (4 * r < n), (r > 0) & (4 * r >= n)
    out[sparse] = _once_per_distinct(_variance_rr_sparse, r[sparse], n[sparse])
    out[dense] = _once_per_distinct(_variance_rr_dense, r[dense], n[dense])
    return out


def _expected_rr(r: Counts, n: Counts) -> Floats:
    return r / (n - r + 1.0) * _harmonic_difference(n, r - 1)


def _harmonic_difference(upper: Counts, lower: Counts) -> Floats:
    """H_upper - H_lower without the cancellation of two large harmonic numbers."""

    def rest(x: NDArray[np.floating[Any]]) -> Floats:  # H_n - ln(n + 1/2) - Euler's constant at x = n + 1/2
        y = 1.0 / (x * x)
        return y * (1 / 24 - y * (7 / 960 - y * (31 / 8064 - y * 127 / 30720)))

    u, low = upper + 0.5, np.maximum(lower, 64) + 0.5
    smooth = np.log1p((u - low) / low) + (rest(u) - rest(low))
    out = np.where(lower >= 64, smooth, harmonic(upper) - harmonic(lower))
    near = (lower < 64) & (upper - lower <= 64)  # small numbers close to each other: add the terms
    if near.any():
        out[near] = _ragged_sum((upper - lower)[near], lambda row, j: 1.0 / (lower[near][row] + 1 + j))
    return out


def _variance_rr_sparse(r: Counts, n: Counts) -> Floats:
    def term(row: NDArray[np.intp], j: Counts) -> Floats:  # j = s - 1
        return (whole[row] - harmonic(j)) / (n[row] - j)

    whole = harmonic(n)
    second = r / (n - r + 1.0) * (harmonic_squares(n) - _ragged_sum(r - 1, term))
    return second - _expected_rr(r, n) ** 2


def _variance_rr_dense(r: Counts, n: Counts) -> Floats:
    probability = r / n
    first, second = np.zeros(r.size), np.zeros(r.size)
    for j in range(1, TAIL):
        lost = 1.0 - 1.0 / j  # relative to rank 1, which most lists have
        first += probability * lost
        second += probability * lost * lost
        probability = probability * np.maximum(n - j - r + 1, 0) / np.maximum(n - j, 1)
    return second - first * first


def expected_average_precision(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike | None = None) -> Floats:
    r"""Expected AP@cutoff (divided by all R), :math:`\frac{1}{N} (H_k + \frac{R-1}{N-1} (k - H_k))`, k at most N.

    Examples
    --------
    >>> expected_average_precision([1, 2], [2, 2])
    array([0.75, 1.  ])
    """
    r, n, k = _arrays(relevant, candidates, cutoff)
    h = harmonic(k)
    return np.where(r > 0, (h + (r - 1.0) / np.maximum(n - 1.0, 1.0) * (k - h)) / n, 0.0)


def variance_average_precision(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike | None = None) -> Floats:
    r"""Variance of AP@cutoff, exact.

    R AP@k is the sum over i of x_i / i and over m < i of x_m x_i / i, x_i = 1 where position i is relevant. Its square
    has up to four distinct positions, which are all relevant with probabilities p_1 .. p_4,
    :math:`p_j = \prod_{l<j} (R-l) / (N-l)`; their coefficients are polynomials in k, H_k and the sum of 1/i^2.
    The square of the mean is subtracted term by term: in every difference below the factor N - R is explicit.

    Examples
    --------
    >>> variance_average_precision([1, 2], [2, 2])
    array([0.0625, 0.    ])
    """
    r, n, cut = (part.astype(np.float64) for part in _arrays(relevant, candidates, cutoff))
    h, h2 = harmonic(cut), harmonic_squares(cut)
    rest, full = n - r, r == n
    below = [np.maximum(n - i, 1.0) for i in range(4)]
    p1 = r / n
    p2 = np.where(full, 1.0, p1 * np.maximum(r - 1, 0) / below[1])
    p3 = np.where(full, 1.0, p2 * np.maximum(r - 2, 0) / below[2])
    p12, p23, p34 = p1 * rest / below[1], p2 * rest / below[2], p3 * rest / below[3]
    p2_less_p11 = -p1 * rest / (n * below[1])
    p3_less_p12 = -2.0 * p2 * rest / (n * below[2])
    ratio = (rest / n) * ((4 * r * n - 6 * n - 6 * r + 6) / below[1] / below[2] / below[3])
    p4_less_p22 = np.where(n > 3, -p2 * ratio, np.where(full, 0.0, -p2 * p2))
    gap = cut - h
    total = gap * (5 * p34 + 2 * h * p3_less_p12) + p4_less_p22 * gap**2
    total += h * (3 * p23 - p34) + h**2 * (p2_less_p11 + p23 - 2 * p34) + h2 * (p12 - 4 * p23 + 3 * p34)
    return np.where(r > 0, np.maximum(total, 0.0) / np.maximum(r, 1.0) ** 2, 0.0)


def expected_ndcg(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike | None = None) -> Floats:
    """Expected nDCG@cutoff of binary grades.

    Examples
    --------
    >>> expected_ndcg([1, 2], [2, 2]).round(6)  # (1 + 0.63093) / 2, and 1
    array([0.815465, 1.      ])
    """
    r, n, k = _arrays(relevant, candidates, cutoff)
    return r / n * (discount_sums(k)[0] / _ideal(r, k))


def variance_ndcg(relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike | None = None) -> Floats:
    """Variance of nDCG@cutoff of binary grades.

    Examples
    --------
    >>> variance_ndcg([1, 2], [2, 2]).round(6)
    array([0.034053, 0.      ])
    """
    r, n, k = _arrays(relevant, candidates, cutoff)
    return (r / n) * ((n - r) / n) * _discount_spread(n, k) / _ideal(r, k) ** 2


def _ideal(r: Counts, k: Counts) -> Floats:
    return discount_sums(np.maximum(np.minimum(r, k), 1))[0]


def _discount_spread(n: Counts, k: Counts) -> Floats:
    """(N D_2 - D_1^2) / (N - 1); 0 for one candidate."""
    first, second = discount_sums(k)
    spread = n * second - first * first
    whole = k == n
    spread[whole] = variance_log_reciprocal_rank(n[whole]) * n[whole].astype(np.float64) ** 2
    return np.maximum(spread, 0.0) / np.maximum(n - 1.0, 1.0)


def _arrays(
    relevant: ArrayLike, candidates: ArrayLike, cutoff: ArrayLike | None = None
) -> tuple[Counts, Counts, Counts]:
    """R, N and min(cutoff, N), one per question."""
    r, n = (np.atleast_1d(np.asarray(counts, np.int64)) for counts in (relevant, candidates))
    return r, n, n if cutoff is None else np.minimum(cutoff, n)


def _once_per_distinct(work: Callable[..., Floats], *columns: Counts) -> Floats:
    """Apply ``work`` to the distinct rows of the columns, and expand the result to all rows."""
    if columns[0].size == 0:
        return np.zeros(0)
    distinct, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return work(*np.ascontiguousarray(distinct.T))[inverse.ravel()]


def _ragged_sum(lengths: Counts, term: Callable[[NDArray[np.intp], Counts], Floats], block: int = 1 << 20) -> Floats:
    """(q,) the sum of ``term(row, j)`` over j = 0 .. lengths[row] - 1, about a block of terms at a time."""
    total = np.zeros(lengths.size)
    ends = np.cumsum(lengths)
    for first in range(0, int(ends[-1]) if ends.size else 0, block):
        places = np.arange(first, min(first + block, int(ends[-1])))
        row = np.searchsorted(ends, places, side="right")
        value = term(row, places - (ends[row] - lengths[row]))
        total[row[0] : row[-1] + 1] += np.bincount(row - row[0], weights=value)
    return total

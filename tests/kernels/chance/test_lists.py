"""Chance moments of measures over lists: every order of a small list, high precision for large ones."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.chance import lists


def average_precision(x, r, k):
    hits = np.cumsum(x)
    return sum(hits[i] / (i + 1) for i in range(min(k, len(x))) if x[i]) / r


def ndcg(x, r, k):
    discount = 1 / np.log2(np.arange(2, len(x) + 2))[:k]
    return np.dot(x[:k], discount) / discount[: min(r, k)].sum()


MEASURES = {
    "success": lambda x, r, k: float(any(x[:k])),
    "average_precision": average_precision,
    "ndcg": ndcg,
    "reciprocal_best_rank": lambda x, r, k: 1 / (1 + int(np.argmax(x))),
    "best_rank": lambda x, r, k: 1.0 + int(np.argmax(x)),
}
WITHOUT_CUTOFF = ("reciprocal_best_rank", "best_rank")


def both(name, r, n, k):
    cutoff = () if name in WITHOUT_CUTOFF else (k,)
    return [getattr(lists, f"{form}_{name}")(r, n, *cutoff) for form in ("expected", "variance")]


def orders(r, n):
    """Every placing of r relevant among n, each as likely as any other."""
    for places in itertools.combinations(range(n), r):
        x = np.zeros(n)
        x[list(places)] = 1
        yield x


@pytest.mark.parametrize("name", MEASURES)
def test_closed_forms_are_the_moments_over_all_orders(name):
    """Every 1 <= R <= N <= 8 and cutoff 1..9."""
    cases = [(r, n, k) for n in range(1, 9) for r in range(1, n + 1) for k in (1, 2, 3, 5, 9)]
    r, n, k = (np.array(column) for column in zip(*cases, strict=True))
    found = both(name, r, n, k)
    for row, case in enumerate(cases):
        values = [MEASURES[name](x, case[0], case[2]) for x in orders(case[0], case[1])]
        assert found[0][row] == pytest.approx(np.mean(values), rel=1e-12), case
        assert found[1][row] == pytest.approx(np.var(values), rel=1e-10, abs=1e-15), case


def exact_rr(r, n):
    """E and Var of 1/J by the sum over its law, in high precision."""
    p = mpmath.mpf(r) / n
    first = second = mpmath.mpf(0)
    for j in range(1, n - r + 2):
        first += p / j
        second += p / j / j
        p *= mpmath.mpf(n - j - r + 1) / (n - j) if n > j else 0
    return first, second - first**2


@pytest.mark.parametrize(
    ("r", "n"), [*((r, 3000) for r in (1, 2, 17, 64, 65, 700, 749, 750, 2000, 2999, 3000)), (60, 63), (3, 64), (5, 5)]
)
def test_reciprocal_best_rank_holds_nine_digits(r, n):
    """Against a sum in 40 digits, on both sides of every switch of forms."""
    with mpmath.workdps(40):
        mean, variance = exact_rr(r, n)
        assert abs(lists.expected_reciprocal_best_rank([r], [n])[0] / mean - 1) < 1e-12
        found = lists.variance_reciprocal_best_rank([r], [n])[0]
        assert found == 0 if variance < 1e-35 else abs(found / variance - 1) < 1e-11


@pytest.mark.parametrize(("r", "n"), [(1, 10**8), (2, 10**8), (5000, 10**8), (300, 14_541), (10**6, 10**6 + 3)])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_success_holds_nine_digits(r, n, k):
    """Against the product of fractions in 40 digits."""
    with mpmath.workdps(40):
        small, large = min(r, k), max(r, k)
        missed = mpmath.mpf(1)
        for j in range(small):
            missed *= mpmath.mpf(max(n - large - j, 0)) / (n - j)
        mean = 1 - missed
        assert abs(lists.expected_success([r], [n], k)[0] / mean - 1) < 1e-12
        assert float(lists.variance_success([r], [n], k)[0]) == pytest.approx(float(mean * missed), rel=1e-11, abs=0)


def exact_ap_variance(r, n, k):
    """The probabilities of up to four places, and the pair sums, in high precision."""
    p = [mpmath.mpf(1)]
    for j in range(4):
        p.append(p[-1] * (r - j) / (n - j))
    h, h2 = mpmath.harmonic(k), mpmath.zeta(2) - mpmath.zeta(2, k + 1)
    e2 = (h * h - h2) / 2
    square = p[1] * h2 + 3 * p[2] * (h - h2) + p[3] * (k - 3 * h + 2 * h2)
    square += 4 * p[2] * e2 + 2 * p[3] * (2 * k + (k - 3) * h - 5 * e2)
    square += 2 * p[4] * (mpmath.mpf(k) * (k - 1) / 2 - 2 * k + 3 * h - k * h + 3 * e2)
    return (square - (p[1] * h + p[2] * (k - h)) ** 2) / mpmath.mpf(r) ** 2


@pytest.mark.parametrize(
    ("r", "n"), [(1, 10**8), (3, 10**8), (5000, 10**8), (300, 14_541), (7000, 14_541), (99_999, 10**5)]
)
@pytest.mark.parametrize("k", [1, 20, 1000, None])
def test_variance_of_average_precision_holds_nine_digits(r, n, k):
    """Against the same moments without rearrangement, in 80 digits."""
    with mpmath.workdps(80):
        wanted = exact_ap_variance(r, n, n if k is None else k)
        assert abs(lists.variance_average_precision([r], [n], k)[0] / wanted - 1) < 1e-9


def test_no_relevant_candidate_means_zero_whatever_the_order():
    """R = 0: 0 and 0, but for the best rank, which there is none."""
    for name in MEASURES:
        mean, variance = both(name, [0], [5], 2)
        if name == "best_rank":
            assert mean[0] == math.inf
            assert np.isnan(variance[0])
        else:
            assert (mean[0], variance[0]) == (0.0, 0.0), name


@given(st.integers(1, 50), st.integers(0, 10**6), st.integers(1, 2000))
def test_expectations_lie_between_0_and_1_and_rise_with_the_cutoff(r, more, k):
    """For every measure that has a cutoff and grows with it."""
    n = r + more
    for name in ("success", "average_precision"):
        low, high = (getattr(lists, f"expected_{name}")([r], [n], cut)[0] for cut in (k, k + 1))
        assert 0 <= low <= high * (1 + 1e-14) <= 1 + 1e-12


def test_equal_questions_are_answered_alike_and_empty_input_is_empty():
    """22,850 questions in one call."""
    rng = np.random.default_rng(0)
    n = rng.integers(1000, 14_541, 22_850)
    r = np.minimum(rng.zipf(1.8, 22_850), 900)
    for name in MEASURES:
        mean, variance = both(name, r, n, 10)
        pick = rng.integers(0, r.size, 20)
        assert np.array_equal(both(name, r[pick], n[pick], 10), [mean[pick], variance[pick]]), name
        none = both(name, np.array([], np.int64), np.array([], np.int64), 10)
        assert none[0].shape == none[1].shape == (0,)

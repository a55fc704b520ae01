from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.lists.place_sums import sum_log_discounts, sum_logs, sum_places_behind, sum_powers, sum_reciprocals

stretches = st.lists(st.tuples(st.integers(0, 2_500), st.integers(0, 400)), min_size=1, max_size=4)
KINDS = {
    "reciprocals": (sum_reciprocals, lambda place, j: mpmath.mpf(1) / place),
    "log discounts": (sum_log_discounts, lambda place, j: 1 / mpmath.log(place + 1, 2)),
    "logs": (sum_logs, lambda place, j: mpmath.log(place)),
    "powers": (lambda after, count: sum_powers(after, count, 0.3), lambda place, j: mpmath.mpf(place) ** -0.3),
    "first power": (lambda after, count: sum_powers(after, count, 1.0), lambda place, j: mpmath.mpf(1) / place),
    "places behind": (sum_places_behind, lambda place, j: mpmath.mpf(j - 1) / place),
}


@pytest.mark.parametrize("kind", KINDS)
@given(stretches)
def test_a_sum_is_that_of_its_terms(kind: str, stretches: list[tuple[int, int]]):
    """Term by term in 15 digits, on both sides of the place where the formula takes over."""
    kernel, term = KINDS[kind]
    after, count = (np.array(column) for column in zip(*stretches, strict=True))
    for found, a, m in zip(kernel(after, count), after.tolist(), count.tolist(), strict=True):
        assert found == pytest.approx(float(mpmath.fsum(term(a + j, j) for j in range(1, m + 1))), rel=1e-12)


FAR = [(0, 10**8), (10**8, 1), (10**8, 50), (10**8, 10**4), (10**8, 10**8), (255, 10**7), (2_049, 100), (10**5, 7)]


@pytest.mark.parametrize(("after", "count"), FAR)
def test_stretches_far_down_and_very_long_ones_keep_their_digits(after: int, count: int):
    """Against closed forms in 50 digits: harmonic numbers, Hurwitz' zeta function and the gamma function."""
    a, m = np.array([after]), np.array([count])
    with mpmath.workdps(50):
        harmonic = mpmath.harmonic(after + count) - mpmath.harmonic(after)
        zeta = mpmath.zeta(mpmath.mpf("0.5"), after + 1) - mpmath.zeta(mpmath.mpf("0.5"), after + count + 1)
        behind = count - (after + 1) * harmonic
        logs = mpmath.loggamma(after + count + 1) - mpmath.loggamma(after + 1)
    assert sum_logs(a, m)[0] == pytest.approx(float(logs), rel=1e-13)
    assert sum_reciprocals(a, m)[0] == pytest.approx(float(harmonic), rel=1e-13)
    assert sum_powers(a, m, 0.5)[0] == pytest.approx(float(zeta), rel=1e-13)
    assert sum_places_behind(a, m)[0] == pytest.approx(float(behind), rel=1e-12, abs=1e-15)


def test_a_long_sum_of_log_discounts():
    """A million terms added one by one."""
    found = sum_log_discounts(np.array([1_000]), np.array([10**6]))[0]
    assert found == pytest.approx(float(np.sum(1 / np.log2(np.arange(1_002, 1_001_002)))), rel=1e-12)


def test_no_places_sum_to_nothing():
    """Empty stretches and empty arrays."""
    assert sum_reciprocals(np.array([0, 5]), np.array([0, 0])).tolist() == [0.0, 0.0]
    assert len(sum_reciprocals(np.zeros(0, np.int64), np.zeros(0, np.int64))) == 0

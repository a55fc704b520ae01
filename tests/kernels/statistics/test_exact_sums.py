"""Sums that are the same in any order."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.statistics.exact_sums import group_sums

EVERY = st.floats(-1e300, 1e300) | st.floats(-1, 1) | st.sampled_from([0.1, -0.1, 1 / 3, 1e-300, 5e-324, -0.0])
ITEMS = st.lists(st.tuples(EVERY, st.integers(0, 3)), max_size=40)


def sums_of(items: list[tuple[float, int]], size: int = 4) -> np.ndarray:
    value, group = zip(*items, strict=True) if items else ((), ())
    return group_sums(np.array(group, np.int32), np.array(value, np.float64), size)


def test_by_hand():
    """2^53 + 1 + 1 is 2^53 + 2, in any order, where adding up from the left gives 2^53; 1e16 - 1e16 + 1 is 1."""
    for value in ([2.0**53, 1.0, 1.0], [1.0, 2.0**53, 1.0]):
        assert sums_of([(own, 0) for own in value], 1).tolist() == [2.0**53 + 2]
    assert sums_of([(1e16, 0), (0.1, 1), (1.0, 0), (-1e16, 0)], 3).tolist() == [1.0, 0.1, 0.0]


@given(ITEMS, st.randoms(use_true_random=False), st.integers(4, 5))
def test_any_order_gives_the_same_bytes(items, random, size):
    """Of values of any size and sign."""
    assert sums_of(random.sample(items, len(items)), size).tobytes() == sums_of(items, size).tobytes()


@given(ITEMS)
def test_a_group_has_the_same_bytes_alone(items):
    """Whatever the size of the values beside it."""
    alone = [sums_of([(value, 0) for value, group in items if group == own], 1)[0] for own in range(4)]
    assert sums_of(items).tolist() == alone


@pytest.mark.parametrize("of", [abs, lambda value: value])
@given(st.lists(EVERY, max_size=40))
def test_the_error_is_bounded(of: Callable[[float], float], drawn: list[float]):
    """One unit in the last place for one sign; with both, n^2 2^-102 of the sum of absolute values more."""
    value = [of(own) for own in drawn]
    exact, whole = math.fsum(value), math.fsum(map(abs, value))
    more = 0.0 if exact == whole else len(value) ** 2 * 2.0**-102 * whole
    assert abs(sums_of([(own, 0) for own in value], 1)[0] - exact) <= math.ulp(exact) + more


def test_a_million_values_have_the_exact_sum():
    """Of reciprocal ranks, in one group and in three."""
    value = 1 / np.random.default_rng(0).integers(1, 15_000, 300_000)
    for size in (1, 3):
        group = np.arange(len(value)) % size
        exact = [math.fsum(value[group == own]) for own in range(size)]
        assert group_sums(group, value, size).tolist() == pytest.approx(exact, rel=2**-52, abs=0)


def test_what_is_not_finite_stays_in_its_group():
    """NaN, infinities of one and both signs, a sum beyond the largest float, beside thirds."""
    largest = np.finfo(np.float64).max
    value = np.array([np.nan, 1.0, np.inf, 1.0, np.inf, -np.inf, largest, largest, 1 / 3, 1 / 3])
    found = group_sums(np.repeat(np.arange(5), 2), value, 6)
    np.testing.assert_array_equal(found, [np.nan, np.inf, np.nan, np.inf, 2 / 3, 0.0])
    assert group_sums(np.zeros(2, int), np.array([1.0, -np.inf]), 1).tolist() == [-np.inf]

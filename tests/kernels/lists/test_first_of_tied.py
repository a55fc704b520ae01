from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.lists.first_of_tied import mean_first, reciprocal_of_first, share_with


@st.composite
def groups(draw: st.DrawFn) -> tuple[int, int, int]:
    """before, size, relevant; with many above few, few above many, and nearly all relevant."""
    size = draw(st.integers(1, 150))
    return draw(st.sampled_from([0, 1, 7, 60, 1_000, 10**8])), size, draw(st.integers(1, size))


def first_places(size: int, relevant: int) -> list[Fraction]:
    """P(J = 1), P(J = 2), ... by counting subsets."""
    everything = math.comb(size, relevant)
    return [Fraction(math.comb(size - j, relevant - 1), everything) for j in range(1, size - relevant + 2)]


@given(st.lists(groups(), min_size=1, max_size=6), st.sampled_from([None, 1, 5, 80, 1_010]))
def test_what_the_first_relevant_candidate_is_worth(world: list[tuple[int, int, int]], cutoff: int | None):
    """Exact fractions, whatever way the recursion goes, whole or cut."""
    found = reciprocal_of_first(*(np.array(column) for column in zip(*world, strict=True)), cutoff)
    for value, (before, size, relevant) in zip(found, world, strict=True):
        expected = sum(
            probability / (before + j)
            for j, probability in enumerate(first_places(size, relevant), 1)
            if cutoff is None or before + j <= cutoff
        )
        assert value == pytest.approx(float(expected), rel=1e-11)


@given(groups(), st.integers(0, 160))
def test_the_chance_that_the_first_places_hold_a_relevant_candidate(group: tuple[int, int, int], taken: int):
    """The probability keeps its digits, and E[J] is the sum of j P(J = j)."""
    _, size, relevant = group
    taken = min(taken, size)
    without = Fraction(math.comb(size - taken, relevant), math.comb(size, relevant))
    columns = [np.array([number]) for number in (size, taken, relevant)]
    assert share_with(*columns)[0] == pytest.approx(float(1 - without), rel=1e-11)
    mean = sum(j * probability for j, probability in enumerate(first_places(size, relevant), 1))
    assert mean_first(columns[0], columns[2])[0] == pytest.approx(float(mean))


def test_a_hundred_million_candidates_take_no_longer():
    """R (H(N) - H(R - 1)) / (N - R + 1) for a random order of everything."""
    n, r = 10**8, 5_000
    harmonic = math.fsum(1 / i for i in range(1, r))
    expected = r * (math.log(n) + 0.5772156649015329 + 1 / (2 * n) - harmonic) / (n - r + 1)
    assert reciprocal_of_first(np.array([0]), np.array([n]), np.array([r]))[0] == pytest.approx(expected, rel=1e-11)


def test_no_groups():
    """Empty in, empty out."""
    none = np.zeros(0, np.int64)
    assert len(reciprocal_of_first(none, none, none)) == len(share_with(none, none, none)) == 0

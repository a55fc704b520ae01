"""Points of fused lists: worked values and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.sampling.fusion import (
    borda_points,
    fused,
    least_rank,
    min_max_points,
    rank_biased_points,
    reciprocal_rank_points,
)

ranks = st.lists(st.integers(1, 1000), min_size=1, max_size=20).map(lambda values: np.array(values, np.int32))


def test_reciprocal_rank_fusion_of_two_lists():
    """Ranks 1 and 3 with k = 60: 1/61 + 1/63."""
    total = fused(np.array([0, 0]), reciprocal_rank_points(np.array([1, 3])), 1)
    assert total[0] / 2**40 == pytest.approx(1 / 61 + 1 / 63, abs=1e-11)


def test_borda_gives_away_as_many_points_as_there_are():
    """Of 5 candidates, 15 points a list: a list of 3 gives 5, 4, 3 and 1.5 to each of the two left out."""
    points = borda_points(np.array([1, 2, 3]), np.full(3, 3), np.full(3, 5))
    left_out = (5 - 3 + 1) / 2
    assert (points + left_out).tolist() == [5, 4, 3]
    assert (points + left_out).sum() + 2 * left_out == 15


def test_rank_biased_points_sum_to_one():
    """They are a probability of each rank."""
    assert rank_biased_points(np.arange(1, 400), 0.9).sum() == pytest.approx(1)
    assert rank_biased_points(np.array([1, 2]), 0.0).tolist() == [1, 0]


def test_infinite_scores_stand_at_the_ends():
    """And leave the finite ones their span."""
    score = np.array([np.inf, 6.0, 5.0, 4.0, -np.inf])
    assert min_max_points(score, np.zeros(5, int)).tolist() == [1, 1, 0.5, 0, 0]
    assert min_max_points(np.array([1e308, -1e308]), np.zeros(2, int)).tolist() == [1, 0]


@given(ranks, st.sampled_from([reciprocal_rank_points, rank_biased_points]))
def test_a_better_rank_never_has_fewer_points(rank, points):
    """Whatever the ranks."""
    order = np.argsort(rank)
    assert (np.diff(points(rank[order])) <= 0).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1000)), max_size=30), st.randoms())
def test_a_sum_does_not_hang_on_the_order_of_lists(rows, random):
    """Not even in its last bit, which a sum of floating-point numbers does."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = (fused(np.array([r[0] for r in x], int), np.array([r[1] for r in x]), 5) for x in (rows, shuffled))
    assert one.tolist() == other.tolist()
    exact = [sum(points for place, points in rows if place == code) for code in range(5)]
    np.testing.assert_allclose(one / 2**40, exact, atol=len(rows) * 2.0**-40, rtol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 50)), min_size=1, max_size=20))
def test_the_least_rank_is_the_least(rows):
    """Of all that a candidate has."""
    found = least_rank(np.array([r[1] for r in rows]), np.array([r[0] for r in rows]), 4)
    for candidate in {row[0] for row in rows}:
        assert -found[candidate] / 2**40 == min(rank for code, rank in rows if code == candidate)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(allow_nan=False, allow_subnormal=False)), min_size=1, max_size=20)
)
def test_stretched_scores_keep_their_order(rows):
    """Within each list, in 0..1; the least finite one is 0 where there is another."""
    of, score = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    points = min_max_points(score, of)
    assert ((points >= 0) & (points <= 1)).all()
    for code in set(of.tolist()):
        order = np.argsort(score[of == code])
        assert (np.diff(points[of == code][order]) >= 0).all()

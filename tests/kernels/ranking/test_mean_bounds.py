"""Bounds of the mean rank and the mean reciprocal rank, against all multisets of ranks and against plain programs."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from kgtrec.kernels.ranking.mean_bounds import SharesUpTo, mean_rank_bounds, reciprocal_rank_bounds

CUTOFFS = (1, 3, 10)


def shares_of(ranks: np.ndarray, cutoffs: tuple[int, ...], largest: float, room: float = 0.0) -> SharesUpTo:
    """The limits that the Hits of some ranks give, wider by ``room`` on both sides."""
    hits = np.array([np.mean(ranks <= cutoff) for cutoff in cutoffs])
    return SharesUpTo.of(cutoffs, hits - room, hits + room, largest)


@pytest.mark.parametrize("step", [1.0, 0.5])
@pytest.mark.parametrize(("n", "largest", "cutoffs"), [(4, 6, (1, 3)), (3, 7, (2,)), (5, 4, ()), (3, 6, (1, 2, 5, 9))])
def test_bounds_given_hits_are_the_extremes_of_all_multisets(n, largest, cutoffs, step):
    """For every combination of Hits that some ranks have, both bounds of both means are attained."""
    grid = np.arange(1, largest + step / 2, step)
    by_hits = defaultdict(list)
    for ranks in combinations_with_replacement(grid, n):
        array = np.array(ranks)
        by_hits[tuple((array <= cutoff).sum() for cutoff in cutoffs)].append(array)
    for found in by_hits.values():
        shares = shares_of(found[0], cutoffs, largest)
        means = [ranks.mean() for ranks in found]
        reciprocals = [(1 / ranks).mean() for ranks in found]
        squares = [(1 / ranks**2).mean() for ranks in found]
        assert mean_rank_bounds(shares, step=step) == pytest.approx((min(means), max(means)))
        assert reciprocal_rank_bounds(shares, step=step) == pytest.approx((min(reciprocals), max(reciprocals)))
        assert reciprocal_rank_bounds(shares, step=step, power=2) == pytest.approx((min(squares), max(squares)))


@pytest.mark.slow
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_bounds_given_hits_and_mean_rank_hold_for_all_multisets(step):
    """No four ranks up to 7 are outside; and where two different ranks are enough, the bound is attained."""
    by_means = defaultdict(list)
    for ranks in combinations_with_replacement(np.arange(1, 7 + step / 2, step), 4):
        array = np.array(ranks)
        by_means[tuple((array <= cutoff).sum() for cutoff in (1, 3)), array.sum()].append(array)
    attained = 0
    for found in by_means.values():
        shares, mean = shares_of(found[0], (1, 3), 7), found[0].mean()
        low, high = reciprocal_rank_bounds(shares, step=step, mean_rank=(mean, mean))
        reciprocals = [(1 / ranks).mean() for ranks in found]
        assert low - 1e-9 <= min(reciprocals)
        assert max(reciprocals) <= high + 1e-9
        attained += min(reciprocals) <= low + 1e-9
    assert attained > len(by_means) / 4


@given(
    ranks=st.lists(st.integers(1, 60), min_size=1, max_size=30),
    room=st.sampled_from([0.0, 0.005, 0.05]),
    step=st.sampled_from([1.0, 0.5]),
    cutoffs=st.sampled_from([(), (1,), CUTOFFS, (5, 10)]),
)
def test_bounds_are_those_of_the_program_over_all_ranks(ranks, room, step, cutoffs):
    """Adding ranks one by one, and the ends of the intervals alone, give what one program with all ranks gives."""
    array, largest = np.array(ranks, float), 60
    shares = shares_of(array, cutoffs, largest, room)
    mean = array.mean()
    limits = mean - 10 * room, mean + 10 * room
    grid = np.arange(1, largest + step / 2, step)
    up_to = (grid <= np.array(cutoffs)[:, None]).astype(float).reshape(len(cutoffs), len(grid))
    hits = up_to @ np.array([np.mean(array == rank) for rank in grid])
    plain = [
        linprog(
            sign / grid,
            A_ub=np.vstack([up_to, -up_to, grid, -grid]),
            b_ub=np.r_[hits + room, room - hits, limits[1], -limits[0]],
            A_eq=np.ones((1, len(grid))),
            b_eq=[1],
        ).fun
        for sign in (1, -1)
    ]
    found = reciprocal_rank_bounds(shares, step=step, mean_rank=limits)
    assert found == pytest.approx((plain[0], -plain[1]), abs=1e-6)
    assert found[0] - 1e-6 <= np.mean(1 / array) <= found[1] + 1e-6


def test_a_data_set_of_two_million_entities_is_no_different():
    """Half of the ranks 1, mean 1,000: the others are 1,999 at the lowest, or 2 and 2,500,000 at the highest."""
    shares = SharesUpTo.of([1], [0.5], [0.5], 2_500_000)
    low, high = reciprocal_rank_bounds(shares, mean_rank=(1000, 1000))
    assert low == pytest.approx(0.5 + 0.5 / 1999, abs=1e-6)
    assert high == pytest.approx(0.75 - 0.5 * 1997 / 2_499_998 / 2, abs=1e-6)


def test_what_no_ranks_have_is_nan():
    """Hits that fall, and a mean rank that the Hits rule out."""
    falling = SharesUpTo.of([1, 3], [0.5, 0.4], [0.5, 0.4], 10)
    assert not falling.is_possible
    assert np.isnan([*mean_rank_bounds(falling), *reciprocal_rank_bounds(falling)]).all()
    shares = SharesUpTo.of([1], [0.5], [0.5], 10)
    assert np.isnan(reciprocal_rank_bounds(shares, mean_rank=(7, 8))).all()
    assert not np.isnan(reciprocal_rank_bounds(shares, mean_rank=(5, 5.5))).any()


def test_without_a_largest_rank_the_mean_has_no_upper_bound():
    """A share of the ranks may be anywhere."""
    shares = SharesUpTo.of([1], [0.5], [0.5])
    assert mean_rank_bounds(shares) == (1.5, np.inf)
    assert reciprocal_rank_bounds(shares) == (0.5, 0.75)

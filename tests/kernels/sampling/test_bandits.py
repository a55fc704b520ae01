"""Which run asks next: values by hand, and draws against the distribution that they come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgtrec.kernels.sampling.bandits import BANDITS, best_arm, max_mean, move_to_front, thompson
from kgtrec.kernels.sampling.random_order import hashed

NO_KEYS = np.zeros(3, np.uint64)


def test_move_to_front_looks_at_misses_alone():
    """A hit leaves a run where it is; a miss costs one place of priority."""
    assert move_to_front(np.array([0.0, 9.0, 1.0]), np.array([0.0, 1.0, 0.0]), (1, 1), NO_KEYS).tolist() == [0, -1, 0]


def test_max_mean_is_the_mean_of_the_posterior():
    """Beta(a + hits, b + misses), as scipy has it."""
    hits, misses = np.array([0.0, 3.0, 2.0]), np.array([0.0, 1.0, 5.0])
    expected = stats.beta(hits + 2.0, misses + 0.5).mean()
    assert max_mean(hits, misses, (2.0, 0.5), NO_KEYS) == pytest.approx(expected)


def test_thompson_draws_from_the_posterior():
    """20,000 keys of one state: Kolmogorov and Smirnov see no difference."""
    n = 20_000
    keys = hashed(1, np.arange(n, dtype=np.uint64))
    drawn = thompson(np.full(n, 3.0), np.full(n, 1.0), (1.0, 2.0), keys)
    assert stats.kstest(drawn, stats.beta(4.0, 3.0).cdf).pvalue > 0.01


@given(key=st.integers(0, 2**64 - 1), hits=st.integers(0, 1000), misses=st.integers(0, 1000))
def test_a_draw_is_a_chance(key, hits, misses):
    """Between 0 and 1, whatever the key, the first and the last among them."""
    for number in (0, key, 2**64 - 1):
        value = thompson(np.array([float(hits)]), np.array([float(misses)]), (1, 1), np.array([number], np.uint64))
        assert 0 <= value[0] <= 1


@given(values=st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=6), data=st.data())
def test_the_best_arm(values, data):
    """Open, of the highest value, and of these the one with the lowest key."""
    n = len(values)
    is_open = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    tie = np.array(data.draw(st.permutations(range(n))), np.uint64)
    candidates = [(-values[arm], int(tie[arm]), arm) for arm in range(n) if is_open[arm]]
    assert best_arm(np.array(values), is_open, tie) == (min(candidates)[2] if candidates else -1)


def test_names_of_strategies_are_those_of_pooling():
    """The interactive strategies of `kgtrec.pooling.pool_runs` are these."""
    from kgtrec.pooling.pool_runs import STRATEGIES as ALL

    assert set(BANDITS) == {name for name, strategy in ALL.items() if strategy.interactive}

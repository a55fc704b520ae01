from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.statistics.compact_letters import compact_letters


@st.composite
def pairs_apart(draw: st.DrawFn) -> np.ndarray:
    n = draw(st.integers(0, 7))
    differ = np.zeros((n, n), np.bool_)
    for i, j in combinations(range(n), 2):
        differ[i, j] = differ[j, i] = draw(st.booleans())
    return differ


@given(pairs_apart())
def test_two_share_a_group_exactly_if_they_are_not_apart(differ: np.ndarray):
    """The law that letters are read by."""
    member = compact_letters(differ)
    share = (member.astype(int) @ member.T.astype(int)) > 0
    assert np.array_equal(share, ~differ | np.eye(len(differ), dtype=np.bool_))


@given(pairs_apart())
def test_groups_are_the_largest_sets_without_a_pair_apart(differ: np.ndarray):
    """Against all subsets: those that hold no pair apart and lie within no other such set."""
    n = len(differ)
    free = [
        set(chosen)
        for size in range(1, n + 1)
        for chosen in combinations(range(n), size)
        if not differ[np.ix_(chosen, chosen)].any()
    ]
    largest = {frozenset(group) for group in free if not any(group < other for other in free)}
    found = compact_letters(differ)
    assert {frozenset(np.flatnonzero(column).tolist()) for column in found.T} == largest
    assert found.shape[1] == len(largest)


@given(pairs_apart())
def test_groups_stand_in_the_order_of_their_first_members(differ: np.ndarray):
    """So that the best system's first letter is a."""
    firsts = [column.argmax() for column in compact_letters(differ).T]
    assert firsts == sorted(firsts)

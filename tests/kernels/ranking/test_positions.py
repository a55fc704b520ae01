from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.ranking.positions import higher_and_equal, places_in_tied_groups, rank_among

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, -np.inf, np.inf]), st.booleans()), max_size=30)


@given(ROWS)
def test_higher_and_equal_count_pair_by_pair(rows: list[tuple[int, float, bool]]):
    """The sort gives what comparing every pair gives."""
    question = np.array([row[0] for row in rows], np.int32)
    score = np.array([row[1] for row in rows], np.float64)
    counted = np.array([row[2] for row in rows], np.bool_)
    higher, equal = higher_and_equal(question, score, counted)
    for i in range(len(rows)):
        others = (question == question[i]) & counted & (np.arange(len(rows)) != i)
        assert higher[i] == np.sum(others & (score > score[i]))
        assert equal[i] == np.sum(others & (score == score[i]))


def test_rank_among_two_better_and_two_equal():
    """Two above and two tied: 3, 4 or 5."""
    above, tied = np.array([2]), np.array([2])
    assert [rank_among(above, tied, rule)[0] for rule in ("optimistic", "realistic", "pessimistic")] == [3, 4, 5]


def test_places_in_a_group_of_five():
    """Places 1..5; two relevant, one judged wrong, two unjudged: 1-2 | 2.5-3.5 | 4-5, the wrong one 5 | 3 | 1."""
    same = np.zeros(3, np.int32)
    size, grade, label = np.full(3, 5), np.array([1, 1, 0], np.int32), np.array([0, 1, 2], np.int32)
    places = {
        rule: places_in_tied_groups(same, same + 1, size, grade, label, rule).tolist()
        for rule in ("optimistic", "realistic", "pessimistic")
    }
    assert places == {"optimistic": [2, 1, 5], "realistic": [3.5, 2.5, 3], "pessimistic": [5, 4, 1]}


def test_a_negative_grade_stands_where_the_unjudged_do():
    """In a group of five: the relevant 1 | 3 | 5, the judged wrong 5 | 3 | 1, the unsampled 4 | 3 | 2."""
    same = np.zeros(3, np.int32)
    size, grade, label = np.full(3, 5), np.array([1, 0, -1], np.int32), np.array([0, 1, 2], np.int32)
    places = {
        rule: places_in_tied_groups(same, same + 1, size, grade, label, rule).tolist()
        for rule in ("optimistic", "realistic", "pessimistic")
    }
    assert places == {"optimistic": [1, 5, 4], "realistic": [3, 3, 3], "pessimistic": [5, 1, 2]}


def test_graded_ties_stand_by_grade_at_the_extremes():
    """Optimistic puts grade 3 before grade 1, pessimistic after."""
    same = np.zeros(2, np.int32)
    size, grade, label = np.full(2, 2), np.array([1, 3], np.int32), np.array([1, 0], np.int32)
    assert places_in_tied_groups(same, same + 1, size, grade, label, "optimistic").tolist() == [2, 1]
    assert places_in_tied_groups(same, same + 1, size, grade, label, "pessimistic").tolist() == [1, 2]

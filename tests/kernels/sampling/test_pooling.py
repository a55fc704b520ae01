"""The first candidates of lists, against sorting them whole; turns and samples."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.pooling import first_candidates, sampled

rows = st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2**64 - 1))


@settings(max_examples=2 * settings.default.max_examples)
@given(st.lists(st.lists(rows, max_size=40, unique_by=lambda row: row[2]), max_size=5), st.integers(1, 12))
def test_first_candidates_are_those_of_the_whole_list(lists, depth):
    """However many are left out before the cut or tie at it."""
    ordered = [sorted(one, key=lambda row: -row[0]) for one in lists]
    length = np.array([len(one) for one in ordered], np.intp)
    first = np.cumsum(length) - length
    flat = [row for one in ordered for row in one]
    score = np.array([row[0] for row in flat], float)
    out = np.array([row[1] for row in flat], bool)
    key = np.array([row[2] for row in flat], np.uint64)
    row, rank = first_candidates(first, length, score, depth, lambda rows: out[rows], lambda rows: key[rows])
    expected = []
    for begin, one in zip(first, ordered, strict=True):
        places = [begin + place for place, item in enumerate(one) if not item[1]]
        places.sort(key=lambda place: (-score[place], int(key[place])))
        expected += list(enumerate(places[:depth], 1))
    assert list(zip(rank.tolist(), row.tolist(), strict=True)) == expected


def test_keys_are_asked_for_only_where_scores_tie_and_rows_only_near_the_cut():
    """A list of a million rows of different scores is looked at as far as the depth and a little more."""
    score = -np.arange(1_000_000.0)
    seen: list[int] = []

    def left_out(row):
        seen.extend(row.tolist())
        return np.zeros(len(row), bool)

    def key(row):
        raise AssertionError("nothing ties")

    row, _ = first_candidates(np.array([0]), np.array([len(score)]), score, 10, left_out, key)
    assert row.tolist() == list(range(10))
    assert max(seen) < 20


@given(st.lists(st.integers(0, 2), max_size=60), st.tuples(*[st.floats(0.01, 1)] * 3))
def test_probabilities_of_all_items_sum_to_the_size_of_the_sample(stratum, fractions):
    """In every stratum."""
    stratum = np.array(stratum, np.intp)
    is_in, probability = sampled(stratum, np.array(fractions), 1, np.arange(len(stratum), dtype=np.uint64))
    for code in range(3):
        own = stratum == code
        np.testing.assert_allclose(probability[own].sum(), is_in[own].sum())
        assert is_in[own].any() == own.any()

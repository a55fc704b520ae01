from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.sampling.random_order import hashed, hashes_of_texts, places_among_unknown, places_by_key


@pytest.mark.slow
@given(st.lists(st.text(max_size=12), unique=True, max_size=40))
def test_a_texts_hash_hangs_on_the_text_alone(texts: list[str]):
    """Different texts differ, and a text's neighbours do not matter."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.r_[0, np.cumsum([len(text) for text in encoded])].astype(np.int64)
    hashes = hashes_of_texts(np.frombuffer(b"".join(encoded), np.uint8), offsets)
    assert len(set(hashes.tolist())) == len(texts)
    for text, value in zip(encoded, hashes, strict=True):
        alone = hashes_of_texts(np.frombuffer(text, np.uint8), np.array([0, len(text)]))
        assert alone[0] == value


@pytest.mark.parametrize(("size", "rows"), [(3, 2), (5, 2), (4, 3), (3, 3), (7, 1)])
def test_every_choice_of_places_is_equally_likely(size: int, rows: int):
    """All ways to place the rows, drawn (few rows) or with keys for all (many), within five standard errors."""
    n = 12_000
    group = np.repeat(np.arange(n), rows)
    key = hashed(11, np.arange(n * rows, dtype=np.uint64))
    place = places_among_unknown(group, np.full(len(group), size), key).reshape(n, rows)
    counts = Counter(map(tuple, place.tolist()))
    ways = list(itertools.permutations(range(1, size + 1), rows))
    assert set(counts) <= set(ways)
    share = 1 / len(ways)
    error = math.sqrt(share * (1 - share) / n)
    assert all(abs(counts[way] / n - share) <= 5 * error for way in ways)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.lists(st.integers(0, 90), min_size=5, max_size=5),
    st.integers(0, 99),
)
def test_places_do_not_hang_on_the_order_of_rows(groups: list[int], others: list[int], seed: int):
    """The same rows in another order get the same places, from 1 to the group's size, no two alike."""
    group = np.array(groups)
    size = (np.array(others) + np.bincount(group, minlength=5))[group]
    key = hashed(3, np.arange(len(group), dtype=np.uint64))
    order = np.random.default_rng(seed).permutation(len(group))
    place = places_among_unknown(group, size, key)
    np.testing.assert_array_equal(place[order], places_among_unknown(group[order], size[order], key[order]))
    np.testing.assert_array_equal(places_by_key(group, key)[order], places_by_key(group[order], key[order]))
    for own in np.unique(group):
        assert len(set(place[group == own].tolist())) == np.sum(group == own)
        assert place[group == own].min() >= 1
        assert (place <= size).all()


def test_a_hundred_million_nameless_candidates_are_not_written_out():
    """Two rows among 10 ** 8."""
    place = places_among_unknown(np.array([0, 0]), np.full(2, 10**8), hashed(1, np.arange(2, dtype=np.uint64)))
    assert place[0] != place[1]
    assert len(places_among_unknown(*(np.zeros(0, np.int64),) * 2, np.zeros(0, np.uint64))) == 0

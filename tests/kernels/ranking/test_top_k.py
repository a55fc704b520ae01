"""The best k of each row against a full sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.ranking import top_k as module
from kgtrec.kernels.ranking.pairs import Pairs
from kgtrec.kernels.ranking.top_k import RunningTopK, TopK, top_k

NONE = Pairs(*np.zeros((2, 0), np.intp))


def obvious(scores, k, left_out, tie_order):
    """Sort each row's candidates and cut."""
    found = []
    for r in range(len(scores)):
        candidates = [e for e in range(scores.shape[1]) if not left_out[r, e]]
        candidates.sort(key=lambda e, r=r: (scores[r, e], tie_order[e]), reverse=True)
        found += [(r, e, scores[r, e]) for e in candidates[:k]]
    return found


def listed(best):
    return list(zip(best.row.tolist(), best.entity.tolist(), best.score, strict=True))


@settings(max_examples=3 * settings.default.max_examples, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(0, 4), st.sampled_from([1, 5, 64, 200])),
    k=st.integers(1, 60),
    levels=st.sampled_from([1, 3, 1000]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64, ">f4", np.int16, np.int64]),
    share=st.sampled_from([0.0, 0.3, 0.97, 1.0]),
)
def test_lists_equal_a_full_sort(seed, shape, k, levels, dtype, share):
    """Any type, constant rows, ties at the cut, rows with fewer candidates than k or none, sampled or not."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-levels, levels, shape).astype(dtype)
    if scores.dtype.kind == "f":
        scores[rng.random(shape) < 0.2] = -np.inf
    left_out, tie_order = rng.random(shape) < share, rng.permutation(shape[1]).astype(np.int32)
    expected = obvious(scores, k, left_out, tie_order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LEAST_WIDTH", 32)
        assert listed(top_k(scores, k, Pairs(*np.nonzero(left_out)), tie_order)) == expected


@pytest.mark.parametrize("k", [1, 10, 100, 499, 1000, 5000])
def test_a_shorter_list_is_a_prefix(k):
    """Rows of 3,000 with coarse scores, so that the cut falls into ties: a list is the start of the longest one."""
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 30, (5, 3000)).astype(np.float32)
    left_out, tie_order = rng.random(scores.shape) < 0.1, rng.permutation(3000).astype(np.int32)
    whole = listed(top_k(scores, 3000, Pairs(*np.nonzero(left_out)), tie_order))
    cut = listed(top_k(scores, k, Pairs(*np.nonzero(left_out)), tie_order))
    by_row = [[row for row in whole if row[0] == r][:k] for r in range(5)]
    assert cut == [row for rows in by_row for row in rows]


def test_a_sample_that_misleads_does_not_change_the_list():
    """All sampled entities score high and are left out, or all score low: the list is still exact."""
    rng = np.random.default_rng(3)
    scores = rng.random((4, 4096)).astype(np.float32)
    scores[:2, ::16] += 10  # every sampled entity above all others
    scores[2:, ::16] -= 10  # every sampled entity below all others
    left_out = np.zeros(scores.shape, bool)
    left_out[0, ::16] = True
    tie_order = np.arange(4096, dtype=np.int32)
    assert listed(top_k(scores, 50, Pairs(*np.nonzero(left_out)), tie_order)) == obvious(
        scores, 50, left_out, tie_order
    )


def test_zeros_of_both_signs_tie():
    """-0.0 and 0.0 are equal, so the tie order decides."""
    best = top_k(np.array([[0.0, -0.0]], np.float32), 1, NONE, np.array([0, 1], np.int32))
    assert best.entity.tolist() == [1]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(0, 4),
    width=st.sampled_from([1, 5, 64, 200]),
    k=st.integers(1, 60),
    levels=st.sampled_from([1, 3, 1000]),
    dtype=st.sampled_from([np.float32, np.float64, np.int16]),
    n_pieces=st.integers(1, 6),
)
def test_pieces_in_any_order_give_the_lists_of_the_whole(seed, n_rows, width, k, levels, dtype, n_pieces):
    """Columns dealt out to pieces at random, empty ones too; ties at the cut, and rows with few candidates."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-levels, levels, (n_rows, width)).astype(dtype)
    left_out = rng.random(scores.shape) < rng.choice([0.0, 0.3, 0.97])
    tie_order = rng.permutation(width).astype(np.int32)
    running = RunningTopK(n_rows, k, tie_order)
    piece = rng.integers(0, n_pieces, width)
    for number in rng.permutation(n_pieces):
        columns = rng.permutation(np.flatnonzero(piece == number))
        running.add(scores[:, columns], columns, Pairs(*np.nonzero(left_out[:, columns])))
    assert listed(running.best()) == listed(top_k(scores, k, Pairs(*np.nonzero(left_out)), tie_order))


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(0, 4),
    k=st.integers(1, 20),
    levels=st.sampled_from([1, 3, 1000]),
    dtype=st.sampled_from([np.float32, np.float64, np.int16]),
    n_pieces=st.integers(1, 6),
)
def test_lists_of_pieces_merge_to_those_of_the_whole(seed, n_rows, k, levels, dtype, n_pieces):
    """Each piece is listed by itself; ties at the cut, and pieces with fewer candidates than a list."""
    rng = np.random.default_rng(seed)
    width = n_pieces * 20
    scores = rng.integers(-levels, levels, (n_rows, width)).astype(dtype)
    left_out = rng.random(scores.shape) < rng.choice([0.0, 0.05, 0.97])
    tie_order = rng.permutation(width).astype(np.int32)
    lists = []
    for columns in np.split(rng.permutation(width), n_pieces):
        own = np.argsort(np.argsort(tie_order[columns])).astype(np.int32)
        best = top_k(scores[:, columns], k, Pairs(*np.nonzero(left_out[:, columns])), own)
        lists.append(TopK(best.row, columns[best.entity], best.score))
    running = RunningTopK(n_rows, k, tie_order)
    running.merge(*lists)
    assert listed(running.best()) == listed(top_k(scores, k, Pairs(*np.nonzero(left_out)), tie_order))

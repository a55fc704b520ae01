"""Counting above and tied against the obvious: look at every entity of every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.ranking import answer_ranks
from kgtrec.kernels.ranking.answer_ranks import ScoreError, count_above_and_tied, order_code, require_numbers
from kgtrec.kernels.ranking.pairs import Pairs

DTYPES = (np.float16, np.float32, np.float64, ">f4", np.int8, np.int32, np.int64, np.uint8)
NONE = Pairs(*np.zeros((2, 0), np.intp))


def pairs_of(flags):
    """The set flags, sorted."""
    return Pairs(*np.nonzero(flags))


def obvious(scores, pairs, aside):
    """The definition, entity by entity."""
    found = []
    for r, e in zip(*pairs, strict=True):
        others = [c for c in range(scores.shape[1]) if c != e and not aside[r, c]]
        above = sum(scores[r, c] > scores[r, e] for c in others)
        tied = sum(scores[r, c] == scores[r, e] for c in others)
        found.append((above, tied, len(others), scores[r, e]))
    return found


@st.composite
def blocks(draw):
    """A block with many ties, extreme scores, and any pairs placed and set aside."""
    shape = draw(st.integers(0, 4)), draw(st.integers(1, 40))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = np.array([0, 1, 2, 3]) if dtype.kind in "iu" else np.array([-np.inf, -1.5, -0.0, 0.0, 2])
    scores = rng.choice(values[: draw(st.integers(1, len(values)))], shape).astype(dtype)
    share = draw(st.sampled_from([0.05, 0.3, 0.9]))
    return scores, rng.random(shape) < share, rng.random(shape) < draw(st.sampled_from([0.0, 0.2, 1.0]))


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(blocks(), st.booleans())
def test_counts_equal_the_obvious_loop(block, in_columns):
    """Any type, any ties, infinite scores, any entities aside, and rows that are not in one piece in memory."""
    scores, pairs, aside = block
    if in_columns:
        scores = np.asfortranarray(scores)
    counts = count_above_and_tied(scores, pairs_of(pairs), pairs_of(aside))
    found = list(zip(counts.above, counts.tied, counts.n_other, counts.score, strict=True))
    assert found == obvious(scores, pairs_of(pairs), aside)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 2040, 2041, 4100, 20_000])
def test_lanes_do_not_overflow(width):
    """Every score of a wide row above, or tied: the counts reach the full width."""
    scores = np.ones((2, width + 1), np.float32)
    scores[0, -1] = 0
    counts = count_above_and_tied(scores, Pairs(np.array([0, 1]), np.array([width, width])), NONE)
    assert counts.above.tolist() == [width, 0]
    assert counts.tied.tolist() == [0, width]


def test_many_pairs_of_one_row_take_the_sorted_path_and_agree(monkeypatch):
    """300 answers in one question, 3 in the next: the bisection and the comparison give one result."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 50, (3, 3000)).astype(np.float32)
    flags = np.zeros(scores.shape, bool)
    flags[0, :300] = flags[2, 5:8] = True
    sorted_path = count_above_and_tied(scores, pairs_of(flags), pairs_of(flags))
    monkeypatch.setattr(answer_ranks, "_SORT_FROM", 10**9)
    compared = count_above_and_tied(scores, pairs_of(flags), pairs_of(flags))
    assert sorted_path.above.tolist() == compared.above.tolist()
    assert sorted_path.tied.tolist() == compared.tied.tolist()
    assert compared.n_other.tolist() == [2700] * 300 + [2997] * 3


def test_strips_do_not_change_the_counts(monkeypatch):
    """One row at a time or all at once."""
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 5, (40, 60)).astype(np.float64)
    pairs, aside = (pairs_of(rng.random(scores.shape) < 0.3) for _ in range(2))
    whole = count_above_and_tied(scores, pairs, aside)
    monkeypatch.setattr(answer_ranks, "_STRIP_BYTES", 1)
    by_row = count_above_and_tied(scores, pairs, aside)
    assert whole.above.tolist() == by_row.above.tolist()
    assert whole.tied.tolist() == by_row.tied.tolist()


@pytest.mark.parametrize(("wrong", "found"), [(np.nan, "NaN"), (np.inf, r"\+inf")])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nan_and_infinity_anywhere_are_named(dtype, wrong, found):
    """Also where no pair stands and nothing would be counted."""
    scores = np.zeros((50, 9), dtype)
    scores[33, 4] = wrong
    with pytest.raises(ScoreError, match=f"expected numbers as scores, found {found} in row 33, column 4") as caught:
        count_above_and_tied(scores, NONE, NONE)
    assert (caught.value.row, caught.value.entity) == (33, 4)


def test_minus_infinity_is_a_score():
    """It is that of an entity that comes last."""
    require_numbers(np.array([[-np.inf, 0.0], [-np.inf, -np.inf]]))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=30))
def test_order_code_keeps_order_and_equality(values):
    """Codes compare as the floats do, subnormals, zeros of both signs and infinities included."""
    for dtype in (np.float32, np.float64):
        array = np.array(values, dtype)
        code = order_code(array)
        assert np.array_equal(code[:, None] < code[None], array[:, None] < array[None])
        assert np.array_equal(code[:, None] == code[None], array[:, None] == array[None])
        assert code.min() >= 1
        assert code.max() < 2**32

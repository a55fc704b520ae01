"""Counts above and tied, from scores, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgtrec.data.sampled_ranks import SampledRanks
from kgtrec.errors import KgtrecError

FINE = {"n_sampled": 3, "n_candidates": 9}


def test_ogbs_rule_by_hand():
    """0.5 among 0.9, 0.5, 0.1: one above, one tied, so that optimistic 2 and pessimistic 3 average to 2.5."""
    ranks = SampledRanks.of_scores("s", [0.5], [[0.9, 0.5, 0.1]], n_candidates=10)
    assert 1 + ranks.above[0] + ranks.tied[0] / 2 == 2.5
    assert (ranks.n_sampled, ranks.n_candidates.tolist(), ranks.replace) == (3, [10], False)


@given(st.integers(1, 6).flatmap(lambda m: arrays(np.float32, (5, m + 1), elements=st.floats(-2, 2, width=16))))
def test_counts_are_those_of_each_row(scores):
    """Above and tied, one score at a time."""
    ranks = SampledRanks.of_scores("s", scores[:, 0], scores[:, 1:], n_candidates=100)
    for above, tied, (own, *others) in zip(ranks.above, ranks.tied, scores.tolist(), strict=True):
        assert (above, tied) == (sum(other > own for other in others), others.count(own))


def test_rows_are_compared_piece_by_piece(monkeypatch):
    """With the same counts, and the answer's own number in an error."""
    scores = np.random.default_rng(0).integers(0, 3, (7, 4)).astype(float)
    whole = SampledRanks.of_scores("s", scores[:, 0], scores[:, 1:], n_candidates=9)
    monkeypatch.setattr("kgtrec.data.sampled_ranks._CELLS", 6)
    parts = SampledRanks.of_scores("s", scores[:, 0], scores[:, 1:], n_candidates=9)
    np.testing.assert_array_equal(whole.above, parts.above)
    scores[4, 2] = np.nan
    with pytest.raises(KgtrecError, match="NaN for answer 5"):
        SampledRanks.of_scores("s", scores[:, 0], scores[:, 1:], n_candidates=9)


def test_codes_of_samples_are_any_whole_numbers():
    """Only which are equal counts."""
    ranks = SampledRanks.of("s", [0, 1, 0], [0, 0, 0], sample=[-7, 10**12, -7], **FINE)
    assert ranks.sample is not None
    assert ranks.sample.tolist() == [0, 1, 0]
    assert ranks.take(np.array([1])).sample.tolist() == [1]


@pytest.mark.parametrize(
    ("above", "tied", "more", "message"),
    [
        ([4], [0], {}, "from 0 to 3 above or tied, found 4 for answer 1"),
        ([0, -1], [0, 1], {}, "found 0 for answer 2"),
        ([0.5], [0], {}, "above: expected whole numbers, found 0.5"),
        ([0, 1], [0], {}, r"tied for each of 2 answers, found an array of shape \(1,\)"),
        ([], [], {}, "at least one answer"),
        ([0], [0], {"n_candidates": 2}, "at least 3 candidates to draw from, found 2 for answer 1"),
        ([0], [0], {"n_candidates": np.nan}, "n_candidates: expected whole numbers, found nan"),
        ([0], [0], {"n_candidates": 1e300}, "n_candidates: expected whole numbers, found 1e.300"),
        ([0], [0], {"n_candidates": None}, "n_candidates: expected whole numbers, found object"),
        ([0], [0], {"n_candidates": "9"}, "n_candidates: expected whole numbers, found <U1"),
        ([0], [0], {"n_candidates": [9, 9]}, "n_candidates for each of 1 answers"),
        ([0], [0], {"n_sampled": 0}, "number of sampled candidates to be a whole number"),
        ([0], [0], {"draw": "replacement"}, "did you mean with replacement or without replacement"),
    ],
)
def test_counts_of_no_sample_are_refused(above, tied, more, message):
    """With the row, and what was expected."""
    with pytest.raises(KgtrecError, match=message):
        SampledRanks.of("s", above, tied, **FINE | more)


def test_whole_numbers_may_be_floats():
    """As other programs hold them."""
    ranks = SampledRanks.of("s", [1.0], [0], n_sampled=3, n_candidates=1000.0)
    assert (ranks.above.tolist(), ranks.n_candidates.tolist(), ranks.n_candidates.dtype) == ([1], [1_000], np.int64)


def test_a_sample_with_replacement_may_exceed_the_candidates():
    """3 draws from 2."""
    assert SampledRanks.of("s", [3], [0], n_sampled=3, n_candidates=2, draw="with replacement").replace


@pytest.mark.parametrize("shape", [(2,), (2, 0), (3, 4)])
def test_shapes_that_do_not_belong_together_are_refused(shape):
    """OGB's Hits@k takes one list of negatives for all; ranks need a row for each answer."""
    with pytest.raises(KgtrecError, match="a row for each answer"):
        SampledRanks.of_scores("s", np.zeros(2), np.zeros(shape), n_candidates=9)


@pytest.mark.parametrize("kind", [str, object, complex])
def test_scores_that_are_no_numbers_are_refused(kind):
    """With their type; complex numbers have no order."""
    with pytest.raises(KgtrecError, match="s: expected numbers as scores, found"):
        SampledRanks.of_scores("s", np.zeros(2), np.zeros((2, 3)).astype(kind), n_candidates=9)


def test_pykeens_evaluator_without_ranks_is_refused():
    """By default it forgets them."""
    with pytest.raises(KgtrecError, match="clear_on_finalize=False"):
        SampledRanks.of_pykeen("s", SimpleNamespace(ranks={}), 9)


def test_a_negative_number_of_chosen_candidates_is_refused():
    """It would take the last columns for the sample."""
    with pytest.raises(KgtrecError, match="n_certain to be a whole number"):
        SampledRanks.of_scores("mine", [0.5], [[0.9, 0.5]], n_candidates=10, n_certain=-1)

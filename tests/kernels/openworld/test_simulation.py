"""Ranks of simulated answers, worked by hand, and how questions are dealt out."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.openworld import simulation as kernel


def test_ranks_worked_by_hand():
    """In order: missing found, labelled found, missing found, labelled lost, missing lost, labelled lost."""
    labelled = np.array([[False, True, False, True, False, True]])
    found = np.array([[True, True, True, False, False, False]])
    assert kernel._ranks(labelled, found, None).tolist() == [[0, 2, 0, 0, 0, 0]]
    # wrong candidates: none above the first four, 10 above the fifth, 12 above the last
    wrong = np.array([[0, 0, 0, 0, 10, 12]])
    # two missing ones are found, so the first lost one has rank 3; the last has a lost missing one above it too
    assert kernel._ranks(labelled, found, wrong).tolist() == [[0, 2, 0, 3, 0, 16]]


@given(st.integers(1, 5000), st.integers(1, 12), st.integers(1024, 20_000))
def test_groups_hold_every_question_once_in_segments_of_one_repeat(n_questions, repeats, held):
    questions = []
    for first, bounds in kernel._groups(n_questions, repeats, held // 1024 * 1024):
        assert bounds[-1, 1] <= max(held, 1024)
        for low, high in bounds:
            assert (first + low) // n_questions == (first + high - 1) // n_questions
            assert high - low <= 1024
            questions.append((first + low, first + high))
    assert questions[0][0] == 0
    assert all(one[1] == other[0] for one, other in itertools.pairwise(questions))
    assert questions[-1][1] == n_questions * repeats


def test_wrong_candidates_above_are_those_of_a_random_order():
    """Three answers among ten: the mean of those above the i-th answer is i * 7 / 4, and no order is impossible."""
    streams = kernel._Streams(3, 3, own_labels=False, own_luck=False)
    wrong = streams.wrong_above(0, 0, 40_000, 10)
    assert (np.diff(wrong, axis=1) >= 0).all()
    assert wrong.min() == 0
    assert wrong.max() == 7
    np.testing.assert_allclose(wrong.mean(axis=0), np.arange(1, 4) * 7 / 4, atol=0.05)
    # 120 sets of three places, each with a probability of 1/120
    sets, count = np.unique(wrong, axis=0, return_counts=True)
    assert len(sets) == 120
    assert ((count - 40_000 / 120) ** 2 / (40_000 / 120)).sum() < 180  # chi-squared of 119 degrees, p = .0003

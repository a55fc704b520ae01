"""Questions of several numbers of answers: strengths that give a score, and questions that separate two systems."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kgtrec.openworld.theory import MixedWorld, named_weights, needed_questions


@pytest.mark.parametrize("sizes", [(1, 2), (1, 3, 50), (1000,), (5, 300, 2000)])
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.95, 1 - 1e-9])
def test_strengths_solve_the_expected_score(sizes, missing):
    """To 1e-9, in bent curves too: a thousand answers leave next to nothing to win but for the weakest."""
    model = MixedWorld(np.array(sizes), np.ones(len(sizes)), missing)
    strength = np.array([0.0, 1e-4, 0.01, 0.2, 0.5, 0.99])
    for weights in named_weights("MRR Hits@1 Hits@10 logMRR").values():
        score = model.expected(weights, strength)
        found = model.strengths({"w": weights}, score[None])[0]
        np.testing.assert_allclose(model.expected(weights, found), score, rtol=0, atol=1e-9)
        best = model.expected(weights, np.ones(1))
        assert model.strengths({"w": weights}, np.array([[best[0], 1.0]]))[0].tolist() == [1.0, 1.0]


def test_a_difference_of_rounding_is_separated_by_no_number_of_questions():
    """What could not be counted is not told, nor is what is in the wrong order."""
    assert needed_questions(0.1, 1e-17, 0.05) is None
    assert needed_questions(0.1, 1e-200, 0.05) is None
    assert needed_questions(0.1, -0.1, 0.05) is None
    assert needed_questions(0.1, math.nan, 0.05) is None
    assert needed_questions(0.0, 0.1, 0.05) == 1
    assert needed_questions(0.25, 0.1, 0.05) == math.ceil(25 * 1.6448536**2)

"""Expected average precision: against the sum over everything that the unjudged candidates could be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.sampled_precision import (
    ShareModel,
    expected_average_precision,
    expected_shares,
    share_model,
)


@st.composite
def lists(draw):
    """One question: verdicts (-1: none) and classes of up to 8 candidates, which of them are returned, two kinds."""
    n = draw(st.integers(1, 8))
    verdict = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)))
    stratum = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    place = np.cumsum(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))).astype(float)
    place[n - draw(st.integers(0, n)) :] = np.inf
    share = np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=4, max_size=4))).reshape(2, 2)
    weight = draw(st.sampled_from([0.0, 0.3, 1.0]))
    return verdict, stratum, place, ShareModel(share, np.array([[weight, 1 - weight]]))


def average_precision(relevant, place):
    """As everybody defines it; 0 where nothing is relevant."""
    own = np.sort(place[np.asarray(relevant, bool)])
    return float(np.sum(np.arange(1, len(own) + 1) / own)) / max(len(own), 1)


@settings(max_examples=3 * settings.default.max_examples)
@given(lists())
def test_it_is_the_mean_over_all_that_could_be(world):
    """Every way in which the unjudged candidates could be relevant, weighted by its probability, kind by kind."""
    verdict, stratum, place, model = world
    is_open = verdict < 0
    expected = 0.0
    for kind in range(2):
        chance = model.share[stratum[is_open], kind]
        for drawn in itertools.product([0, 1], repeat=int(is_open.sum())):
            relevant = verdict.copy()
            relevant[is_open] = drawn
            likely = np.prod(np.where(drawn, chance, 1 - chance)) * model.weight[0, kind]
            expected += likely * average_precision(relevant, place)
    unjudged = np.bincount(stratum[is_open], minlength=2)[None]
    shares = expected_shares(np.array([np.sum(verdict == 1)]), unjudged, model)
    found = expected_average_precision(
        shares,
        unjudged,
        np.zeros(len(verdict), int),
        place,
        verdict == 1,
        stratum,
        is_open.astype(float),
        np.ones(len(verdict)),
    )
    assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.lists(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=12), min_size=1, max_size=4))
def test_where_all_are_judged_it_is_trec_evals_map(grades):
    """Several questions at once; one without a relevant candidate has 0."""
    qrels = {f"q{q}": {f"d{place}": grade for place, grade in enumerate(own)} for q, own in enumerate(grades)}
    run = {question: {document: -float(document[1:]) for document in own} for question, own in qrels.items()}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    question = np.repeat(np.arange(len(grades)), [len(own) for own in grades])
    place = np.concatenate([np.arange(1.0, len(own) + 1) for own in grades])
    relevant = np.concatenate(grades).astype(bool)
    none = np.zeros((len(grades), 1), int)
    shares = expected_shares(np.array([sum(own) for own in grades]), none, share_model(none, none))
    zeros = np.zeros(len(place))
    found = expected_average_precision(shares, none, question, place, relevant, zeros.astype(int), zeros, zeros + 1.0)
    assert found == pytest.approx([measured[f"q{q}"]["map"] for q in range(len(grades))])


def test_where_places_are_unknown_the_judged_stand_for_them():
    """Four of eight are drawn, and each represents one more: over all 70 samples, the mean sum of precisions is right.

    Every candidate is relevant, so R is 9 with the known one at rank 1, and the sum is 9 for the whole list, by a model
    that knows so. The unjudged ones count 4 of 8, at the places of those drawn.
    """
    place = np.arange(1.0, 10)
    model = ShareModel(np.ones((1, 1)), np.ones((1, 1)))
    unjudged = np.array([[4]])
    shares = expected_shares(np.array([5]), unjudged, model)
    found = []
    for drawn in itertools.combinations(range(1, 9), 4):
        rows = np.array([0, *drawn])
        stands_for = np.array([0.0, 1, 1, 1, 1])
        found.append(
            expected_average_precision(
                shares,
                unjudged,
                np.zeros(5, int),
                place[rows],
                np.ones(5, bool),
                np.zeros(5, int),
                stands_for,
                np.ones(5),
            )[0]
        )
    assert np.mean(found) == pytest.approx(1.0)


def test_many_relevant_candidates_are_integrated_exactly():
    """E[1 / R] of one kind by the binomial distribution, for numbers from 1 to 5,000."""
    for known, size, share in ((1, 5000, 0.001), (3000, 10, 0.5), (7, 400, 0.9), (5000, 0, 0.0)):
        found = expected_shares(np.array([known]), np.array([[size]]), ShareModel(np.array([[share]]), np.ones((1, 1))))
        chance = np.zeros(size + 1)
        chance[0] = 1.0
        for _ in range(size):
            chance[1:] = chance[1:] * (1 - share) + chance[:-1] * share
            chance[0] *= 1 - share
        k = np.arange(size + 1)
        assert found.one[0] == pytest.approx(np.sum(chance / (known + k)), rel=1e-9)
        if size:
            assert found.single[0, 0] == pytest.approx(np.sum(chance * k / size / (known + k)), rel=1e-9)


def test_the_model_finds_two_kinds_of_questions():
    """Half of 400 questions have no relevant candidate and half have 60%: of 6 judged, these shares come back."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0.0, 0.6], 200)
    hits = np.stack([rng.binomial(6, kind), rng.binomial(6, kind / 2)], axis=1)
    model = share_model(np.full((400, 2), 6), hits)
    assert model.weight.sum(axis=1) == pytest.approx(1.0)
    expected = model.weight @ model.share.T
    assert expected[:200].mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.03)
    assert expected[200:].mean(axis=0) == pytest.approx([0.6, 0.3], abs=0.03)


def test_thousands_of_judgements_of_a_question_leave_its_own_share():
    """Far below the smallest double as a likelihood, and still told apart; one class or two."""
    judged, hits = np.array([[9000, 9000], [9000, 9000], [4, 4]]), np.array([[1800, 900], [0, 0], [1, 0]])
    for n_classes in (1, 2):
        model = share_model(judged[:, :n_classes], hits[:, :n_classes])
        assert model.weight.sum(axis=1) == pytest.approx(1.0)
        assert model.weight[0] @ model.share[0] == pytest.approx(0.2, abs=0.03)  # as close as the grid is
        assert model.weight[1] @ model.share[0] < 1e-3

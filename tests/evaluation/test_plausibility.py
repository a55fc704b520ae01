"""Runs that were made for other questions under the same ids, and systems that are only bad."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.evaluation.plausibility import of_other_questions
from kgtrec.ranking.rank import rank_scores


def clustered():
    """Thirty clusters of twelve entities that know each other; a collection, the same in another order, and scores."""
    rng = np.random.default_rng(0)
    pairs = [(c * 12 + a, c * 12 + b) for c in range(30) for a in range(12) for b in rng.permutation(12)[:5] if a != b]
    triples = [(f"e{a}", "knows", f"e{b}") for a, b in rng.permutation(pairs)]
    test = triples[:300]
    one, other = (
        build_questions(Triples.of(triples[300:]), Triples.of([]), Triples.of(part))
        for part in (test, [test[place] for place in rng.permutation(300)])
    )
    number = np.array([int(label[1:]) // 12 for label in one.entities])
    anchor = number[one.questions.anchor]
    return one, other, (number[None, :] == anchor[:, None]) * 1.0 + rng.normal(size=(len(anchor), len(number))) / 3


@pytest.fixture(scope="module")
def clusters():
    return clustered()


def run_of(collection, scores, depth, filtered_by=("train", "valid", "test")):
    """As another program writes it: of no known collection, and nobody knows how it was filtered."""
    ranked = rank_scores(
        collection, scores, questions=collection, entities=collection, depth=depth, filtered_by=filtered_by
    )
    return replace(ranked.run, collection="", filtered_by=None)


@pytest.mark.parametrize("filtered_by", [("train", "valid", "test"), ("train",), ()])
@pytest.mark.parametrize("depth", [5, 10, 40])
def test_a_run_of_other_question_numbers_is_found(clusters, depth, filtered_by):
    """By answers and filtered answers that its lists hold as often as those of any other question; not one of these."""
    one, other, scores = clusters
    run = run_of(one, scores, depth, filtered_by)
    assert of_other_questions(run, one) is None
    found = of_other_questions(run, other)
    assert found is not None
    assert found.is_certain
    assert "are its question ids those of other test triples" in found.message
    assert of_other_questions(replace(run, collection="known"), other) is None


@pytest.mark.parametrize("filtered_by", [("train", "valid", "test"), ()])
def test_a_system_that_is_bad_and_honest_is_not_one_of_other_questions(clusters, filtered_by):
    """Random lists, one list for all questions, and lists of the wrong cluster, filtered as they should be."""
    one, _, scores = clusters
    rng = np.random.default_rng(1)
    popular = np.broadcast_to(rng.normal(size=scores.shape[1]), scores.shape)
    for bad in (rng.normal(size=scores.shape), popular):
        assert of_other_questions(run_of(one, bad, 10, filtered_by), one) is None
    wrong = run_of(one, np.roll(scores, 12, axis=1), 40)
    assert of_other_questions(wrong, one) is None


def test_hardly_any_answer_in_lists_too_short_for_filtered_ones_is_no_certainty(clusters):
    """A note: lists of one entity hold few filtered answers, whatever they are about."""
    one, other, scores = clusters
    found = of_other_questions(run_of(one, scores, 1).of_questions(Vocabulary.of(list(one.questions.ids)[:60])), other)
    assert found is None or not found.is_certain


def test_few_answers_show_nothing(clusters):
    one, other, scores = clusters
    few = run_of(one, scores, 10).of_questions(Vocabulary.of(list(one.questions.ids)[:9]))
    assert of_other_questions(few, other) is None
    assert of_other_questions(few.of_questions(Vocabulary.of(["x"])), other) is None

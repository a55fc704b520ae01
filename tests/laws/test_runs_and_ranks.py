"""An uncut run and answer ranks of the same scores: the same number of every measure, under every rule for ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.errors import unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.scoring import UNLISTED_ANSWERS, UnlistedAnswers
from kgtrec.measures.record import Measure
from kgtrec.measures.registry import registered
from kgtrec.ranking.rank import Ranked, rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.laws.tables import spelled

OF_BOTH = [
    pytest.param(measure, id=measure.name)
    for measure in registered()
    if measure.items == "questions" and measure.form == "plain"  # the others need the number of candidates
]
TIES = ("realistic", "optimistic", "pessimistic", "expected")  # trec is for runs alone; a random order is another


@st.composite
def ranked_and_judged(draw: st.DrawFn) -> tuple[Ranked, Collection, Qrels]:
    """Scores with many ties, ranked for qrels with grades from -2 (pooled, not sampled) to 2, some pairs filtered."""
    n_questions, n_entities = draw(st.integers(1, 4)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    grades = {(q, e): int(rng.integers(-2, 3)) for q in range(n_questions) for e in range(n_entities)}
    grades = {pair: grade for pair, grade in grades.items() if rng.random() < 0.7}
    filtered = {(*pair, int(rng.integers(3))) for pair in grades if rng.random() < 0.2 and grades[pair] < 1}
    answers = {(q, 0): 1 for q in range(n_questions)}  # when it was ranked; the qrels may say something else of them
    filtered = {each for each in filtered if each[1] > 0}
    scores = rng.choice(np.array([-np.inf, -1, 0.0, 2.5]), (n_questions, n_entities))
    qrels = collection_of(n_questions, n_entities, grades or answers, filtered).qrels
    collection = collection_of(n_questions, n_entities, answers, filtered)
    ranked = rank_scores(collection, scores, questions=collection, entities=collection, depth=n_entities, judged=qrels)
    return ranked, collection, qrels


@pytest.mark.parametrize("measure", OF_BOTH)
@settings(max_examples=examples(25))
@given(drawn=ranked_and_judged(), ties=st.sampled_from(TIES), unlisted_answers=st.sampled_from(UNLISTED_ANSWERS))
def test_run_and_ranks_of_the_same_scores_have_the_same_value(
    measure: Measure, drawn: tuple[Ranked, Collection, Qrels], ties: str, unlisted_answers: UnlistedAnswers
):
    """Of every measure over questions, per question; negative grades, ties, and answers that came and went."""
    if ties == "expected" and measure.expected is None:
        ties = "realistic"
    ranked, collection, qrels = drawn
    with unwarned():
        found = evaluate(
            qrels,
            {"ranks": ranked.answer_ranks, "run": ranked.run},
            spelled(measure),
            per="question",
            collection=collection,
            ties=ties,
            unlisted_answers=unlisted_answers,
        )
    np.testing.assert_array_equal(found.values[0], found.values[1])


def test_infap_counts_what_was_pooled_and_not_sampled():
    """Grades 1, -1, none, 1: precisions 1 and (1 + 2 * 1/1) / 4, so .875; as if unpooled, (1 + 1) / 4 and .75."""
    first, qrels = collection_of(1, 4, {(0, 0): 1}), collection_of(1, 4, {(0, 0): 1, (0, 1): -1, (0, 3): 1}).qrels
    ranked = rank_scores(
        first, np.array([[4.0, 3.0, 2.0, 1.0]]), questions=first, entities=first, depth=4, judged=qrels
    )
    values = evaluate(qrels, {"ranks": ranked.answer_ranks, "run": ranked.run}, "infAP").values
    np.testing.assert_allclose(values.ravel(), 0.875, rtol=1e-5)  # smoothed, as in trec_eval


@pytest.mark.parametrize(("ties", "share"), [("optimistic", 1 / 3), ("pessimistic", 1 / 3), ("realistic", 2 / 3)])
def test_an_unsampled_candidate_pushes_no_judged_one(ties: str, share: float):
    """Four that tie: an answer, a non-answer, and two of grade -1, which stand where unjudged ones would."""
    qrels = collection_of(1, 4, {(0, 0): 1, (0, 1): 0, (0, 2): -1, (0, 3): -1}).qrels
    ranked = rank_scores(
        collection_of(1, 4, {(0, 0): 1}),
        np.zeros((1, 4)),
        questions=collection_of(1, 4, {(0, 0): 1}),
        entities=collection_of(1, 4, {(0, 0): 1}),
        depth=4,
        judged=qrels,
    )
    bare = Qrels.of(qrels.question[:2], qrels.entity[:2], qrels.grade[:2], qrels.questions, qrels.entities)
    for judgements in (qrels, bare):
        values = evaluate(judgements, {"ranks": ranked.answer_ranks, "run": ranked.run}, "Judged@3", ties=ties).values
        np.testing.assert_allclose(values.ravel(), share)

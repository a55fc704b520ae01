"""Answers that the qrels lack: one number by every route, for the same scores and the same labels."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection, FilteredAnswers
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores, totals
from kgtrec.evaluation.scoring import UNLISTED_ANSWERS, UnlistedAnswers
from kgtrec.evaluation.ties import compare_ties
from kgtrec.meta.comparison import compare
from kgtrec.meta.power import power
from kgtrec.meta.sparsity import label_scores
from kgtrec.ranking.rank import Ranked, rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples

MICRO = ("micro.MR", "micro.MRR", "micro.Hits@2", "micro.AMRI")
LISTS = ("macro.MR", "macro.MRR", "macro.Hits@2", "AP@20", "nDCG@3", "P@2", "RBP", "SetP")
TIES = (None, "realistic", "optimistic", "pessimistic", "expected")


def quietly(verb, *arguments, **options):
    with unwarned():
        return verb(*arguments, **options)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Collection, Qrels, np.ndarray]:
    """A collection, judgements that lack some of its answers within questions, and scores with many ties."""
    n_questions, n_entities = draw(st.integers(1, 4)), draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = rng.integers(0, 4, (n_questions, n_entities))  # 0: neither, 1 and 2: an answer, 3: filtered
    kind[:, :2] = rng.permuted(np.tile([1, 2], (n_questions, 1)), axis=1)
    answers = {(int(q), int(e)): 1 for q, e in np.argwhere((kind == 1) | (kind == 2))}
    filtered = {(int(q), int(e), int(rng.integers(3))) for q, e in np.argwhere(kind == 3)}
    # a repeated triple is an answer, and filtered by train too
    filtered |= {(*pair, 0) for pair in answers if rng.random() < 0.1}
    whole = collection_of(n_questions, n_entities, answers, filtered)
    lacking = (rng.random(len(whole.qrels)) < 0.4) & (kind[whole.qrels.question, whole.qrels.entity] == 2)
    scores = rng.choice(np.array([-np.inf, -1, 0.0, 2.5]), (n_questions, n_entities))
    return whole, whole.qrels.with_rows(np.flatnonzero(~lacking)), scores


def rows_of(filtered: FilteredAnswers) -> list[tuple[int, int, int]]:
    columns = filtered.question, filtered.entity, filtered.split
    return list(zip(*(column.tolist() for column in columns), strict=True))


def as_filtered(whole: Collection, qrels: Qrels) -> Collection:
    """The collection of these judgements alone, in which the answers that they lack are filtered test triples."""
    own, lacking = whole.qrels, []
    judged = {(qrels.questions[q], qrels.entities[e]) for q, e in zip(qrels.question, qrels.entity, strict=True)}
    for q, e in zip(own.question.tolist(), own.entity.tolist(), strict=True):
        if (own.questions[q], own.entities[e]) not in judged:
            lacking.append((q, e, 2))
    rows = set(rows_of(whole.filtered))
    question, entity, split = np.array(sorted(rows | set(lacking)), np.int32).reshape(-1, 3).T
    grades = set(zip(own.question.tolist(), own.entity.tolist(), strict=True)) - {p[:2] for p in lacking}
    part = collection_of(len(whole.questions), len(whole.entities), dict.fromkeys(grades, 1)).qrels
    return replace(whole, qrels=part, filtered=FilteredAnswers(question, entity, split.astype(np.int8)))


def ranked(collection: Collection, scores: np.ndarray, depth: int, **options) -> Ranked:
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=depth, **options)


@settings(max_examples=examples(100))
@given(world=worlds(), ties=st.sampled_from(TIES), unlisted_answers=st.sampled_from(UNLISTED_ANSWERS))
def test_the_answers_are_those_of_a_collection_that_knows_or_lacks_them(world, ties, unlisted_answers):
    """From ranks, from whole runs, and ranked again: micro, macro and lists, per question, to the last bit.

    As candidates, which is trec_eval's reading, apart from answers that train filters too.
    """
    whole, qrels, scores = world
    again = as_filtered(whole, qrels)
    if unlisted_answers == "candidates":
        was = set(rows_of(whole.filtered))
        again = replace(
            again, filtered=again.filtered.take(np.array([row in was for row in rows_of(again.filtered)], np.bool_))
        )
    first, second = ranked(whole, scores, 9), ranked(again, scores, 9)
    for measures, one, two, collection in (
        ((*MICRO, *LISTS), first.answer_ranks, second.answer_ranks, whole),
        (LISTS, first.run, second.run, whole),
        # ranks carry the answers, but not the splits that know them
        *([((*MICRO, *LISTS), first.answer_ranks, second.answer_ranks, None)] * (unlisted_answers == "filtered")),
    ):
        own = {"collection": collection, "unlisted_answers": unlisted_answers}
        found = quietly(evaluate, qrels, one, measures, ties=ties, per="question", **own)
        expected = quietly(evaluate, again, two, measures, ties=ties, per="question")
        np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(world=worlds(), ties=st.sampled_from(TIES), depth=st.integers(1, 9))
def test_cut_runs_give_the_same_number_or_an_error(world, ties, depth):
    """A run cut inside the answers: what a run of the same depth gives that was ranked knowing them, or an error."""
    whole, qrels, scores = world
    again = as_filtered(whole, qrels)
    first, second = ranked(whole, scores, depth).run, ranked(again, scores, depth).run
    refused: list[str] = []
    for measure in LISTS:
        expected = quietly(evaluate, again, second, measure, ties=ties, per="question")
        try:
            found = quietly(evaluate, qrels, first, measure, ties=ties, per="question", collection=whole)
        except CollectionError as error:
            refused.append(str(error))
        else:
            np.testing.assert_array_equal(found.values, expected.values)
    assert all("evaluate its answer ranks, a longer run, or a measure with a" in message for message in refused)
    assert not refused or depth < len(whole.entities)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(world=worlds(), unlisted_answers=st.sampled_from(UNLISTED_ANSWERS))
def test_every_verb_has_the_same_number(world, unlisted_answers: UnlistedAnswers):
    """evaluate, item scores, the comparison of two systems, of policies for ties, and of label sets; and power."""
    whole, qrels, scores = world
    systems = [
        ranked(whole, each, 9, name=name).answer_ranks
        for name, each in (("a", scores), ("b", 1.5 - scores[::-1].clip(-3)))
    ]
    measures = ["micro.MRR", "macro.MRR", "AP@20"]
    options = {"collection": whole, "unlisted_answers": unlisted_answers}
    expected = quietly(evaluate, qrels, systems, measures, **options).values[:, :, 0]
    items = quietly(item_scores, qrels, systems, measures, **options)
    np.testing.assert_allclose([totals(own) for own in items.values()], expected.T, rtol=1e-14)
    compared = quietly(compare, qrels, systems, measures, resamples=2, **options)
    np.testing.assert_allclose(compared.value, expected.T, rtol=1e-14)
    tables = quietly(label_scores, {"part": qrels}, systems, measures, **options)
    np.testing.assert_array_equal(tables.values[:, :, 0], expected)
    policies = quietly(compare_ties, qrels, systems, measures, **options)
    for place, policy in ((0, "realistic"), (1, "expected"), (2, "expected")):
        np.testing.assert_array_equal(policies.values[:, place, policies.policies.index(policy)], expected[:, place])
    tested = quietly(power, qrels, systems, measures, **options)
    np.testing.assert_allclose(np.abs(tested.difference[:, 0]), np.abs(expected[0] - expected[1]), atol=1e-14)


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**20), ties=st.sampled_from(TIES))
def test_a_sample_of_the_test_triples_gives_the_same_number(seed, ties):
    """Questions of a sample, ranked for it, and the whole collection's ranks with the sample's answers as qrels."""
    rng = np.random.default_rng(seed)
    rows = sorted({("abcdef"[a], "rs"[b], "abcdef"[c]) for a, b, c in rng.integers(0, [6, 2, 6], (14, 3)).tolist()})
    train, test = [(label, "r", label) for label in "abcdef"] + [("a", "s", "b")], [*rows, ("b", "s", "a")]
    test = [row for row in dict.fromkeys(test) if row not in train]
    chosen = [test[place] for place in sorted(rng.permutation(len(test))[: int(rng.integers(1, len(test) + 1))])]
    splits = [Triples.of(part) for part in (train, [], test)]
    whole, part = build_questions(*splits), build_questions(*splits, sample=Triples.of(chosen))
    scores = rng.choice(np.array([0.0, 1.0, 2.0]), (len(whole.questions), len(whole.entities)))
    labels = {(h, relation, a): row for row, (h, relation, a) in enumerate(topics_of(whole))}
    own = np.array([labels[key] for key in topics_of(part)])
    named = {key: whole.questions.ids[row] for key, row in labels.items()}
    judged = {named[key]: {} for key in topics_of(part)}
    keys = topics_of(part)
    for q, e in zip(part.qrels.question.tolist(), part.qrels.entity.tolist(), strict=True):
        judged[named[keys[q]]][part.entities[e]] = 1
    order = whole.entities.encode(part.entities.labels)
    ranks = ranked(whole, scores, 0).answer_ranks
    of_sample = ranked(part, scores[own][:, order], 0).answer_ranks
    found = quietly(evaluate, judged, ranks, (*MICRO, *LISTS), ties=ties)
    expected = quietly(evaluate, part, of_sample, (*MICRO, *LISTS), ties=ties)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-13)


def topics_of(collection: Collection) -> list[tuple[bool, str, str]]:
    questions = collection.questions
    return [
        (bool(is_head), collection.relations[relation], collection.entities[anchor])
        for is_head, relation, anchor in zip(questions.is_head, questions.relation, questions.anchor, strict=True)
    ]


def heard(work) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(warning.message) for warning in caught]


WHOLE = collection_of(1, 5, {(0, 0): 1, (0, 1): 1, (0, 2): 1})
SYSTEM = ranked(WHOLE, np.array([[5.0, 4.0, 3.0, 2.0, 1.0]]), 5)
PART = WHOLE.qrels.with_rows(np.array([1]))  # the second best alone


@pytest.mark.parametrize(("unlisted_answers", "reciprocal"), [("filtered", 1), ("candidates", 1 / 2)])
def test_one_note_says_how_many_and_which_reading(unlisted_answers, reciprocal):
    """Of two systems, one note; the first of the three answers is above the second one only as a candidate."""
    systems = {"a": SYSTEM.answer_ranks, "b": SYSTEM.answer_ranks.renamed("b")}
    notes = heard(lambda: evaluate(PART, systems, "micro.MRR macro.MRR", unlisted_answers=unlisted_answers))
    own = [note for note in notes if note.startswith("the qrels lack 2 answers that the collection has for their")]
    words = {"filtered": "they are filtered out as known true answers", "candidates": "they stay candidates"}
    assert len(own) == 1
    assert words[unlisted_answers] in own[0]
    values = quietly(evaluate, PART, systems, "micro.MRR macro.MRR", unlisted_answers=unlisted_answers).values
    np.testing.assert_array_equal(values, np.full_like(values, reciprocal))


def test_a_run_without_its_collection_is_read_as_by_trec_eval():
    """Nothing is known of other answers: one note says so, if the run names a collection; and raw ranks keep them."""
    notes = heard(lambda: evaluate(PART, SYSTEM.run, "RR"))
    assert len([note for note in notes if note.startswith("no collection is given (--collection")]) == 1
    assert quietly(evaluate, PART, SYSTEM.run, "RR").values.item() == 1 / 2
    assert quietly(evaluate, PART, SYSTEM.run, "RR", collection=WHOLE).values.item() == 1
    raw = ranked(WHOLE, np.array([[5.0, 4.0, 3.0, 2.0, 1.0]]), 5, filtered_by=())
    for system in (raw.answer_ranks, raw.run):
        notes = heard(lambda system=system: evaluate(PART, system, "RR", collection=WHOLE))
        assert [note for note in notes if "they stay candidates of" in note and "not filtered by test" in note]
        assert quietly(evaluate, PART, system, "RR", collection=WHOLE).values.item() == 1 / 2


def test_a_run_of_which_nothing_is_known_is_refused_beside_filtered_ranks():
    """One table has one reading; with the collection, or candidates everywhere, the two agree."""
    run = replace(SYSTEM.run.renamed("run"), collection="")
    for both in ([SYSTEM.answer_ranks, run], [run, SYSTEM.answer_ranks]):
        with pytest.raises(CollectionError, match=r"expected one reading .* candidates in the run run; give the coll"):
            quietly(evaluate, PART, both, "RR")
        for options in ({"collection": WHOLE}, {"unlisted_answers": "candidates"}):
            values = quietly(evaluate, PART, both, "RR", **options).values.ravel()
            assert values[0] == values[1]


def test_what_an_experiment_takes_away_stays_a_candidate():
    """Label sets that are parts of one: the answers that it has count above, those that even it lacks do not."""
    first = WHOLE.qrels.with_rows(np.array([1, 2]))  # lacks the best answer
    alone = WHOLE.qrels.with_rows(np.array([2]))
    labels = {"depth0": alone, "depth1": first}
    scores = quietly(label_scores, labels, SYSTEM.answer_ranks, "micro.MRR", reduced_from=first)
    np.testing.assert_array_equal(scores.values.ravel(), [1 / 2, 1])
    scores = quietly(label_scores, labels, SYSTEM.answer_ranks, "micro.MRR")
    np.testing.assert_array_equal(scores.values.ravel(), [1, 1])


def test_an_answer_that_is_filtered_by_train_too_is_a_candidate():
    """A list of all of them but one is cut, and a measure that looks at all is refused."""
    train = [("x", "r", "e1"), ("z", "r", "e2"), ("z", "r", "e3"), ("z", "r", "e4")]
    test = [("x", "r", "e0"), ("x", "r", "e1")]
    whole = build_questions(*(Triples.of(rows) for rows in (train, [("x", "r", "e4")], test)))
    asked = np.flatnonzero(~whole.questions.is_head)
    n = len(whole.entities) - 1  # without e4
    scores = np.zeros((len(whole.questions), n + 1))
    own = {"questions": whole, "entities": whole}
    half = whole.qrels.of_questions(asked)
    half = half.with_rows(half.entity == whole.entities.encode(["e0"])[0])
    for depth in (n - 1, n):
        run = rank_scores(whole, scores, **own, depth=depth).run
        if depth == n:
            assert quietly(evaluate, half, run, "SetP", collection=whole).values[0, 0, 0] == 1 / (n - 1)
        else:
            with pytest.raises(CollectionError, match="SetP looks at whole lists"):
                quietly(evaluate, half, run, "SetP", collection=whole)

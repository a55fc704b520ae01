"""Estimates from the sample that a stratified pool is: against the whole pool, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgtrec.campaign.estimates import estimate_ap, estimate_positives, triple_weights
from kgtrec.data.judgements import AGREED, AUTOMATIC, OPEN, Decisions
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.pooling.pool_runs import pool_runs
from tests.collections_by_hand import collection_of

N_QUESTIONS, N_ENTITIES = 6, 60
STRATA = ((5, 1.0), (40, 0.4))


def world(seed=0):
    """A collection with one answer per question, two runs, and which pairs are true."""
    generator = np.random.default_rng(seed)
    collection = collection_of(N_QUESTIONS, N_ENTITIES, {(q, q): 1 for q in range(N_QUESTIONS)})
    true = generator.random((N_QUESTIONS, N_ENTITIES)) < 0.3
    true[np.arange(N_QUESTIONS), np.arange(N_QUESTIONS)] = True
    question, entity = (axis.ravel().astype(np.int32) for axis in np.indices((N_QUESTIONS, N_ENTITIES)))
    ids, entities = collection.questions.ids, collection.entities
    skills = {"a": 0.2, "b": 0.6}
    scores = {name: true.ravel() * skill + generator.random(true.size) for name, skill in skills.items()}
    runs = [Run.of(name, question, entity, score, ids, entities) for name, score in scores.items()]
    return collection, runs, true


def judged(pool, true):
    """What somebody who knows says of the triples; anchors are the questions' numbers."""
    return Decisions(np.full(len(pool), 2, np.int8), true[pool.triples.head, pool.triples.tail].astype(np.int8))


def sampled(seed=0):
    """A world, a sample of its pool, and what is said of it."""
    collection, runs, true = world()
    pool = pool_runs(collection, runs, strategy="stratified", strata=STRATA, seed=seed)
    return collection, runs, pool, judged(pool, true)


def test_estimates_of_positives_are_unbiased_and_their_errors_right():
    """200 samples: the mean is the truth, and the deviation of the estimates is the error that they tell."""
    collection, runs, true = world()
    whole = pool_runs(collection, runs, depth=40)
    truth = int(judged(whole, true).verdict.sum())
    estimates = []
    for seed in range(200):
        pool = pool_runs(collection, runs, strategy="stratified", strata=STRATA, seed=seed)
        found = estimate_positives(pool, judged(pool, true))
        estimates.append((found.positives[0], found.error[0]))
    values, errors = np.array(estimates).T
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(values))
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.2)


def test_groups_sum_to_the_total():
    """By relation and by stratum; a stratum that was judged whole is known without error."""
    *_, pool, decisions = sampled(1)
    total = estimate_positives(pool, decisions)
    for by in ("relation", "stratum"):
        assert estimate_positives(pool, decisions, by=by).positives.sum() == pytest.approx(total.positives[0])
    strata = estimate_positives(pool, decisions, by="stratum").to_table().to_pylist()
    assert [row["stratum"] for row in strata] == ["ranks to 5", "ranks to 40"]
    assert [row["error"] == 0 for row in strata] == [True, False]
    assert strata[0]["positives"] == strata[0]["found"]
    below = (decisions.verdict == 1) & (pool.depth > 5)
    assert strata[1]["positives"] == pytest.approx(np.sum(below / pool.probability))


def test_of_a_whole_pool_they_are_what_was_counted():
    """A depth pool is a sample of everything: estimates are counts, and both measures are AP."""
    collection, runs, true = world()
    pool = pool_runs(collection, runs, depth=40)
    decisions = judged(pool, true)
    found = estimate_positives(pool, decisions)
    assert (found.positives[0], found.error[0]) == (decisions.verdict.sum(), 0)
    rows = np.unique(pool.question.astype(np.int64) * N_ENTITIES + pool.entity)
    rows = np.union1d(rows, np.arange(N_QUESTIONS) * (N_ENTITIES + 1))
    question, entity = np.divmod(rows, N_ENTITIES)
    grade = true[question, entity].astype(np.int32)
    ids, entities = collection.questions.ids, collection.entities
    qrels = Qrels.of(question.astype(np.int32), entity.astype(np.int32), grade, ids, entities)
    expected = evaluate(qrels, runs, "AP").values.ravel()
    assert estimate_ap(collection, runs, pool, decisions).values.ravel() == pytest.approx(expected)
    known = estimate_ap(collection, runs, pool, decisions, whole=pool, bounds=[5, 40])
    assert known.measures == ("xinfAP",)
    assert known.values.ravel() == pytest.approx(expected)


@pytest.mark.slow
def test_estimates_of_ap_come_close():
    """The mean over 40 samples is the AP of the whole pool but for chance and a bias of less than 3% of it."""
    collection, runs, true = world(1)
    whole = pool_runs(collection, runs, depth=40)
    truth = estimate_ap(collection, runs, whole, judged(whole, true)).values.ravel()
    found = []
    for seed in range(40):
        pool = pool_runs(collection, runs, strategy="stratified", strata=STRATA, seed=seed)
        decisions = judged(pool, true)
        found.append([estimate_ap(collection, runs, pool, decisions, whole=w).values.ravel() for w in (None, whole)])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 2 * error + 0.03 * truth)
    assert np.all(error < 0.02)


def sparse_world(n=200, length=60, top=10, below=11, seed=0):
    """Lists of 60 with the known answer at rank 1 and 11 positives anywhere below rank 10."""
    generator = np.random.default_rng(seed)
    collection = collection_of(n, n + length, {(q, n): 1 for q in range(n)})
    true = np.zeros((n, n + length), bool)
    true[:, n] = True
    for row in true:
        row[n + top + generator.choice(length - top, below, replace=False)] = True
    question, place = (axis.ravel().astype(np.int32) for axis in np.indices((n, length)))
    run = Run.of("a", question, place + n, -place.astype(float), collection.questions.ids, collection.entities)
    return collection, [run], true


@pytest.mark.parametrize("strata", [((10, 1.0), (60, 0.1)), ((10, 1.0), (30, 0.3), (60, 0.1)), ((10, 1.0), (60, 0.3))])
def test_few_judgements_of_each_question_do_not_flatter(strata):
    """The quotients of the papers were up to 60% too high on such lists; of 200 questions less than 10% are left."""
    collection, runs, true = sparse_world()
    whole = pool_runs(collection, runs, depth=60)
    truth = estimate_ap(collection, runs, whole, judged(whole, true)).values.ravel()[0]
    found = []
    for seed in range(4):
        pool = pool_runs(collection, runs, strategy="stratified", strata=strata, seed=seed)
        decisions = judged(pool, true)
        found.append([estimate_ap(collection, runs, pool, decisions, whole=w).values.ravel()[0] for w in (None, whole)])
    assert np.mean(found, axis=0) == pytest.approx(truth, rel=0.1)


def test_a_pool_that_was_drawn_over_all_questions_is_still_estimated():
    """Without strata by question, as older pools are: its strata are its probabilities, and totals are the same."""
    collection, runs, true = world()
    whole = pool_runs(collection, runs, depth=40)
    deep = np.flatnonzero(whole.depth > 5)
    size = round(0.4 * len(deep))
    truth = estimate_ap(collection, runs, whole, judged(whole, true)).values.ravel()
    values = []
    for seed in range(10):
        drawn = np.random.default_rng(seed).choice(deep, size, replace=False)
        is_in = (whole.depth <= 5) | np.isin(np.arange(len(whole)), drawn)
        chance = np.where(whole.depth > 5, size / len(deep), 1.0)
        older = replace(whole, probability=chance).where(is_in[whole.triple])
        decisions = judged(older, true)
        found = estimate_positives(older, decisions, by="stratum")
        assert found.groups.to_pylist() == [f"{size / len(deep):.6g}", "1"]
        assert found.positives.tolist() == pytest.approx((found.found / np.array([size / len(deep), 1.0])).tolist())
        values.append(
            [
                estimate_ap(collection, runs, older, decisions, **options).values.ravel()
                for options in ({}, {"whole": whole, "bounds": [5, 40]})
            ]
        )
    assert np.mean(values, axis=0) == pytest.approx(np.array([truth, truth]), rel=0.05)


def test_a_pool_of_many_probabilities_is_estimated_too():
    """As somebody else may draw one, each triple by itself; 60 of them."""
    collection, runs, true = world()
    whole = pool_runs(collection, runs, depth=40)
    generator = np.random.default_rng(1)
    chance = np.where(whole.depth <= 5, 1.0, generator.choice(np.linspace(0.3, 0.9, 60), len(whole)))
    is_in = generator.random(len(whole)) < chance
    own = replace(whole, probability=chance).where(is_in[whole.triple])
    decisions = judged(own, true)
    assert len(estimate_positives(own, decisions, by="stratum").groups) > 40
    truth = estimate_ap(collection, runs, whole, judged(whole, true)).values.ravel()
    assert estimate_ap(collection, runs, own, decisions).values.ravel() == pytest.approx(truth, rel=0.15)


def test_per_question():
    """The mean of the questions is the total."""
    collection, runs, pool, decisions = sampled()
    each = estimate_ap(collection, runs[0], pool, decisions, by="question")
    assert each.items["question"].to_pylist() == list(collection.questions.ids)
    assert each.values.mean() == pytest.approx(estimate_ap(collection, runs[0], pool, decisions).value("a", "statAP"))


def test_what_is_not_settled_is_missing_at_random():
    """Half of a stratum judged, all Y: all of it is taken for Y."""
    collection, runs, _ = world()
    pool = pool_runs(collection, runs, depth=10)
    verdict = np.where(np.arange(len(pool)) % 2, 1, -1).astype(np.int8)
    found = estimate_positives(pool, Decisions(np.full(len(pool), 2, np.int8), verdict))
    assert found.positives[0] == pytest.approx(len(pool))
    assert found.judged[0] == len(pool) // 2


def test_what_does_not_belong_together_is_refused():
    """Decisions of another pool, an unjudged stratum, strata that do not reach down, a whole that is none."""
    collection, runs, pool, decisions = sampled()
    with pytest.raises(KgtrecError, match="expected one decision per triple of the pool, found 1 of"):
        estimate_positives(pool, Decisions(np.zeros(1, np.int8), np.zeros(1, np.int8)))
    with pytest.raises(KgtrecError, match="expected groups by all, relation, stratum, found 'relations'; did you mean"):
        estimate_positives(pool, decisions, by="relations")
    unsettled = Decisions(decisions.state, np.where(pool.probability < 1, -1, 1).astype(np.int8))
    with pytest.raises(KgtrecError, match=r"found none among the [0-9]+ of ranks to 40; judge some first"):
        estimate_positives(pool, unsettled)
    whole = pool_runs(collection, runs, depth=40)
    with pytest.raises(KgtrecError, match=r"expected ascending last ranks of the strata down to rank 40, found \[5, "):
        estimate_ap(collection, runs, pool, decisions, whole=whole, bounds=[5, 30])
    with pytest.raises(CollectionError, match="expected a sample of the whole pool, found"):
        estimate_ap(collection, runs, pool, decisions, whole=whole.where(whole.rank <= 6), bounds=[5, 40])


def test_verdicts_of_rules_tell_nothing_of_what_people_have_left():
    """Four triples: a rule has judged two N, people one of two Y; that one stands for both, not for all four."""
    collection, runs, _ = world()
    pool = pool_runs(collection, runs, depth=1)
    pool = pool.where(np.isin(pool.triple, np.arange(4)))
    decisions = Decisions(np.array([AUTOMATIC, AUTOMATIC, AGREED, OPEN], np.int8), np.array([0, 0, 1, -1], np.int8))
    assert triple_weights(pool, decisions).tolist() == [1, 1, 2, 0]
    assert estimate_positives(pool, decisions).positives.tolist() == [2]
    by_stratum = estimate_positives(pool, decisions, by="stratum")
    assert by_stratum.groups.to_pylist() == ["1", "1, by rule"]
    assert by_stratum.positives.tolist() == [2, 0]


def test_a_mean_of_average_precision_is_1_at_most():
    """Where all that was judged is relevant a few questions may be above 1: the mean over them was 1.02."""
    collection, runs, pool, decisions = sampled()
    decisions = Decisions(decisions.state, np.ones_like(decisions.verdict))
    each = estimate_ap(collection, runs, pool, decisions, by="question").values
    assert each.max() > 1
    np.testing.assert_array_equal(
        estimate_ap(collection, runs, pool, decisions).values[:, :, 0], np.minimum(each.mean(axis=2), 1)
    )


def test_a_pool_of_another_collection_is_refused():
    """Its known answers were left out without a word."""
    collection, runs, pool, decisions = sampled()
    turned = questions_with(collection, is_head=~collection.questions.is_head)
    fewer = collection_of(3, N_ENTITIES, {(q, q): 1 for q in range(3)})
    for other, many in ((turned, N_QUESTIONS), (fewer, N_QUESTIONS - 3)):
        with pytest.raises(
            CollectionError, match=rf"found one without {many} of the pool's {N_QUESTIONS} questions, such as"
        ):
            estimate_ap(other, runs, pool, decisions)


def questions_with(collection, **columns):
    return replace(collection, questions=replace(collection.questions, **columns))


def test_no_run_two_of_a_name_and_one_of_another_collection_are_refused():
    collection, runs, pool, decisions = sampled()
    with pytest.raises(KgtrecError, match="expected at least one system, found none"):
        estimate_ap(collection, [], pool, decisions)
    with pytest.raises(KgtrecError, match="expected systems of different names, found 'a' twice"):
        estimate_ap(collection, [runs[0], runs[0]], pool, decisions)
    with pytest.raises(CollectionError, match="a was ranked on collection 0123456789abcdef"):
        estimate_ap(collection, replace(runs[0], collection="0123456789abcdef"), pool, decisions)


def test_a_single_run_needs_no_list():
    collection, runs, _ = world()
    one, other = pool_runs(collection, runs[0]), pool_runs(collection, runs[:1])
    np.testing.assert_array_equal(one.triples.keys(), other.triples.keys())

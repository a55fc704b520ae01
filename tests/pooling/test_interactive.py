"""Strategies that ask for one judgement at a time: by hand, against an obvious simulation, and as laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgtrec
from kgtrec.collection.questions import build_questions
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.kernels.sampling.bandits import BANDITS
from kgtrec.kernels.sampling.random_order import hashed, hashes_of_texts
from kgtrec.pooling.interactive import Asker, asking, replay
from kgtrec.pooling.pool_runs import pool_runs
from tests.collections_by_hand import collection_of
from tests.examples import examples

READS_ON = sorted(BANDITS.keys() - {"first-yes"})  # the others stop at the first answer of each list
STRATEGY = st.sampled_from(READS_ON)
TURNS = st.sampled_from(["each", "best"])


def run_of(name, lists, questions, entities):
    """A run of {question: entities from the top}, labels throughout."""
    rows = [(q, e, float(-place)) for q, listed in lists.items() for place, e in enumerate(listed)]
    question, entity = (
        np.array(vocabulary.encode([row[i] for row in rows])) for i, vocabulary in enumerate((questions, entities))
    )
    return Run.of(name, question, entity, np.array([row[2] for row in rows]), questions, entities)


def world_of(draw):
    """A collection, the lists of some runs, and which (question, entity) are true."""
    n_questions, n_entities = draw(st.integers(1, 3)), draw(st.integers(3, 7))
    pairs = st.tuples(st.integers(0, n_questions - 1), st.integers(0, n_entities - 1))
    answers = draw(st.sets(pairs, min_size=1, max_size=3))
    filtered = draw(st.sets(pairs, max_size=3)) - answers
    collection = collection_of(n_questions, n_entities, dict.fromkeys(answers, 1), {(*pair, 0) for pair in filtered})
    listed = st.permutations([f"e{i}" for i in range(n_entities)])
    lists = {
        name: {f"tail{q}": draw(listed)[: draw(st.integers(1, n_entities))] for q in range(n_questions)}
        for name in draw(st.sampled_from([["b"], ["b", "a"], ["c", "a", "b"]]))
    }
    true = draw(st.sets(pairs))
    return collection, lists, {(f"tail{q}", f"e{e}") for q, e in true}


worlds = st.composite(world_of)()


def runs_of(collection, lists):
    return [run_of(name, own, collection.questions.ids, collection.entities) for name, own in lists.items()]


def sequence(asker, true):
    """(question, entity, run, rank) asked about, in order, when these are true."""
    rows = []
    for asked in asker:
        rows.append((asked.question, asked.tail, asked.run, asked.rank))
        asker.answer((asked.question, asked.tail) in true)
    return rows


def test_move_to_front_by_hand():
    """The front run asks until it misses; runs of equal priority in an order that never changes."""
    collection = collection_of(1, 20, {(0, 19): 1})
    lists = {"a": {"tail0": [f"e{i}" for i in range(6)]}, "b": {"tail0": [f"e{i}" for i in range(10, 16)]}}
    asker = asking(collection, runs_of(collection, lists), strategy="mtf", budget=9)
    front = asker.next().run
    verdicts = {True: [1, 0, 1, 1, 0, 0], False: [0, 1, 0, 0, 0, 0]}  # of the front run, and of the other
    found = []
    for asked in asker:
        found.append((asked.run == front, asked.rank))
        asker.answer("NY"[verdicts[asked.run == front][asked.rank - 1]])
    assert found == [
        (True, 1),
        (True, 2),  # Y, N: one miss
        (False, 1),  # N: one miss each
        (True, 3),
        (True, 4),
        (True, 5),  # Y, Y, N: two misses
        (False, 2),
        (False, 3),  # Y, N: two misses each
        (True, 6),
    ]
    assert asker.verdicts.tolist().count(1) == 4


@pytest.mark.parametrize(("decay", "stays"), [(1.0, True), (0.0, False)])
def test_without_memory_one_miss_is_enough_to_move_on(decay, stays):
    """After two hits and a miss a run's value is 3/5 by all verdicts, and 1/3 by the last alone; the other's is 1/2."""
    collection = collection_of(1, 20, {(0, 19): 1})
    lists = {"a": {"tail0": [f"e{i}" for i in range(6)]}, "b": {"tail0": [f"e{i}" for i in range(10, 16)]}}
    asker = asking(collection, runs_of(collection, lists), decay=decay)
    for verdict in "YYN":
        front = asker.next().run
        asker.answer(verdict)
    assert (asker.next().run == front) == stays


def simulated(collection, lists, true, strategy, decay, prior):
    """One question, plainly: entities in the order in which they are asked about."""
    question, names = "tail0", sorted(lists)
    label_hash = {
        text: hashes_of_texts(np.frombuffer(text.encode(), np.uint8), np.array([0, len(text)]))[0]
        for text in (question, *names)
    }
    runs = np.array([label_hash[name] for name in names])
    out = {
        collection.entities[e]
        for part in (collection.filtered, collection.qrels)
        for q, e in zip(part.question, part.entity, strict=True)
        if q == 0
    }
    left = {name: [e for e in lists[name][question] if e not in out] for name in names}
    counts = {name: [0.0, 0.0] for name in names}
    asked = []
    while any(left.values()):
        draws, tie = (hashed(hashed(5, int(label_hash[question])), runs, step) for step in (len(asked) + 1, 0))
        options = []
        for i, name in enumerate(names):
            hits, misses = (np.array([value]) for value in counts[name])
            value = BANDITS[strategy](hits, misses, prior, draws[i : i + 1])[0]
            options += [(-value, int(tie[i]), name)] if left[name] else []
        name = min(options)[2]
        entity = left[name][0]
        asked.append((entity, name))
        is_true = (question, entity) in true
        old = 1.0 if strategy == "mtf" else decay
        counts[name] = [old * counts[name][0] + is_true, old * counts[name][1] + (not is_true)]
        left = {other: [e for e in own if e != entity] for other, own in left.items()}
    return asked


@given(
    world=worlds,
    strategy=STRATEGY,
    decay=st.sampled_from([1.0, 0.5, 0.0]),
    prior=st.sampled_from([(1.0, 1.0), (0.5, 2.0)]),
)
def test_one_question_against_an_obvious_simulation(world, strategy, decay, prior):
    """The same triples from the same runs, with and without forgetting."""
    collection, lists, true = world
    first = np.array([0], np.int32)
    asker = asking(
        collection, runs_of(collection, lists), strategy=strategy, questions=first, seed=5, decay=decay, prior=prior
    )
    found = [(entity, run) for _, entity, run, _ in sequence(asker, true)]
    assert found == simulated(collection, lists, true, strategy, decay, prior)


@given(world=worlds, strategy=STRATEGY, turns=TURNS, budget=st.integers(1, 12), depth=st.integers(1, 4))
def test_what_is_asked(world, strategy, turns, budget, depth):
    """Nothing twice, nothing filtered or answered, nothing below the depth; the whole budget where there is as much."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    everything = pool_runs(collection, runs, depth=depth)
    asker = asking(collection, runs, strategy=strategy, turns=turns, budget=budget, depth=depth)
    rows = sequence(asker, true)
    pairs = [row[:2] for row in rows]
    possible = {
        (everything.questions.ids[q], everything.triples.entities[e])
        for q, e in zip(everything.question, everything.entity, strict=True)
    }
    assert len(set(pairs)) == len(pairs) == len(asker) == min(budget, len(everything))
    assert set(pairs) <= possible
    assert max((row[3] for row in rows), default=1) <= depth
    assert asker.next() is None


@given(world=worlds, strategy=STRATEGY, budget=st.integers(1, 12))
def test_the_pool_holds_all_contributions_to_what_was_asked(world, strategy, budget):
    """As a depth pool does, so that diagnostics can leave runs out."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    asker = asking(collection, runs, strategy=strategy, budget=budget)
    asked = {row[:2] for row in sequence(asker, true)}
    everything = pool_runs(collection, runs, depth=100)

    def rows(pool):
        columns = pool.questions.ids.decode(pool.question), pool.triples.entities.decode(pool.entity)
        return sorted(zip(*(c.to_pylist() for c in columns), pool.run.tolist(), pool.rank.tolist(), strict=True))

    assert rows(asker.pool) == [row for row in rows(everything) if row[:2] in asked]


@given(world=worlds, strategy=STRATEGY, turns=TURNS, data=st.data())
def test_neither_the_order_of_runs_nor_of_codes_matters(world, strategy, turns, data):
    """The same seed asks the same, whichever way the input is laid out."""
    collection, lists, true = world
    expected = sequence(asking(collection, runs_of(collection, lists), strategy=strategy, turns=turns, seed=3), true)
    entities = Vocabulary.of(data.draw(st.permutations(list(collection.entities))))
    questions = Vocabulary.of(data.draw(st.permutations(list(collection.questions.ids))))
    names = data.draw(st.permutations(list(lists)))
    runs = [run_of(name, lists[name], questions, entities) for name in names]
    assert sequence(asking(collection, runs, strategy=strategy, turns=turns, seed=3), true) == expected


@given(world=worlds, strategy=STRATEGY)
def test_one_run_is_read_from_its_top(world, strategy):
    """Whatever it is told; questions take turns."""
    collection, lists, true = world
    name = min(lists)
    rows = sequence(asking(collection, runs_of(collection, {name: lists[name]}), strategy=strategy), true)
    for question in collection.questions.ids:
        ranks = [row[3] for row in rows if row[0] == question]
        assert ranks == sorted(ranks)
    first_round = rows[: len({row[0] for row in rows})]
    assert len({row[0] for row in first_round}) == len(first_round)


def qrels_of(collection, judged):
    """Qrels of {(question, entity): whether true}."""
    ids, entities = collection.questions.ids, collection.entities
    question, entity = ids.encode([q for q, _ in judged]), entities.encode([e for _, e in judged])
    return Qrels.of(question, entity, np.array(list(judged.values()), np.int32), ids, entities)


@given(world=worlds, strategy=STRATEGY, turns=TURNS, stop=st.integers(0, 8), decay=st.sampled_from([1.0, 0.5]))
def test_recorded_judgements_bring_it_back_to_where_it_was(world, strategy, turns, stop, decay):
    """What is asked afterwards is what would have been asked without a break."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    whole = sequence(asking(collection, runs, strategy=strategy, turns=turns, seed=2, decay=decay), true)
    recorded = qrels_of(collection, {row[:2]: int(row[:2] in true) for row in whole[:stop]})
    resumed = asking(collection, runs, strategy=strategy, turns=turns, seed=2, decay=decay, judged=recorded)
    assert sequence(resumed, true) == whole[stop:]
    assert len(resumed) == len(whole)


@given(world=worlds, strategy=STRATEGY, budget=st.integers(1, 10))
def test_replay_is_asking_somebody_who_knows(world, strategy, budget):
    """Recorded verdicts answer; what has none is N."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    asker = asking(collection, runs, strategy=strategy, budget=budget, seed=1)
    sequence(asker, true)
    pool = replay(
        collection, runs, qrels_of(collection, dict.fromkeys(sorted(true), 1)), strategy=strategy, budget=budget, seed=1
    )
    assert np.array_equal(pool.triples.keys(), asker.pool.triples.keys())
    assert np.array_equal(pool.rank, asker.pool.rank)


@given(world=worlds, turns=TURNS)
def test_first_yes_gives_the_reciprocal_ranks_of_the_whole_pool(world, turns):
    """Of every run and question, as when all triples of the pool are judged; and it asks nothing more."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    answers = {(collection.questions.ids[q], collection.entities[e]): 1 for q, e in answers_of(collection)}
    asker = asking(collection, runs, strategy="first-yes", turns=turns)
    asked = [row[:2] for row in sequence(asker, true)]
    sequence(whole := asking(collection, runs, strategy="mtf"), true)
    pooled = {(q, e) for q, e in pairs_of(whole.pool) if (q, e) in true}
    judged, everything = (answers | dict.fromkeys(pairs, 1) for pairs in (true.intersection(asked), pooled))
    values = [
        kgtrec.evaluate(qrels_of(collection, grades), runs, "macro.MRR", collection=collection).values
        for grades in (judged, everything)
    ]
    assert np.array_equal(*values)
    ranks = {(q, e): i for own in lists.values() for q, listed in own.items() for i, e in enumerate(listed)}
    assert set(asked) <= ranks.keys()


def pairs_of(pool):
    """(question, entity) of each contribution."""
    return {
        (pool.questions.ids[q], pool.questions.entities[e]) for q, e in zip(pool.question, pool.entity, strict=True)
    }


def answers_of(collection):
    """Rows of question and entity of each answer of a collection."""
    positive = collection.qrels.grade >= 1
    return zip(collection.qrels.question[positive], collection.qrels.entity[positive], strict=True)


def test_first_yes_reads_each_list_to_its_first_answer():
    """By hand: the known answer stops a at rank 2, the Yes of tail0 e3 stops b, and nothing below is asked about."""
    collection = collection_of(1, 6, {(0, 0): 1}, set())
    lists = {"a": {"tail0": ["e1", "e0", "e2"]}, "b": {"tail0": ["e3", "e4", "e5", "e0"]}}
    asker = asking(collection, runs_of(collection, lists), strategy="first-yes")
    assert {row[1] for row in sequence(asker, {("tail0", "e3")})} == {"e1", "e3"}
    asker = asking(collection, runs_of(collection, lists), strategy="first-yes")
    assert {row[1] for row in sequence(asker, set())} == {"e1", "e3", "e4", "e5"}


def two_sided():
    """A collection in which (ann, likes, pie) can be asked about from either side, and two runs that put it first."""
    train = Triples.of([("dan", "eats", "pie"), ("dan", "eats", "ham")])
    test = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "pie")])
    collection = build_questions(train, Triples.of([]), test)
    rows = np.isin(collection.questions.anchor, collection.entities.encode(["ann", "pie"]))
    ids = {
        "head" if collection.questions.is_head[row] else "tail": collection.questions.ids[row]
        for row in np.flatnonzero(rows)
    }
    questions = Vocabulary.of(list(collection.questions.ids))
    lists = {
        "a": {ids["head"]: ["ann", "dan", "tea"], ids["tail"]: ["pie", "ham", "dan"]},
        "b": {ids["head"]: ["ham", "pie"], ids["tail"]: ["bob", "ann"]},
    }
    runs = [run_of(name, own, questions, collection.entities) for name, own in lists.items()]
    return collection, runs, np.flatnonzero(rows).astype(np.int32)


@pytest.mark.parametrize("seed", range(6))
def test_a_triple_is_asked_about_from_one_side_only(seed):
    """And its verdict counts for the run at the other side too, at no cost."""
    collection, runs, rows = two_sided()
    asker = asking(collection, runs, strategy="max-mean", questions=rows, seed=seed)
    asked = []
    for each in asker:
        asked.append((each.question, each.head, each.tail, each.run, each.rank))
        asker.answer((each.head, each.tail) == ("ann", "pie"))
    triples = [row[1:3] for row in asked]
    assert len(triples) == len(set(triples)) == 9
    first = asked[triples.index(("ann", "pie"))][0]
    at_other = [row[3:] for row in asked if row[0] != first]
    # a hit and a miss are better than a miss: at the other question too, run a is asked to its end before b's second
    assert at_other.index(("a", 3)) < at_other.index(("b", 2))


def test_a_doubt_counts_neither_way():
    """`unsure` uses up the budget, and leaves the run where it was."""
    collection = collection_of(1, 9, {(0, 8): 1})
    lists = {"a": {"tail0": ["e0", "e1", "e2"]}, "b": {"tail0": ["e3", "e4", "e5"]}}
    asker = asking(collection, runs_of(collection, lists), strategy="mtf", budget=3)
    runs = []
    for asked in asker:
        runs.append(asked.run)
        asker.answer("unsure")
    assert len(set(runs)) == 1
    assert asker.verdicts.tolist() == [2, 2, 2]


@pytest.mark.parametrize("strategy", READS_ON)
def test_a_good_run_is_found_out(strategy):
    """Beside a perfect run and two random ones, more positives than taking the best ranks first, at an equal budget."""
    n_questions, n_entities = 20, 200
    generator = np.random.default_rng(4)
    collection = collection_of(n_questions, n_entities, {(q, 199): 1 for q in range(n_questions)})
    true = {(f"tail{q}", f"e{e}") for q in range(n_questions) for e in generator.choice(199, 15, replace=False)}
    lists = {name: {} for name in ("perfect", "random1", "random2")}
    for q in (f"tail{q}" for q in range(n_questions)):
        order = [f"e{e}" for e in generator.permutation(199)]
        lists["perfect"][q] = sorted(order, key=lambda e, q=q: (q, e) not in true)[:60]
        lists["random1"][q], lists["random2"][q] = order[:60], order[60:120]
    runs = runs_of(collection, lists)
    judged = qrels_of(collection, dict.fromkeys(sorted(true), 1))
    taken = pool_runs(collection, runs, strategy="take", budget=300, depth=60)
    asked = replay(collection, runs, judged, strategy=strategy, budget=300, depth=60)

    def positives(pool):
        pairs = zip(
            pool.questions.ids.decode(pool.question).to_pylist(),
            pool.triples.entities.decode(pool.entity).to_pylist(),
            strict=True,
        )
        return len(set(pairs) & true)

    assert len(taken) == len(asked) == 300
    assert positives(asked) > 1.5 * positives(taken)


@pytest.mark.parametrize("strategy", READS_ON)
def test_the_best_question_is_next(strategy):
    """With turns by value, a question that only yields answers is asked to its end before others are asked again."""
    collection = collection_of(3, 30, {(q, 29): 1 for q in range(3)})
    lists = {"a": {f"tail{q}": [f"e{i}" for i in range(25)] for q in range(3)}}
    true = {("tail1", f"e{i}") for i in range(30)}
    asker = asking(collection, runs_of(collection, lists), strategy=strategy, turns="best", budget=30)
    questions = [row[0] for row in sequence(asker, true)]
    assert questions.count("tail1") >= 20
    if strategy != "thompson":
        assert questions.count("tail1") == 25


def test_answers_out_of_turn():
    """Each question once, each answer to a question, and only the three verdicts."""
    collection = collection_of(1, 4, {(0, 3): 1})
    asker = asking(collection, runs_of(collection, {"a": {"tail0": ["e0", "e1"]}}))
    with pytest.raises(KgtrecError, match="expected a triple to be asked about before it is answered"):
        asker.answer("Y")
    assert asker.next() == asker.next()
    with pytest.raises(KgtrecError, match="expected a verdict of N, Y, unsure, found 'maybe'"):
        asker.answer("maybe")
    with pytest.raises(KgtrecError, match="expected an answer to triple 1 before the next one is asked about"):
        list(asker)
    asker.answer(True)
    assert repr(asker) == "<Asker: 1 of 2 triples judged>"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"strategy": "max_mean"}, "expected a strategy of mtf, max-mean, thompson, first-yes, found 'max_mean'"),
        ({"budget": 0}, "expected a budget of at least 1 triple, found 0"),
        ({"prior": (0.0, 1.0)}, "expected two numbers above 0 as prior, found (0.0, 1.0)"),
        ({"turns": "all"}, "expected turns of each, best, found 'all'"),
        ({"decay": 1.5}, "expected a decay from 0 to 1, found 1.5"),
    ],
)
def test_wrong_options(options, expected):
    """Are refused before a run is read."""
    with pytest.raises(KgtrecError) as caught:
        asking(collection_of(1, 2, {(0, 0): 1}), iter([None]), **options)
    assert str(caught.value).startswith(expected)


@settings(max_examples=examples(20))
@given(world=worlds)
def test_an_asker_of_a_pool_needs_no_runs(world):
    """A campaign's own depth pool is enough."""
    collection, lists, true = world
    runs = runs_of(collection, lists)
    pool = pool_runs(collection, runs, depth=100)
    assert sequence(Asker(pool), true) == sequence(asking(collection, runs), true)
    assert len(replay(collection, runs, None)) == len(pool)

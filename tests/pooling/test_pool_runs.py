"""Pools of runs: a slow loop as oracle, laws, and worked values of every strategy."""

from __future__ import annotations

import sys
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.pooling.pool_runs import STRATEGIES, known_answers_of, known_answers_of_triples, pool_runs
from tests.examples import examples
from tests.pool_worlds import PoolWorld, contributions_of, labels_of_triples, pool_worlds, run_of

pytestmark = pytest.mark.filterwarnings("ignore:.*are left out", "ignore:expected raw runs")
BUDGETED = [name for name, strategy in STRATEGIES.items() if strategy.needs_budget and not strategy.interactive]
few = settings(max_examples=examples(30))
depths, known_answers, cuts = st.integers(1, 8), st.integers(0, 3), st.sampled_from(["filtered", "raw"])


def pooled(world: PoolWorld, **options) -> Pool:
    return pool_runs(world.collection, world.runs(), **options)


@few
@given(pool_worlds(), depths, cuts, known_answers)
def test_a_depth_pool_is_what_a_slow_loop_finds(world, depth, cut, seed):
    """Filtered: filtered triples out, then ranks; raw: ranks, then those out. Strangers take no rank, answers do."""
    pool = pooled(world, depth=depth, cut=cut, seed=seed)
    assert contributions_of(pool) == world.contributions(depth, cut, seed)
    assert (pool.probability == 1).all()


@few
@given(pool_worlds(), depths, st.sets(st.integers(0, 4)))
def test_raw_and_filtered_runs_pool_alike_if_filtered_triples_leave_first(world, depth, shortened):
    """The usual cut does not depend on how each run was filtered, as long as its lists go on with the collection's."""
    filtered, entities = world.filtered(), set(world.collection.entities)
    some = PoolWorld(world.collection, dict(world.scores))
    for place, (name, own) in enumerate(world.scores.items()):
        kept = {pair: score for pair, score in own.items() if pair not in filtered}
        if place in shortened and entities & {entity for _, entity in kept}:
            some.scores[name] = kept
    assert contributions_of(pooled(some, depth=depth)) == contributions_of(pooled(world, depth=depth))


def test_a_raw_cut_tells_of_filtered_runs_among_raw_ones():
    """With how many filtered triples the raw ones hold; the usual cut tells of none."""
    train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    raw = run_of("raw", {("tail0", "tea"): 2.0, ("tail0", "bob"): 1.0})
    filtered = run_of("filtered", {("tail0", "bob"): 1.0})
    with pytest.warns(
        KgtrecWarning, match=r"found filtered triples in 1 of 2 runs \(1 of them in raw\) and none in filter"
    ):
        pool_runs(collection, [filtered, raw], cut="raw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for runs, cut in (([filtered, raw], "filtered"), ([raw], "raw"), ([filtered], "raw")):
            pool_runs(collection, runs, cut=cut)


@few
@given(pool_worlds(), depths, cuts)
def test_a_pool_is_inside_the_deeper_one(world, depth, cut):
    """Depth k is what depth k + 1 holds down to rank k."""
    deeper = pooled(world, depth=depth + 1, cut=cut)
    assert contributions_of(pooled(world, depth=depth, cut=cut)) == contributions_of(deeper.where(deeper.rank <= depth))


@few
@given(pool_worlds(), st.sampled_from([*BUDGETED, "depth", "stratified"]), st.integers(1, 6), known_answers, st.data())
def test_order_does_not_matter(world, strategy, budget, seed, data):
    """Neither that of runs, nor that of lines and so of codes."""
    order = data.draw(st.permutations(range(len(world.scores))))
    options = {"strategy": strategy, "seed": seed, "strata": [(1, 1.0), (8, 0.4)]}
    if strategy in BUDGETED:
        options["budget"] = budget
    one = pooled(world, **options)
    other = pool_runs(world.collection, world.runs(order, reverse=True), **options)
    assert one.runs == other.runs
    for name in ("triple", "question", "run", "rank", "probability"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.triples.keys(), other.triples.keys())


@few
@given(pool_worlds(), st.sampled_from([*BUDGETED, "depth", "stratified"]), cuts)
def test_filtered_triples_and_answers_are_never_in(world, strategy, cut):
    """Whatever the strategy and the cut."""
    pool = pooled(world, strategy=strategy, cut=cut, budget=5 if strategy in BUDGETED else None)
    filtered = {world.triple(*pair) for pair in world.filtered()}
    assert not set(labels_of_triples(pool)) & (filtered | world.answers())


@few
@given(pool_worlds(), st.sampled_from(BUDGETED), st.integers(1, 12), cuts, known_answers)
def test_a_budget_is_kept_and_nested(world, strategy, budget, cut, seed):
    """Exactly N triples where there are as many, N inside N + 1, with all that the runs contributed to them."""
    everything = pooled(world, depth=9, cut=cut, seed=seed)
    pools = [pooled(world, strategy=strategy, budget=budget + more, depth=9, cut=cut, seed=seed) for more in (0, 1)]
    assert len(pools[0]) == min(budget, len(everything))
    triples, more = (set(labels_of_triples(pool)) for pool in pools)
    assert triples <= more
    assert contributions_of(pools[0]) == {row for row in contributions_of(everything) if row[0] in triples}


@few
@given(pool_worlds(), st.sampled_from(BUDGETED), st.integers(1, 12), st.booleans(), st.integers(1, 9))
def test_how_many_contributions_are_scored_together_changes_nothing(world, strategy, budget, by_question, rows):
    """Some questions at a time, of which only what can be among the first triples is kept."""
    options = {"strategy": strategy, "budget": budget, "depth": 9, "by_question": by_question and strategy == "take"}
    whole = contributions_of(pooled(world, **options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["kgtrec.pooling.pool_runs"], "_ROWS", rows)
        assert contributions_of(pooled(world, **options)) == whole


def test_a_pool_by_scores_takes_little_more_memory_than_its_contributions():
    """Below 60 bytes for each of 800,000, of which 17 are the contribution; sorted all at once they took 104."""
    none = Triples.of([])
    asked = [(f"h{row}", "r", "x") for row in range(2_000)]
    collection = build_questions(none, none, Triples.of([*asked, *((f"e{row}", "r", f"e{row}") for row in range(400))]))
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(2_000, dtype=np.int32), 100)
    runs = []
    for name in "abcd":
        entity = (rng.integers(0, 2_000, 2_000)[:, None] + np.arange(100) * 3).ravel().astype(np.int32)
        score = np.tile(np.arange(100, 0, -1.0), 2_000)
        runs.append(Run.of(name, question, entity % 2_300, score, collection.questions.ids, collection.entities))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["kgtrec.pooling.pool_runs"], "_ROWS", 1 << 15)
        tracemalloc.start()
        pool_runs(collection, runs, strategy="rrf", budget=1_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 60 * 800_000


@few
@given(pool_worlds(), depths, st.data())
def test_without_a_run_its_unique_contributions_are_gone(world, depth, data):
    """And they alone: the pool of the other runs."""
    left_out = data.draw(st.sampled_from(sorted(world.scores)))
    pool = pooled(world, depth=depth)
    others = [run for run in world.runs() if run.name != left_out]
    expected = contributions_of(pool_runs(world.collection, others, depth=depth)) if others else set()
    assert contributions_of(pool.without([left_out])) == expected
    by_run: dict[tuple[str, str, str], set[str]] = {}
    for triple, _, run, _ in contributions_of(pool):
        by_run.setdefault(triple, set()).add(run)
    gone = set(labels_of_triples(pool)) - set(labels_of_triples(pool.without([left_out])))
    assert gone == {triple for triple, runs in by_run.items() if runs == {left_out}}


@few
@given(pool_worlds(), st.floats(0.05, 1), st.integers(1, 3), known_answers)
def test_probabilities_of_a_sample_sum_to_its_size(world, fraction, least, seed):
    """Question by question: over a stratum's triples; and their reciprocals over the sample to how many there were."""
    everything = pooled(world, depth=8, seed=seed)
    pool = pooled(world, strategy="stratified", strata=[(1, 1.0), (8, fraction)], least=least, seed=seed)
    assert pool.strata == (1, 8)
    assert set(contributions_of(pool)) <= set(contributions_of(everything))
    assert (pool.probability[pool.depth == 1] == 1).all()
    assert np.sum(pool.depth == 1) == np.sum(everything.depth == 1)
    for question in range(len(everything.questions)):
        rest = np.count_nonzero((everything.home == question) & (everything.depth > 1))
        drawn = (pool.home == question) & (pool.depth > 1)
        size = min(max(int(np.floor(fraction * rest + 0.5)), least), rest)
        assert drawn.sum() == size
        assert pool.probability[drawn] == pytest.approx(np.full(size, size / max(rest, 1)))
    assert np.sum(1 / pool.probability) == pytest.approx(len(everything))


@pytest.mark.slow
def test_every_triple_of_a_stratum_is_as_likely_to_be_sampled():
    """Over 400 known answers, each of 8 triples is drawn about 400 x 2/8 times (six standard deviations: 52)."""
    world = world_of({"a": {("tail0", f"e{i}"): -float(i) for i in range(2, 10)}})
    drawn = [labels_of_triples(pooled(world, strategy="stratified", strata=[(8, 0.25)], seed=s)) for s in range(400)]
    counts = [sum(triple in sample for sample in drawn) for triple in set().union(*drawn)]
    assert len(counts) == 8
    assert all(48 <= count <= 152 for count in counts)


def world_of(scores) -> PoolWorld:
    """Entities e0 to e9; e1 is the answer to tail0 (e0, r, ?) and e0 to head0 (?, r, e1)."""
    train = Triples.of([(f"e{i}", "all", f"e{i + 1}") for i in range(9)])
    return PoolWorld(build_questions(train, Triples.of([]), Triples.of([("e0", "r", "e1")])), scores)


def tails(pool: Pool) -> set[str]:
    return {triple[2] for triple in labels_of_triples(pool)}


def ranked(*entities: str) -> dict[tuple[str, str], float]:
    return {("tail0", entity): -float(place) for place, entity in enumerate(entities)}


@pytest.mark.parametrize(
    ("strategy", "options", "expected"),
    [
        ("take", {}, ["e2 e3"]),  # least ranks 1 and 1; e4 has 2
        ("rrf", {"k": 1}, ["e2 e4"]),  # e2: 1/2 + 1/5 = .7; e4: 1/3 + 1/3 = .667; e3: .5
        ("rbp", {"p": 0.5}, ["e2 e3", "e2 e4"]),  # e2: 1/2 + 1/16; e4: 1/4 + 1/4, which is e3's 1/2
        ("borda", {}, ["e2 e4"]),  # five candidates: e4: 3 + 3; e2: 4 + 1; e3: 4; e5: 2 + 2
        ("combsum", {}, ["e2 e4", "e3 e4"]),  # e4: 2/3 + 2/3; e2: 1 + 0, which is e3's 1
    ],
)
def test_worked_values(strategy, options, expected):
    """Two lists of four, e2 e4 e5 e6 and e3 e4 e5 e2, of which two triples are pooled; the seed settles ties."""
    world = world_of({"a": ranked("e2", "e4", "e5", "e6"), "b": ranked("e3", "e4", "e5", "e2")})
    found = {
        " ".join(sorted(tails(pooled(world, strategy=strategy, budget=2, seed=seed, **options)))) for seed in range(12)
    }
    assert found == set(expected)


@pytest.mark.parametrize("options", [{"strategy": "rrf"}, {"strategy": "take", "by_question": True}])
def test_questions_take_turns(options):
    """Each gives its best before any gives its second."""
    both = {(q, e): -float(i) for q in ("head0", "tail0") for i, e in enumerate(["e5", "e6", "e7"])}
    pool = pooled(world_of({"a": both}), budget=4, **options)
    assert sorted(np.bincount(pool.question).tolist()) == [2, 2]
    assert sorted(pool.rank.tolist()) == [1, 1, 2, 2]


@few
@given(pool_worlds(), st.integers(1, 12), known_answers)
def test_take_is_all_of_the_ranks_above_the_last_and_some_of_that(world, budget, seed):
    """No triple is out that has a lower rank than one that is in; the pools of two budgets are one inside the other."""
    everything = pooled(world, depth=8, seed=seed)
    depth_of = dict(zip(labels_of_triples(everything), everything.depth.tolist(), strict=True))
    taken, more = (
        set(labels_of_triples(pooled(world, strategy="take", depth=8, budget=size, seed=seed)))
        for size in (budget, budget + 2)
    )
    assert len(taken) == min(budget, len(everything))
    assert taken <= more
    left = [depth for triple, depth in depth_of.items() if triple not in taken]
    assert not left or not taken or max(depth_of[triple] for triple in taken) <= min(left)


def test_take_asks_a_question_with_more_candidates_of_a_rank_for_more():
    """Two runs differ on one question and agree on the other: rank 1 is three triples, taken before any of rank 2."""
    scores = {"a": {"head0": "e5 e6", "tail0": "e5 e6"}, "b": {"head0": "e5 e6", "tail0": "e7 e8"}}
    world = world_of(
        {
            run: {(q, e): -float(i) for q, text in own.items() for i, e in enumerate(text.split())}
            for run, own in scores.items()
        }
    )
    taken = pooled(world, strategy="take", budget=3)
    assert taken.depth.tolist() == [1, 1, 1]
    assert max(pooled(world, strategy="take", by_question=True, budget=4).depth) == 2


def test_only_the_questions_asked_for_are_pooled():
    """The pool's questions are these, and no run contributes for another."""
    both = {(q, e): 1.0 for q in ("head0", "tail0") for e in ("e5", "e6")}
    world = world_of({"a": both})
    pool = pooled(world, questions=np.array([1], np.int32))
    assert list(pool.questions.ids) == ["tail0"]
    assert {row[1] for row in contributions_of(pool)} == {"tail0"}
    assert len(known_answers_of(pool, world.collection)) == 1


def test_answers_that_are_no_seeds_are_filtered():
    """With some of the answers as known answers, the others leave the lists, as if the test set had been sampled."""
    train = Triples.of([(f"e{i}", "all", f"e{i + 1}") for i in range(9)])
    collection = build_questions(train, Triples.of([]), Triples.of([("e0", "r", "e1"), ("e0", "r", "e2")]))
    rows, own = known_answers_of_triples(collection, Triples.of([("e0", "r", "e2")]))
    assert [collection.questions.ids[row] for row in rows] == ["head1", "tail0"]
    run = run_of("a", ranked("e1", "e2", "e3"))
    pool = pool_runs(collection, [run], questions=rows, known_answers=own)
    assert contributions_of(pool) == {(("e0", "r", "e3"), "tail0", "a", 2)}
    assert known_answers_of(pool, collection, own).entity.tolist() == collection.entities.encode(["e0", "e2"]).tolist()
    whole = pool_runs(collection, [run], questions=rows)
    assert contributions_of(whole) == {(("e0", "r", "e3"), "tail0", "a", 3)}


def test_judged_wrong_is_open():
    """A grade of 0 is no answer: the triple can be pooled."""
    world = world_of({"a": ranked("e2")})
    qrels = world.collection.qrels
    wrong = Qrels.of(qrels.question, qrels.entity, qrels.grade * 0, qrels.questions, qrels.entities)
    pool = pool_runs(world.collection, world.runs(), known_answers=wrong)
    assert len(pool) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"strategy": "dept"}, "expected a strategy of depth, .* found 'dept'; did you mean depth"),
        ({"strategy": "mtf", "budget": 3}, "strategy mtf asks for judgements one at a time"),
        ({"strategy": "rrf"}, "strategy rrf needs a budget"),
        ({"strategy": "rrf", "budget": 0}, "expected budget to be a whole number from 1 on, found 0"),
        ({"budget": 3}, "strategy depth takes no budget; the ones that do are take, rrf"),
        ({"depth": 0}, "expected depth to be a whole number from 1 on, found 0"),
        ({"cut": "rwa"}, "expected cut to be one of filtered, raw, found 'rwa'; did you mean raw"),
        ({"strategy": "rbp", "budget": 1, "p": 1.0}, "expected p of rank-biased precision"),
        ({"strategy": "rrf", "budget": 1, "k": -1}, "expected k of reciprocal rank fusion to be 0 or more"),
        ({"strategy": "stratified", "strata": [(5, 1), (5, 0.5)]}, "expected strata that end at ever greater ranks"),
        ({"strategy": "stratified", "strata": [(5, 0.0)]}, "expected a fraction above 0 and up to 1"),
        ({"questions": np.array([9])}, "expected rows of questions in 0 to 1, found 9 to 9"),
        ({"seed": 0.5}, "expected seed to be a whole number, found 0.5"),
    ],
)
def test_wrong_options_are_refused(options, expected):
    """With what was expected, what was found, and the way out."""
    with pytest.raises(KgtrecError, match=expected):
        pooled(world_of({"a": ranked("e2")}), **options)


def test_runs_that_do_not_fit():
    """None, two of one name, one of another collection; strangers are warned of."""
    world = world_of({"a": ranked("e2")})
    with pytest.raises(KgtrecError, match="expected at least one run"):
        pool_runs(world.collection, [])
    with pytest.raises(KgtrecError, match="found 'a' more than once"):
        pool_runs(world.collection, world.runs() * 2)
    with pytest.raises(CollectionError, match=r"a has no question of the collection \(its first is 'q1', .* 'head0'"):
        pool_runs(world.collection, [run_of("a", {("q1", "e2"): 1.0})])
    with pytest.raises(CollectionError, match="a has no entity of the collection"):
        pool_runs(world.collection, [run_of("a", {("tail0", "x"): 1.0})])
    with pytest.warns(KgtrecWarning, match="a: 1 of its 2 questions are not in the collection and are left out .q1."):
        pool_runs(world.collection, [run_of("a", {("tail0", "e2"): 1.0, ("q1", "e2"): 1.0})])
    with pytest.raises(
        CollectionError, match="expected known answers whose head and tail questions are the collection's"
    ):
        known_answers_of_triples(world.collection, Triples.of([("e5", "r", "e6")]))

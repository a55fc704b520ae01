"""What must hold of every registered measure, through ``evaluate`` on small tables and worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.errors import unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.measures.record import Measure
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import Table, spelled, tables
from tests.worlds import World, worlds

EVERY = [pytest.param(measure, id=measure.name) for measure in registered()]
DIRECTED = [pytest.param(measure, id=measure.name) for measure in registered() if measure.better != "neither"]
KNOWING_CHANCE = [measure for measure in registered() if measure.has_chance]
few = settings(max_examples=examples(8))

# their kernels subtract sums that run over all questions, so that the last bit depends on the questions before
LAST_BIT_HANGS_ON_ORDER = ("ndcg_rel", "Rndcg")


def values(table_or_world: Table | World, measure: Measure, **options) -> dict[str, float]:
    """The measure in all its spellings; warnings of undefined values are for other tests."""
    if isinstance(table_or_world, World):
        qrels, ranks, collection = table_or_world.qrels(), table_or_world.answer_ranks(), None
        if measure.weighting == "relation":
            return {}
    else:
        qrels, ranks = table_or_world.inputs()
        collection = table_or_world.collection()
    with unwarned():
        scores = evaluate(qrels, ranks, spelled(measure), collection=collection, **options)
    return dict(zip(scores.measures, scores.values[0, :, 0].tolist(), strict=True))


def within(number: float, measure: Measure) -> bool:
    low, high = measure.bounds
    return math.isnan(number) or low - 1e-9 <= number <= high + 1e-9


@pytest.mark.parametrize("measure", EVERY)
@few
@given(world=worlds(), ties=st.sampled_from(["realistic", "optimistic", "pessimistic", "nondeterministic"]))
def test_every_measure_stays_inside_its_bounds(measure: Measure, world: World, ties: str):
    """With ties, scores of -inf, single candidates and any number of answers."""
    found = values(world, measure, ties=ties)
    assert {label: number for label, number in found.items() if not within(number, measure)} == {}


@pytest.mark.parametrize("measure", [measure for measure in EVERY if measure.values[0].expected is not None])
@few
@given(world=worlds())
def test_the_mean_over_tied_orders_lies_between_the_extremes(measure: Measure, world: World):
    """Optimistic and pessimistic order bound it, whichever way is better."""
    lenient, mean, strict = (values(world, measure, ties=t) for t in ("optimistic", "expected", "pessimistic"))
    for label, number in mean.items():
        ends = sorted((lenient[label], strict[label]))
        assert math.isnan(number) or ends[0] - 1e-9 <= number <= ends[1] + 1e-9, label


@pytest.mark.parametrize("measure", DIRECTED)
@few
@given(table=tables(), data=st.data())
def test_a_better_rank_is_never_worse(measure: Measure, table: Table, data):
    """One answer one place further up, all else the same; of grades above 1, trec_eval's G keeps no such law."""
    movable = [place for place in table.places if table.above[place[0]][place[1]] > 0]
    assume(movable)
    question, answer = data.draw(st.sampled_from(movable))
    better = values(table.with_above(question, answer, table.above[question][answer] - 1), measure)
    sign = 1 if measure.better == "higher" else -1
    for label, before in values(table, measure).items():
        assert math.isnan(before) == math.isnan(better[label]), label
        assert math.isnan(before) or sign * (better[label] - before) >= -1e-9 * max(1, abs(before)), label


@pytest.mark.parametrize("measure", EVERY)
@few
@given(table=tables(), random=st.randoms(use_true_random=False))
def test_the_order_of_questions_and_entities_does_not_matter(measure: Measure, table: Table, random):
    """Means are the same to the last bit for any order of questions, in byte order or exact in parts."""
    order = random.sample(range(len(table.others)), len(table.others))
    entities = list(range(max(map(len, table.above))))
    same_bits = measure.name not in LAST_BIT_HANGS_ON_ORDER and random.random() < 0.5
    if not same_bits:
        random.shuffle(entities)
    qrels, ranks = table.inputs(order, entities)
    with unwarned():
        collection = table.collection(order, entities)
        shuffled = evaluate(qrels, ranks, spelled(measure), collection=collection).values[0, :, 0]
    plain = np.array(list(values(table, measure).values()))
    if same_bits:
        assert shuffled.tobytes() == plain.tobytes()
    else:
        np.testing.assert_allclose(shuffled, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measure", EVERY)
@few
@given(table=tables())
def test_repeating_every_question_changes_nothing_but_variance(measure: Measure, table: Table):
    """Sums double, and z forms of means grow by the root of 2.

    What chance gives to a geometric mean and the like falls with the number of items (E[GMR] of one item is that of
    its rank, of infinitely many the geometric mean of all ranks), so that their index and z have no such law.
    """
    once, twice = values(table, measure), values(table.twice(), measure)
    if measure.form != "plain" and measure.aggregate != "mean":
        return
    factor = 2.0 if measure.aggregate == "sum" else math.sqrt(2) if measure.form == "z" else 1.0
    for label, number in once.items():
        assert twice[label] == pytest.approx(factor * number, rel=1e-9, abs=1e-12, nan_ok=True), label


@pytest.mark.parametrize("measure", [m for m in EVERY if m.values[0] in KNOWING_CHANCE])
@few
@given(others=st.lists(st.integers(0, 8), min_size=1, max_size=4), n_answers=st.integers(1, 3))
def test_the_optimum_is_reached_with_every_answer_first(measure: Measure, others: list[int], n_answers: int):
    """Plain forms reach their optimum, index forms 1, ratios and z forms their best; undefined only without a choice.

    A cutoff below the number of answers leaves average precision, which divides by all answers, below 1.
    """
    best = Table(tuple(others), ((0,) * n_answers,) * len(others))
    for label, number in values(best, measure).items():
        if measure.form == "plain":
            assert number == pytest.approx(measure.optimum, abs=1e-12), label
        elif measure.form == "index" and not (label.startswith("AAP@") and n_answers > int(label[4:])):
            assert math.isnan(number) or number == pytest.approx(1.0, abs=1e-12), label
            undecided = sorted(others)[len(others) // 2] == 0 if "Median" in label else not any(others)
            assert not math.isnan(number) or "@" in label or undecided, label
        elif measure.form == "z":
            assert math.isnan(number) or label.startswith("ZAP@") or number > 0, label


PAIRS = [f"{form}{name}" for name in ("MRR", "Hits@2") for form in ("", "A", "Z")] + ["MR", "AMRI", "ZMR"]


@settings(max_examples=examples(60))
@given(world=worlds(), ties=st.sampled_from(["realistic", "optimistic", "pessimistic", "expected"]))
def test_micro_equals_macro_where_each_question_has_one_answer(world: World, ties: str):
    """With their index and z forms, and under every rule for ties; PyKEEN's macro is the same then, too."""
    answers = [{min(own)} for own in world.answers]
    grades = {(question, entity): 1 for question, own in enumerate(answers) for entity in own}
    single = World(world.scores, world.filtered, answers, grades)
    wanted = [f"{room}.{name}" for name in PAIRS for room in ("micro", "macro")]
    wanted += [f"pykeen.macro.{name}" for name in ("MR", "MRR", "Hits@2")]
    with unwarned():
        scores = evaluate(single.qrels(), single.answer_ranks(), wanted, ties=ties)
    found = dict(zip(scores.measures, scores.values[0, :, 0], strict=True))
    for name in PAIRS:
        assert found[f"micro.{name}"] == pytest.approx(found[f"macro.{name}"], rel=1e-9, abs=1e-12, nan_ok=True), name
    for name in ("MR", "MRR", "Hits@2"):
        assert found[f"pykeen.macro.{name}"] == pytest.approx(found[f"micro.{name}"], rel=1e-12)


@given(table=tables())
def test_each_question_alike_is_pykeens_macro(table: Table):
    """Weights 1 / |answers of the question|, over all answers; by hand: the mean of the questions' own means."""
    qrels, ranks = table.inputs()
    names = ("MR", "MRR", "Hits@3")
    weighted = evaluate(qrels, ranks, [f"micro.{name}" for name in names], weights="question").values[0, :, 0]
    pykeen = evaluate(qrels, ranks, [f"pykeen.macro.{name}" for name in names]).values[0, :, 0]
    assert weighted.tobytes() == pykeen.tobytes()
    assert pykeen[0] == pytest.approx(np.mean([np.mean(own) + 1 for own in table.above]), rel=1e-12)


@given(table=tables())
def test_wmr_is_gmr_with_each_relation_alike(table: Table):
    """The geometric mean over relations of each one's geometric mean rank."""
    _, ranks = table.inputs()
    collection = table.collection()
    wmr = evaluate(collection, ranks, "micro.WMR").values[0, 0, 0]
    assert wmr == evaluate(collection, ranks, "micro.GMR", weights="relation").values[0, 0, 0]
    logs = {
        r: np.mean([np.log(a + 1) for q, own in enumerate(table.above) if table.relation[q] == r for a in own])
        for r in set(table.relation)
    }
    assert wmr == pytest.approx(math.exp(np.mean(list(logs.values()))), rel=1e-12)

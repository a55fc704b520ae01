"""Chance levels: against simulation through ``evaluate``, and of a system that gives every candidate the same score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from kgtrec.errors import unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.measures.record import Measure
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import Table, spelled
from tests.worlds import World, worlds

INDEX_AND_Z = [m for m in registered() if m.form in ("index", "z")]
REPEATS = 1500
FEWER_REPEATS = 300  # where each repeat simulates its own chance level
SIMULATED = 1000  # samples behind a chance level without closed form


def random_ranks(repeats: int) -> Table:
    """Four answers of 2, 7, 12 and 12 candidates, each rank as likely as the next; one relation per repeat."""
    rng = np.random.default_rng(11)
    others = (1, 6, 11, 11)
    above = tuple((int(rng.integers(n + 1)),) for _ in range(repeats) for n in others)
    return Table(others * repeats, above, tuple(np.repeat(np.arange(repeats), len(others)).tolist()))


def random_lists(repeats: int) -> Table:
    """Three questions with 1 of 6, 3 of 9 and 2 of 4 candidates relevant, in a random order."""
    rng = np.random.default_rng(12)
    shapes = ((1, 6), (3, 9), (2, 4))
    rows = []
    for _ in range(repeats):
        for relevant, n in shapes:
            places = np.sort(rng.permutation(n)[:relevant])
            rows.append(tuple((places - np.arange(relevant)).tolist()))
    relation = tuple(np.repeat(np.arange(repeats), len(shapes)).tolist())
    return Table(tuple(n - r for r, n in shapes) * repeats, tuple(rows), relation)


@pytest.fixture(scope="module")
def simulated():
    cache = {}

    def values(items: str, repeats: int, labels: list[str]) -> np.ndarray:
        if (items, repeats) not in cache:
            table = random_ranks(repeats) if items == "answers" else random_lists(repeats)
            cache[items, repeats] = table.collection(), table.inputs()[1]
        collection, ranks = cache[items, repeats]
        return evaluate(collection, ranks, labels, per="relation").values[0]

    return values


@pytest.mark.parametrize("measure", INDEX_AND_Z, ids=lambda m: m.name)
def test_index_and_z_are_0_at_random_and_z_has_variance_1(measure: Measure, simulated):
    """Within five standard errors of the simulation, so that the expectations and variances behind them are right."""
    monte_carlo = measure.aggregate == "median"
    repeats = FEWER_REPEATS if monte_carlo else REPEATS
    for label, sample in zip(spelled(measure), simulated(measure.items, repeats, spelled(measure)), strict=True):
        assert np.isfinite(sample).all(), label
        own = 1 / repeats + (1 / SIMULATED if monte_carlo else 0)
        assert abs(sample.mean()) < 5 * sample.std() * own**0.5, label
        if measure.form == "z":
            kurtosis = ((sample - sample.mean()) ** 4).mean() / sample.var() ** 2
            assert abs(sample.var() - 1) < 5 * ((kurtosis - 1) * own) ** 0.5, label


def test_the_expected_number_is_the_plain_one_less_what_the_index_says(simulated):
    """E = (M - index) / (1 - index), the same for every sample: the index is affine in the measure."""
    for items, pairs in (
        ("answers", (("micro.MR", "micro.AMRI"), ("micro.MRR", "micro.AMRR"), ("micro.GMR", "micro.AGMRI"))),
        ("questions", (("macro.MRR", "macro.AMRR"), ("AP@3", "AAP@3"), ("nDCG@3", "AnDCG@3"))),
    ):
        for plain, index in pairs:
            value, adjusted = simulated(items, FEWER_REPEATS, [plain, index])
            below = adjusted < 0.99
            level = (value - adjusted)[below] / (1 - adjusted)[below]
            np.testing.assert_allclose(level, level[0], rtol=1e-9, err_msg=index)


def flat(world: World) -> World:
    """The same questions, every candidate with the same score."""
    return World([[0.5] * len(row) for row in world.scores], world.filtered, world.answers, world.grades)


def adjusted(world: World, labels: list[str], ties: str) -> np.ndarray:
    with unwarned():
        values = evaluate(world.qrels(), world.answer_ranks(), labels, ties=ties).values[0, :, 0]
    return np.nan_to_num(values)  # undefined where no question leaves a choice


@given(worlds())
def test_a_constant_score_has_the_realistic_amri_of_chance(world: World):
    """Its mean rank is (N + 1) / 2, which is what chance gives."""
    assert adjusted(flat(world), ["micro.AMRI", "micro.ZMR"], "realistic").tolist() == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize("measure", [m for m in INDEX_AND_Z if m.chance is not None], ids=lambda m: m.name)
@settings(max_examples=examples(15))
@given(world=worlds())
def test_a_constant_score_comes_out_at_chance(measure: Measure, world: World):
    """Every adjusted mean of items is 0 in expectation over tied orders, with any numbers of answers and candidates."""
    labels = [*spelled(measure), *([f"{measure.name}@20"] if measure.cutoff != "none" else [])]
    # what is left of a difference of equal numbers grows where chance leaves hardly any room
    assert np.abs(adjusted(flat(world), labels, "expected")).max() < 1e-12


def test_a_constant_score_is_not_at_chance_by_the_realistic_rank():
    """1 / mean rank is less than the mean of 1 / rank, so that AMRR needs the expectation; 3 candidates, by hand."""
    world = flat(World([[0.0, 0.0, 0.0]], [set()], [{0}], {(0, 0): 1}))
    expectation = (1 + 1 / 2 + 1 / 3) / 3
    assert adjusted(world, ["micro.AMRR"], "realistic")[0] == pytest.approx((0.5 - expectation) / (1 - expectation))
    assert adjusted(world, ["micro.AMRR"], "expected")[0] == pytest.approx(0, abs=1e-15)


def constant(questions: int, candidates: int) -> World:
    rows = [[0.0] * candidates] * questions
    return World(rows, [set()] * questions, [{0}] * questions, {(q, 0): 1 for q in range(questions)})


def test_a_constant_score_of_a_geometric_mean_by_hand():
    """One answer of two candidates: exp of the mean logarithm is the root of 2, where chance gives 3 / 2."""
    root = 2**0.5
    found = adjusted(constant(1, 2), ["micro.AGMRI"], "expected").tolist()
    assert found == pytest.approx([(root - 1.5) / (1 - 1.5)])


def test_a_constant_score_of_a_geometric_mean_nears_chance_with_the_number_of_answers():
    """exp is convex, so exp of the mean is below the mean of exp, by about 1 / answers."""
    few, many = (adjusted(constant(n, 30), ["micro.AGMRI"], "expected")[0] for n in (5, 500))
    assert few > 0
    assert abs(many) < abs(few) / 10


def test_a_constant_score_has_the_median_of_chance():
    """The middle of all ranks, from which simulated medians are as far on either side: within 5 standard errors."""
    z = adjusted(constant(50, 21), ["micro.ZMedianRank"], "expected")[0]
    assert abs(z) < 5 / SIMULATED**0.5

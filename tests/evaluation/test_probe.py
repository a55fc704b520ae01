"""PROBE: the formulas of its papers by hand and by enumeration, their six properties, and what they say of order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.chance import chance_table
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores, totals
from kgtrec.kernels.lists import expected_ties
from kgtrec.kernels.lists.answer_measures import power_above_last
from kgtrec.meta.stability import stability
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.laws.tables import Table

ALPHAS = (1.0, 0.5, 0.25, 0.0, -0.5, -1.0)
sizes = st.integers(2, 400)
alphas = st.sampled_from(ALPHAS) | st.floats(-1, 1).filter(lambda alpha: abs(alpha) > 0.01)


def score(rank: float, candidates: int, alpha: float) -> float:
    """Equation 2 of the paper, as it is written there; at alpha = 0 as in the authors' program."""
    if candidates == 1:
        return 1.0
    if alpha == 0:
        return 1 - math.log(rank) / math.log(candidates)
    return (rank**-alpha - 1) / (1 - candidates**-alpha) + 1


def ranked(collection: Collection, scores: np.ndarray | int, name: str = "s") -> AnswerRanks:
    """Of scores, or of random ones by their seed."""
    if isinstance(scores, int):
        scores = np.random.default_rng(scores).random((len(collection.questions), len(collection.entities)))
    return rank_scores(collection, scores, questions=collection, entities=collection, name=name).answer_ranks


def value(measure: str, collection: Collection, systems, **options) -> float:
    return evaluate(collection, systems, measure, **options).values[0, 0, 0]


@given(candidates=sizes, alpha=alphas, data=st.data())
def test_the_transformer_has_the_properties_of_the_paper(candidates: int, alpha: float, data):
    """Fixed optimum and pessimum, a better rank more, and sharpness: from one alpha to a greater one, less.

    "Candidate-size awareness", more for the same rank among more, holds from rank 2 on: at rank 1 it would contradict
    the fixed optimum, which the paper asks for too. So does sharpness at the first and the last rank.
    """
    rank = data.draw(st.integers(1, candidates))
    at = np.array([1, rank, min(rank + 1, candidates), candidates], float)
    found = power_above_last(at, np.full(4, candidates), alpha)
    assert found == pytest.approx([score(r, candidates, alpha) for r in at.tolist()], abs=1e-9)
    assert (found[0], found[3]) == pytest.approx((1, 0), abs=1e-12)
    assert found[1] > found[2] or rank == candidates
    larger = power_above_last(at[1:2], np.array([candidates + 1]), alpha)[0]
    sharper = power_above_last(at[1:2], np.array([candidates]), min(alpha + 0.1, 1.0))[0]
    assert larger == 1.0 if rank == 1 else larger > found[1]
    assert sharper < found[1] or rank in (1, candidates) or alpha == 1.0


def test_special_cases_are_known_measures():
    """MRR and the mean rank, each scaled to 0 for the last rank: of ten candidates, and for alpha = -1 AMRI's kin."""
    table = Table((9, 9, 9), ((0, 2), (4,), (9,)), (0, 0, 1))  # ranks 1, 3, 5, 10
    found = [value(f"micro.PROBE(alpha={alpha})", table.collection(), table.inputs()[1]) for alpha in (1, -1)]
    mrr, mr = (1 + 1 / 3 + 1 / 5 + 1 / 10) / 4, 19 / 4
    assert found == pytest.approx([(mrr - 1 / 10) / (1 - 1 / 10), (10 - mr) / 9])


@pytest.mark.parametrize("alpha", [1e-3, 1e-7, -1e-9, 1e-12, 1e-17, 1e-300, 0.0])
def test_near_0_alpha_has_the_limit_with_ties_too(alpha: float):
    """The mean over the orders of ties differs from that of alpha = 0 by no more than alpha x ln N."""
    best, worst, candidates = np.array([1, 3, 14_000]), np.array([9, 3, 14_541]), np.full(3, 14_541)
    limit = [
        1 - np.log(np.arange(low, high + 1)).mean() / np.log(14_541) for low, high in zip(best, worst, strict=True)
    ]
    found = expected_ties.power_above_last(best, worst, candidates, alpha)
    np.testing.assert_allclose(found, limit, rtol=0, atol=abs(alpha) * np.log(14_541) + 1e-9)


def test_the_order_of_the_papers_example():
    """Ranks 300 2 1, 10 3 2 and 5 4 4: the first system leads at alpha = 1, the second at .25, the third weighted.

    The last holds of a constant as small as 1/1000; with the constants of the authors' program the first still leads.
    """
    ranks = np.array([[300, 2, 1], [10, 3, 2], [5, 4, 4]], float)
    sharp, mild = (power_above_last(ranks, np.full((3, 3), 10_000), alpha) for alpha in (1.0, 0.25))
    assert (sharp.mean(axis=1).argmax(), mild.mean(axis=1).argmax()) == (0, 1)
    entity, relation = np.array([0.1, 0.5, 0.5]), np.array([0.25, 0.8, 0.8])
    small, least = (((e + entity) * (r + relation)) ** -0.8 for e, r in ((1e-3, 1e-3), (0.1, 0.25)))
    assert ((sharp @ small).argmax(), (sharp @ least).argmax()) == (2, 0)


TRAIN = [
    ("ann", "likes", "tea"),
    ("bob", "likes", "tea"),
    ("cat", "likes", "tea"),
    ("ann", "knows", "bob"),
    ("tea", "comes from", "asia"),
]
TEST = [("dan", "likes", "tea"), ("dan", "likes", "pie"), ("cat", "knows", "ann"), ("pie", "comes from", "asia")]


@pytest.fixture(scope="module")
def world() -> Collection:
    none = Triples.of([])
    policies = {"unseen_entities": "keep", "unseen_relations": "keep"}
    return build_questions(Triples.of(TRAIN), none, Triples.of(TEST), **policies)


def by_the_paper(collection: Collection, items, alpha: float, beta: float, relations: bool) -> float:
    """Equations 2 to 6 from the labels of TRAIN, with the constants of the authors' program."""
    facts = [(e, r) for head, r, tail in TRAIN for e in (head, tail)]
    degree, share = [], []
    for row, code in zip(items.question, items.entity, strict=True):
        topic = collection.topics_of(items.questions)[row]
        entity, relation = items.entities[code], collection.relations[collection.questions.relation[topic]]
        d = sum(e == entity for e, _ in facts)
        degree.append(d / (2 * len(TRAIN)))
        share.append(facts.count((entity, relation)) / d if d else 0.0)
    if not relations:
        weight = [(1 + 2 * len(TRAIN) * d) ** -beta for d in degree]
    else:
        small = [min(v for v in values if v > 0) for values in (degree, share)]
        weight = [(small[0] + d) ** -beta * (small[1] + s) ** -beta for d, s in zip(degree, share, strict=True)]
    total = math.fsum(weight)
    return math.fsum(w / total * v for w, v in zip(weight, items.value[0], strict=True))


@pytest.mark.parametrize("relations", [True, False])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.8), (0.25, 0.4), (0.0, 1.0), (-1.0, 0.2)])
def test_the_aggregator_is_that_of_the_paper(world: Collection, alpha: float, beta: float, relations: bool):
    """Degrees of answers in train, alone and under the relation, by plain counting; pie has no fact in train."""
    ranks = ranked(world, 4)
    name = f"micro.PROBE(alpha={alpha}, beta={beta}, relations={relations})"
    items = item_scores(world, ranks, name)[name]
    answers = [(ranks.questions[q], ranks.entities[e]) for q, e in zip(ranks.question, ranks.entity, strict=True)]
    places = zip(ranks.above + 1.0, ranks.n_other + 1, strict=True)
    of_answer = dict(zip(answers, places, strict=True))
    pairs = [(items.questions[q], items.entities[e]) for q, e in zip(items.question, items.entity, strict=True)]
    assert items.value[0] == pytest.approx([score(*of_answer[pair], alpha) for pair in pairs])
    expected = by_the_paper(world, items, alpha, beta, relations)
    assert totals(items)[0] == pytest.approx(expected, rel=1e-12)
    assert value(name, world, ranks) == pytest.approx(expected, rel=1e-12)


def test_rare_answers_count_more(world: Collection):
    """Popularity awareness: the weight falls as the degree of the answer grows, all else the same; not without beta."""
    ranks = ranked(world, 0)
    weight = item_scores(world, ranks, "micro.PROBE(beta=1, relations=False)")["micro.PROBE(beta=1, relations=False)"]
    of_answer = {weight.entities[e]: w for e, w in zip(weight.entity, weight.weight, strict=True)}
    assert of_answer["pie"] > of_answer["asia"] > of_answer["ann"] > of_answer["tea"]
    assert item_scores(world, ranks, "micro.PROBE")["micro.PROBE"].weight is None


@settings(max_examples=examples(10))
@given(seed=st.integers(0, 1000), alpha=st.sampled_from(ALPHAS))
def test_by_chance_is_the_mean_over_all_ranks(world: Collection, seed: int, alpha: float):
    """Expectation and variance of the weighted mean of answers whose ranks are uniform, by plain sums."""
    ranks = ranked(world, seed)
    name = f"micro.PROBE(alpha={alpha}, beta=0.8)"
    items = item_scores(world, ranks, name)[name]
    table = chance_table(world, name)
    n = {ranks.questions[q]: int(other) + 1 for q, other in zip(ranks.question, ranks.n_other, strict=True)}
    sizes = [n[items.questions[q]] for q in items.question]
    own = [[score(r, size, alpha) for r in range(1, size + 1)] for size in sizes]
    weight = items.weight / items.weight.sum()
    expected = weight @ [np.mean(values) for values in own], weight**2 @ [np.var(values) for values in own]
    assert table.level(name, "both") == pytest.approx(expected, rel=1e-10)


def test_what_it_needs_is_said(world: Collection):
    """Counts of train facts; other weights are left aside; a subsample has none of its own."""
    table = Table((9, 9), ((0,), (2,)), (0, 0))
    qrels, ranks = table.inputs()
    for collection in (None, table.collection()):
        with pytest.raises(
            KgtrecError, match=r"micro.PROBE\(beta=1\) needs train triples, .*(give a collection|kgtrec questions)"
        ):
            evaluate(qrels, ranks, "micro.PROBE(beta=1)", collection=collection)
    with pytest.raises(MeasureError, match="expected a number from 0 to 10 as beta"):  # weights would be 0 in float64
        evaluate(world, ranked(world, 1), "micro.PROBE(beta=1000)")
    with pytest.warns(KgtrecWarning, match=r"micro.PROBE\(beta=1\) weighs answers by beta by definition; the"):
        evaluate(world, ranked(world, 1), "micro.PROBE(beta=1)", weights="question")
    one, two = (ranked(world, seed, f"s{seed}") for seed in (1, 2))
    with pytest.raises(MeasureError, match=r"depend on which answers are drawn.*use beta=0, or kgtrec meta"):
        stability(world, [one, two], "micro.PROBE(beta=1)", sizes=[2], repeats=2)


def seen(orders: dict[str, str], labelled: str) -> dict[str, list[tuple[int, int]]]:
    """Filtered rank and number of candidates of each labelled answer in lists of entities, all else candidates."""
    wrong = len(orders["one"]) - len(labelled)
    return {
        name: [(1 + sum(e not in labelled for e in order[: order.index(answer)]), 1 + wrong) for answer in labelled]
        for name, order in orders.items()
    }


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_missing_fact_can_turn_the_order_around(alpha: float):
    """Relative performance is not always kept, as the paper says it is: true answers a and b, and a wrong one.

    With both labels, one (b a w) has ranks 1 and 1, two (a w b) 1 and 2 of 2. Without b's label a is at rank 2 of 3 in
    one, at 1 in two. A single answer is left, so that no weights could change that. Evaluated from rank tables.
    """
    orders = {"one": "baw", "two": "awb"}
    full, sparse = (
        {name: np.mean([score(*place, alpha) for place in own]) for name, own in seen(orders, labelled).items()}
        for labelled in ("ab", "a")
    )
    assert (full["one"], full["two"]) == (1.0, 0.5)
    assert sparse["one"] < sparse["two"] == 1.0
    systems = []
    for name, order in orders.items():
        at = [float(-order.index(entity)) for entity in "abw"]
        for labelled in ({(0, 0): 1, (0, 1): 1}, {(0, 0): 1}):
            made = collection_of(1, 3, labelled)
            ranks = ranked(made, np.array([at]), name)
            systems.append(value(f"micro.PROBE(alpha={alpha})", made, ranks))
    assert systems == pytest.approx([full["one"], sparse["one"], full["two"], sparse["two"]], abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_facts_missing_at_random_can_turn_the_expected_order_around(alpha: float):
    """Three true answers of which a random one is labelled: w a b c x y z against a w x y z b c, in expectation.

    True answers above add to the rank of a labelled one; that costs most at the first ranks. With all labels the first
    list leads, without the second, at alpha = 1 and .5, and no more at .25 and below; at alpha = -1, where the score is
    linear in the rank, a random label never turns an expected order around (here every pair of lists is tried).
    """

    def lead(one: str, two: str) -> tuple[float, float]:
        orders = {"one": one, "two": two}
        kept = ["abc"], list("abc")
        means = [
            {n: np.mean([score(*p, alpha) for part in labelled for p in seen(orders, part)[n]]) for n in orders}
            for labelled in kept
        ]
        return tuple(mean["one"] - mean["two"] for mean in means)

    full, sparse = lead("wabcxyz", "awxyzbc")
    assert full > 0
    assert (sparse < 0) == (alpha >= 0.5)
    if alpha == -1:
        lists = ["".join(order) for order in set(itertools.permutations("tttxxx"))]
        named = [replaced(each) for each in lists]
        for one, two in itertools.combinations(named, 2):
            before, after = lead(one, two)
            assert before * after > -1e-12 or abs(before) < 1e-12


def replaced(order: str) -> str:
    """A list of true and wrong candidates with names: a, b, c and w, x, y."""
    true, wrong = iter("abc"), iter("wxy")
    return "".join(next(true) if each == "t" else next(wrong) for each in order)

from __future__ import annotations

import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.scoring import TIE_POLICIES
from kgtrec.evaluation.ties import compare_ties
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import names
from tests.worlds import World, worlds

LINKED = ("micro.GMR", "micro.IGMR", "micro.HMR", "micro.IMR", "micro.MedianRank")
MEASURES = names("""
    micro.MR micro.MRR micro.Hits@2 macro.MR macro.MRR macro.Hits@2 AP AP@2 nDCG nDCG@2 P@2 R@2 Rprec RBP(rel=1) Q
""")


def orders(world: World, question: int) -> list[list[int]]:
    """Every order of a question's candidates that sorts them by score."""
    scores = world.scores[question]
    groups = [
        [e for e in world.candidates(question) if scores[e] == score]
        for score in sorted({scores[e] for e in world.candidates(question)}, reverse=True)
    ]
    assume(math.prod(math.factorial(len(group)) for group in groups) <= 720)
    permuted = itertools.product(*(itertools.permutations(group) for group in groups))
    return [list(itertools.chain.from_iterable(order)) for order in permuted]


def in_one_order(world: World, question: int, order: list[int], filtered: bool) -> tuple[list[float], dict[str, float]]:
    """Micro ranks of the answers, and macro measures, of one list, one entity at a time."""
    answers = world.answers[question]
    ranks = [
        1 + sum(e not in answers or not filtered for e in order[: order.index(answer)]) for answer in sorted(answers)
    ]
    hits = [entity in answers for entity in order]
    best = 1 + hits.index(True)
    precisions = [sum(hits[: place + 1]) / (place + 1) * hit for place, hit in enumerate(hits)]
    gains = [hit / math.log2(place + 2) for place, hit in enumerate(hits)]
    ideal = [1 / math.log2(place + 2) for place in range(len(answers))]
    macro = {
        "macro.MR": best,
        "macro.MRR": 1 / best,
        "macro.Hits@2": best <= 2,
        "AP": sum(precisions) / len(answers),
        "AP@2": sum(precisions[:2]) / len(answers),
        "nDCG": sum(gains) / sum(ideal),
        "nDCG@2": sum(gains[:2]) / sum(ideal[:2]),
        "P@2": sum(hits[:2]) / 2,
        "R@2": sum(hits[:2]) / len(answers),
        "Rprec": sum(hits[: len(answers)]) / len(answers),
        "Q": sum(
            hit * 2 * sum(hits[: place + 1]) / (place + 1 + min(place + 1, len(answers)))
            for place, hit in enumerate(hits)
        )
        / len(answers),
        "RBP(rel=1)": sum(0.2 * 0.8**place * hit for place, hit in enumerate(hits)),
    }
    return ranks, macro


def obvious_expectation(world: World, filtered: bool) -> dict[str, float]:
    """Every measure as the plain mean over all orders."""
    micro: list[list[list[float]]] = []
    macro = []
    for question in range(len(world.scores)):
        seen = [in_one_order(world, question, order, filtered) for order in orders(world, question)]
        macro.append({name: math.fsum(s[1][name] for s in seen) / len(seen) for name in seen[0][1]})
        micro.append([s[0] for s in seen])

    def mean_over_answers(term) -> float:
        total = math.fsum(math.fsum(term(r) for ranks in lists for r in ranks) / len(lists) for lists in micro)
        return total / sum(len(lists[0]) for lists in micro)

    means = {name: math.fsum(values[name] for values in macro) / len(macro) for name in macro[0]}
    mean_log, mean_reciprocal, mean = (mean_over_answers(term) for term in (math.log, lambda r: 1 / r, lambda r: r))
    return means | {
        "micro.GMR": math.exp(mean_log),
        "micro.IGMR": math.exp(-mean_log),
        "micro.HMR": 1 / mean_reciprocal,
        "micro.IMR": 1 / mean,
        "micro.MedianRank": median_over_orders(micro),
        "micro.MR": mean_over_answers(lambda r: r),
        "micro.MRR": mean_over_answers(lambda r: 1 / r),
        "micro.Hits@2": mean_over_answers(lambda r: r <= 2),
    }


def median_over_orders(micro: list[list[list[float]]]) -> float:
    """Of every rank of every answer in every order, each question's orders together counting as one."""
    copies = math.lcm(*(len(lists) for lists in micro))
    return float(
        np.median([r for lists in micro for ranks in lists for r in ranks for _ in range(copies // len(lists))])
    )


@settings(max_examples=examples(80))
@given(worlds(), st.sampled_from(["filtered", "raw", "run"]))
def test_expected_is_the_mean_over_all_orders(world: World, kind: str):
    """Answer ranks, filtered and raw, and the list of a run: a slow enumeration of every order."""
    expected = obvious_expectation(world, kind != "raw")
    system = world.answer_ranks(("train", "valid", "test") if kind == "filtered" else ("train", "valid"))
    if kind == "run":
        system = world.run()
        expected = {name: value for name, value in expected.items() if not name.startswith("micro")}
    scores = evaluate(world.qrels(), system, list(expected), ties="expected")
    assert {name: scores.value("w", name) for name in expected} == pytest.approx(expected, rel=1e-12)


@given(worlds(regraded=True))
def test_the_extremes_hold_the_others_between_them(world: World):
    """Expected, realistic ranks and any random order lie between pessimistic and optimistic."""
    assume(any(grade >= 1 for grade in world.grades.values()))
    measures = (*LINKED, *(name for name in MEASURES[:11] if name != "macro.MR"))
    compared = compare_ties(world.qrels(), world.answer_ranks(), measures)
    worst, best = (compared.policies.index(name) for name in ("pessimistic", "optimistic"))
    for number in range(len(measures)):
        low, high = sorted(compared.values[0, number, [worst, best]])
        for policy in ("expected", "nondeterministic"):
            value = compared.values[0, number, compared.policies.index(policy)]
            assert low - 1e-12 <= value <= high + 1e-12


@given(worlds())
def test_without_ties_all_policies_agree(world: World):
    """Distinct scores: nothing is tied, and every policy gives one value."""
    distinct = World(
        [[float(place) for place in np.random.default_rng(3).permutation(len(row))] for row in world.scores],
        world.filtered,
        world.answers,
        world.grades,
    )
    for system in (distinct.answer_ranks(), distinct.run()):
        measures = (*LINKED, *MEASURES) if system.__class__.__name__ == "AnswerRanks" else MEASURES[3:]
        compared = compare_ties(distinct.qrels(), system, measures)
        np.testing.assert_allclose(compared.values, compared.values[:, :, :1] + 0 * compared.values, rtol=1e-12)
        assert compared.tied.tolist() == [0.0]
        assert np.isnan(compared.mean_group).all()
        assert compared.largest_group.tolist() == [1]


@pytest.mark.slow
def test_random_orders_average_to_the_expectation():
    """Monte Carlo over 400 known answers, from answer ranks and from a run, within five standard errors."""
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 3, 30).astype(float).tolist() for _ in range(4)]
    answers = [{1, 2, 3}, {4}, {5, 9, 11, 12}, {0, 29}]
    world = World(rows, [set()] * 4, answers, {(q, e): 1 for q, own in enumerate(answers) for e in own})
    for system, measures in ((world.answer_ranks(), MEASURES), (world.run(), MEASURES[3:])):
        expected = evaluate(world.qrels(), system, measures, ties="expected").values[0, :, 0]
        options = {"ties": "nondeterministic"}
        each = (evaluate(world.qrels(), system, measures, seed=seed, **options).values for seed in range(400))
        drawn = np.concatenate(list(each))[:, :, 0]
        error = drawn.std(axis=0) / math.sqrt(len(drawn))
        assert np.all(np.abs(drawn.mean(axis=0) - expected) <= 5 * error + 1e-12)


WORLD = World([[1.0, 1.0, 0.0, 1.0]], [set()], [{0}], {(0, 0): 1})


def test_the_table_tells_groups_and_policies():
    """One answer among three that tie at the top: RR 1/3, 1/2, 11/18, 1."""
    compared = compare_ties(WORLD.qrels(), [WORLD.answer_ranks(), WORLD.run().renamed("run")], "RR")
    assert compared.policies == ("pessimistic", "realistic", "expected", "optimistic", "nondeterministic", "trec")
    assert set(compared.policies) == set(TIE_POLICIES)
    row = compared.to_frame().iloc[0]
    assert (row["system"], row["tied"], row["mean_group"], row["largest_group"]) == ("w", 1.0, 3.0, 3)
    found = [row[name] for name in ("pessimistic", "realistic", "expected", "optimistic", "apart")]
    assert found == pytest.approx([1 / 3, 1 / 2, 11 / 18, 1, 2 / 3])
    assert np.isnan(compared.value("w", "RR", "trec"))
    assert compared.value("run", "RR", "trec") == 1 / 3  # e3 and e1 come before e0
    assert compared.value("run", "RR", "expected") == pytest.approx(11 / 18)


def test_every_measure_over_answers_has_an_expectation():
    """None is refused."""
    assert [measure.name for measure in registered("answers") if measure.expected is None] == []


def test_a_constant_score_leaves_no_rounding():
    """AMRI is -1, 0 and 1 and AHits never -0, to the last bit, whatever the numbers of candidates."""
    rows = [[0.5] * 11] * 7
    filtered = [set(range(4, 4 + q)) for q in range(7)]
    world = World(rows, filtered, [{0}] * 7, {(q, 0): 1 for q in range(7)})
    compared = compare_ties(world.qrels(), world.answer_ranks(), ["micro.AMRI", "micro.AHits@1", "micro.ZMR"])
    found = dict(zip(compared.policies, compared.values[0].T.tolist(), strict=True))
    assert found["pessimistic"][0] == -1.0
    assert found["optimistic"][:2] == [1.0, 1.0]
    assert str(found["expected"]) == "[0.0, 0.0, 0.0]"
    assert found["realistic"][0] == 0.0


def test_only_the_policies_asked_for():
    """Optimistic and pessimistic are always there."""
    compared = compare_ties(WORLD.qrels(), WORLD.answer_ranks(), "RR", policies="expected")
    assert compared.policies == ("pessimistic", "expected", "optimistic")
    with pytest.raises(KgtrecError, match=r"expected policies for ties among trec, .*, found 'best'"):
        compare_ties(WORLD.qrels(), WORLD.answer_ranks(), policies=["best"])


def test_a_measure_without_a_closed_form_stops():
    """The message names the alternatives; in the comparison its place is empty."""
    with pytest.raises(MeasureError, match="Bpref has no exact expectation over the orders of tied candidates; choose"):
        evaluate(WORLD.qrels(), WORLD.answer_ranks(), "Bpref", ties="expected")
    compared = compare_ties(WORLD.qrels(), WORLD.answer_ranks(), "Bpref")
    assert np.isnan(compared.value("w", "Bpref", "expected"))
    assert not np.isnan(compared.value("w", "Bpref", "optimistic"))


def test_providers_have_their_own_tie_rule():
    """A value that ignores the rule asked for would mislead."""
    with pytest.raises(MeasureError, match=r"ERR@10 is computed by ir-measures' providers, which order ties in"):
        evaluate(WORLD.qrels(), WORLD.run(), "ERR@10", ties="optimistic")


def test_warnings_are_told_once():
    """A question that the qrels lack is the same under every policy."""
    qrels = pd.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "relevance": [1]})
    run = pd.DataFrame({"query_id": ["q1", "zz"], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    with pytest.warns(KgtrecWarning) as told:
        compare_ties(qrels, {"mine": run}, "RR")
    assert [str(warning.message).split(" (")[0] for warning in told] == [
        "mine: 1 of its questions are not in the qrels and are left out"
    ]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 20)), min_size=1, max_size=4), st.integers(1, 8))
def test_constant_scores_come_out_at_chance_in_every_measure(questions: list[tuple[int, int]], k: int):
    """R relevant among N candidates that all tie: the closed forms of a random order, question by question."""
    width = max(relevant + others for relevant, others in questions)
    world = World(
        [[0.5] * width for _ in questions],
        [set(range(relevant + others, width)) for relevant, others in questions],
        [set(range(relevant)) for relevant, _ in questions],
        {(q, e): 1 for q, (relevant, _) in enumerate(questions) for e in range(relevant)},
    )
    expected = []
    for relevant, others in questions:
        n = relevant + others
        cut = min(k, n)
        harmonic = sum(1 / i for i in range(1, cut + 1))
        first = [math.comb(n - j, relevant - 1) / math.comb(n, relevant) for j in range(1, n - relevant + 2)]
        pairs = (relevant - 1) / (n - 1) if n > 1 else 0.0
        discounts = [1 / math.log2(i + 1) for i in range(1, max(k, relevant) + 1)]
        expected.append(
            [
                1 - math.comb(n - relevant, cut) / math.comb(n, cut),
                sum(p / j for j, p in enumerate(first, 1)),
                (harmonic + pairs * (cut - harmonic)) / n,
                relevant / n * sum(discounts[:cut]) / sum(discounts[: min(k, relevant)]),
                (n + 1) / (relevant + 1),
            ]
        )
    measures = [f"macro.Hits@{k}", "macro.MRR", f"AP@{k}", f"nDCG@{k}", "macro.MR"]
    scores = evaluate(world.qrels(), world.answer_ranks(), measures, ties="expected", per="question")
    np.testing.assert_allclose(scores.values[0].T, expected, rtol=1e-12)
    micro = evaluate(world.qrels(), world.answer_ranks(), "micro.MRR", ties="expected").value("w", "micro.MRR")
    chance = [sum(1 / i for i in range(1, others + 2)) / (others + 1) for _, others in questions]
    assert micro == pytest.approx(np.average(chance, weights=[relevant for relevant, _ in questions]))


@given(worlds())
def test_the_realistic_rank_of_the_best_answer_is_the_mean_of_its_ends(world: World):
    """Per question, as for a single answer; and its reciprocal is nearer to the mean over orders than that of a rank
    of its own, as if the other answers that it ties with were not relevant."""
    inputs = world.qrels(), world.answer_ranks(), ["macro.MR", "macro.MRR"]
    policies = ("optimistic", "realistic", "pessimistic", "expected")
    values = {ties: evaluate(*inputs, per="question", ties=ties).values[0] for ties in policies}
    best = values["realistic"][0]
    np.testing.assert_array_equal(best, (values["optimistic"][0] + values["pessimistic"][0]) / 2)
    for question, scores in enumerate(world.scores):
        candidates = [scores[e] for e in world.candidates(question)]
        top = max(scores[e] for e in world.answers[question])
        own = sum(score > top for score in candidates) + (sum(score == top for score in candidates) + 1) / 2
        assert values["expected"][1, question] >= 1 / best[question] - 1e-12
        assert 1 / best[question] >= 1 / own - 1e-12


def test_two_of_three_tied_candidates_are_relevant():
    """The best answer is first or second, so 1.5; AP at places 1.5 and 2.5, of 1, .833 and .583 in the three orders."""
    world = World([[1.0, 1.0, 1.0]], [set()], [{0, 1}], {(0, 0): 1, (0, 1): 1})
    for system in (world.run(), world.answer_ranks()):
        for ties, expected in (
            ("realistic", [1.5, 2 / 3, (1 / 1.5 + 2 / 2.5) / 2]),
            ("expected", [4 / 3, 5 / 6, (1 + 5 / 6 + 7 / 12) / 3]),
        ):
            found = evaluate(world.qrels(), system, "macro.MR macro.MRR AP", ties=ties).values.ravel()
            assert found.tolist() == pytest.approx(expected)


def test_qrels_that_can_be_read_once_serve_every_policy():
    """An iterable of named tuples is used up by the first look."""
    judged = [ir_measures.Qrel("q1", "a", 1)]
    run = {"q1": {"x": 1.0, "a": 1.0}}
    assert compare_ties(iter(judged), {"mine": run}, "RR", policies=["expected"]).values.tolist() == [
        [[0.5, 0.75, 1.0]]
    ]

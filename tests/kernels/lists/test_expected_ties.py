from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.chance import lists as chance_lists
from kgtrec.kernels.lists import expected_ties, list_measures
from kgtrec.kernels.lists.relevant_rows import ranking_of
from kgtrec.kernels.lists.tied_ranking import TiedRanking, tied_ranking_of
from kgtrec.measures.names import parse_measure
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import names

Grade = int | None

#: measures whose expectation is exact, over whole lists and cut ones, graded and binary, with and without unjudged
SUPPORTED = names("""
    macro.MR macro.MRR macro.Hits@1 macro.Hits@3 AP AP@2 AP(rel=2)@3 AP(judged_only=True) nDCG nDCG@2
    nDCG(dcg='exp-log2')@3 nDCG(gains={1: 3, 2: 1}) nDCG(judged_only=True)@2 P@1 P@3 P(judged_only=True)@2 R@2 RR
    RR@2 RR(rel=2) RR(judged_only=True) Success@2 Rprec Rprec_mult@1.5 relative_P@2 Judged@2 Judged unj@2 RBP
    RBP(p=0.5, rel=1)@2 RBP(p=0.0) RBP(p=1.0) SetP SetP(relative=True) SetR SetF SetAP SetP(judged_only=True) NumQ
    NumRet NumRet(rel=1) NumRel utility num_nonrel_judged_ret RBP(judged_only=True) RBPResidual RBPResidual(p=0.3)@2
    Q Q@2 Q(beta=0) Q(beta=0.7)@3 Q(gains={1: 3, 2: 1}) Q(judged_only=True)
""")


def over_all_orders(measure: str, groups: list[list[Grade]], missing: list[int]) -> float:
    """Mean of a measure over every order of every group of tied candidates."""
    parsed = parse_measure(measure)
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    lists = [list(itertools.chain.from_iterable(order)) for order in orders]
    values = parsed(ranking_of(lists, [missing] * len(lists)))
    return math.fsum(values) / len(values)


grade = st.sampled_from([None, None, 0, 1, 1, 2, -1])
lists = st.lists(st.lists(grade, min_size=1, max_size=4), max_size=2)


@pytest.mark.parametrize("measure", SUPPORTED)
@settings(max_examples=examples(25))
@given(st.lists(st.tuples(lists, st.lists(st.sampled_from([0, 1, 2]), max_size=2)), min_size=1, max_size=3))
def test_the_expectation_is_the_mean_over_all_orders(measure: str, world: list[tuple[list[list[Grade]], list[int]]]):
    """Closed forms equal the plain mean over every permutation of every tied group, question by question."""
    groups, missing = [question[0] for question in world], [question[1] for question in world]
    parsed = parse_measure(measure)
    found = parsed.record.expected(tied_ranking_of(groups, missing), **parsed.parameters)
    expected = [over_all_orders(measure, *question) for question in world]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_every_measure_over_questions_with_an_expectation_is_checked():
    """The list above forgets none that is registered here."""
    checked = {parse_measure(measure).record.name for measure in SUPPORTED}
    with_expectation = {
        measure.name for measure in registered("questions") if measure.expected and measure.form == "plain"
    }
    assert checked >= with_expectation


ANSWERS = {  # the kernel, the averaged quantity, and how its mean becomes the value
    "rank": (expected_ties.rank, mpmath.mpf, mpmath.mpf),
    "reciprocal": (expected_ties.reciprocal, lambda r: 1 / mpmath.mpf(r), mpmath.mpf),
    "hit": (lambda best, worst: expected_ties.hit(best, worst, 5), lambda r: mpmath.mpf(r <= 5), mpmath.mpf),
    "log": (expected_ties.log_reciprocal, lambda r: 1 / mpmath.log(r + 1, 2), mpmath.mpf),
    "power": (lambda best, worst: expected_ties.power(best, worst, 0.5), lambda r: mpmath.mpf(r) ** -0.5, mpmath.mpf),
    "geometric": (expected_ties.geometric_rank, mpmath.log, mpmath.exp),
    "harmonic": (expected_ties.harmonic_rank, lambda r: 1 / mpmath.mpf(r), lambda mean: 1 / mean),
}


@pytest.mark.parametrize("name", ANSWERS)
@given(st.lists(st.tuples(st.integers(1, 3_000), st.integers(0, 700)), min_size=1, max_size=5))
def test_an_answers_rank_is_uniform_between_its_extremes(name: str, answers: list[tuple[int, int]]):
    """The mean over every rank from the optimistic to the pessimistic one, or what it is linked to."""
    kernel, term, back = ANSWERS[name]
    best = np.array([answer[0] for answer in answers])
    worst = best + np.array([answer[1] for answer in answers])
    for found, first, last in zip(kernel(best, worst), best.tolist(), worst.tolist(), strict=True):
        mean = mpmath.fsum(term(r) for r in range(first, last + 1)) / (last + 1 - first)
        assert found == pytest.approx(float(back(mean)), rel=1e-13 if back is mpmath.mpf else 1e-12)


@pytest.mark.parametrize(
    ("first", "last"), [(1, 10**8), (10**8, 10**8 + 1), (10**8, 10**8 + 999), (1, 2), (257, 10**7)]
)
def test_geometric_ranks_far_down_keep_their_digits(first: int, last: int):
    """(last! / (first - 1)!) ** (1 / ties) by the gamma function in 60 digits, where floats would cancel."""
    with mpmath.workdps(60):
        mean = (mpmath.loggamma(last + 1) - mpmath.loggamma(first)) / (last + 1 - first)
        expected = float(mpmath.exp(mean))
    assert expected_ties.geometric_rank(np.array([first]), np.array([last]))[0] == pytest.approx(expected, rel=1e-12)


def test_a_reciprocal_rank_among_a_hundred_million_ties():
    """H(10 ** 8) / 10 ** 8, and a thousand ties far down keep their digits: no prefix sums are subtracted."""
    found = expected_ties.reciprocal(np.array([1, 10**8]), np.array([10**8, 10**8 + 999]))
    with mpmath.workdps(40):
        first = mpmath.harmonic(10**8) / 10**8
        second = (mpmath.harmonic(10**8 + 999) - mpmath.harmonic(10**8 - 1)) / 1000
    np.testing.assert_allclose(found, [float(first), float(second)], rtol=1e-14)


@pytest.mark.slow
def test_shuffled_lists_agree_with_the_expectation():
    """Monte Carlo on a group of 300 with 40 relevant, behind two relevant ones: within four standard errors."""
    group: list[Grade] = [1] * 40 + [None] * 260
    ranking = tied_ranking_of([[[1], [None, 1], group]])
    rng = np.random.default_rng(7)
    for measure in ("macro.MRR", "AP", "AP@20", "nDCG", "nDCG@20", "P@10", "macro.MR", "Rprec"):
        parsed = parse_measure(measure)
        orders = [[1, *rng.permutation([None, 1]), *rng.permutation(group)] for _ in range(400)]
        values = parsed(ranking_of(orders))
        error = values.std() / math.sqrt(len(values))
        assert abs(parsed.record.expected(ranking, **parsed.parameters)[0] - values.mean()) <= 4 * error + 1e-12


@pytest.mark.parametrize(("relevant", "candidates"), [(1, 1), (1, 14_541), (7, 9), (40, 10**5), (300, 10**8)])
@pytest.mark.parametrize("cutoff", [1, 20, 1_000, None])
def test_one_group_of_everything_is_a_random_order(relevant: int, candidates: int, cutoff: int | None):
    """The chance model's own closed forms, derived and written apart from these."""
    rows = np.zeros(relevant, np.int32)
    size = np.full(relevant, candidates)
    ranking = TiedRanking(
        n_questions=1,
        num_retrieved=size[:1],
        question=rows,
        first=np.ones_like(size),
        size=size,
        grade=rows + 1,
        judged_question=rows,
        judged_grade=rows + 1,
    )
    pairs = [
        (expected_ties.average_precision(ranking, cutoff=cutoff), chance_lists.expected_average_precision),
        (expected_ties.ndcg(ranking, cutoff), chance_lists.expected_ndcg),
    ]
    if cutoff is None:
        pairs += [
            (expected_ties.reciprocal_rank(ranking), chance_lists.expected_reciprocal_best_rank),
            (expected_ties.best_rank(ranking), chance_lists.expected_best_rank),
        ]
    else:
        pairs += [
            (expected_ties.success(ranking, cutoff), chance_lists.expected_success),
            (list_measures.precision(ranking, cutoff), lambda r, n, k: np.minimum(k, n) * r / n / k),
            (list_measures.recall(ranking, cutoff), lambda r, n, k: np.minimum(k, n) / n),
        ]
    for found, function in pairs:
        at = () if function.__name__.endswith("best_rank") else (cutoff,)
        expected = np.ravel(function(np.array([relevant]), np.array([candidates]), *at))
        np.testing.assert_allclose(found, expected, rtol=1e-10)

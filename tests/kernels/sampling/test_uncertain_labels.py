"""Measures of uncertain labels: equal to enumeration of all labels, and of all samples that could be judged."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgtrec
from kgtrec.kernels.lists import credit
from kgtrec.kernels.lists.answer_measures import reciprocal
from kgtrec.kernels.lists.credit import UNLISTED
from kgtrec.kernels.sampling.uncertain_labels import (
    Lists,
    expansion,
    expected_values,
    gradients,
    label_estimates,
    mean_of_opened,
)
from tests.examples import examples

MEASURES = {
    "nDCG@3": partial(credit.ndcg, cutoff=3),
    "nDCG": credit.ndcg,
    "AP@4": partial(credit.average_precision, cutoff=4),
    "P@2": partial(credit.precision, cutoff=2),
    "R@3": partial(credit.recall, cutoff=3),
    "SetR": credit.recall,
    "RR": credit.reciprocal_rank,
    "Success@3": partial(credit.success, cutoff=3),
    "Rprec": credit.r_precision,
    "Rprec_mult@1.5": partial(credit.r_precision, multiple=1.5),
    "relative_P@3": partial(credit.relative_precision, cutoff=3),
    "Q@3": partial(credit.q_measure, cutoff=3),
    "Q(beta=0.7)": partial(credit.q_measure, beta=0.7),
    "RBP": credit.rank_biased_precision,
    "Bpref": credit.bpref,
    "binG": credit.binary_gain,
    "answers": lambda place: reciprocal(np.maximum(place.position - place.above, 1)),
}
each_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
chances = st.sampled_from([0.0, 0.15, 0.5, 0.8, 1.0])


def lists_of(position, relevant=(), n_judged=None):
    """One list of uncertain candidates and of some that are known to be relevant."""
    n = len(position) + len(relevant) if n_judged is None else n_judged
    listed = [place for place in relevant if place < UNLISTED]
    columns = [np.array([part], np.int64).reshape(1, -1) for part in (position, listed)]
    return Lists(*columns, np.array([len(relevant) - len(listed)]), np.array([n]))


def repeated(lists, n):
    return lists.take(np.zeros(n, np.intp))


@st.composite
def cases(draw, most=4):
    """A list of up to ``most`` uncertain candidates, with up to two known ones, and chances of the uncertain ones."""
    places = draw(st.permutations([1, 2, 3, 4, 5, 6, UNLISTED]))
    position, relevant = (draw(st.integers(low, high)) for low, high in ((1, most), (0, 2)))
    lists = lists_of(sorted(places[:position]), places[position : position + relevant])
    return lists, np.array([[draw(chances) for _ in range(position)]])


def labels_of(length):
    return np.array(list(itertools.product([0.0, 1.0], repeat=length)))


def chance_of(outcome, probability):
    """Of each outcome, (n, length), of independent events."""
    return np.prod(np.where(outcome == 1, probability, 1 - probability), axis=1)


def values(labels, lists, measure):
    """Of one list under many labels."""
    return expected_values(repeated(lists, len(labels)), labels, [measure])[0]


@each_measure
@settings(max_examples=examples(20))
@given(case=cases())
def test_the_expectation_is_that_over_all_labels(measure, case):
    """The mean of the measure over all labels, each with its probability."""
    lists, probability = case
    labels = labels_of(probability.shape[1])
    mean = chance_of(labels, probability[0]) @ values(labels, lists, measure)
    assert expected_values(lists, probability, [measure])[0] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("n_known", range(3))
@pytest.mark.parametrize("name", [name for name in MEASURES if name != "answers"])
def test_known_labels_give_the_measure_of_evaluate(name, n_known):
    """Every labelling of six candidates, of which the last is not in the list, and the first ones are known."""
    candidates, position = list("abcdef"), [1, 2, 3, 4, 5, UNLISTED]
    labels = labels_of(6 - n_known)[n_known == 0 :]
    whole = np.concatenate([np.ones((len(labels), n_known)), labels], axis=1)
    qrels = {f"q{row}": dict(zip(candidates, map(int, label), strict=True)) for row, label in enumerate(whole)}
    run = {question: {entity: 6.0 - rank for rank, entity in enumerate(candidates[:-1])} for question in qrels}
    table = kgtrec.evaluate(qrels, {"run": run}, [name], per="question").to_frame().set_index("question")
    expected = [table.value[question] for question in qrels]
    lists = lists_of(position[n_known:], position[:n_known])
    assert values(labels, lists, MEASURES[name]) == pytest.approx(expected, abs=1e-12)


@each_measure
@settings(max_examples=examples(20))
@given(case=cases(), data=st.data())
def test_orders_are_those_of_the_polynomial_along_the_direction(measure, case, data):
    """A polynomial of the list's degree through as many points as it needs has the same coefficients."""
    lists, middle = case
    length = middle.shape[1]
    direction = np.array([[data.draw(st.sampled_from([-2.0, 0.0, 0.5, 3.0])) for _ in range(length)]])
    times = np.linspace(-0.5, 0.5, length + 1)
    along = values(middle + times[:, None] * direction, lists, measure)
    coefficients = np.zeros(3)
    exact = np.polynomial.polynomial.polyfit(times, along, length)[:3]
    coefficients[: len(exact)] = exact
    assert expansion(lists, middle, direction, [measure])[0, :, 0] == pytest.approx(coefficients, abs=1e-7)


@each_measure
@settings(max_examples=examples(20))
@given(case=cases(most=6))
def test_the_gradient_is_the_difference_between_the_two_labels(measure, case):
    """Of each candidate in turn, with the others as they are."""
    lists, probability = case
    no, yes = (np.repeat(probability, probability.shape[1], axis=0) for _ in range(2))
    np.fill_diagonal(no, 0.0)
    np.fill_diagonal(yes, 1.0)
    expected = values(yes, lists, measure) - values(no, lists, measure)
    assert gradients(lists, probability, [measure])[0, 0] == pytest.approx(expected, abs=1e-12)


@each_measure
@settings(max_examples=examples(20))
@given(case=cases(), data=st.data())
def test_each_order_is_unbiased_over_all_samples(measure, case, data):
    """The mean over all sets of judged candidates is the order around the mean middle, towards the labels."""
    lists, prediction = case
    length = prediction.shape[1]
    label, rate = (
        np.array([data.draw(st.sampled_from(choices)) for _ in range(length)])
        for choices in ([0.0, 1.0], [0.2, 0.5, 1.0])
    )
    judged = labels_of(length)
    estimates = label_estimates(
        repeated(lists, len(judged)),
        np.repeat(prediction, len(judged), axis=0),
        np.where(judged == 1, label, np.nan),
        np.tile(rate, (len(judged), 1)),
        [measure],
    )
    mean = estimates.orders[0] @ chance_of(judged, rate)
    middle = prediction + rate * (label - prediction)
    assert mean == pytest.approx(expansion(lists, middle, label - middle, [measure])[0, :, 0], abs=1e-10)
    if length <= 2:  # no further order
        assert mean.sum() == pytest.approx(values(label[None], lists, measure)[0], abs=1e-10)


def test_mean_and_variance_are_unbiased_over_all_samples_of_a_linear_measure():
    """Three lists of two candidates, of which two are opened; every sample of lists and of candidates in them."""
    position, rate = np.array([[1, 2], [1, 4], [2, 3]]), np.array([[0.5, 0.25], [0.4, 1.0], [0.8, 0.5]])
    label, prediction = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[0.3, 0.3], [0.6, 0.1], [0.5, 0.5]])
    lists = Lists(position, np.zeros((3, 0), np.int64), np.zeros(3, np.int64), np.full(3, 2))
    measure = partial(credit.precision, cutoff=3)
    predicted = expected_values(lists, prediction, [measure])[0]
    chance, estimate, variance = [], [], []
    for opened in itertools.combinations(range(3), 2):
        rows = np.array(opened)
        for judged in labels_of(4):
            verdict = np.where(judged.reshape(2, 2) == 1, label[rows], np.nan)
            found = label_estimates(lists.take(rows), prediction[rows], verdict, rate[rows], [measure])
            mean, error = mean_of_opened(predicted, rows, found.orders[0].sum(0), (found.influence[0] ** 2).sum(1))
            chance.append(chance_of(judged[None], rate[rows].ravel())[0] / 3)
            estimate.append(mean)
            variance.append(error)
    chance, estimate = np.array(chance), np.array(estimate)
    assert chance @ estimate == pytest.approx(expected_values(lists, label, [measure])[0].mean())
    assert chance @ variance == pytest.approx(chance @ (estimate - chance @ estimate) ** 2)


def test_a_single_opened_list_has_no_interval():
    """Of one among several lists nothing follows for the spread between them; where all are opened, none is needed."""
    mean, variance = mean_of_opened(np.array([0.5, 0.5]), np.array([1]), np.array([1.0]), np.array([0.0]))
    assert (mean, np.isnan(variance)) == (1.0, True)
    assert mean_of_opened(np.array([0.5]), np.array([0]), np.array([1.0]), np.array([0.25])) == (1.0, 0.25)


def test_a_slope_takes_a_degree_of_freedom():
    """Of three opened lists of six: (1 - 1/2) / 3 times the squares 2 around the mean, over 3 - 2."""
    estimate, none = np.array([0.0, 1.0, 2.0]), np.zeros(3)
    assert mean_of_opened(np.zeros(6), np.arange(3), estimate, none, 2) == (1.0, pytest.approx(1 / 3))
    assert np.isnan(mean_of_opened(np.zeros(6), np.arange(2), estimate[:2], none[:2], 2)[1])


def test_lists_together_are_as_each_alone():
    """Whatever number of lists is computed at a time."""
    rng = np.random.default_rng(0)
    position = np.sort(rng.permuted(np.tile(np.arange(1, 40), (30, 1)), axis=1)[:, :9], axis=1)
    probability = rng.random(position.shape)
    lists = Lists(position, np.zeros((30, 0), np.int64), np.zeros(30, np.int64), np.full(30, 9))
    measure = [partial(credit.ndcg, cutoff=10)]
    whole = expected_values(lists, probability, measure)[0]
    each = [expected_values(lists.take(slice(row, row + 1)), probability[[row]], measure)[0, 0] for row in range(30)]
    assert whole == pytest.approx(each, abs=1e-14)

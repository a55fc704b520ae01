"""Measures of uncertain labels: equal to enumeration of all labels, and of all samples that could be judged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgtrec
from kgtrec.kernels.sampling.uncertain_labels import (
    average_precision,
    expansion,
    expected_value,
    label_estimates,
    mean_of_opened,
    ndcg,
    of_best,
    of_each,
    precision,
)
from tests.examples import examples

CREDITS = {
    "nDCG@3": ndcg(3),
    "AP@4": average_precision(4),
    "P@2": precision(2),
    "RR": of_best(lambda rank: 1.0 / rank),
    "Success@3": of_best(lambda rank: (rank <= 3).astype(float)),
    "answers": of_each(lambda rank: 1.0 / rank),
}
each_credit = pytest.mark.parametrize("credit", CREDITS.values(), ids=CREDITS)
chances = st.sampled_from([0.0, 0.15, 0.5, 0.8, 1.0])


@st.composite
def lists(draw, most=4):
    """The positions of up to ``most`` candidates, and chances of each of them."""
    position = sorted(draw(st.sets(st.integers(1, 6), min_size=1, max_size=most)))
    return np.array([position]), np.array([[draw(chances) for _ in position]])


def labels_of(length):
    return np.array(list(itertools.product([0.0, 1.0], repeat=length)))


def chance_of(outcome, probability):
    """Of each outcome, (n, length), of independent events."""
    return np.prod(np.where(outcome == 1, probability, 1 - probability), axis=1)


def values(labels, position, credit):
    """Of one list under many labels."""
    return expected_value(labels, np.repeat(position, len(labels), axis=0), credit)


@each_credit
@settings(max_examples=examples(20))
@given(case=lists())
def test_the_expectation_is_that_over_all_labels(credit, case):
    """The mean of the measure over all labels, each with its probability."""
    position, probability = case
    labels = labels_of(position.shape[1])
    mean = chance_of(labels, probability[0]) @ values(labels, position, credit)
    assert expected_value(probability, position, credit) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in CREDITS if name != "answers"])
def test_known_labels_give_the_measure_of_evaluate(name):
    """Every labelling of six candidates, by the measure of the same name."""
    candidates, position = list("abcdef"), np.arange(1, 7)[None]
    labels = labels_of(6)[1:]
    qrels = {f"q{row}": dict(zip(candidates, map(int, label), strict=True)) for row, label in enumerate(labels)}
    run = {question: {entity: 6.0 - rank for rank, entity in enumerate(candidates)} for question in qrels}
    table = kgtrec.evaluate(qrels, {"run": run}, [name], per="question").to_frame().set_index("question")
    expected = [table.value[question] for question in qrels]
    assert values(labels, position, CREDITS[name]) == pytest.approx(expected, abs=1e-12)


@each_credit
@settings(max_examples=examples(20))
@given(case=lists(), data=st.data())
def test_orders_are_those_of_the_polynomial_along_the_direction(credit, case, data):
    """A polynomial of the list's degree through as many points as it needs has the same coefficients."""
    position, middle = case
    length = position.shape[1]
    direction = np.array([[data.draw(st.sampled_from([-2.0, 0.0, 0.5, 3.0])) for _ in range(length)]])
    times = np.linspace(-0.5, 0.5, length + 1)
    along = values(middle + times[:, None] * direction, position, credit)
    coefficients = np.zeros(3)
    exact = np.polynomial.polynomial.polyfit(times, along, length)[:3]
    coefficients[: len(exact)] = exact
    assert expansion(middle, direction, position, credit)[:, 0] == pytest.approx(coefficients, abs=1e-7)


@each_credit
@settings(max_examples=examples(20))
@given(case=lists(), data=st.data())
def test_each_order_is_unbiased_over_all_samples(credit, case, data):
    """The mean over all sets of judged candidates is the order around the mean middle, towards the labels."""
    position, prediction = case
    length = position.shape[1]
    label, rate = (
        np.array([data.draw(st.sampled_from(choices)) for _ in range(length)])
        for choices in ([0.0, 1.0], [0.2, 0.5, 1.0])
    )
    judged = labels_of(length)
    estimates = label_estimates(
        np.repeat(prediction, len(judged), axis=0),
        np.where(judged == 1, label, np.nan),
        np.tile(rate, (len(judged), 1)),
        np.repeat(position, len(judged), axis=0),
        credit,
    )
    mean = estimates.orders @ chance_of(judged, rate)
    middle = prediction + rate * (label - prediction)
    assert mean == pytest.approx(expansion(middle, label - middle, position, credit)[:, 0], abs=1e-10)
    if length <= 2:  # no further order
        assert mean.sum() == pytest.approx(values(label[None], position, credit)[0], abs=1e-10)


def test_mean_and_variance_are_unbiased_over_all_samples_of_a_linear_measure():
    """Three lists of two candidates, of which two are opened; every sample of lists and of candidates in them."""
    position, rate = np.array([[1, 2], [1, 4], [2, 3]]), np.array([[0.5, 0.25], [0.4, 1.0], [0.8, 0.5]])
    label, prediction = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[0.3, 0.3], [0.6, 0.1], [0.5, 0.5]])
    credit = precision(3)
    predicted = expected_value(prediction, position, credit)
    chance, estimate, variance = [], [], []
    for opened in itertools.combinations(range(3), 2):
        rows = np.array(opened)
        for judged in labels_of(4):
            verdict = np.where(judged.reshape(2, 2) == 1, label[rows], np.nan)
            found = label_estimates(prediction[rows], verdict, rate[rows], position[rows], credit)
            mean, error = mean_of_opened(predicted, rows, found.orders.sum(0), (found.influence**2).sum(1))
            chance.append(chance_of(judged[None], rate[rows].ravel())[0] / 3)
            estimate.append(mean)
            variance.append(error)
    chance, estimate = np.array(chance), np.array(estimate)
    assert chance @ estimate == pytest.approx(expected_value(label, position, credit).mean())
    assert chance @ variance == pytest.approx(chance @ (estimate - chance @ estimate) ** 2)


def test_a_single_opened_list_has_no_interval():
    """Of one among several lists nothing follows for the spread between them; where all are opened, none is needed."""
    mean, variance = mean_of_opened(np.array([0.5, 0.5]), np.array([1]), np.array([1.0]), np.array([0.0]))
    assert (mean, np.isnan(variance)) == (1.0, True)
    assert mean_of_opened(np.array([0.5]), np.array([0]), np.array([1.0]), np.array([0.25])) == (1.0, 0.25)


def test_lists_together_are_as_each_alone():
    """Whatever number of lists is computed at a time."""
    rng = np.random.default_rng(0)
    position = np.sort(rng.permuted(np.tile(np.arange(1, 40), (30, 1)), axis=1)[:, :9], axis=1)
    probability = rng.random(position.shape)
    whole = expected_value(probability, position, ndcg(10))
    each = [expected_value(probability[[row]], position[[row]], ndcg(10))[0] for row in range(30)]
    assert whole == pytest.approx(each, abs=1e-14)

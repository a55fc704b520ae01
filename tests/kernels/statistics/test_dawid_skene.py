"""Dawid and Skene's model: its estimates are a maximum, and follow from the verdicts alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from kgtrec.kernels.statistics.dawid_skene import dawid_skene
from tests.examples import examples

PRIOR = (1.0, 0.5)


def world(seed, n_items=60, rates=((0.95, 0.9), (0.8, 0.7), (0.7, 0.95), (0.9, 0.3))):
    """Verdicts of annotators with such rates, of whom each judges about two thirds of the items."""
    rng = np.random.default_rng(seed)
    is_true = rng.random(n_items) < 0.4
    chance = np.where(is_true[:, None], [rate for rate, _ in rates], [1 - rate for _, rate in rates])
    says, is_seen = rng.random(chance.shape) < chance, rng.random(chance.shape) < 0.7
    item, annotator = np.nonzero(is_seen)
    return is_true, item, annotator, says[item, annotator]


def log_posterior(parameters, item, annotator, verdict, n_items):
    """Of the share of true items, the sensitivities and the specificities; written from the model's definition."""
    share, rates = parameters[0], parameters[1:].reshape(2, -1)
    of_true = np.where(verdict, rates[0, annotator], 1 - rates[0, annotator])
    of_false = np.where(verdict, 1 - rates[1, annotator], rates[1, annotator])
    likelihood = np.zeros((2, n_items))
    np.add.at(likelihood, (0, item), np.log(of_true))
    np.add.at(likelihood, (1, item), np.log(of_false))
    items = np.logaddexp(np.log(share) + likelihood[0], np.log(1 - share) + likelihood[1])
    return items.sum() + (PRIOR[0] * np.log(rates) + PRIOR[1] * np.log(1 - rates)).sum()


@settings(max_examples=examples(10))
@given(st.integers(0, 10_000))
def test_the_estimates_are_a_maximum_of_the_posterior(seed):
    """No parameter can be changed a little for the better."""
    _, item, annotator, verdict = world(seed)
    result = dawid_skene(item, annotator, verdict, 60, 4, prior=PRIOR)
    best = np.concatenate([[result.share], result.sensitivity, result.specificity])
    gradient = approx_fprime(best, log_posterior, 1e-7, item, annotator, verdict, 60)
    assert gradient == pytest.approx(np.zeros(9), abs=1e-3 * len(item))


def test_annotators_who_cannot_judge_are_found():
    """Of 2,000 items, the rates of four annotators within .08, and better labels than the majority's."""
    rates = ((0.95, 0.9), (0.8, 0.7), (0.7, 0.95), (0.9, 0.1))
    is_true, item, annotator, verdict = world(1, 2_000, rates)
    result = dawid_skene(item, annotator, verdict, 2_000, 4)
    assert result.sensitivity == pytest.approx([rate for rate, _ in rates], abs=0.08)
    assert result.specificity == pytest.approx([rate for _, rate in rates], abs=0.08)
    share_of_yes = np.bincount(item, verdict, 2_000) / np.maximum(np.bincount(item, minlength=2_000), 1)
    is_right = [((chance > 0.5) == is_true).mean() for chance in (result.probability, share_of_yes)]
    assert is_right[0] > is_right[1] + 0.02


@settings(max_examples=examples(10))
@given(st.integers(0, 10_000), st.data())
def test_items_that_are_drawn_several_times_are_repeated_items(seed, data):
    """A bootstrap sample by weights is the sample written out."""
    _, item, annotator, verdict = world(seed, 12)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(any)))
    weighted = dawid_skene(item, annotator, verdict, 12, 4, times=times.astype(float))
    copies = np.repeat(np.arange(12), times)
    rows = [np.flatnonzero(item == own) for own in copies]
    again = np.repeat(np.arange(len(copies)), [len(own) for own in rows])
    flat = np.concatenate([*rows, np.array([], int)])
    repeated = dawid_skene(again, annotator[flat], verdict[flat], len(copies), 4)
    assert weighted.sensitivity == pytest.approx(repeated.sensitivity, abs=1e-6)
    assert weighted.probability[copies] == pytest.approx(repeated.probability, abs=1e-6)


def test_without_verdicts_only_the_prior_speaks():
    """An item that nobody judged has the share of true items, an annotator without verdicts the prior's rate."""
    result = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([True, True]), 2, 3)
    assert result.probability[1] == pytest.approx(result.share, abs=1e-6)
    assert result.sensitivity[2] == result.specificity[2] == pytest.approx(2 / 3)

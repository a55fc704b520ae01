"""Recalibration of a machine on people's labels, and whether the machine has skill."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.statistics.calibration import fold_of, recalibrated, skill


def world(n: int, seed: int, *, strength: float = 1.0, share_with: float = 1.0):
    """Machines whose log odds are the true ones times a strength; verdict alone for the rest of the items."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-1, 1.5, n)
    label = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float)
    said = 1 / (1 + np.exp(-strength * logit + 0.5))
    verdict = (said > 0.5).astype(int)
    verdict[rng.random(n) < 0.1] = 2
    verdict[rng.random(n) < 0.05] = -1
    has = (rng.random(n) < share_with) & (verdict >= 0)
    label[rng.random(n) < 0.3] = np.nan
    return verdict, np.where(has, said, np.nan), label, rng.choice([1.0, 2.0, 5.0], n), rng.integers(0, 5, n)


def test_without_a_machine_the_share_of_the_other_folds():
    """(2 + 1/2) / (3 + 1) with equal weights: half a Y and half an N are added."""
    verdict, nothing = np.full(6, -1), np.full(6, np.nan)
    label, fold = np.array([1, 1, 0, 0, 0, np.nan]), np.array([0, 0, 0, 1, 1, 1])
    predicted = recalibrated(verdict, nothing, label, np.full(6, 7.0), fold)
    np.testing.assert_allclose(predicted, [0.5 / 3] * 3 + [2.5 / 4] * 3, rtol=1e-9)


def test_the_effective_number_of_labels():
    """Weights 3 and 1 are as many as 16 / 10 labels, of which 1.2 are Y."""
    label, fold = np.array([1, 0, np.nan]), np.array([0, 0, 1])
    predicted = recalibrated(np.full(3, -1), np.full(3, np.nan), label, np.array([3.0, 1.0, 1.0]), fold)
    np.testing.assert_allclose(predicted, [0.5, 0.5, 1.7 / 2.6], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("share_with", [1.0, 0.0, 0.5])
def test_against_scikit_learn(share_with: float):
    """Penalised logistic regression of its own solver, with the same columns, weights and pseudo-labels."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    verdict, probability, label, weight, fold = world(600, 1, share_with=share_with)
    step = (
        np.where(np.random.default_rng(2).random(600) < 0.7, verdict == 1, label == 1) * 1.0
    )  # so that none is negative
    label = np.where(np.isnan(label), np.nan, step)
    predicted = recalibrated(verdict, probability, label, weight, fold)
    has = ~np.isnan(probability)
    p = np.clip(np.where(has, probability, 0.5), 0.001, 0.999)
    only = np.where(has, -2, verdict)
    columns = np.stack(
        [np.log(p / (1 - p)), (verdict == 1) * 1.0 - (verdict == 0), np.isin(only, [0, 1]), only == 2], 1
    )
    columns = np.column_stack([columns, only == -1]).astype(float)
    for own in range(5):
        used = ~np.isnan(label) & (fold != own)
        columns[~has, 0] = np.average(columns[used & has, 0], weights=weight[used & has]) if has.any() else 0
        w = weight[used] * weight[used].sum() / np.sum(weight[used] ** 2)
        mean = np.average(columns[used], axis=0, weights=w)
        spread = np.sqrt(np.average((columns[used] - mean) ** 2, axis=0, weights=w))
        scaled = (columns - mean)[:, spread > 0] / spread[spread > 0]
        model = linear_model.LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000)
        zeros = np.zeros((2, scaled.shape[1]))
        model.fit(np.vstack([scaled[used], zeros]), np.append(label[used], [0, 1]), np.append(w, [0.5, 0.5]))
        np.testing.assert_allclose(predicted[fold == own], model.predict_proba(scaled[fold == own])[:, 1], atol=2e-5)


@given(st.integers(0, 10**6), st.floats(-2, 2), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_machine_is_never_turned_round(seed: int, strength: float, share_with: float):
    """In a fold a higher probability and Y of the machine is no lower one than a lower one and N."""
    verdict, probability, label, weight, fold = world(60, seed, strength=strength, share_with=share_with)
    predicted = recalibrated(verdict, probability, label, weight, fold)
    assert ((predicted > 0) & (predicted < 1)).all()
    for own in np.unique(fold):
        rows = np.flatnonzero((fold == own) & ~np.isnan(probability) & np.isin(verdict, [0, 1]))
        assert (np.diff(predicted[rows[np.argsort(probability[rows])]]) >= -1e-9).all()
        alone = (fold == own) & np.isnan(probability)
        yes, no = (predicted[alone & (verdict == code)] for code in (1, 0))
        assert not len(yes) or not len(no) or yes.min() >= no.max() - 1e-9


@given(st.integers(0, 10**6))
def test_no_label_of_the_own_fold_and_no_order_matters(seed: int):
    """So a prediction is independent of the verdicts on its own question."""
    verdict, probability, label, weight, fold = world(60, seed, share_with=0.5)
    predicted = recalibrated(verdict, probability, label, weight, fold)
    other = np.where(fold == 0, 1 - label, label)
    np.testing.assert_array_equal(
        recalibrated(verdict, probability, other, weight, fold)[fold == 0], predicted[fold == 0]
    )
    order = np.random.default_rng(seed).permutation(60)
    again = recalibrated(*(column[order] for column in (verdict, probability, label, 9 * weight, fold)))
    np.testing.assert_allclose(again, predicted[order], rtol=1e-6)


def test_a_machine_that_says_the_opposite_is_the_share_of_yes():
    """Its coefficient would be negative, and is 0."""
    verdict, probability, label, weight, fold = world(500, 3, strength=-1.0)
    verdict, probability = verdict % 2, np.where(np.isnan(probability), 0.5, probability)
    share = recalibrated(np.full(500, -1), np.full(500, np.nan), label, weight, fold)
    np.testing.assert_allclose(recalibrated(verdict, probability, label, weight, fold), share, rtol=1e-9)


def test_few_labels_give_nearly_the_share_of_yes():
    """Two labels that the machine tells apart perfectly do not make it believed."""
    says, label = np.array([1, 0, 1, 0]), np.array([1, 0, np.nan, np.nan])
    predicted = recalibrated(says, np.full(4, np.nan), label, np.ones(4), np.array([0, 0, 1, 1]))
    assert 0.3 < predicted[3] < 0.5 < predicted[2] < 0.7
    assert predicted[:2].tolist() == [0.5, 0.5]


def test_a_calibrated_machine_stays_as_it_is():
    """Of 20,000 labels: the probabilities are within 2 points of the true ones."""
    rng = np.random.default_rng(0)
    p = rng.random(20_000) * 0.98 + 0.01
    label = (rng.random(20_000) < p).astype(float)
    predicted = recalibrated((p > 0.5) * 1, p, label, np.ones(20_000), np.arange(20_000) % 5)
    assert np.abs(predicted - p).max() < 0.02


def test_the_value_of_skill():
    """1 - (2 * .0625 + .25) / (3 * .25) with weights 2, 1: errors .25, .25, .5 against .5 each."""
    label, weight = np.array([1, 0, np.nan, 0]), np.array([1.0, 1.0, 1.0, 1.0])
    got = skill(np.array([0.75, 0.25, 0.9, 0.5]), np.full(4, 0.5), label, weight, np.zeros(4, int))
    assert got.value == pytest.approx(1 - 0.375 / 0.75)
    assert np.isnan(got.low)
    assert not got.is_shown
    assert np.isnan(skill(*np.full((4, 2), np.nan), np.arange(2)).value)


@pytest.mark.slow
def test_a_useless_machine_rarely_has_skill():
    """At most 2.5% of useless machines may seem to help; of 300 it is at most 13 with probability .97."""
    found = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        question = np.repeat(np.arange(60), 4)
        label = (rng.random(240) < np.repeat(rng.beta(0.5, 1.5, 60), 4)).astype(float)
        fold, p = question % 5, rng.random(240)
        ones = np.ones(240)
        share = recalibrated(np.full(240, -1), np.full(240, np.nan), label, ones, fold)
        with_it = recalibrated((p > 0.5) * 1, p, label, ones, fold)
        found += skill(with_it, share, label, ones, question, resamples=200).is_shown
    assert found <= 13


@given(st.lists(st.integers(0, 2**63), min_size=1), st.integers(2, 9), st.integers(0, 99))
def test_folds_depend_on_label_and_seed(keys, n_folds, seed):
    """Not on the other questions or their order."""
    own = np.array(keys, np.uint64)
    folds = fold_of(own, n_folds, seed)
    assert ((folds >= 0) & (folds < n_folds)).all()
    assert fold_of(own[::-1], n_folds, seed).tolist() == folds[::-1].tolist()


def test_what_is_known_without_a_machine_is_used_out_of_fold():
    """Columns of any sign: better than the share where they matter, and no label of the item's own fold is used."""
    rng = np.random.default_rng(0)
    known = rng.normal(size=(600, 2))
    label = (rng.random(600) < 1 / (1 + np.exp(2 * known[:, 0] - 1))).astype(float)
    fold, nothing = np.arange(600) % 5, (np.full(600, -1), np.full(600, np.nan))
    predicted = recalibrated(*nothing, label, np.ones(600), fold, known)
    share = recalibrated(*nothing, label, np.ones(600), fold)
    assert np.mean((predicted - label) ** 2) < 0.8 * np.mean((share - label) ** 2)
    assert np.corrcoef(predicted, known[:, 0])[0, 1] < -0.9
    other = np.where(fold == 3, 1 - label, label)
    again = recalibrated(*nothing, other, np.ones(600), fold, known)
    assert np.array_equal(again[fold == 3], predicted[fold == 3])
    assert not np.array_equal(again, predicted)

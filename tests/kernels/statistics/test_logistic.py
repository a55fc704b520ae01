"""Logistic regression with penalties: closed forms, laws, and scikit-learn as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from kgtrec.kernels.statistics.logistic import expit, penalised_logistic


def drawn(seed, n=60, k=3, n_groups=4):
    rng = np.random.default_rng(seed)
    x = np.hstack([rng.normal(size=(n, k)), np.ones((n, 1))])
    group = rng.integers(-1, n_groups, n)
    y = (rng.random(n) < expit(x[:, 0] + 0.5 * group)).astype(float)
    y[:2] = 0, 1
    return x, y, rng.uniform(0.5, 2.0, n), group


def test_a_penalised_slope_by_hand():
    """y = x = 1 and y = 0, x = -1: 1 - p = b / 2 at the maximum of 2 log p(b) - b^2 / 2."""
    x, y = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    (slope,), _ = penalised_logistic(x, y, np.ones(2), np.ones(1))
    assert 1.0 - expit(slope) == pytest.approx(slope / 2)


def test_a_group_that_differs_by_hand():
    """Two groups of opposite labels have opposite effects u, where 2 (1 - p(u)) = penalty u."""
    y, group = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1])
    coefficient, effect = penalised_logistic(np.ones((4, 1)), y, np.ones(4), np.zeros(1), group, 3, 0.5)
    assert coefficient == pytest.approx([0.0], abs=1e-12)
    assert effect[0] == pytest.approx(-effect[1])
    assert effect[2] == 0
    assert 2 * (1 - expit(effect[0])) == pytest.approx(0.5 * effect[0])


@pytest.mark.parametrize("seed", range(3))
def test_as_scikit_learn(seed):
    """With one-hot columns of the groups, scaled by the root of their penalty, which scikit-learn has one of."""
    x, y, w, group = drawn(seed)
    one_hot = (group[:, None] == np.arange(4)) / np.sqrt(0.5)
    other = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    other.fit(np.hstack([x[:, :-1], one_hot]), y, sample_weight=w)
    coefficient, effect = penalised_logistic(x, y, w, np.array([2.0, 2.0, 2.0, 0.0]), group, 4, 1.0)
    assert coefficient == pytest.approx(np.append(other.coef_[0, :3], other.intercept_), abs=1e-6)
    assert effect == pytest.approx(other.coef_[0, 3:] / np.sqrt(0.5), abs=1e-6)


@given(st.integers(0, 1000))
def test_at_the_maximum_no_direction_is_better(seed):
    """The gradient is 0 for columns and groups; a whole weight counts as so many items."""
    x, y, _, group = drawn(seed, n=25)
    w = np.random.default_rng(seed).integers(1, 4, 25).astype(float)
    ridge = np.array([1.0, 2.0, 3.0, 0.1])
    coefficient, effect = penalised_logistic(x, y, w, ridge, group, 4, 0.7)
    error = w * (expit(x @ coefficient + np.append(effect, 0.0)[group]) - y)
    assert x.T @ error + ridge * coefficient == pytest.approx(np.zeros(4), abs=1e-8)
    assert np.bincount(group + 1, error, 5)[1:] + 0.7 * effect == pytest.approx(np.zeros(4), abs=1e-8)
    n = w.astype(int)
    again = penalised_logistic(
        np.repeat(x, n, axis=0), np.repeat(y, n), np.ones(n.sum()), ridge, np.repeat(group, n), 4, 0.7
    )
    assert again[0] == pytest.approx(coefficient, abs=1e-8)

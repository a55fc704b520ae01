"""Logistic regression with penalties, and with an effect for each group of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[Any]

_TOLERANCE, _MOST_STEPS = 1e-12, 100


def expit(x: Values) -> Values:
    """The probability of log odds."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def effective_weights(weight: Values) -> Values:
    """Scale weights, (n,), to their effective number, which is then their sum."""
    return weight * (weight.sum() / np.sum(weight**2))


def mean_and_spread(x: Values, weight: Values) -> tuple[Values, Values]:
    """Compute the weighted mean and standard deviation of columns, (k,) each; infinite for a constant column."""
    mean = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(spread > 1e-9, spread, np.inf)


def penalised_logistic(
    x: Values,
    y: Values,
    weight: Values,
    ridge: Values,
    group: Codes | None = None,
    n_groups: int = 0,
    group_ridge: float = 1.0,
) -> tuple[Values, Values]:
    r"""Maximise the likelihood of labels, less penalties, by Newton's method.

    .. math::

        \sum_i w_i \log P(y_i) - \tfrac12 \sum_j \lambda_j \beta_j^2 - \tfrac{\lambda}{2} \sum_g u_g^2,
        \qquad \operatorname{logit} P(y_i = 1) = x_i \beta + u_{g(i)}

    A step is halved until it is an improvement. The effects of groups, of which there may be many, are eliminated from
    the equations of each step, in which they are a diagonal block.

    Parameters
    ----------
    x : (n, k) float array
        A column of 1 for an intercept.
    y : (n,) float array
        1 or 0.
    weight : (n,) float array
    ridge : (k,) float array
        The penalties of the columns; 0 for the intercept.
    group : (n,) int array, optional
        Of each item; -1: none.
    n_groups : int
    group_ridge : float, above 0

    Returns
    -------
    coefficient : (k,) float array
    effect : (n_groups,) float array
        0 for a group without items.

    References
    ----------
    le Cessie, van Houwelingen (1992), Applied Statistics 41, 191-201.

    Examples
    --------
    >>> one = np.ones((4, 1))
    >>> coefficient, _ = penalised_logistic(one, np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4), np.zeros(1))
    >>> expit(coefficient).round(6)
    array([0.75])
    """
    k, place = x.shape[1], np.zeros(len(y), np.intp) if group is None else group.astype(np.intp) + 1
    penalty = np.append(ridge, np.full(n_groups, group_ridge))

    def of_groups(value: Values) -> Values:
        return np.bincount(place, value, n_groups + 1)[1:].astype(np.float64)

    def odds(b: Values) -> Values:
        return np.einsum("ij,j->i", x, b[:k]) + np.append(0.0, b[k:])[place]

    def loss(b: Values) -> float:
        z = odds(b)
        return float(np.sum(weight * (np.logaddexp(0.0, z) - y * z)) + 0.5 * np.sum(penalty * b**2))

    b, step = np.zeros(k + n_groups), np.zeros(k + n_groups)
    for _ in range(_MOST_STEPS):
        p = expit(odds(b))
        error, curvature = weight * (p - y), weight * p * (1.0 - p)
        slope = np.append(np.einsum("ij,i->j", x, error), of_groups(error)) + penalty * b
        # einsum: BLAS would share so small a product among threads, and add in an order that depends on these
        block = np.einsum("ij,ik->jk", x * curvature[:, None], x) + np.diag(ridge + 1e-12)
        mixed = np.stack([of_groups(curvature * column) for column in x.T])  # (k, groups)
        share = mixed / (of_groups(curvature) + group_ridge)
        step[:k] = np.linalg.solve(block - share @ mixed.T, slope[:k] - share @ slope[k:])
        step[k:] = (slope[k:] - step[:k] @ mixed) / (of_groups(curvature) + group_ridge)
        while loss(b - step) > loss(b) + 1e-12 and np.abs(step).max() > _TOLERANCE:
            step = 0.5 * step
        b = b - step
        if np.abs(step).max() <= _TOLERANCE:
            break
    return b[:k], b[k:]

r"""Measures of lists whose labels are uncertain: their expectation, and its first two orders along a direction.

A measure is a sum over the relevant candidates of a list; each adds a *credit*
:math:`\varphi(\text{position}, a, R)`, where a relevant candidates are above it and R are relevant in all:

.. math::

    f(y) = \sum_i y_i \, \varphi\bigl(x_i, \textstyle\sum_{j < i} y_j, \sum_j y_j\bigr).

Precision, recall, (normalised) discounted cumulative gain, average precision, the reciprocal rank of the best answer
and every measure over answers that are ranked without the other answers have this form. It is linear in each label.
So its expectation under independent labels, which are 1 with probability :math:`p_i`, is the value at p of the one
polynomial :math:`\bar f` that is linear in each variable and equals f on labels of 0 and 1. The numbers of relevant
candidates above and below a candidate are independent; their distributions are found by convolution.

Along a direction v, :math:`\bar f(m + t v) = \bar f(m) + t D_1 + t^2 D_2 + \dots`; the orders up to the second are
computed exactly, by polynomials in t that are cut off after :math:`t^2`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Positions = NDArray[np.int64]
Credit = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], Values]

_CELLS_AT_A_TIME = 1 << 21


def ndcg(cutoff: int) -> Credit:
    """Return the credit of nDCG with binary gains and logarithmic discounts at a cutoff."""

    def credit(position: Positions, above: Positions, relevant: Positions) -> Values:
        ideal = np.cumsum(1.0 / np.log2(np.arange(cutoff) + 2.0))
        return (
            np.where(position <= cutoff, 1.0 / np.log2(position + 1.0), 0.0) / ideal[np.minimum(relevant, cutoff) - 1]
        )

    return credit


def average_precision(cutoff: int) -> Credit:
    """Return the credit of average precision at a cutoff."""
    return lambda position, above, relevant: np.where(position <= cutoff, (above + 1.0) / position, 0.0) / relevant


def precision(cutoff: int) -> Credit:
    """Return the credit of precision at a cutoff."""
    return lambda position, above, relevant: np.where(position <= cutoff, 1.0 / cutoff, 0.0)


def of_best(value: Callable[[Positions], Values]) -> Credit:
    """Return the credit of a function of the best answer's rank, such as its reciprocal (macro MRR)."""
    return lambda position, above, relevant: np.where(above == 0, value(position), 0.0)


def of_each(value: Callable[[Positions], Values]) -> Credit:
    """Return the credit of the sum over answers of a function of their ranks, without the other answers (micro MRR)."""
    return lambda position, above, relevant: value(np.maximum(position - above, 1))


def expected_value(probability: Values, position: Positions, credit: Credit) -> Values:
    """Compute the expectation of a measure under independent labels.

    Parameters
    ----------
    probability : (n_lists, length) float array
        Of each candidate to be relevant; 0 or 1 where its label is known.
    position : (n_lists, length) int array
        1-based positions in the list, ascending in each row.
    credit : Credit
        Takes the position, the number of relevant candidates above and the number of relevant ones in all (itself
        included), as arrays that can be broadcast.

    Returns
    -------
    (n_lists,) float array

    Examples
    --------
    Of two candidates at the positions 1 and 3 each is relevant with probability one half:

    >>> reciprocal = of_best(lambda rank: 1.0 / rank)
    >>> expected_value(np.full((1, 2), 0.5), np.array([[1, 3]]), reciprocal)  # 1/2 * 1 + 1/4 * 1/3
    array([0.58333333])
    """
    return _orders(probability[None], position, credit)[0]


def expansion(middle: Values, direction: Values, position: Positions, credit: Credit) -> Values:
    r"""Compute the orders zero, one and two of a measure along a direction of its labels.

    Parameters
    ----------
    middle, direction : (n_lists, length) float array
        m and v.
    position, credit
        As for :func:`expected_value`.

    Returns
    -------
    (3, n_lists) float array
        :math:`\bar f(m), D_1, D_2`.

    Examples
    --------
    >>> middle, direction, position = np.full((1, 2), 0.5), np.array([[1.0, 0.5]]), np.array([[1, 3]])
    >>> expansion(middle, direction, position, of_best(lambda rank: 1.0 / rank))[:, 0]
    array([ 0.58333333,  0.91666667, -0.16666667])
    """
    return _orders(np.stack([middle, direction, np.zeros_like(middle)]), position, credit)


def _orders(label: Values, position: Positions, credit: Credit) -> Values:
    """Orders of the measure, (n_orders, n_lists), for labels that are polynomials in t, (n_orders, n_lists, length)."""
    n_orders, n_lists, length = label.shape
    above, below = np.arange(length)[:, None], np.arange(length)
    orders = np.zeros((n_orders, n_lists))
    step = max(1, _CELLS_AT_A_TIME // max(1, length**3))
    for first in range(0, n_lists, step):
        part = slice(first, first + step)
        of_part = label[:, part]
        amount = credit(position[part, :, None, None], above, above + below + 1)
        amount = np.broadcast_to(amount, (*of_part.shape[1:], length, length))
        # sum over the candidates below, then over those above
        given_above = np.einsum("kqib,qiab->kqia", _counts_above(of_part[..., ::-1])[:, :, ::-1], amount, optimize=True)
        share = np.einsum("kqia,lqia->klqi", _counts_above(of_part), given_above)
        for i, j, k in np.ndindex(n_orders, n_orders, n_orders):
            if i + j + k < n_orders:
                orders[i + j + k, part] += np.sum(of_part[i] * share[j, k], axis=-1)
    return orders


def _counts_above(label: Values) -> Values:
    """Distribution of the number of relevant candidates above each: (n_orders, n_lists, length, length)."""
    n_orders, n_lists, length = label.shape
    counts = np.zeros((n_orders, n_lists, length, length))
    counts[0, :, :1, 0] = 1.0
    for i in range(1, length):
        before, after = counts[:, :, i - 1], counts[:, :, i]
        after += before
        for order in range(n_orders):
            for own in range(order + 1):
                moved = before[order - own] * label[own, :, i - 1, None]
                after[order] -= moved
                after[order, :, 1:] += moved[:, :-1]
    return counts


class LabelEstimates(NamedTuple):
    """Estimates of a measure in lists of which a sample of the candidates is judged."""

    orders: Values  # (3, n_lists): the value at the middle, and what the first and the second order add
    influence: Values  # (n_lists, length) what each verdict changes, scaled such that the squares add up to a variance


def label_estimates(
    prediction: Values, verdict: Values, rate: Values, position: Positions, credit: Credit
) -> LabelEstimates:
    r"""Estimate a measure in each list from independent verdicts on a sample of its candidates.

    The middle m is the verdict where there is one and the prediction p elsewhere, the direction
    :math:`v_i = (y_i - p_i)(1 / \rho_i - 1)` where candidate i is judged, with probability :math:`\rho_i`, and 0
    elsewhere. With :math:`c = p + \rho (y - p)`, the mean of m, each order is an unbiased estimate of the same order of
    the expansion around c towards the labels y. All orders together would be unbiased, but products of many weights
    have a useless variance; those from the third on are left out.

    Parameters
    ----------
    prediction : (n_lists, length) float array
        Any prediction of the labels that does not depend on the list's own verdicts; 0 or 1 where a label is known.
    verdict : (n_lists, length) float array
        1, 0 or NaN, which is not judged.
    rate : (n_lists, length) float array, in (0, 1]
        Probability of each candidate to be judged, given that its list is.
    position, credit
        As for :func:`expected_value`.

    Returns
    -------
    LabelEstimates

    Examples
    --------
    The judged one of two candidates counts for both, as far as the prediction was wrong:

    >>> verdict, position = np.array([[1.0, np.nan]]), np.array([[1, 2]])
    >>> half = np.full((1, 2), 0.5)
    >>> label_estimates(half, verdict, half, position, precision(2))
    LabelEstimates(orders=array([[0.75],
           [0.25],
           [0.  ]]), influence=array([[0.35355339, 0.        ]]))
    """
    is_judged = ~np.isnan(verdict)
    middle = np.where(is_judged, verdict, prediction)
    direction = np.where(is_judged, (middle - prediction) * (1.0 / rate - 1.0), 0.0)
    orders = expansion(middle, direction, position, credit)
    lists, judged = np.nonzero(is_judged & (rate < 1.0))
    without = middle[lists]
    without[np.arange(len(lists)), judged] = prediction[lists, judged]
    influence = np.zeros_like(middle)
    change = orders[0, lists] - expected_value(without, position[lists], credit)
    influence[lists, judged] = change * np.sqrt(1.0 - rate[lists, judged]) / rate[lists, judged]
    return LabelEstimates(orders, influence)


def mean_of_opened(predicted: Values, opened: Positions, estimate: Values, within: Values) -> tuple[Values, Values]:
    r"""Estimate the mean over all lists, some of which were opened at random, and the variance of this estimate.

    .. math::

        \hat\mu = \frac{1}{N} \sum_q \bar f_q(p) + \frac{1}{n} \sum_{q \text{ opened}} \hat d_q, \qquad
        \hat V = \Bigl(1 - \frac{n}{N}\Bigr) \frac{s^2(\hat d)}{n} + \frac{1}{n N} \sum_{q \text{ opened}} \hat V_q

    with :math:`\hat d_q` what the estimate in list q adds to the expectation under the predictions.

    Parameters
    ----------
    predicted : (..., n_lists) float array
        Expectation under the predictions, in every list.
    opened : (n_opened,) int array
        The opened lists, a simple random sample.
    estimate, within : (..., n_opened) float array
        The estimate in each opened list, and its variance given that the list was opened.

    Returns
    -------
    (...,) float arrays
        The mean and its variance; NaN if fewer than two of several lists were opened.

    References
    ----------
    Cochran (1977), Sampling Techniques, section 10.4, for the variance of samples of two stages.
    """
    n_lists, n_opened = predicted.shape[-1], len(opened)
    added = estimate - predicted[..., opened]
    mean = predicted.mean(axis=-1) + added.mean(axis=-1)
    between = 0.0
    if n_opened < n_lists:
        spread = added.var(axis=-1, ddof=1) if n_opened > 1 else np.full(mean.shape, np.nan)
        between = (1.0 - n_opened / n_lists) * spread / n_opened
    return mean, between + within.sum(axis=-1) / (n_opened * n_lists)

r"""Measures of lists whose labels are uncertain: their expectation, and its first two orders along a direction.

A measure is a sum over the relevant candidates of a list; each adds a *credit*
:math:`\varphi(x, a, R)`, where it stands at position x, a relevant candidates are above it and R are relevant in all:

.. math::

    f(y) = \sum_i y_i \, \varphi\bigl(x_i, \textstyle\sum_{j < i} y_j, \sum_j y_j\bigr).

Precision, recall, (normalised) discounted cumulative gain, average precision, the reciprocal rank of the best answer
and every measure over answers that are ranked without the other answers have this form; see
:mod:`kgtrec.kernels.lists.credit`. It is linear in each label. So its expectation under independent labels, which are
1 with probability :math:`p_i`, is the value at p of the one polynomial :math:`\bar f` that is linear in each variable
and equals f on labels of 0 and 1. The numbers of relevant candidates above and below a candidate are independent; their
distributions are found by convolution.

Along a direction v, :math:`\bar f(m + t v) = \bar f(m) + t D_1 + t^2 D_2 + \dots`; the orders up to the second are
computed exactly, by polynomials in t that are cut off after :math:`t^2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.credit import UNLISTED, Credit, Place

Values = NDArray[np.float64]
Positions = NDArray[np.int64]

_CELLS_AT_A_TIME = 1 << 21


class Lists(NamedTuple):
    """Lists of candidates, of which some are known to be relevant; those known to be wrong are left out."""

    position: Positions  # (n_lists, length) 1-based of the uncertain candidates, ascending; UNLISTED: below the list
    relevant: Positions  # (n_lists, most) of listed ones known to be relevant, in any order; 0 where there are fewer
    unlisted: Positions  # (n_lists,) how many others are known to be relevant
    judged: Positions  # (n_lists,) how many candidates have a label, known or not, with those known to be wrong

    def take(self, rows: NDArray[Any] | slice) -> Lists:
        """Return the lists at ``rows``."""
        return Lists(*(column[rows] for column in self))


def expected_values(lists: Lists, probability: Values, measures: Sequence[Credit]) -> Values:
    """Compute the expectation of measures under independent labels.

    Parameters
    ----------
    lists : Lists
    probability : (n_lists, length) float array
        Of each uncertain candidate to be relevant.
    measures : sequence of Credit
        Of each measure, what one relevant candidate adds.

    Returns
    -------
    (n_measures, n_lists) float array

    Examples
    --------
    Of two candidates at the positions 1 and 3 each is relevant with probability one half:

    >>> from kgtrec.kernels.lists.credit import reciprocal_rank
    >>> lists = Lists(np.array([[1, 3]]), np.zeros((1, 0), int), np.array([0]), np.array([2]))
    >>> expected_values(lists, np.full((1, 2), 0.5), [reciprocal_rank])  # 1/2 * 1 + 1/4 * 1/3
    array([[0.58333333]])
    """
    return _orders(lists, probability[None], measures)[:, 0]


def expansion(lists: Lists, middle: Values, direction: Values, measures: Sequence[Credit]) -> Values:
    r"""Compute the orders zero, one and two of measures along a direction of the labels.

    Parameters
    ----------
    lists : Lists
    middle, direction : (n_lists, length) float array
        m and v.
    measures : sequence of Credit
        Of each measure, what one relevant candidate adds.

    Returns
    -------
    (n_measures, 3, n_lists) float array
        :math:`\bar f(m), D_1, D_2`.

    Examples
    --------
    >>> from kgtrec.kernels.lists.credit import reciprocal_rank
    >>> lists = Lists(np.array([[1, 3]]), np.zeros((1, 0), int), np.array([0]), np.array([2]))
    >>> expansion(lists, np.full((1, 2), 0.5), np.array([[1.0, 0.5]]), [reciprocal_rank])[0, :, 0]
    array([ 0.58333333,  0.91666667, -0.16666667])
    """
    return _orders(lists, np.stack([middle, direction, np.zeros_like(middle)]), measures)


def gradients(lists: Lists, probability: Values, measures: Sequence[Credit]) -> Values:
    """Compute by how much the expectation of measures differs between the two labels of each candidate.

    Parameters
    ----------
    lists : Lists
    probability : (n_lists, length) float array
        Of each uncertain candidate to be relevant.
    measures : sequence of Credit
        Of each measure, what one relevant candidate adds.

    Returns
    -------
    (n_measures, n_lists, length) float array
        If it is relevant, minus if it is not.

    Examples
    --------
    >>> from kgtrec.kernels.lists.credit import reciprocal_rank
    >>> lists = Lists(np.array([[1, 3]]), np.zeros((1, 0), int), np.array([0]), np.array([2]))
    >>> gradients(lists, np.full((1, 2), 0.5), [reciprocal_rank])  # 1 - 1/2 * 1/3 and 1/2 * 1/3
    array([[[0.83333333, 0.16666667]]])
    """
    found = np.zeros((len(measures), *probability.shape))
    for part in _parts(lists, 1, len(measures)):
        found[:, part] = _Counted(lists.take(part), probability[None, part]).orders(measures, with_gradient=True)[1]
    return found


def _orders(lists: Lists, label: Values, measures: Sequence[Credit]) -> Values:
    """Orders of the measures, (n_measures, n_orders, n_lists), for labels that are polynomials in t."""
    n_orders, n_lists, _ = label.shape
    orders = np.zeros((len(measures), n_orders, n_lists))
    for part in _parts(lists, n_orders, 0):
        orders[..., part] = _Counted(lists.take(part), label[:, part]).orders(measures)[0]
    return orders


def _parts(lists: Lists, n_orders: int, n_gradients: int) -> Iterator[slice]:
    """The rows of lists that are computed at a time."""
    n_lists, length = lists.position.shape
    cells = (2 * n_orders + 2 * n_gradients + 1) * (length + lists.relevant.shape[1] + 1) ** 2
    step = max(1, _CELLS_AT_A_TIME // cells)
    return (slice(first, first + step) for first in range(0, n_lists, step))


class _Counted:
    """Lists with the relevant candidates among the others, and how many are relevant above and below each."""

    def __init__(self, lists: Lists, label: Values):
        self.length = label.shape[2]
        is_known = lists.relevant > 0
        position = np.concatenate([lists.position, np.where(is_known, lists.relevant, UNLISTED)], axis=1)
        known = np.zeros((len(label), *is_known.shape))
        known[0] = is_known
        self.order = np.argsort(position, axis=1, kind="stable")
        self.position = np.take_along_axis(position, self.order, axis=1)
        self.own = np.take_along_axis(np.concatenate([label, known], axis=2), self.order[None], axis=2)
        self.lists = lists
        self.above = _counts(self.own)  # [:, :, i]: of the first i
        self.below = _counts(self.own[..., ::-1])[:, :, ::-1]  # [:, :, i]: of those from i on

    def orders(self, measures: Sequence[Credit], with_gradient: bool = False) -> tuple[Values, Values]:
        """(n_measures, n_orders, n_lists) orders; (n_measures, n_lists, length) gradients at order zero, or zeros."""
        n_orders, n_lists, n = self.own.shape
        orders = np.zeros((len(measures), n_orders, n_lists))
        gradient = np.zeros((len(measures), n_lists, n))
        # what one more relevant candidate among the first i, or among those from i on, would be worth to the others
        shape = (len(measures), n_lists, n + 1, n + 1) if with_gradient else (0, 0, 0, 0)
        of_above, of_below = np.zeros(shape), np.zeros(shape)
        judged, unlisted = self.lists.judged[:, None, None], self.lists.unlisted[:, None, None]
        terms = [(sum(jkl), *jkl[:2]) for jkl in np.ndindex((n_orders,) * 3) if sum(jkl) < n_orders]
        for i in range(n):
            is_listed = self.position[:, i] < UNLISTED
            if not is_listed.any():
                break
            above, below, own = self.above[:, :, i, : i + 1], self.below[:, :, i + 1, : n - i], self.own[:, :, i]
            own = np.where(is_listed, own, 0.0)
            a, b = np.arange(i + 1)[:, None], np.arange(n - i)
            place = Place(np.where(is_listed, self.position[:, i], 1)[:, None, None], a, a + b + unlisted + 1, judged)
            given_above = np.zeros((len(measures), n_orders, n_lists, i + 1))
            for row, credit in enumerate(measures):
                amount = credit(place)
                if amount.shape[2] == 1:  # the same whatever is below
                    given_above[row] = below.sum(axis=2)[..., None] * amount[..., 0]
                else:
                    np.einsum("nab,knb->kna", amount, below, out=given_above[row])
                if with_gradient:
                    given_below = np.einsum("na,nab->nb", own[0, :, None] * above[0], amount)
                    of_below[row, :, i + 1, : n - i] = given_below
            share = np.einsum("jna,mkna->jkmn", above, given_above)
            for order, j, k in terms:
                orders[:, order] += own[order - j - k] * share[j, k]
            if with_gradient:
                gradient[:, :, i] += is_listed * share[0, 0]
                of_above[:, :, i, : i + 1] = own[0, :, None] * given_above[:, 0]
        if with_gradient:
            label = self.own[0, ..., None]
            for i in range(n)[::-1]:
                added = np.diff(of_above[:, :, i + 1], append=0.0)
                gradient[:, :, i] += np.einsum("na,mna->mn", self.above[0, :, i], added)
                of_above[:, :, i] += of_above[:, :, i + 1] + label[:, i] * added
            for i in range(n):
                added = np.diff(of_below[:, :, i], append=0.0)
                gradient[:, :, i] += np.einsum("nb,mnb->mn", self.below[0, :, i + 1], added)
                of_below[:, :, i + 1] += of_below[:, :, i] + label[:, i] * added
        sorted_back = np.zeros_like(gradient)
        np.put_along_axis(sorted_back, np.broadcast_to(self.order, gradient.shape), gradient, axis=2)
        return orders, sorted_back[..., : self.length]


def _counts(label: Values) -> Values:
    """How many of the first 0, 1, ... labels are 1: distributions, (n_orders, n_lists, length + 1, length + 1)."""
    n_orders, n_lists, length = label.shape
    counts = np.zeros((n_orders, n_lists, length + 1, length + 1))
    counts[0, :, 0, 0] = 1.0
    for i in range(length):
        before, after = counts[:, :, i], counts[:, :, i + 1]
        after += before
        for order in range(n_orders):
            for own in range(order + 1):
                moved = before[order - own] * label[own, :, i, None]
                after[order] -= moved
                after[order, :, 1:] += moved[:, :-1]
    return counts


class LabelEstimates(NamedTuple):
    """Estimates of measures in lists of which a sample of the candidates is judged."""

    orders: Values  # (n_measures, 3, n_lists): the value at the middle, and what the first and the second order add
    # (n_measures, n_lists, length) what each verdict changes, scaled such that the squares add up to a variance
    influence: Values


def label_estimates(
    lists: Lists, prediction: Values, verdict: Values, rate: Values, measures: Sequence[Credit]
) -> LabelEstimates:
    r"""Estimate measures in each list from independent verdicts on a sample of its candidates.

    The middle m is the verdict where there is one and the prediction p elsewhere, the direction
    :math:`v_i = (y_i - p_i)(1 / \rho_i - 1)` where candidate i is judged, with probability :math:`\rho_i`, and 0
    elsewhere. With :math:`c = p + \rho (y - p)`, the mean of m, each order is an unbiased estimate of the same order of
    the expansion around c towards the labels y. All orders together would be unbiased, but products of many weights
    have a useless variance; those from the third on are left out.

    Parameters
    ----------
    lists : Lists
    prediction : (n_lists, length) float array
        Any prediction of the labels that does not depend on the list's own verdicts.
    verdict : (n_lists, length) float array
        1, 0 or NaN, which is not judged.
    rate : (n_lists, length) float array, in (0, 1]
        Probability of each candidate to be judged, given that its list is.
    measures : sequence of Credit
        Of each measure, what one relevant candidate adds.

    Returns
    -------
    LabelEstimates

    Examples
    --------
    The judged one of two candidates counts for both, as far as the prediction was wrong:

    >>> from functools import partial
    >>> from kgtrec.kernels.lists.credit import precision
    >>> verdict, half = np.array([[1.0, np.nan]]), np.full((1, 2), 0.5)
    >>> lists = Lists(np.array([[1, 2]]), np.zeros((1, 0), int), np.array([0]), np.array([2]))
    >>> estimates = label_estimates(lists, half, verdict, half, [partial(precision, cutoff=2)])
    >>> estimates.orders[0, :, 0], estimates.influence[0]
    (array([0.75, 0.25, 0.  ]), array([[0.35355339, 0.        ]]))
    """
    is_judged = ~np.isnan(verdict)
    middle = np.where(is_judged, verdict, prediction)
    residual = np.where(is_judged, middle - prediction, 0.0)
    label = np.stack([middle, residual * (1.0 / rate - 1.0), np.zeros_like(middle)])
    orders, influence = (np.zeros((len(measures), *shape)) for shape in ((3, len(middle)), middle.shape))
    for part in _parts(lists, 3, len(measures)):
        counted = _Counted(lists.take(part), label[:, part])
        orders[..., part], influence[:, part] = counted.orders(measures, with_gradient=True)
    # each measure is linear in each label
    return LabelEstimates(orders, influence * residual * np.sqrt(1.0 - rate) / rate)


def mean_of_opened(
    predicted: Values, opened: Positions, estimate: Values, within: Values, n_fitted: int = 1
) -> tuple[Values, Values]:
    r"""Estimate the mean over all lists, some of which were opened at random, and the variance of this estimate.

    .. math::

        \hat\mu = \frac{1}{N} \sum_q \bar f_q(p) + \frac{1}{n} \sum_{q \text{ opened}} \hat d_q, \qquad
        \hat V = \Bigl(1 - \frac{n}{N}\Bigr) \frac{s^2(\hat d)}{n} + \frac{1}{n N} \sum_{q \text{ opened}} \hat V_q

    with :math:`\hat d_q` what the estimate in list q adds to the expectation under the predictions, and :math:`s^2` the
    sum of their squares around the mean, divided by n - ``n_fitted``.

    Parameters
    ----------
    predicted : (..., n_lists) float array
        Expectation under the predictions, in every list.
    opened : (n_opened,) int array
        The opened lists, a simple random sample.
    estimate, within : (..., n_opened) float array
        The estimate in each opened list, and its variance given that the list was opened.
    n_fitted : int
        How many numbers the opened lists have determined: the mean, and a slope of the predictions if there is one.

    Returns
    -------
    (...,) float arrays
        The mean and its variance; NaN if no more than ``n_fitted`` of several lists were opened.

    References
    ----------
    Cochran (1977), Sampling Techniques, section 10.4, for the variance of samples of two stages, and chapter 7 for
    slopes.
    """
    n_lists, n_opened = predicted.shape[-1], len(opened)
    added = estimate - predicted[..., opened]
    mean = predicted.mean(axis=-1) + added.mean(axis=-1)
    between = 0.0
    if n_opened < n_lists:
        spread = added.var(axis=-1, ddof=n_fitted) if n_opened > n_fitted else np.full(mean.shape, np.nan)
        between = (1.0 - n_opened / n_lists) * spread / n_opened
    return mean, between + within.sum(axis=-1) / (n_opened * n_lists)

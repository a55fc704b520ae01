"""Estimators that fail where that of kgtrec holds: their exact mean and variance, over all samples of made-up lists."""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import pytest
from scipy.special import ndtr

from kgtrec.kernels.lists import credit
from kgtrec.kernels.sampling.uncertain_labels import Lists, expected_values, gradients, label_estimates

N_LISTS, LENGTH, LAST = 12, 7, 12
OPENED = 650  # lists of a campaign: so many independent copies of these, in turns
AP, NDCG = partial(credit.average_precision, cutoff=20), partial(credit.ndcg, cutoff=20)
each_measure = pytest.mark.parametrize("measure", [AP, NDCG], ids=["AP", "nDCG"])
JUDGED = np.array(list(itertools.product([False, True], repeat=LENGTH)))
PREDICTION = 0.2  # .42 of the labels are 1


@cache
def world() -> tuple[Lists, np.ndarray]:
    """Lists with a known relevant candidate, and the labels of the others; the higher ones are relevant more often."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.permuted(np.tile(np.arange(1, LAST + 1), (N_LISTS, 1)), axis=1)[:, : LENGTH + 1], axis=1)
    is_known = np.arange(LENGTH + 1) == rng.integers(0, LENGTH + 1, N_LISTS)[:, None]
    position = places[~is_known].reshape(N_LISTS, LENGTH)
    label = (rng.random(position.shape) < 3.0 / (1 + position)).astype(float)
    size = np.full(N_LISTS, LENGTH + 1)
    return Lists(position, places[is_known][:, None], np.zeros(N_LISTS, np.int64), size), label


class System:
    """All samples of the lists, one row for each list and sample; another system has the lists upside down."""

    def __init__(self, measure, rate: float = 0.4, is_reversed: bool = False):
        lists, label = world()
        rows, judged = np.repeat(np.arange(N_LISTS), len(JUDGED)), np.tile(JUDGED, (N_LISTS, 1))
        if is_reversed:
            lists = lists._replace(position=LAST + 1 - lists.position[:, ::-1], relevant=LAST + 1 - lists.relevant)
            label, judged = label[:, ::-1], judged[:, ::-1]
        self.measure, self.rate, self.judged = measure, rate, judged
        self.lists, self.label = lists.take(rows), label[rows]
        self.truth = expected_values(lists, label, [measure])[0]
        self.chance = np.prod(np.where(JUDGED, rate, 1 - rate), axis=1)

    def errors(self, estimates):
        """(lists, samples) how far estimates are from the truth."""
        return estimates.reshape(N_LISTS, -1) - self.truth[:, None]

    def orders(self, n: int):
        """Errors of the estimates of kgtrec up to an order."""
        parts = np.full(self.label.shape, PREDICTION), np.where(self.judged, self.label, np.nan)
        found = label_estimates(self.lists, *parts, np.full(self.label.shape, self.rate), [self.measure])
        return self.errors(found.orders[0, : n + 1].sum(axis=0))

    def values(self, label):
        return expected_values(self.lists, label, [self.measure])[0]

    def summary(self, errors):
        """The bias of the mean over lists, and its standard error."""
        mean = errors @ self.chance
        variance = ((errors - mean[:, None]) ** 2) @ self.chance
        return mean.mean(), np.sqrt(variance.mean() / OPENED)


def coverage(bias, error):
    """Of a normal estimate, in intervals of 1.96 standard errors."""
    return ndtr(1.96 - bias / error) - ndtr(-1.96 - bias / error)


@each_measure
def test_all_orders_and_plain_inverse_weights_have_several_times_the_standard_error(measure):
    """Both are unbiased; but the product of the weights of several labels, each 1 / rate, is rarely near its mean."""
    own = System(measure, rate=0.1)
    error = own.summary(own.orders(2))[1]
    for prediction, least in ((PREDICTION, 2.0), (0.0, 5.0)):
        weighted = prediction + np.where(own.judged, (own.label - prediction) / own.rate, 0.0)
        bias, of_all = own.summary(own.errors(own.values(weighted)))
        assert bias == pytest.approx(0.0, abs=1e-10)
        assert of_all > least * error


@each_measure
def test_the_first_order_alone_is_biased_where_predictions_are(measure):
    """A prediction of .2 where .42 are relevant: the best gain and the number of relevant candidates are too low."""
    own = System(measure)
    first, second = (own.summary(own.orders(n)) for n in (1, 2))
    assert abs(first[0]) > 5 * abs(second[0])
    assert coverage(*first) < 0.9
    assert coverage(*second) > 0.94


@each_measure
def test_the_first_order_alone_is_biased_for_differences_of_systems(measure):
    """The second orders of two systems do not cancel each other where one has more relevant candidates on top."""
    own, other = System(measure), System(measure, is_reversed=True)
    first, second = (own.summary(own.orders(n) - other.orders(n)) for n in (1, 2))
    assert coverage(*first) < 0.65
    assert coverage(*second) > 0.92


@each_measure
def test_intervals_that_trust_predictions_miss_differences(measure):
    """Labels filled in by a share are the same in every order, so that two systems of opposite order come close."""
    error, variance = 0.0, 0.0
    for sign, is_reversed in ((1, False), (-1, True)):
        own = System(measure, is_reversed=is_reversed)
        middle = np.where(own.judged, own.label, PREDICTION)
        error = error + sign * own.errors(own.values(middle))
        slope = gradients(own.lists, middle, [measure])[0]
        unknown = (slope**2 * PREDICTION * (1 - PREDICTION) * ~own.judged).sum(axis=1)
        variance += (unknown.reshape(N_LISTS, -1) @ own.chance).mean() / OPENED
    assert coverage(own.summary(error)[0], np.sqrt(variance)) < 0.1


def test_quotients_of_estimates_are_biased_in_each_question():
    """StatAP's sum of precisions by estimated R, and the gain by the best gain for estimated R, as in infNDCG."""
    own = System(AP)
    weight = np.where(own.judged, own.label, 0.0) / own.rate
    position, known = own.lists.position, own.lists.relevant
    is_below = position > known
    above = np.cumsum(weight, axis=1) - weight + is_below
    precision = (weight * (above + 1.0) / position).sum(axis=1)
    precision += (1.0 + (weight * ~is_below).sum(axis=1)) / known[:, 0]
    relevant = 1.0 + weight.sum(axis=1)
    gain = (weight / np.log2(position + 1)).sum(axis=1) + 1 / np.log2(known[:, 0] + 1)
    best = np.interp(relevant, np.arange(60), np.r_[0.0, np.cumsum(1 / np.log2(np.arange(59) + 2.0))])
    for measure, estimates in ((AP, precision / relevant), (NDCG, gain / best)):
        own = System(measure)
        bias, error = own.summary(own.errors(estimates))
        assert abs(bias) > 3 * abs(own.summary(own.orders(2))[0])
        assert coverage(bias, error) < 0.9


def xinfap(own, smoothing=1e-5):
    """Of Yilmaz, Kanoulas, Aslam (2008): the known candidate is a stratum, the others one, each with its share."""
    hit, n_judged = own.judged * own.label, own.judged.sum(axis=1)
    position, known = own.lists.position, own.lists.relevant
    share = (np.cumsum(hit, axis=1) - hit + smoothing) / (np.cumsum(own.judged, axis=1) - own.judged + 2 * smoothing)
    precision = (1 + (position > known) + np.arange(LENGTH) * share) / position
    is_above = position < known
    share = ((hit * is_above).sum(axis=1) + smoothing) / ((own.judged & is_above).sum(axis=1) + 2 * smoothing)
    of_known = (1 + is_above.sum(axis=1) * share) / known[:, 0]
    scale = LENGTH / np.maximum(n_judged, 1)
    return (scale * (hit * precision).sum(axis=1) + of_known) / (1 + scale * hit.sum(axis=1))


def test_xinfap_is_biased_in_each_question():
    """-.072 of a mean of .591 with .4 of seven candidates judged, where the estimate of kgtrec has -.001."""
    assert xinfap(System(AP))[len(JUDGED) - 1 :: len(JUDGED)] == pytest.approx(System(AP).truth, abs=1e-4)
    own = System(AP)
    (bias, error), (of_orders, _) = own.summary(own.errors(xinfap(own))), own.summary(own.orders(2))
    assert (own.truth.mean(), bias, of_orders) == pytest.approx((0.591, -0.072, -0.001), abs=5e-4)
    assert coverage(bias, error) < 1e-6


@each_measure
def test_opening_all_questions_to_judge_half_of_their_candidates_is_worse_than_opening_fewer(measure):
    """Of 1,300 questions: .8 opened and .625 judged in these has less bias and a smaller standard error."""
    found = []
    for opened in (1.0, 0.8):
        own = System(measure, rate=0.5 / opened)
        errors = own.orders(2)
        mean = errors @ own.chance
        within = (((errors - mean[:, None]) ** 2) @ own.chance).mean()
        lists, label = world()
        added = mean + own.truth - expected_values(lists, np.full(label.shape, PREDICTION), [measure])[0]
        between = (1 - opened) * (added.var(ddof=1) + within) / opened
        found.append((abs(mean.mean()), np.sqrt((between + within) / 1300)))
    assert found[1][0] < 0.5 * found[0][0]
    assert found[1][1] < found[0][1]

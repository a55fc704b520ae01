r"""Average precision where only a sample of the pool is judged: its expected value, given the sample.

Candidates are of classes, such as strata of ranks. In a question of kind z each candidate of class h is relevant with
probability :math:`p_h(z)`, independently of the others, and the distribution of z over the questions is estimated from
all of them. So a question with few judgements borrows from the others, instead of relying on its own share.
The quotient of two estimates, the sum of precisions by the number R of relevant candidates, is biased upwards where R
depends on few judgements; the expectation of the quotient over the unknown judgements is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[Any]

_SHARES = (
    np.sin(np.linspace(0.0, np.pi / 2, 41)) ** 2
)  # shares of relevant candidates that are distinguished, including 0 and 1
_STEPS, _ROUNDS = 20, 15  # of fitting the classes' odds, each followed by rounds for the distribution of the kinds
_DRAWN = 0.5  # weight, in judgements, of the share of a class in a group of its positions
_NOTHING = 1e-9  # candidates; less than this is a rounding error
_CELLS_AT_A_TIME = 1 << 18


@dataclass(frozen=True, slots=True)
class ShareModel:
    """Kinds of questions by their shares of relevant candidates, and how likely each question is of each kind."""

    share: Values  # (n_classes, n_kinds) of relevant candidates in a question of the kind
    weight: Values  # (n_questions, n_kinds) sums to 1 over the kinds


def share_model(judged: Codes, relevant: Codes) -> ShareModel:
    """The probability of each kind for each question, given its judgements and all the others.

    A kind is a share of relevant candidates from 0 to 1; the odds of each class are a multiple of the kind's, the same
    in all questions. The distribution of the kinds over the questions is the one that makes the judgements most likely,
    found by expectation maximisation. One further, unjudged question is counted, whose kind has Jeffreys' prior on the
    grid: it matters where there are few questions.

    Parameters
    ----------
    judged, relevant : (n_questions, n_classes) int arrays
        How many candidates of each class are judged, and relevant.

    References
    ----------
    Laird (1978), Journal of the American Statistical Association 73, for the distribution of the greatest likelihood;
    Robbins (1956), Berkeley Symposium on Mathematical Statistics and Probability 3, for borrowing from it.

    Examples
    --------
    A question of which one candidate is judged, among others that are all relevant, or all not:

    >>> judged, relevant = np.array([[1]] + 8 * [[4]]), np.array([[1]] + 4 * [[0], [4]])
    >>> model = share_model(judged, relevant)
    >>> (model.weight @ model.share[0]).round(2)[:3]
    array([0.95, 0.02, 0.98])
    """
    from scipy.special import xlog1py, xlogy

    hits, total = relevant.sum(axis=0), judged.sum(axis=0)
    # counts repeat, so each set of counts is computed once
    counts = np.concatenate([relevant, judged - relevant], axis=1)
    distinct, place, times = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    own_hits, own_misses = np.split(distinct.astype(np.float64)[:, :, None], 2, axis=1)
    own_judged = (own_hits + own_misses)[:, :, 0]
    prior = np.full(len(_SHARES), 1.0 / len(_SHARES))
    ratio = _odds(hits, total) / _odds(hits.sum(), total.sum())
    with np.errstate(under="ignore"):
        for _ in range(_STEPS):
            share = ratio[:, None] * _SHARES / (1.0 - _SHARES + ratio[:, None] * _SHARES)
            log = np.sum(xlogy(own_hits, share) + xlog1py(own_misses, -share), axis=1)  # (sets, kinds)
            likely = np.exp(log - log.max(axis=1, keepdims=True))
            for _ in range(_ROUNDS):
                prior = (times @ _normalised(likely * prior) + 1.0 / len(_SHARES)) / (times.sum() + 1.0)
            weight = _normalised(likely * prior)
            if len(ratio) > 1:  # so that each class has as many relevant candidates as were found
                expected = np.sum(times[:, None] * own_judged * (weight @ share.T), axis=0)
                ratio = ratio * _odds(hits, total) / _odds(expected, total)
    return ShareModel(share, weight[place.reshape(-1)])


def _odds(hits: Any, total: Any) -> Any:
    return (hits + 0.5) / (total - hits + 0.5)


def _normalised(rows: Values) -> Values:
    return rows / rows.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class ExpectedShares:
    """Expectations over the unjudged candidates of each question, where R is the number of its relevant candidates."""

    one: Values  # (n_questions,) E[1 / R]; 0 where no relevant candidate is known, since nothing is divided by R there
    single: Values  # (n_questions, n_classes) E[x / R], x = 1 where a candidate of the class is relevant
    pair: Values  # (n_questions, n_classes, n_classes) E[x y / R] of two different candidates


def expected_shares(relevant: Codes, unjudged: Codes, model: ShareModel) -> ExpectedShares:
    r"""Expectations over the relevance of the unjudged candidates, divided by the number of relevant ones.

    With :math:`K_h` of the unjudged candidates of class h relevant, and R the sum of all of them and of the known ones,

    .. math:: E[f(K) / R] = \int_0^1 E[f(K) t^{R - 1}] dt

    which factorises over the candidates of a kind of question, each a factor :math:`1 - p + p t`.

    Parameters
    ----------
    relevant : (n_questions,) int array
        Relevant candidates that are known.
    unjudged : (n_questions, n_classes) int array
        How many candidates are not judged.
    model : ShareModel

    Notes
    -----
    The integral is that of a polynomial of degree R - 1, by a quadrature of about 3 sqrt(R) nodes; its relative error
    is below 1e-9.

    Examples
    --------
    One relevant candidate is known, and another one is relevant with probability 1/2: E[1 / R] = (1 + 1/2) / 2.

    >>> one = np.array([[1]])
    >>> expected = expected_shares(one[0], one, ShareModel(np.array([[0.5]]), np.array([[1.0]])))
    >>> expected.one.round(6), expected.single.round(6)
    (array([0.75]), array([[0.25]]))
    """
    n, n_classes = unjudged.shape
    shares = ExpectedShares(np.zeros(n), np.zeros((n, n_classes)), np.zeros((n, n_classes, n_classes)))
    most = relevant + unjudged.sum(axis=1)
    pending = np.argsort(-most, kind="stable")  # few nodes are enough for most
    while len(pending):
        n_nodes = 16 + int(3 * np.sqrt(most[pending[0]]))
        own, pending = np.split(pending, [max(1, _CELLS_AT_A_TIME // (n_nodes * model.share.shape[1]))])
        _set_expectations(shares, own, relevant[own], unjudged[own].astype(np.float64), model, n_nodes)
    return shares


def _set_expectations(
    shares: ExpectedShares, own: Codes, relevant: Codes, size: Values, model: ShareModel, n_nodes: int
) -> None:
    node, node_weight = np.polynomial.legendre.leggauss(n_nodes)
    t = (node + 1.0) / 2.0
    unknown = np.log(1.0 - model.share[:, :, None] * (1.0 - t))  # (classes, kinds, nodes)
    known = np.log(t) * (relevant[:, None, None] - 1.0)

    def integral(*chosen: int) -> Values:
        """The expectation with one more relevant candidate of each of these classes, and as many fewer open."""
        left = size.copy()
        for h in chosen:
            left[:, h] -= 1.0  # where there is none, the result is not used
        powers = known + np.tensordot(np.maximum(left, 0.0), unknown, axes=1)
        value = np.exp(powers) @ (node_weight / 2.0 * t ** len(chosen))  # (questions, kinds)
        return (value * model.weight[own] * np.prod(model.share[list(chosen)], axis=0)).sum(axis=1)

    with np.errstate(under="ignore"):
        shares.one[own] = np.where(relevant > 0, integral(), 0.0)
        for h in range(size.shape[1]):
            shares.single[own, h] = integral(h)
            for j in range(h + 1):
                shares.pair[own, h, j] = shares.pair[own, j, h] = integral(h, j)


def expected_average_precision(
    shares: ExpectedShares,
    unjudged: Codes,
    question: Codes,
    position: Values,
    relevant: NDArray[np.bool_],
    stratum: Codes,
    stands_for: Values,
    likely: Values,
) -> Values:
    r"""Average precision of one list per question, in expectation over the relevance of the unjudged candidates.

    The sum of precisions is one over pairs of relevant candidates, :math:`\sum_i \frac{x_i}{k_i} \left(1 +
    \sum_{j: k_j < k_i} x_j\right)`, so that the expected shares of one and of two candidates suffice.
    Where the positions of the unjudged are unknown, those of the judged of their class represent them: the candidates
    that a judged one represents are paired with the other judged ones, and scaled to the true number of pairs.

    Parameters
    ----------
    shares : ExpectedShares
    unjudged : (n_questions, n_classes) int array
    question, position : (m,) arrays
        By question and position: every judged candidate of the question, and the unjudged ones whose positions are
        known; position inf where the system did not return it.
    relevant : (m,) bool array
        Judged, and relevant.
    stratum : (m,) int array, from 0
        Class of each candidate; any, where it represents no unjudged one.
    stands_for : (m,) float array
        How many unjudged candidates it represents: 1 for one of them and 0 for a judged one, where the positions of all
        are known; else how many a judged one represents beside itself.
    likely : (m,) float array
        Probability that such a candidate at that position is relevant, as a multiple of the mean of its class.

    Returns
    -------
    (n_questions,) float array
        Average precision itself where everything is judged.

    References
    ----------
    Aslam, Pavlu (2007), A practical sampling strategy for efficient retrieval evaluation, for the sum over pairs;
    Yilmaz, Kanoulas, Aslam (2008), SIGIR, for precision in expectation over the unjudged candidates above.

    Examples
    --------
    Relevant at rank 1; at rank 2 relevant or not, evenly: AP is 1 either way.

    >>> one = np.array([[1]])
    >>> shares = expected_shares(one[0], one, ShareModel(np.array([[0.5]]), np.array([[1.0]])))
    >>> zero, rows = np.zeros(2, int), (np.array([1.0, 2.0]), np.array([True, False]))
    >>> expected_average_precision(shares, one, zero, *rows, zero, np.array([0.0, 1.0]), np.ones(2)).round(6)
    array([1.])
    """
    n, n_classes = unjudged.shape
    hits = relevant.astype(np.float64)

    def total(value: Values) -> Values:
        return np.bincount(question, weights=value, minlength=n).astype(np.float64, copy=False)

    value = total(hits * (1.0 + _above(hits, question)) / position) * shares.one
    masses, higher = np.empty((n_classes, len(question))), np.empty((n_classes, len(question)))
    for h in range(n_classes):
        own = np.where(stratum == h, stands_for, 0.0)
        own = own * _quotient(unjudged[:, h], total(own), 0.0)[question]  # so that they sum to the number of unjudged
        everywhere = unjudged[question, h].astype(np.float64)
        # where it is the only judged candidate of the class, its own position represents all
        alone = everywhere - own < _NOTHING
        scale = _quotient(everywhere, everywhere - own, 1.0)
        apart = unjudged[:, h] ** 2.0 - total(own**2)
        masses[h] = own = own * likely
        higher[h] = _above(own, question)
        below_known = hits * (higher[h] * scale + np.where(alone, own / 2.0, 0.0))
        below_unjudged = own * (1.0 + _above(hits * scale, question) + np.where(alone, hits / 2.0, 0.0))
        value += total((below_known + below_unjudged) / position) * shares.single[:, h]
        pairs = unjudged[:, h] * (unjudged[:, h] - 1.0)
        of_pairs = total(own * higher[h] / position) * _quotient(pairs, apart, 0.0)
        by_itself = total(own / position) * (unjudged[:, h] - 1.0) / 2.0
        value += np.where(apart > _NOTHING, of_pairs, by_itself) * shares.pair[:, h, h]
    for h in range(n_classes):
        for j in range(n_classes):
            if j != h:
                value += total(masses[h] * higher[j] / position) * shares.pair[:, h, j]
    return value


def share_by_place(
    position: Values, judged: NDArray[np.bool_], relevant: NDArray[np.bool_], stratum: Codes, n_classes: int
) -> Values:
    """The probability that a candidate is relevant by its class and its position in the list, over all questions.

    Positions that differ by less than a factor of about 1.4 are grouped, and so are candidates that were not returned;
    a group with few judgements is shrunk towards the share of its class.

    Parameters
    ----------
    position : (m,) float array
        1-based; inf where the system did not return the candidate.
    judged, relevant : (m,) bool arrays
    stratum : (m,) int array
        Class of each candidate; -1 if its relevance is certain.
    n_classes : int

    Returns
    -------
    (m,) float array
        Above 0.

    Examples
    --------
    >>> first_is_relevant = np.array([True, False, True, False])
    >>> all_judged, zeros = np.ones(4, bool), np.zeros(4, int)
    >>> share_by_place(np.array([1.0, 9.0, 1.0, 9.0]), all_judged, first_is_relevant, zeros, 1)
    array([0.9, 0.1, 0.9, 0.1])
    """
    group = np.where(np.isinf(position), 0, 1 + np.rint(2 * np.log2(np.where(np.isinf(position), 1.0, position))))
    n_groups = int(group.max(initial=0)) + 1
    inside = judged & (stratum >= 0)
    cell = np.maximum(stratum, 0) * n_groups + group.astype(np.int64)
    counts = [
        np.bincount(cell[mask], minlength=n_classes * n_groups).reshape(n_classes, n_groups)
        for mask in (inside, inside & relevant)
    ]
    total, hits = (count.sum(axis=1, keepdims=True) for count in counts)
    overall = (hits + 0.5) / (total + 1.0)
    return ((counts[1] + _DRAWN * overall) / (counts[0] + _DRAWN)).ravel()[cell]


def _quotient(above: Values | Codes, below: Values, otherwise: float) -> Values:
    return np.divide(above, below, out=np.full(np.shape(below), otherwise), where=np.abs(below) > _NOTHING)


def _above(value: Values, question: Codes) -> Values:
    """(m,) the sum of the values of the rows above each, within its question."""
    before: Values = np.cumsum(value) - value
    return before - before[np.searchsorted(question, question)]

r"""Errors of the estimates of :mod:`kgtrec.kernels.sampling.capture_recapture`, given the questions.

The true answers of the questions are fixed, and so are the answers that systems find. It is random which answers have
a label: each has one with probability :math:`\alpha = 1 - \beta`, independently, except that the two answers of one
fact have a label together; a question without a label is not asked. So the sizes of questions do not vary, and the
number of answers found is not an estimate.

Of a question, F answers are found by a system, and known, labelled or not; of those that none finds, s are labelled.
With :math:`o = \beta / \alpha` its error is that of the answers its labels represent, :math:`D = o \sum v` over the
labels that represent missing ones minus :math:`\sum v` over the missing answers that none finds; plus, times a
constant, that of the odds, :math:`H = S C - o L (S - 1)`. Both are 0 on average. As :math:`H = \sum_{i \ne j} l_i (1 -
l_j / \alpha)` over answers i that are found or labelled and found answers j, where l is 1 with a label and 0 without,
and as the labels of found answers are independent of s,

.. math:: E[H^2 \mid s] = s^2 F o + 2 s F (F - 1) \beta +
          \frac{F (F - 1) \beta (1 + \beta + (F - 2) \alpha)}{1 - \beta^F [s = 0]}

over asked questions. The number of answers that none finds is unknown, but the variance of D has an unbiased estimate
without it: the labels of :math:`s \ge 2` give :math:`o (1 + o) \sum v^2`; that of s = 1 gives the same with probability
:math:`1 - \beta^F`; and two labels give :math:`2 o^2 v_1 v_2` more with probability :math:`\beta^F`.

The errors of two questions that share a fact are related through its label alone, so that their covariance is
:math:`\alpha \beta` times by how much each grows, on average, when the fact has its label. That is
:math:`-(M - 1)` for H if the answer is found, of M true ones, and :math:`v (1 - \beta^{M - 1}) / \alpha` for D if it is
not. Given its label, :math:`F - 1 + s / \alpha` and whether there is another label are unbiased for M - 1 and for
:math:`1 - \beta^{M - 1}`, and a labelled fact represents :math:`1 / \alpha` facts.

References
----------
Chao (1987), Biometrics 43, for the interval on a logarithmic scale, and the variance of Chao2, here for its
bias-corrected form; Horvitz, Thompson (1952), Journal of the American Statistical Association 47, for the variance of a
sample of the judgements.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.kernels.sampling.capture_recapture import FoundAnswers

Floats = NDArray[np.float64]


def error_variances(
    answers: FoundAnswers,
    n_questions: int,
    odds: float,
    value: Floats,
    pull: Floats,
    twin: NDArray[np.intp] | None = None,
) -> Floats:
    r"""Variances of the answers that labels represent minus the missing ones, plus ``pull`` times the odds' error.

    Parameters
    ----------
    answers : FoundAnswers
        A missing answer of weight w counts as one of a sample that contains it with probability 1 / w.
    n_questions : int
    odds : float
        :math:`\beta / \alpha`.
    value : (k, n) float array
        Value of each answer: 1 for numbers of answers.
    pull : (k,) float array
        How much each sum grows with :math:`\sum_q S_q C_q - o L_q (S_q - 1)`.
    twin : (n,) int array, optional
        The row of the answer of another question that has its label together with this one; -1: none. Only those of
        labelled answers matter.

    Returns
    -------
    (k,) float array
        Unbiased at the true odds; with few facts that are answers of two questions they may be below 0.

    Examples
    --------
    One question, with two labels that a system finds, and one answer that it finds without: the variance of the odds.

    >>> answers = FoundAnswers(np.zeros(3, int), np.array([1, 1, 0], bool), np.ones(3, int), np.ones(3))
    >>> error_variances(answers, 1, 0.5, np.zeros((1, 3)), np.array([0.5])).round(4)  # 1/4 . 6 . 1/3 . 2 / (26/27)
    array([1.0385])
    """
    question, labelled, times, weight = answers
    alpha, beta = 1 / (1 + odds), odds / (1 + odds)
    unfound = labelled & (times == 0)

    def per_question(which: NDArray[np.bool_], amount: Floats) -> Floats:
        return np.stack([np.bincount(question[which], row[which], n_questions) for row in amount])

    known = per_question(~unfound, weight[None])[0]
    alone = np.bincount(question[unfound], minlength=n_questions).astype(np.float64)
    labels = np.bincount(question[labelled], minlength=n_questions).astype(np.float64)
    none = beta**known  # that no found answer has a label
    first, second = per_question(unfound, value), per_question(unfound, value * value)
    own = odds * (1 + odds) * second * np.where(alone >= 2, 1.0, 1 - none)
    own += np.where(alone == 2, odds * odds * (first * first - second) * none, 0.0)
    both = np.where(alone == 1, -odds * known * none, 0.0) * first
    pairs = known * np.maximum(known - 1, 0.0) * beta
    with np.errstate(invalid="ignore", divide="ignore"):
        within = np.where(pairs > 0, (1 + beta + (known - 2) * alpha) / np.where(alone == 0, 1 - none, 1.0), 0.0)
    of_odds = alone * alone * known * odds + 2 * alone * pairs + pairs * within
    pulled = pull[:, None]
    total = np.sum(own + 2 * pulled * both + pulled * pulled * of_odds, axis=1)
    sampled = ~labelled & (weight > 1)
    each = value[:, sampled] + pulled * labels[question[sampled]]
    total += each**2 @ (weight[sampled] * (weight[sampled] - 1))
    if twin is not None:
        row = np.flatnonzero(labelled & (twin >= 0))
        of_row = question[row]
        grows = np.zeros_like(value)
        grows[:, row] = np.where(
            unfound[row],
            value[:, row] * (labels[of_row] >= 2) * (1 + odds),
            -pulled * (known[of_row] - 1 + alone[of_row] * (1 + odds)),
        )
        total += beta * np.sum(grows[:, row] * grows[:, twin[row]], axis=1)
    return total


def chao_variance(once: float, twice: float, n_systems: int) -> float:
    """Variance of Chao2, in its bias-corrected form, from how many answers one and two systems find.

    Examples
    --------
    >>> chao_variance(4, 2, 4)  # 3/4 . 12/6 + 9/16 . 4 . 49/36 + 9/16 . 16 . 2 . 9 / (4 . 81)
    5.0625
    """
    share, more = (n_systems - 1) / n_systems, twice + 1
    first = share * once * (once - 1) / (2 * more) + share**2 * once * (2 * once - 1) ** 2 / (4 * more**2)
    return first + share**2 * once**2 * twice * (once - 1) ** 2 / (4 * more**4)


def positive_interval(value: ArrayLike, variance: ArrayLike, confidence: float, pairs: float = np.inf) -> Floats:
    """(2, ...) interval of values above 0, on a logarithmic scale; NaN where the value or its variance is not above 0.

    Parameters
    ----------
    value, variance : (...) array_like
    confidence : float
    pairs : float
        Degrees of freedom: number of pairs of labels that the values are computed from.

    Examples
    --------
    >>> positive_interval(np.array([10.0, 0.0]), np.array([4.0, 0.0]), 0.95).round(2).tolist()
    [[6.78, nan], [14.74, nan]]
    """
    from scipy.special import stdtrit

    value, variance = np.asarray(value, np.float64), np.asarray(variance, np.float64)
    quantile = float(stdtrit(pairs, (1 + confidence) / 2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        known = (value > 0) & (variance > 0)
        factor = np.where(known, np.exp(quantile * np.sqrt(np.log1p(variance / value**2))), np.nan)
        ends: Floats = np.stack([value / factor, value * factor])
    return ends

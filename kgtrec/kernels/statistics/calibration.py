r"""What a machine's verdicts are worth: recalibrated on labels of people, and compared with no machine at all.

The log odds of a label Y are a linear function of the machine's log odds (Platt's scaling) and of its verdict. No
machine is turned round: at equal verdicts a higher probability of the machine never means a lower one here, nor does a
Y mean a lower one than an N.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.sampling.random_order import Keys, hashed
from kgtrec.kernels.statistics.logistic import effective_weights, expit, mean_and_spread, penalised_logistic
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval, resampled_quotients

Values = NDArray[np.float64]
Codes = NDArray[Any]

_LEAST = 1e-3  # a machine's probability is taken as at least this, and at most 1 minus this
_N_RISING = 2  # the first columns, whose coefficients are not negative
_ROUNDING = 1e-9


def fold_of(key: Keys, n_folds: int, seed: int) -> Codes:
    """Return the fold of each question, (n,) from 0, which depends only on the seed and the hash of its label.

    Examples
    --------
    >>> fold_of(np.array([5, 6, 5], np.uint64), 10, seed=0).tolist()
    [4, 5, 4]
    """
    return (hashed(seed, key) % np.uint64(n_folds)).astype(np.int64)


def recalibrated(
    verdict: Codes, probability: Values, label: Values, weight: Values, fold: Codes, known: Values | None = None
) -> Values:
    r"""Predict the label of each item from what a machine says of it and the labels of the other folds.

    In each of the other folds' fits the coefficients :math:`\beta` of standardised columns maximise

    .. math::

        \sum_i w_i \log P_\beta(y_i) + \tfrac12 \log P_\beta(0) + \tfrac12 \log P_\beta(1) - \tfrac12 |\beta|^2

    where the intercept is not in :math:`|\beta|`, and alone in the two terms in the middle: half a Y and half an N that
    keep a share away from 0 and 1 (Krichevsky, Trofimov). Weights are scaled to their effective number,
    :math:`\sum w = (\sum w)^2 / \sum w^2`. So few labels give nearly the share of Y, and a machine that says nothing of
    any item gives exactly this.

    Parameters
    ----------
    verdict : (n,) int array
        Of the machine: 0 for N, 1 for Y, 2 for unsure, -1 for none.
    probability : (n,) float array
        Of the machine; NaN where it gives none.
    label : (n,) float array
        Of people: 1, 0, or NaN where there is none.
    weight : (n,) float array
        Of each label, such as 1 / its probability to be asked for.
    fold : (n,) or (n, k) int array
        From 0; equal for all items of a question. An item is predicted for its first fold, and its label is not used
        in any of its folds: those of further questions that the same triple answers.
    known : (n, j) float array, optional
        What is known of each item without the machine: further columns, whose coefficients may have any sign.

    Returns
    -------
    (n,) float array in (0, 1)
        Which does not depend on any label of the item's first fold; 1/2 where the other folds have none.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines; Krichevsky, Trofimov (1981), IEEE Transactions on
    Information Theory 27; Kish (1965), Survey Sampling, for the effective number.

    Examples
    --------
    >>> says, nothing = np.array([1, 0, 1, 0, 1, 0]), np.full(6, np.nan)
    >>> label, fold = np.array([1.0, 0.0, 1.0, 0.0, np.nan, np.nan]), np.array([0, 0, 1, 1, 1, 1])
    >>> recalibrated(says, nothing, label, np.ones(6), fold).round(3)
    array([0.663, 0.337, 0.663, 0.337, 0.663, 0.337])
    """
    columns, predicted = _columns(verdict, probability), np.full(len(label), 0.5)
    columns = columns if known is None else np.hstack([columns, known])
    is_labelled, has_odds = ~np.isnan(label), ~np.isnan(probability)
    folds = fold.reshape(len(label), -1)
    for own in np.unique(folds[:, 0]):
        used, wanted = is_labelled & np.all(folds != own, axis=1), folds[:, 0] == own
        if used.any():
            has = used & has_odds  # items without a probability are as the average one in this column
            columns[~has_odds, 0] = np.average(columns[has, 0], weights=weight[has]) if has.any() else 0.0
            w = effective_weights(weight[used])
            mean, spread = mean_and_spread(columns[used], w)
            scaled = (columns - mean) / spread
            predicted[wanted] = expit(_fitted(scaled[used], label[used], w) @ _with_one(scaled[wanted]).T)
    return predicted


def _columns(verdict: Codes, probability: Values) -> Values:
    """(n, 5) log odds, and Y or N as 1 or -1; then whether there is no probability but Y or N, unsure, or nothing."""
    has_odds = ~np.isnan(probability)
    p = np.clip(np.where(has_odds, probability, 0.5), _LEAST, 1.0 - _LEAST)
    only = np.where(has_odds, -2, verdict)
    said = (only == 1) | (only == 0)
    columns = np.log(p / (1.0 - p)), (verdict == 1) * 1.0 - (verdict == 0), said, only == 2, only == -1
    return np.stack(columns, axis=1).astype(np.float64)


def _with_one(columns: Values) -> Values:
    return np.hstack([columns, np.ones((len(columns), 1))])


def _fitted(columns: Values, label: Values, weight: Values) -> Values:
    """(k + 1,) coefficients, the intercept last; of the rising columns the most negative one is taken out in turn."""
    x = _with_one(np.vstack([columns, np.zeros((2, columns.shape[1]))]))
    y, w = np.append(label, [0.0, 1.0]), np.append(weight, [0.5, 0.5])
    ridge, kept = np.append(np.ones(columns.shape[1]), 0.0), np.append(np.any(columns != 0, axis=0), True)
    while True:
        coefficient = np.zeros(x.shape[1])
        coefficient[kept], _ = penalised_logistic(x[:, kept], y, w, ridge[kept])
        lowest = int(np.argmin(coefficient[:_N_RISING]))
        if coefficient[lowest] >= 0:
            return coefficient
        kept[lowest] = False


def rogan_gladen(share: Values, sensitivity: Values, specificity: Values) -> Values:
    r"""Correct the share of Y that a machine finds for its errors.

    :math:`(s + \mathit{sp} - 1) / (\mathit{se} + \mathit{sp} - 1)`, within 0 and 1; NaN where the machine says Y of
    true triples no more often than of false ones, so that its share has no information.

    References
    ----------
    Rogan, Gladen (1978), American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> rogan_gladen(np.array([0.3, 0.3]), np.array([0.9, 0.5]), np.array([0.8, 0.5])).round(4)
    array([0.1429,    nan])
    """
    skill = sensitivity + specificity - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(skill > 1e-12, np.clip((share + specificity - 1.0) / skill, 0.0, 1.0), np.nan)


def phi_of(table: Values) -> Values:
    """Correlation of two verdicts, from the shares (4, ...) of both Y, only the first, only the second, and none.

    References
    ----------
    Yule (1912), Journal of the Royal Statistical Society 75, 579-652; also called Matthews' correlation coefficient.

    Examples
    --------
    >>> phi_of(np.array([0.4, 0.1, 0.1, 0.4])).round(4)
    np.float64(0.6)
    """
    both, first, second, none = table
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt((both + first) * (second + none) * (both + second) * (first + none))
        return (both * none - first * second) / spread


class Skill(NamedTuple):
    """The part of the squared error of the share of Y that the machine takes away; at most 1, below 0 if it adds."""

    value: float
    low: float
    high: float

    @property
    def is_shown(self) -> bool:
        """Whether the interval is above 0: the machine is shown to be better than none."""
        return self.low > _ROUNDING


def skill(
    prediction: Values,
    share: Values,
    label: Values,
    weight: Values,
    question: Codes,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Skill:
    r"""Compare out-of-fold predictions with a machine and without one, by the Brier score of the labels.

    .. math:: 1 - \sum_i w_i (y_i - p_i)^2 \Big/ \sum_i w_i (y_i - s_i)^2

    with a percentile interval of bootstrap samples of questions.

    Parameters
    ----------
    prediction, share : (n,) float array
        Of :func:`recalibrated` with the machine, and with one that says nothing.
    label, weight : (n,) float array
        As there.
    question : (n,) int array
        Which items are drawn together.
    confidence, resamples, seed

    Returns
    -------
    Skill
        NaN where there is no label, without ends where the labels are of one question.

    References
    ----------
    Brier (1950), Monthly Weather Review 78; Efron, Tibshirani (1993), An Introduction to the Bootstrap.

    Examples
    --------
    >>> label, half = np.array([1.0, 0.0, 1.0, 0.0]), np.full(4, 0.5)
    >>> skill(np.array([0.75, 0.25, 0.75, 0.25]), half, label, np.ones(4), np.arange(4))
    Skill(value=0.75, low=0.75, high=0.75)
    """
    own = ~np.isnan(label)
    if not own.any():
        return Skill(np.nan, np.nan, np.nan)
    y, w = label[own], weight[own]
    error, of_share = w * (y - prediction[own]) ** 2, w * (y - share[own]) ** 2
    value = 1.0 - error.sum() / of_share.sum()
    questions, cluster = np.unique(question[own], return_inverse=True)
    if len(questions) < 2:
        return Skill(float(value), np.nan, np.nan)
    samples = BootstrapSamples(len(questions), resamples, seed)
    parts = resampled_quotients(samples, cluster, np.zeros(len(y), np.int32), 1, [error], [of_share])
    return Skill(float(value), *percentile_interval(1.0 - parts[0, :, 0], confidence).tolist())

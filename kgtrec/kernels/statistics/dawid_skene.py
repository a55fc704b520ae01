r"""The labels behind the verdicts of people who err: with the sensitivity and specificity of each.

Item i is true with probability :math:`\pi`, independently of the others; of a true item annotator j says yes with
probability :math:`\alpha_j` (sensitivity), of a false one no with probability :math:`\beta_j` (specificity),
independently of the other annotators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[Any]

_TOLERANCE, _MOST_STEPS = 1e-9, 10_000


class Annotators(NamedTuple):
    """What the verdicts say of the items and of the annotators."""

    probability: Values  # (n_items,) that the item is true; the share of true items for one without a verdict
    sensitivity: Values  # (n_annotators,) share of yes among their verdicts on true items
    specificity: Values  # (n_annotators,) share of no among their verdicts on false items
    share: float  # of true items


def dawid_skene(
    item: Codes,
    annotator: Codes,
    verdict: NDArray[np.bool_],
    n_items: int,
    n_annotators: int,
    *,
    times: Values | None = None,
    prior: tuple[float, float] = (1.0, 0.5),
    start: Values | None = None,
) -> Annotators:
    r"""Estimate labels and annotators' error rates together, by expectation maximisation.

    It begins with the share of yes among each item's verdicts, so of the two mirrored solutions it finds the one in
    which the majority is right more often than not. The prior keeps an annotator with few verdicts away from rates of 0
    and 1, and counts like verdicts: so many right ones, and so many wrong ones, on true items and on false ones. As it
    has more right ones, the mirrored solution is less probable, although it explains the verdicts equally well.

    Where no item has verdicts of three annotators, the verdicts do not determine the rates, whatever their number: of k
    annotators they fix k shares of yes and the covariance of each pair, and many values of :math:`\pi` allow rates
    between 0 and 1 that fit these. The prior then chooses among them.

    Parameters
    ----------
    item, annotator : (n_verdicts,) int array
    verdict : (n_verdicts,) bool array
        Whether the annotator says yes.
    n_items, n_annotators : int
    times : (n_items,) float array, optional
        How often each item is counted, as in a bootstrap sample. Default: once.
    prior : tuple of two floats
        Right and wrong verdicts that are added to those of each annotator, above 0.
    start : (n_items,) float array, optional
        Probabilities to begin with: those of all items, for a bootstrap sample. Default: as above.

    Returns
    -------
    Annotators

    References
    ----------
    Dawid, Skene (1979), Applied Statistics 28, 20-28.

    Examples
    --------
    Two agree on all of four items; the third one always says yes:

    >>> item, annotator = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    >>> says = np.array([1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1], bool)
    >>> result = dawid_skene(item, annotator, says, 4, 3)
    >>> result.probability.round(2), result.specificity.round(2)
    (array([0.97, 0.05, 0.97, 0.05]), array([0.84, 0.84, 0.29]))
    """
    from scipy.special import expit, logit

    counted = np.ones(n_items) if times is None else times
    n_verdicts = np.bincount(item, minlength=n_items)
    yes = np.bincount(item, verdict, n_items)
    probability = np.where(n_verdicts > 0, yes / np.maximum(n_verdicts, 1), 0.5) if start is None else start

    def rate(weight: Values, is_right: NDArray[np.bool_]) -> Values:
        n_right = np.bincount(annotator, weight[item] * is_right, n_annotators) + prior[0]
        return n_right / (np.bincount(annotator, weight[item], n_annotators) + sum(prior))

    for _ in range(_MOST_STEPS):
        share = float(np.average(probability, weights=counted))
        sensitivity = rate(counted * probability, verdict)
        specificity = rate(counted * (1.0 - probability), ~verdict)
        if_yes = np.log(sensitivity) - np.log1p(-specificity)
        if_no = np.log1p(-sensitivity) - np.log(specificity)
        evidence = np.where(verdict, if_yes[annotator], if_no[annotator])
        before, probability = probability, expit(logit(share) + np.bincount(item, evidence, n_items))
        if not np.any(np.abs(probability - before) > _TOLERANCE):
            break
    return Annotators(probability, sensitivity, specificity, share)

"""How well probabilities distinguish true items from false ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.calibration import phi_of

Values = NDArray[np.float64]


def weighted_auc(prediction: Values, label: Values, weight: Values) -> float:
    """Probability that a random true item has a higher prediction than a random false one; ties count half.

    Parameters
    ----------
    prediction : (n,) float array
    label : (n,) float array
        1 or 0.
    weight : (n,) float array

    Returns
    -------
    float
        NaN without a true item, or without a false one.

    References
    ----------
    Hanley, McNeil (1982), Radiology 143, 29-36.

    Examples
    --------
    >>> weighted_auc(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.ones(3))
    0.75
    """
    yes, no = _at_thresholds(prediction, label, weight)[1:]
    above = np.cumsum(yes) - 0.5 * yes  # true items whose prediction is higher than the threshold
    with np.errstate(invalid="ignore"):
        return float(np.sum(no * above) / (yes.sum() * no.sum()))


def best_threshold(prediction: Values, label: Values, weight: Values) -> float:
    """Return the threshold from which on items are called true that gives the highest correlation with the labels.

    References
    ----------
    See :func:`kgtrec.kernels.statistics.calibration.phi_of`.

    Examples
    --------
    >>> best_threshold(np.array([0.9, 0.5, 0.4, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4))
    0.5
    """
    threshold, yes, no = _at_thresholds(prediction, label, weight / weight.sum())
    both, first = np.cumsum(yes), np.cumsum(no)
    phi = phi_of(np.stack([both, first, both[-1] - both, first[-1] - first]))
    return float(threshold[np.argmax(np.where(np.isnan(phi), -np.inf, phi))])


def _at_thresholds(prediction: Values, label: Values, weight: Values) -> tuple[Values, Values, Values]:
    """The different predictions, the highest first, and the weights of true and false items that have each."""
    order = np.argsort(-prediction, kind="stable")
    start = np.flatnonzero(np.append(True, np.diff(prediction[order]) != 0))
    yes, no = (np.add.reduceat((weight * of)[order], start) for of in (label, 1.0 - label))
    return prediction[order][start], yes, no

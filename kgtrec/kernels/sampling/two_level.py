"""How likely a candidate is to be judged: the more, the more a Yes would change the measures of the systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.credit import Credit
from kgtrec.kernels.sampling.uncertain_labels import Lists, gradients

Values = NDArray[np.float64]

_ROUNDING = 1e-9


def changes(lists: Lists, prediction: Values, measures: Sequence[Credit]) -> Values:
    """Find by how much a Yes instead of a No would change the expectation of measures, (n_lists, length), added up.

    Parameters
    ----------
    lists : Lists
    prediction : (n_lists, length) float array
        Probability of each uncertain candidate to be relevant.
    measures : sequence of Credit
        Of each measure, what one relevant candidate adds.

    Examples
    --------
    >>> from functools import partial
    >>> from kgtrec.kernels.lists.credit import precision
    >>> lists = Lists(np.array([[1, 30]]), np.zeros((1, 0), int), np.array([0]), np.array([2]))
    >>> changes(lists, np.full((1, 2), 0.5), [partial(precision, cutoff=10)])
    array([[0.1, 0. ]])
    """
    return np.asarray(np.abs(gradients(lists, prediction, measures)).sum(axis=0))


def rates(change: Values, mean: float, floor: float) -> Values:
    """Scale changes to probabilities of a given mean, each at most 1, and none below a share of the mean change.

    Parameters
    ----------
    change : (n,) float array, at least 0
    mean : float, in (0, 1]
    floor : float, in (0, 1]
        Share of the mean change that the smallest ones count as.

    Examples
    --------
    >>> rates(np.array([0.0, 1.0, 2.0]), 0.5, 0.3)
    array([0.13636364, 0.45454545, 0.90909091])
    """
    if not len(change):
        return change
    if not change.any():
        return np.full(len(change), mean)
    change = np.ldexp(change, -np.frexp(change.max())[1])  # exact, and as far from the smallest floats as can be
    change = np.maximum(change, floor * change.mean())
    # the largest are at 1; the first number of these such that no other would be above it
    descending = np.sort(change)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]
    scale = (mean * len(change) - np.arange(len(change))) / rest
    return np.asarray(np.minimum(1.0, change * scale[np.argmax(scale * descending <= 1.0 + _ROUNDING)]))

"""What published chance-adjusted numbers were computed with, where it is not what kgtrec does; for comparison only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.kernels.chance.ranks import Floats, Moments, normalised_weights


def compatible_candidates(candidates: ArrayLike, compat: Literal["exact", "one fewer"] = "exact") -> NDArray[np.int64]:
    """The counts as they are, or one fewer (at least 1).

    One fewer is what the z-scores and the AGMRI of the result files of Hoyt et al. (2022) were made with, which do not
    count the true answer among its candidates; it is there to reproduce those numbers.

    Examples
    --------
    >>> compatible_candidates([1, 5], "one fewer")
    array([1, 4])
    """
    counts = np.asarray(candidates, np.int64)
    return counts if compat == "exact" else np.maximum(counts - 1, 1)


def continuous_reciprocal_rank(candidates: ArrayLike, weight: ArrayLike | None = None) -> float:
    r"""Expected MRR of ranks continuous on 1..m, m the mean number of candidates: :math:`\ln m / (m - 1)`.

    The approximation behind the AMRR of the result files of Hoyt et al. (2022), there to reproduce them; the exact
    value is that of `expected_reciprocal_rank`. NaN without items, 1 where the mean is 1.

    Examples
    --------
    >>> round(continuous_reciprocal_rank([2, 4]), 4)  # ln 3 / 2
    0.5493
    """
    counts = np.asarray(candidates, np.int64).ravel()
    if counts.size == 0:
        return float("nan")
    mean = float(np.average(counts, weights=normalised_weights(weight)))
    return float(np.log(mean) / (mean - 1.0)) if mean > 1.0 else 1.0


class Items(NamedTuple):
    """Candidate counts of items, and their weights."""

    candidates: ArrayLike
    weight: ArrayLike | None = None


def mean_moments(
    items: Items, expectation: Callable[..., Floats], variance: Callable[..., Floats], **parameters: float
) -> Moments:
    """Expectation and variance of a weighted mean over items, from those of one item as functions of N.

    ``expectation`` and ``variance`` are functions of ``(candidates, **parameters)``, such as `expected_rank` and
    `variance_rank`; both moments are NaN without items.

    Examples
    --------
    >>> from kgtrec.kernels.chance.ranks import expected_rank, variance_rank
    >>> mean_moments(Items([2, 2]), expected_rank, variance_rank)
    Moments(expectation=1.5, variance=0.125)
    """
    each = (function(items.candidates, **parameters) for function in (expectation, variance))
    return weighted_moments(*each, items.weight)


def weighted_moments(expectation: ArrayLike, variance: ArrayLike, weight: ArrayLike | None = None) -> Moments:
    """Expectation and variance of a weighted mean of independent items, from those of each item.

    Examples
    --------
    >>> weighted_moments([1.0, 2.0], [1.0, 1.0], [3, 1])
    Moments(expectation=1.25, variance=0.625)
    """
    means, variances = np.asarray(expectation, np.float64), np.asarray(variance, np.float64)
    n = means.size
    if n == 0:
        return Moments(float("nan"), float("nan"))
    weights = normalised_weights(weight)
    if weights is None:
        return Moments(float(means.sum() / n), float(variances.sum() / n / n))
    return Moments(float(np.sum(weights * means)), float(np.sum(weights * weights * variances)))

r"""Estimates from a stratified random sample of a pool: how many positives the pool has.

Of the :math:`N_h` items of stratum h, :math:`n_h` are drawn at random without replacement and judged, independently of
the other strata. So an item of h is in the sample with probability :math:`\pi_i = n_h / N_h`, two of them with
:math:`n_h (n_h - 1) / (N_h (N_h - 1))`, and two of different strata with the product of their probabilities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[Any]


class Estimate(NamedTuple):
    """Estimated totals and the variances of the estimates, one per group."""

    total: Values  # (n_groups,)
    variance: Values  # (n_groups,) NaN where a stratum of more than one item has a sample of one


def estimated_totals(
    value: Values, stratum: Codes, population: Codes, *, group: Codes | None = None, n_groups: int = 1
) -> Estimate:
    r"""Horvitz-Thompson estimates of sums over all items, of which only a stratified sample has been judged.

    .. math::

        \hat T = \sum_i y_i / \pi_i, \qquad
        \hat V = \sum_h N_h^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2}{n_h}

    with :math:`s_h^2` the sample variance of y in stratum h. The total of a group of items is computed with y set to 0
    outside of the group, so its variance takes into account that the group's share of the sample is random.

    Parameters
    ----------
    value : (n,) float array
        Value of each item of the sample; 1 for a positive and 0 for a negative gives numbers of positives.
    stratum : (n,) int array, from 0
    population : (n_strata,) int array
        How many items each stratum has, in the sample or not.
    group : (n,) int array, optional
        Below ``n_groups``; by default all items are of one group.

    Returns
    -------
    Estimate
        Unbiased, both the total and the variance; the total is also over strata without a sampled item, which count 0.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47; Cochran (1977), Sampling Techniques,
    sections 5.3 and 5A.14.

    Examples
    --------
    >>> estimated_totals(np.array([1.0, 0.0]), np.array([0, 0]), np.array([10]))
    Estimate(total=array([5.]), variance=array([20.]))
    """
    n_strata = len(population)
    group = np.zeros(len(value), np.int64) if group is None else group
    drawn = np.bincount(stratum, minlength=n_strata)
    cell = group.astype(np.int64) * n_strata + stratum
    # cells without an item add neither to totals nor to variances, so only the others are computed
    cells, place = np.unique(cell[value != 0], return_inverse=True)
    worth = value[value != 0]
    total = np.bincount(place, weights=worth, minlength=len(cells))
    square = np.bincount(place, weights=worth**2, minlength=len(cells))
    of_group, of_stratum = np.divmod(cells, max(n_strata, 1))
    n, size = drawn[of_stratum].astype(np.float64), population[of_stratum].astype(np.float64)
    spread = np.divide(square - total**2 / n, n - 1, out=np.full(len(cells), np.nan), where=n > 1)
    variance = np.where(n == size, 0.0, size**2 * (1 - n / size) * spread / n)
    return Estimate(
        *(np.bincount(of_group, part, n_groups).astype(np.float64) for part in (total * size / n, variance))
    )

"""Confidence intervals of quotients of two sums, whose items are sampled in units such as triples or questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.exact_sums import group_sums

Floats = NDArray[np.float64]
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of sampling: which items have a part in which unit, once for any number of measures."""

    group: NDArray[np.int64]  # (n_items,) the group that each item counts in
    size: int  # how many groups there are
    item: NDArray[np.intp]  # (links,) an item,
    share: Floats  # (links,) how much of it
    place: NDArray[np.intp]  # (links,) goes to which part of a unit, a row of `own_group`
    own_group: NDArray[np.int64]  # (parts,) the group of each unit's part, ascending

    @classmethod
    def of(
        cls,
        unit: NDArray[np.integer[Any]],
        group: NDArray[np.int32],
        size: int,
        item: NDArray[np.intp] | None = None,
        share: Floats | None = None,
    ) -> Units:
        """Units of items.

        Parameters
        ----------
        unit : (n_items,) int array, or (links,) if there are links
            The unit of each item, or of each link.
        group : (n_items,) int array
            The group of each item; a unit may have items of several groups.
        size : int
            How many groups there are.
        item, share : (links,) arrays, optional
            Where items belong to several units: the item of each link, and how much of it counts in that unit.
        """
        item = np.arange(len(unit)) if item is None else item
        share = np.ones(len(unit)) if share is None else share
        width = int(unit.max(initial=0)) + 1
        parts, place = np.unique(group[item].astype(np.int64) * width + unit, return_inverse=True)
        return cls(group.astype(np.int64), size, item, share, place, parts // width)

    def parts(self, items: Floats) -> Floats:
        """(parts,) the sum over the items of each unit's part."""
        sums = np.bincount(self.place, weights=self.share * items[self.item], minlength=len(self.own_group))
        return np.asarray(sums, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Quotients:
    """Quotients of two sums, with estimates from one set of units of their spread over other sets."""

    value: Floats  # (size,) NaN where the denominator is 0
    error: Floats  # (size,) standard error; NaN where there are fewer than two units, or no spread
    effective: Floats  # (size,) effective number of units; NaN where the error is NaN


def quotients(units: Units, above: Floats, below: Floats) -> Quotients:
    r"""Quotients of two sums of each group, with their standard errors and effective numbers of units.

    The quotient is :math:`\theta = \sum y / \sum x`. With :math:`e_u = \sum_{i \in u} (y_i - \theta x_i) / \sum x`, the
    influence of unit u on :math:`\theta`, the squared standard error is :math:`n / (n - 1) \sum_u e_u^2`: the
    linearised jackknife. The effective number of units is :math:`(\sum_u e_u^2)^2 / \sum_u e_u^4`: with so many units
    of equal parts the variance would be as uncertain as with these. It is 1 where one unit makes up the whole variance;
    for n units with normal parts it is n / 3.

    Parameters
    ----------
    units : Units
    above, below : (n_items,) float arrays
        The items of the sums in the numerator and the denominator.

    Returns
    -------
    Quotients

    References
    ----------
    Kish (1965). Survey Sampling, section 6.5, for the quotient of two sums over clusters.
    Efron (1982). The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6.
    Satterthwaite (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2.

    Examples
    --------
    >>> units = Units.of(np.arange(4), np.zeros(4, np.int32), 1)
    >>> found = quotients(units, np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))
    >>> found.value, found.error.round(4), found.effective
    (array([0.5]), array([0.2887]), array([4.]))
    """
    group, own, size = units.group, units.own_group, units.size
    whole = group_sums(group, below, size)
    n = np.bincount(own, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = group_sums(group, above, size) / whole
        expected = value[group] * below
        left = (above - expected) / whole[group]
        left = np.where(np.abs(above - expected) <= _ROUNDING * (np.abs(above) + np.abs(expected)), 0.0, left)
        squared = units.parts(left) ** 2
        second = np.bincount(own, weights=squared, minlength=size)
        fourth = np.bincount(own, weights=squared**2, minlength=size)
        known = (n > 1) & (second > 0)
        error = np.where(known, np.sqrt(n / (n - 1) * second), np.nan)
        effective = np.where(known, second**2 / fourth, np.nan)
    return Quotients(value, error, effective)


def t_interval(quotients: Quotients, confidence: float, bounds: tuple[float, float]) -> Floats:
    r"""Student's t intervals of quotients, on a scale without bounds.

    The scale is the logit of the value's position between two finite bounds, the logarithm of its distance from one,
    or the value itself. Student's t has one degree of freedom fewer than the effective number of units. Satterthwaite's
    degrees of freedom are more, :math:`2 / (1 / \mathrm{effective} - 1 / n)`; but units of great weight also make the
    estimate skewed, for which the fewer degrees compensate (benchmarks/coverage.py measures both).

    Parameters
    ----------
    quotients : Quotients
    confidence : float, between 0 and 1
    bounds : (float, float)
        Bounds of the value; infinite where it has none.

    Returns
    -------
    (2, size) float array
        NaN where there is no error, at most one effective unit, or a value at its bound.

    Examples
    --------
    >>> half = Quotients(np.array([0.5]), np.array([0.05]), np.array([100.0]))
    >>> t_interval(half, 0.95, (0.0, 1.0)).ravel().round(4), t_interval(half, 0.95, (-np.inf, np.inf)).ravel().round(4)
    (array([0.4021, 0.5979]), array([0.4008, 0.5992]))
    """
    from scipy.special import stdtrit

    low, high = bounds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        freedom = np.where(quotients.effective > 1, quotients.effective - 1, np.nan)
        reach = stdtrit(freedom, (1 + confidence) / 2) * quotients.error
        below, above = quotients.value - low, high - quotients.value
        if np.isfinite(low) and np.isfinite(high):
            step = np.exp(reach * (high - low) / (below * above))
            ends = np.array([low + (high - low) / (1 + above / below * factor) for factor in (step, 1 / step)])
        elif np.isfinite(low):
            step = np.exp(reach / below)
            ends = np.array([low + below / step, low + below * step])
        elif np.isfinite(high):
            step = np.exp(reach / above)
            ends = np.array([high - above * step, high - above / step])
        else:
            ends = np.array([quotients.value - reach, quotients.value + reach])
        inside = (below > 0) & (above > 0) & ~np.isnan(reach)
    return np.where(inside, ends, np.nan)

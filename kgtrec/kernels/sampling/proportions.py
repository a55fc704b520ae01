"""Intervals for shares: of one sample, and of several strata combined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float64]


def wilson_interval(successes: NDArray[Any], n: NDArray[Any], confidence: float) -> Shares:
    r"""Wilson's score interval of a proportion.

    With :math:`p = x / n` and the normal quantile z, the ends are
    :math:`\left(p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}\right) / (1 + z^2 / n)`. They stay within 0 and 1,
    and have a width even where every trial, or none, was a success.

    Parameters
    ----------
    successes : (...) int array
        x, at most ``n``.
    n : (...) int array, trials
    confidence : float, between 0 and 1

    Returns
    -------
    (2, ...) float array
        Lower and upper ends; NaN where there were no trials.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> wilson_interval(np.array(184), np.array(200), 0.95).round(4)
    array([0.874 , 0.9502])
    """
    from scipy.special import ndtri

    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    x, trials = np.asarray(successes, np.float64), np.asarray(n, np.float64)
    known = trials > 0
    trials = np.where(known, trials, 1.0)
    middle = x + z2 / 2
    spread = np.sqrt(z2 * (x * (trials - x) / trials + z2 / 4))
    ends = np.stack([middle - spread, middle + spread]) / (trials + z2)
    # where every trial or none was a success, rounding must not move the end away from 0 or 1
    ends[0] = np.where(x == 0, 0.0, ends[0])
    ends[1] = np.where(x == trials, 1.0, ends[1])
    return np.where(known, ends, np.nan)


def weighted_interval(weights: Shares, value: Shares, ends: Shares) -> Shares:
    r"""Interval of a weighted sum of independent estimates from the interval of each.

    Variance estimates recovered from the intervals: with estimates :math:`p_h` in :math:`[l_h, u_h]` and weights of
    at least 0, the ends are :math:`\sum w_h p_h - \sqrt{\sum w_h^2 (p_h - l_h)^2}` and
    :math:`\sum w_h p_h + \sqrt{\sum w_h^2 (u_h - p_h)^2}`. One estimate of weight 1 keeps its own interval.

    Parameters
    ----------
    weights, value : (h,) float array
    ends : (2, h) float array
        Lower and upper ends.

    Returns
    -------
    (2,) float array

    References
    ----------
    Zou, Huang, Zhang (2009), Computational Statistics and Data Analysis 53, 1080-1085.

    Examples
    --------
    >>> weighted_interval(np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([[0.1, 0.2], [0.9, 0.8]])).round(4)
    array([0.25, 0.75])
    """
    total = weights @ value
    below, above = np.sqrt(np.sum((weights * (ends - value)) ** 2, axis=1))
    return np.array([total - below, total + above])


def part_interval(value: Shares, ends: Shares) -> Shares:
    r"""Interval of :math:`x / (x + y)`, for independent estimates x and y of at least 0, from the interval of each.

    It follows from that of the ratio :math:`w = y / x`, since the part is :math:`1 / (1 + w)`. By variance estimates
    recovered from the intervals, with x in :math:`[l_x, u_x]` and y in :math:`[l_y, u_y]`, its ends are

    .. math::

        \frac{l_y (2 y - l_y)}{x y + \sqrt{x^2 y^2 - l_y (2 y - l_y) u_x (2 x - u_x)}}, \quad
        \frac{x y + \sqrt{x^2 y^2 - u_y (2 y - u_y) l_x (2 x - l_x)}}{l_x (2 x - l_x)}

    Parameters
    ----------
    value : (2,) float array
        x and y.
    ends : (2, 2) float array
        Lower ends of x and y, and upper ones.

    Returns
    -------
    (2,) float array
        NaN where both are 0, or one of them is unknown.

    References
    ----------
    Donner, Zou (2012), Statistical Methods in Medical Research 21, 347-359: closed-form intervals of functions of
    parameters.

    Examples
    --------
    >>> part_interval(np.array([30.0, 10.0]), np.array([[25.0, 5.0], [34.0, 20.0]])).round(4)
    array([0.5932, 0.8582])
    """
    x, y = value.tolist()
    if np.isnan(value).any() or np.isnan(ends).any() or x + y == 0:
        return np.full(2, np.nan)
    if x == 0:  # then x / y is the finite ratio
        return 1.0 - part_interval(value[::-1], ends[:, ::-1])[::-1]
    (low_x, low_y), (high_x, high_y) = ends.tolist()
    lower, upper = low_y * (2 * y - low_y), high_y * (2 * y - high_y)
    below = x * y + np.sqrt(x**2 * y**2 - lower * high_x * (2 * x - high_x))
    above = x * y + np.sqrt(x**2 * y**2 - upper * low_x * (2 * x - low_x))
    least = lower / below if below > 0 else 0.0
    room = low_x * (2 * x - low_x)
    most = above / room if room > 0 else np.inf
    return np.array([1.0 / (1.0 + most), 1.0 / (1.0 + least)])

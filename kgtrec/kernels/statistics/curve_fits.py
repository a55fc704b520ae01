"""How one score depends on another: along a line, or along a logarithm."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT = 1e-20  # of the squares about the mean: below it, the error of a fit is rounding only


class Fit(NamedTuple):
    """Least squares of y = intercept + slope * x."""

    intercept: float
    slope: float
    r2: float  # each point predicted from the others: 1 - their squared errors / the squares about the mean
    aic: float  # Akaike's criterion, up to a constant that depends on the number of points alone; NaN of an exact fit


def fitted(x: Floats, y: Floats) -> Fit:
    """A line through points, and how well each point is predicted from the others.

    Parameters
    ----------
    x, y : (n,) float arrays
        At least 3 points with different x; NaN everywhere else.

    Returns
    -------
    Fit

    References
    ----------
    Allen (1974), Technometrics 16(1), for errors of points left out; Akaike (1974), IEEE Transactions on Automatic
    Control 19(6).

    Examples
    --------
    >>> fit = fitted(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 7.0]))
    >>> fit.intercept, fit.slope, fit.r2
    (1.0, 2.0, 1.0)
    """
    nothing = Fit(*[float("nan")] * 4)
    if len(x) < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return nothing
    centred, n = x - x.mean(), len(x)
    spread = float(centred @ centred)
    if not spread > 1e-24:
        return nothing
    slope = float(centred @ (y - y.mean())) / spread
    intercept = float(y.mean() - slope * x.mean())
    errors = y - intercept - slope * x
    left_out = errors / np.maximum(1 - 1 / n - centred**2 / spread, 1e-12)
    about = float(((y - y.mean()) ** 2).sum())
    r2 = 1 - float((left_out**2).sum()) / about if about > 0 else float("nan")
    # three parameters, including the variance
    squares = float((errors**2).sum())
    aic = n * math.log(squares / n) + 6 if squares > _EXACT * about else float("nan")
    return Fit(intercept, slope, r2, aic)


class WrongPairs(NamedTuple):
    """Pairs of systems, and how many of them two scores order differently."""

    pairs: int  # that the first distinguishes
    wrong: int  # that the second puts in reverse order
    tied: int  # that the second does not distinguish
    mean_gap: float  # mean difference of the first score over the wrong pairs; 0 if there are none
    max_gap: float  # the greatest such difference


def wrong_pairs(first: Floats, second: Floats, counted: NDArray[np.bool_]) -> WrongPairs:
    """Compare the order of systems under two scores.

    Parameters
    ----------
    first, second : (s,) float arrays
    counted : (s, s) bool array
        Which pairs to count; only those above the diagonal are looked at.

    Examples
    --------
    >>> wrong_pairs(np.array([0.1, 0.2, 0.5]), np.array([0.1, 0.3, 0.2]), np.ones((3, 3), bool))
    WrongPairs(pairs=3, wrong=1, tied=0, mean_gap=0.3, max_gap=0.3)
    """
    one, other = np.nonzero(np.triu(counted, 1))
    gap, shown = first[other] - first[one], second[other] - second[one]
    compared = np.isfinite(gap) & np.isfinite(shown) & (gap != 0)
    gap, shown = gap[compared], shown[compared]
    wrong = gap * shown < 0
    sizes = np.abs(gap[wrong])
    return WrongPairs(
        len(gap),
        int(wrong.sum()),
        int((shown == 0).sum()),
        float(sizes.mean()) if len(sizes) else 0.0,
        float(sizes.max(initial=0.0)),
    )

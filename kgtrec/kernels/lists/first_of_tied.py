"""The first of several relevant candidates among many in random order: its position, and the value of that.

``relevant`` of ``size`` tied candidates are relevant, ``before`` candidates are above them all, and every
order of the tied ones is equally likely. J is the 1-based position of the first relevant one among the tied, so that
P(J > j) = C(size - j, relevant) / C(size, relevant). With ``before`` 0 and ``size`` the number of all candidates, this
is a random order of everything: the chance model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.place_sums import sum_reciprocals

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FORWARD_LOSS = 6.0  # log of the error's growth up to which the upward recursion is used
_FORGOTTEN = 40.0  # -log of the share of a wrong start that is left at the end of the downward recursion
_NEGLIGIBLE = 1e-18


def share_with(size: Counts, taken: Counts, relevant: Counts) -> Floats:
    """P(J <= taken): a relevant candidate is among the first ``taken`` of ``size``; at full precision where small.

    Parameters
    ----------
    size, taken, relevant : (n,) int arrays, at least 0, ``taken`` and ``relevant`` at most ``size``

    Returns
    -------
    (n,) float array; 1 - C(size - taken, relevant) / C(size, relevant)

    Notes
    -----
    A product of min(taken, relevant) factors; logarithms of gamma functions would cost eight digits at 10 ** 8
    candidates.

    Examples
    --------
    >>> share_with(np.array([4, 10**8]), np.array([2, 1]), np.array([1, 1]))
    array([5.e-01, 1.e-08])
    """
    few, many = np.minimum(taken, relevant), np.maximum(taken, relevant)
    # -inf where the relevant candidates cannot all be after the taken ones
    log_without = np.where(taken + relevant <= size, 0.0, -np.inf)
    open_rows = np.flatnonzero((log_without == 0) & (few > 0))
    step = 0
    while len(open_rows):
        log_without[open_rows] += np.log1p(-many[open_rows] / (size[open_rows] - step))
        step += 1
        open_rows = open_rows[few[open_rows] > step]
    return -np.expm1(log_without)


def mean_first(size: Counts, relevant: Counts) -> Floats:
    """E[J]; ``relevant`` at least 1.

    Examples
    --------
    >>> mean_first(np.array([4, 3]), np.array([1, 3]))
    array([2.5, 1. ])
    """
    return (size + 1.0) / (relevant + 1.0)


def reciprocal_of_first(before: Counts, size: Counts, relevant: Counts, cutoff: int | None = None) -> Floats:
    """E[1 / (before + J)], counting 0 where ``before + J`` is below the cutoff.

    Parameters
    ----------
    before, size, relevant : (n,) int arrays
        ``relevant`` from 1 to ``size``.
    cutoff : int, optional
        Last position that counts.

    Returns
    -------
    (n,) float array in (0, 1], relative error below 1e-11

    Notes
    -----
    With G(r) the value for r relevant candidates, s = size and b = before, 1 / (b + j) splits so that
    G(r) (r - 1) (s - r + 1) / r = (s + b - r + 2) G(r - 1) - 1. From G(1), a difference of harmonic numbers, this is
    followed upwards where that is stable (b small compared with s / r), else downwards, where errors shrink by about
    s / (s + b) per step: from G(s) = 1 / (b + 1), or from so far above r that the start does not matter. So the work
    grows with ``relevant``, not with ``size``. With a cutoff, the positions up to it are added up.

    Examples
    --------
    >>> reciprocal_of_first(np.array([0, 2]), np.array([2, 2]), np.array([1, 2]))
    array([0.75      , 0.33333333])
    """
    columns = np.stack([before, size, relevant]).astype(np.int64)
    if columns.shape[1] == 0:
        return np.zeros(0)
    order = np.lexsort(columns)
    new = np.r_[True, np.any(np.diff(columns[:, order]), axis=0)]
    before, size, relevant = columns[:, order][:, new]
    last = size - relevant + 1 if cutoff is None else np.minimum(size - relevant + 1, cutoff - before)
    value = np.zeros(len(before))
    cut = (last > 0) & (last < size - relevant + 1)
    whole = last == size - relevant + 1
    single = relevant == 1
    rows = (whole | cut) & single
    value[rows] = sum_reciprocals(before[rows], last[rows]) / size[rows]
    downward = (size - relevant) <= np.maximum(4 * relevant, 64)
    downward |= relevant * np.log1p(before / size) > _FORWARD_LOSS
    for chosen, function in ((downward, _downwards), (~downward, _upwards)):
        rows = whole & ~single & chosen
        value[rows] = function(before[rows], size[rows], relevant[rows])
    rows = cut & ~single
    value[rows] = _place_by_place(before[rows], size[rows], relevant[rows], last[rows])
    values = np.empty(len(order))
    values[order] = value[np.cumsum(new) - 1]
    return values


def _upwards(before: Counts, size: Counts, relevant: Counts) -> Floats:
    value = sum_reciprocals(before, size) / size
    rows = np.flatnonzero(relevant > 1)
    r = 2
    while len(rows):
        s = size[rows]
        value[rows] = ((s + before[rows] - r + 2) * value[rows] - 1.0) * (r / ((r - 1) * (s - r + 1.0)))
        r += 1
        rows = rows[relevant[rows] >= r]
    return value


def _downwards(before: Counts, size: Counts, relevant: Counts) -> Floats:
    with np.errstate(divide="ignore"):
        steps = np.ceil(_FORGOTTEN / np.log1p(before / size))
    r = relevant + np.minimum(steps, size - relevant).astype(np.int64)
    value = np.where(r == size, 1.0 / (before + 1.0), 1.0 / (before + mean_first(size, r)))
    rows = np.flatnonzero(r > relevant)
    while len(rows):
        s, now = size[rows], r[rows]
        value[rows] = ((now - 1.0) * (s - now + 1) / now * value[rows] + 1.0) / (s + before[rows] - now + 2)
        r[rows] -= 1
        rows = rows[r[rows] > relevant[rows]]
    return value


def _place_by_place(before: Counts, size: Counts, relevant: Counts, last: Counts) -> Floats:
    chance = relevant / size  # that the first one is at the current position
    total = chance / (before + 1.0)
    rows = np.flatnonzero(last > 1)
    position = 1
    while len(rows):
        s = size[rows]
        chance[rows] *= (s - position - relevant[rows] + 1) / (s - position)
        position += 1
        total[rows] += chance[rows] / (before[rows] + position)
        rows = rows[(last[rows] > position) & (chance[rows] * s > _NEGLIGIBLE * total[rows])]
    return total

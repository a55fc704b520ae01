"""Sums of groups of floats that are the same, to the last bit, in any order of the items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PARTS = 3  # of 53 bits less those of the number of items, each


def group_sums(group: NDArray[np.integer[Any]], value: NDArray[Any], size: int) -> Floats:
    r"""Sum the values of each group, with the same bytes in any order of the items, alone or beside other groups.

    A group of :math:`n < 2^b` values below :math:`2^e` has the grid of the multiples of :math:`2^{e + b - 53}`. Sums of
    values rounded to it are exact, and so is what the rounding takes away, which has a finer grid. Three such sums are
    added, the smallest first. What the third leaves out is below :math:`2^{4b - 159}` of the largest value.

    For values of one sign, up to 16 million, the error is below one unit in the last place. With both signs,
    :math:`n^2 2^{-102}` of the sum of the absolute values is added to that.

    Parameters
    ----------
    group : (n,) int array
        The group of each value, from 0 to ``size - 1``.
    value : (n,) float or bool array
        A group with NaN, infinity or a sum near the largest float is added in the order given.
    size : int

    Returns
    -------
    (size,) float array
        0 for a group without values.

    References
    ----------
    Rump, Ogita and Oishi (2008). Accurate floating-point summation. Part I: Faithful rounding. SIAM J. Sci. Comput. 31.
    Demmel and Nguyen (2013). Fast reproducible floating-point summation. ARITH 21.

    Examples
    --------
    >>> value = np.array([0.1, 0.2, 0.3])
    >>> float(value.sum()), float(value[[1, 2, 0]].sum())
    (0.6000000000000001, 0.6)
    >>> [group_sums(np.zeros(3, int), own, 1).tolist() for own in (value, value[[1, 2, 0]])]
    [[0.6], [0.6]]
    """
    is_one = size == 1  # exact sums are the same in any order, so the fastest one serves
    group = group.astype(np.intp, copy=False)
    bits = np.frexp([len(group)] if is_one else np.bincount(group, minlength=size))[1]
    largest = np.abs(value).max(initial=0.0, keepdims=True) if is_one else np.zeros(size)
    left, sums = value, list[NDArray[Any]]()
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_one:
            np.maximum.at(largest, group, np.abs(value))
        grid = np.ldexp(np.where(np.isfinite(largest), 1.0, np.nan), np.frexp(largest)[1] + bits)
        known = np.isfinite(grid)
        while len(sums) < _PARTS and (not sums or left.any()):  # usually the second part leaves nothing
            own = grid if is_one else grid.take(group)
            part = left + own
            part -= own
            sums.append(part.sum(keepdims=True) if is_one else np.bincount(group, part, size))
            left, grid = np.subtract(left, part, out=part), np.ldexp(grid, bits - 53)
    total = sum(reversed(sums), np.zeros(size))
    return total if known.all() else np.where(known, total, np.bincount(group, value, size))

"""Letters beside means: two share one if, and only if, they do not differ significantly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def compact_letters(differ: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Group systems, in as few groups as insertion and absorption find, so that none contains two that differ.

    Two systems that do not differ share at least one group; no group is a subset of another.

    Parameters
    ----------
    differ : (n, n) bool array, symmetric
        Which pairs differ significantly; the diagonal is not read.

    Returns
    -------
    (n, groups) bool array
        Which system is in which group; groups in the order of their first member, ties by their next ones.

    References
    ----------
    Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, Journal of Computational
    and Graphical Statistics 13(2).

    Examples
    --------
    The first and the last differ, the middle one from neither.

    >>> differ = np.zeros((3, 3), bool)
    >>> differ[0, 2] = differ[2, 0] = True
    >>> compact_letters(differ).astype(int)
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """
    n = len(differ)
    groups = np.ones((1, n), np.bool_)
    if n == 0:
        return groups[:0].T
    # system by system: a group that contains it and others that differ from it becomes two, without it and without them
    for system in range(n):
        others = differ[system].copy()
        others[system] = False
        split = groups[:, system] & (groups & others).any(axis=1)
        if not split.any():
            continue
        without_it = groups[split].copy()
        without_it[:, system] = False
        without_them = groups[split] & ~others
        groups = _absorbed(np.vstack([groups[~split], without_it, without_them]))
    # np.lexsort sorts by its last key first: the first system's membership counts most
    return groups[np.lexsort(~groups.T[::-1])].T


def _absorbed(groups: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Without the groups that are subsets of another."""
    groups = np.unique(groups, axis=0)
    sizes = groups.sum(axis=1)
    shared = groups.astype(np.int32) @ groups.T.astype(np.int32)
    within = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    return groups[~within.any(axis=1)]

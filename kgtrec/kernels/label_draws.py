"""Which facts lose their labels: at random, or so that missing and found go together to a given extent.

A fact has one answer or two, one for each side it is asked from, and all its answers lose their labels at once. What
is found is a matter of single answers. The correlation is that of two bits of each answer, missing and found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.random_order import Keys

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


def missing_at_random(key: Keys, n_missing: int) -> Mask:
    """The facts of the highest keys: with fewer missing, those that stay missing were missing before.

    Parameters
    ----------
    key : (n,) uint64 array
        Random numbers, one per fact.
    n_missing : int
        From 0 to n.

    Returns
    -------
    (n,) bool array

    Examples
    --------
    >>> missing_at_random(np.array([5, 9, 7], np.uint64), 1)
    array([False,  True, False])
    """
    missing = np.zeros(len(key), np.bool_)
    missing[np.argsort(key, kind="stable")[len(key) - n_missing :]] = True
    return missing


def correlation_of(missing: Mask, answers: Counts, found: Counts) -> float:
    """Correlation of missing and found over all answers; NaN where one of the two never or always holds.

    Parameters
    ----------
    missing : (n,) bool array
    answers, found : (n,) int arrays
        How many answers each fact has, and how many of them are found.

    Examples
    --------
    >>> round(correlation_of(np.array([True, False]), np.array([2, 2]), np.array([2, 1])), 5)
    0.57735
    """
    total = answers.sum()
    share, strength = answers[missing].sum() / total, found.sum() / total
    spread = share * (1 - share) * strength * (1 - strength)
    if not spread > 0:
        return float("nan")
    return float((found[missing].sum() / total - share * strength) / np.sqrt(spread))


def correlation_ends(answers: Counts, found: Counts, n_missing: int) -> tuple[float, float]:
    """Least and greatest correlation that there can be with so many facts missing; NaN where there is none.

    Where every fact has one answer these are the bounds of :func:`kgtrec.kernels.open_world.correlation_bounds`; two
    answers that lose their labels together leave less room, unless both are found or neither.

    Examples
    --------
    >>> [round(end, 4) for end in correlation_ends(np.ones(10, int), np.r_[np.ones(7, int), 0, 0, 0], 2)]
    [-0.7638, 0.3273]
    """
    low, high = (
        correlation_of(_filled(answers, found, n_missing, sign), answers, found) for sign in (-1, 1)
    )  # fmt: skip
    return low, high


def missing_in_correlation(key: Keys, answers: Counts, found: Counts, n_missing: int, correlation: float) -> Mask:
    """Facts to lose their labels, a mixture of a random choice and the one of the greatest correlation of that sign.

    The covariance is linear in how many facts of each kind are missing, so that the share of the mixture follows from
    the correlation wanted; what is off is the rounding to whole facts. Within a kind keys decide.

    Parameters
    ----------
    key, answers, found : (n,) arrays
        As above.
    n_missing : int
    correlation : float
        Within :func:`correlation_ends`.

    Returns
    -------
    (n,) bool array
    """
    kind, which = _kinds(answers, found)
    size = np.bincount(which)
    random = n_missing * size / len(key)
    extreme = np.bincount(which, weights=_filled(answers, found, n_missing, 1 if correlation > 0 else -1))
    low, high = correlation_ends(answers, found, n_missing)
    part = correlation / (high if correlation > 0 else low)
    wanted = _whole((1 - part) * random + part * extreme, n_missing)
    missing = np.zeros(len(key), np.bool_)
    for number in range(len(kind)):  # three, or six where some facts have one answer
        own = np.flatnonzero(which == number)
        missing[own[missing_at_random(key[own], int(wanted[number]))]] = True
    return missing


def _kinds(answers: Counts, found: Counts) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """What a missing fact of each kind adds to the covariance, and the kind of each fact."""
    gain = found - answers * (found.sum() / answers.sum())
    kind, which = np.unique(gain, return_inverse=True)
    return kind, which


def _filled(answers: Counts, found: Counts, n_missing: int, sign: int) -> Mask:
    """The missing facts of the extreme: those that add most, or least, to the covariance."""
    gain = found - answers * (found.sum() / answers.sum())
    missing = np.zeros(len(answers), np.bool_)
    missing[np.argsort(-sign * gain, kind="stable")[:n_missing]] = True
    return missing


def _whole(share: NDArray[np.float64], total: int) -> Counts:
    """Whole numbers with the sum ``total``, each within 1 of its share."""
    whole = np.floor(share + 1e-9).astype(np.int64)
    whole[np.argsort(whole - share, kind="stable")[: total - int(whole.sum())]] += 1
    return whole

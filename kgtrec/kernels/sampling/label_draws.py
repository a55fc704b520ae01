"""Which facts lose their labels: at random, or with a given correlation of missing and found.

A fact has one answer or two, one for each side that is asked for, and all its answers lose their labels together.
Each answer is found or not by itself. The correlation is between two bits of each answer, missing and found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.sampling.random_order import Keys

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def whole_share(share: float, n: int) -> int:
    """A share of n as a whole number, rounded down; a product within rounding of a whole number counts as that number.

    Examples
    --------
    >>> whole_share(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    return int(share * n + 1e-9)


def missing_at_random(key: Keys, n_missing: int) -> Mask:
    """The facts of the highest keys, so that a smaller number is a subset of a larger one.

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


class Shares(NamedTuple):
    """The relation between missing and found answers."""

    missing: Floats  # (...,) share of the answers that are missing
    on_missing: Floats  # (..., s) share of the missing ones that each system finds; of all if none is missing
    on_labelled: Floats  # (..., s) share of the labelled ones
    correlation: Floats  # (..., s) of missing and found; NaN where one of the two is constant


def shares_found(missing: Floats, both: Floats, strength: Floats) -> Shares:
    """Shares found of missing and of labelled answers, from the shares found and both found and missing of all.

    Parameters
    ----------
    missing : (...,) float array
        Share of the answers that are missing.
    both : (..., s) float array
        Share of the answers that are missing and found.
    strength : (s,) float array
        Share of the answers that are found.

    Examples
    --------
    >>> found = shares_found(np.array([0.5]), np.array([[0.3]]), np.array([0.8]))
    >>> [part.round(4).tolist() for part in found]
    [[0.5], [[0.6]], [[1.0]], [[-0.5]]]
    """
    beta = missing[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        on_missing = np.where(beta > 0, both / beta, strength)
        on_labelled = (strength - both) / (1 - beta)
        spread = beta * (1 - beta) * strength * (1 - strength)
        correlation = np.where(spread > 0, (both - beta * strength) / np.sqrt(spread), np.nan)
    return Shares(missing, on_missing, on_labelled, correlation)


def correlation_of(missing: Mask, answers: Counts, found: Counts) -> float:
    """Correlation of missing and found over all answers; NaN where one of the two is constant.

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
    share, both, strength = np.array([answers[missing].sum(), found[missing].sum(), found.sum()]) / answers.sum()
    return float(shares_found(np.asarray(share), np.array([both]), np.array([strength])).correlation[0])


def correlation_ends(answers: Counts, found: Counts, n_missing: int) -> tuple[float, float]:
    """Lowest and highest possible correlation with so many facts missing; NaN where it is undefined.

    Where every fact has one answer these are the bounds of :func:`kgtrec.kernels.openworld.moments.correlation_bounds`;
    two answers that lose their labels together narrow the range, unless both are found or neither. Where some facts
    have one answer and others two, it is the correlation of the lowest and the highest covariance.

    Parameters
    ----------
    answers, found : (n,) int arrays
        How many answers each fact has, and how many of them are found.
    n_missing : int

    Examples
    --------
    >>> [round(end, 4) for end in correlation_ends(np.ones(10, int), np.r_[np.ones(7, int), 0, 0, 0], 2)]
    [-0.7638, 0.3273]
    """
    gain = _gain(answers, found)
    low, high = (correlation_of(_filled(gain, n_missing, sign), answers, found) for sign in (-1, 1))
    return low, high


def missing_in_correlation(key: Keys, answers: Counts, found: Counts, n_missing: int, correlation: float) -> Mask:
    """Facts to lose their labels, a mixture of a random choice and the choice of the extreme correlation of that sign.

    The covariance and the share of the answers that are missing are linear in how many facts of each kind are missing,
    so that the share of the mixture follows from the wanted correlation, apart from rounding to whole facts.
    Within a kind, facts are chosen by their keys.

    Parameters
    ----------
    key : (n,) uint64 array
        Random numbers, one per fact.
    answers, found : (n,) int arrays
        How many answers each fact has, and how many of them are found.
    n_missing : int
    correlation : float
        Within :func:`correlation_ends`; a value beyond an end counts as that end.

    Returns
    -------
    (n,) bool array

    Examples
    --------
    >>> key, answers, found = np.arange(8, dtype=np.uint64), np.ones(8, int), np.array([1, 1, 1, 1, 0, 0, 0, 0])
    >>> missing_in_correlation(key, answers, found, 4, 0.5).astype(int)  # 3 of the 4 missing ones are found
    array([0, 1, 1, 1, 0, 0, 0, 1])
    """
    gain = _gain(answers, found)
    kind, which = np.unique(gain, return_inverse=True)
    size = np.bincount(which)
    extreme = _filled(gain, n_missing, 1 if correlation > 0 else -1)
    total = answers.sum()
    part = _part(
        correlation / correlation_of(extreme, answers, found), n_missing / len(key), answers[extreme].sum() / total
    )
    random = n_missing * size / len(key)
    wanted = _whole((1 - part) * random + part * np.bincount(which, weights=extreme), n_missing)
    missing = np.zeros(len(key), np.bool_)
    for number in range(len(kind)):  # three, or five where some facts have one answer
        own = np.flatnonzero(which == number)
        missing[own[missing_at_random(key[own], int(wanted[number]))]] = True
    return missing


def _part(ratio: float, at_random: float, at_extreme: float) -> float:
    r"""The share of the extreme in a mixture that has ``ratio`` times its correlation, at most 1.

    A mixture of t has t times the extreme's covariance and a share b(t) = (1 - t) b(0) + t b(1) of the answers missing,
    so its correlation is to the extreme's as :math:`t \sqrt{b(1) (1 - b(1))}` to :math:`\sqrt{b(t) (1 - b(t))}`.
    """
    ratio, rise = min(1.0, ratio), at_extreme - at_random
    if abs(rise) < 1e-12:  # as where all facts have the same number of answers
        return ratio
    scale = ratio**2 / (at_extreme * (1 - at_extreme))
    square, linear = 1 + scale * rise**2, scale * rise * (1 - 2 * at_random)
    root = np.sqrt(linear**2 + 4 * square * scale * at_random * (1 - at_random))
    return min(1.0, float(linear + root) / (2 * square))


def _gain(answers: Counts, found: Counts) -> Floats:
    """What each fact adds to the covariance of missing and found if it is missing, up to a factor."""
    return found - answers * (found.sum() / answers.sum())


def _filled(gain: Floats, n_missing: int, sign: int) -> Mask:
    """The missing facts of the extreme choice: those that add most, or least, to the covariance."""
    missing = np.zeros(len(gain), np.bool_)
    missing[np.argsort(-sign * gain, kind="stable")[:n_missing]] = True
    return missing


def _whole(share: Floats, total: int) -> Counts:
    """Whole numbers with the sum ``total``, each within 1 of its share."""
    whole = np.floor(share + 1e-9).astype(np.int64)
    whole[np.argsort(whole - share, kind="stable")[: total - int(whole.sum())]] += 1
    return whole

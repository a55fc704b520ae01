"""Which run to take the next judgement from: every strategy gives each run a number, and the highest is chosen.

The arms of a bandit are the runs that answer one question; to pull an arm is to judge the next unjudged candidate of
its list, and the reward is 1 if that is an answer. ``hits`` and ``misses`` count an arm's rewards, ``prior`` is a Beta
distribution of the probability of a reward.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.sampling.random_order import Keys

Values = NDArray[np.float64]


def move_to_front(hits: Values, misses: Values, prior: tuple[float, float], key: Keys) -> Values:
    """Fewest misses first: a run is chosen as long as it gives answers, and moves behind the others when it does not.

    All runs start with the same priority, which falls by one for each miss.

    References
    ----------
    Cormack, Palmer, Clarke (1998), SIGIR: Efficient construction of large test collections, local Move-to-Front.

    Examples
    --------
    >>> move_to_front(np.array([4.0, 0.0]), np.array([2.0, 1.0]), (1, 1), np.zeros(2, np.uint64))
    array([-2., -1.])
    """
    return -misses


def max_mean(hits: Values, misses: Values, prior: tuple[float, float], key: Keys) -> Values:
    """The mean of each run's Beta posterior.

    References
    ----------
    Losada, Parapar, Barreiro (2016), SAC: Feeling lucky? Multi-armed bandits for ordering judgements in pooling-based
    evaluation.

    Examples
    --------
    >>> max_mean(np.array([2.0, 0.0]), np.array([0.0, 2.0]), (1, 1), np.zeros(2, np.uint64))
    array([0.75, 0.25])
    """
    won = hits + prior[0]
    return won / (won + misses + prior[1])


def thompson(hits: Values, misses: Values, prior: tuple[float, float], key: Keys) -> Values:
    """A draw from each run's Beta posterior: more hits, or fewer judgements, make a run more likely to be chosen.

    Parameters
    ----------
    hits, misses : (n,) float arrays
    prior : two floats above 0
    key : (n,) uint64 array
        The randomness of each draw; the distribution's inverse is applied to it, so equal keys give equal draws.

    References
    ----------
    Thompson (1933), Biometrika 25; Losada, Parapar, Barreiro (2016), SAC.

    Examples
    --------
    >>> middle = np.full(2, 2**63, np.uint64)
    >>> thompson(np.array([2.0, 0.0]), np.array([0.0, 2.0]), (1, 1), middle).round(4)
    array([0.7937, 0.2063])
    """
    from scipy.special import betaincinv

    share = ((key >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return betaincinv(hits + prior[0], misses + prior[1], share).astype(np.float64, copy=False)


def turn_by_turn(hits: Values, misses: Values, prior: tuple[float, float], key: Keys) -> Values:
    """Fewest judgements first, so that the runs take turns.

    Examples
    --------
    >>> turn_by_turn(np.array([1.0, 0.0]), np.array([1.0, 1.0]), (1, 1), np.zeros(2, np.uint64))
    array([-2., -1.])
    """
    return -(hits + misses)


BANDITS = {"mtf": move_to_front, "max-mean": max_mean, "thompson": thompson, "first-yes": turn_by_turn}


def best_arm(value: Values, is_open: NDArray[np.bool_], tie: Keys) -> int:
    """The open arm of the highest value, for equal values the one with the lowest ``tie``; -1 where none is open.

    Examples
    --------
    >>> best_arm(np.array([0.5, 0.5, 0.9]), np.array([True, True, False]), np.array([7, 3, 1], np.uint64))
    1
    """
    arms = np.flatnonzero(is_open)
    if len(arms) == 0:
        return -1
    best = arms[value[arms] == value[arms].max()]
    return int(best[np.argmin(tie[best])])

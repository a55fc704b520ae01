"""What the shares of ranks up to some cutoffs allow the mean rank and the mean reciprocal rank to be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST_ROUNDS = 200
_NO_GAIN = 1e-12  # a rank whose reduced cost is above minus this does not lower the minimum


@dataclass(frozen=True, slots=True)
class SharesUpTo:
    """Lowest and highest share of ranks up to each cutoff, as several Hits@k of one system allow together.

    A share never falls from one cutoff to the next, so each limit holds for the cutoffs on one side of it too.
    """

    cutoff: NDArray[np.float64]  # (k,) increasing, below the largest rank
    low: NDArray[np.float64]  # (k,) never falling
    high: NDArray[np.float64]  # (k,) never falling
    largest: float  # the largest rank that there can be; inf where it is not known

    @classmethod
    def of(
        cls, cutoffs: Sequence[float], low: Sequence[float], high: Sequence[float], largest: float = np.inf
    ) -> SharesUpTo:
        """The limits of each cutoff and of its neighbours; cutoffs from ``largest`` on have no information.

        Examples
        --------
        >>> shares = SharesUpTo.of([10, 1], [0.6, 0.2], [0.7, 0.9])
        >>> shares.cutoff.tolist(), shares.low.tolist(), shares.high.tolist()
        ([1.0, 10.0], [0.2, 0.6], [0.7, 0.7])
        """
        order = [place for place in np.argsort(cutoffs, kind="stable") if cutoffs[place] < largest]
        cutoff, lows, highs = (np.array([given[place] for place in order], float) for given in (cutoffs, low, high))
        return cls(
            cutoff,
            np.maximum.accumulate(np.clip(lows, 0, 1)),
            np.minimum.accumulate(np.clip(highs, 0, 1)[::-1])[::-1],
            float(largest),
        )

    @property
    def is_possible(self) -> bool:
        """Whether any ranks have such shares."""
        return bool(np.all(self.low <= self.high))

    def best(self, step: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ranks and their shares where every rank is as good as the cutoffs allow: one ``step`` after a cutoff."""
        return np.r_[1.0, self.cutoff + step], np.diff(np.r_[0.0, self.high, 1.0])

    def worst(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ranks and their shares where every rank is as bad as the cutoffs allow: at a cutoff, or the largest."""
        return np.r_[self.cutoff, self.largest], np.diff(np.r_[0.0, self.low, 1.0])


def mean_rank_bounds(shares: SharesUpTo, *, step: float = 1.0) -> tuple[float, float]:
    r"""Lowest and highest mean rank of all ranks with such shares, :math:`\sum_j q_j r_j`.

    Parameters
    ----------
    shares : SharesUpTo
    step : float
        Distance between neighbouring ranks: 1, or 1/2 where ties have ranks between two positions.

    Returns
    -------
    low, high : float
        NaN if no ranks have such shares. Both are attained.

    Examples
    --------
    >>> mean_rank_bounds(SharesUpTo.of([1, 10], [0.25, 0.5], [0.25, 0.5], 100))
    (6.25, 52.75)
    """
    if not shares.is_possible:
        return np.nan, np.nan
    return _mean(*shares.best(step), 1), _mean(*shares.worst(), 1)


def reciprocal_rank_bounds(
    shares: SharesUpTo, *, step: float = 1.0, mean_rank: tuple[float, float] | None = None, power: int = 1
) -> tuple[float, float]:
    r"""Lowest and highest mean of :math:`r^{-p}` of all ranks with such shares, and with such a mean rank.

    Without a mean rank, every rank at its best place gives the highest mean, every rank at its worst place the lowest.
    With one, the two are linear programs over the shares of all ranks. The highest mean needs only the first and
    the last rank of each interval between cutoffs, since :math:`1 / r` is convex. For the lowest, ranks are added one
    by one as long as their reduced cost is negative, which within an interval is lowest near :math:`\lambda^{-1/2}`.

    Parameters
    ----------
    shares : SharesUpTo
        With a finite largest rank, if there is a mean rank.
    step : float
        Distance between neighbouring ranks: 1, or 1/2 where ties have ranks between two positions.
    mean_rank : (low, high), optional
        Limits of the mean rank.
    power : int
        2 gives the mean of squares, for a variance; not together with a mean rank.

    Returns
    -------
    low, high : float
        NaN if no ranks have such shares and such a mean rank. Both are attained by shares that are real numbers: those
        of n ranks are multiples of 1/n, and may come only within 1/n of the bounds.

    Examples
    --------
    >>> shares = SharesUpTo.of([1], [0.5], [0.5], 100)
    >>> reciprocal_rank_bounds(shares)
    (0.505, 0.75)
    >>> [round(bound, 4) for bound in reciprocal_rank_bounds(shares, mean_rank=(3, 3))]
    [0.6, 0.7425]
    """
    if not shares.is_possible:
        return np.nan, np.nan
    if mean_rank is None:
        return _mean(*shares.worst(), -power), _mean(*shares.best(step), -power)
    first, last = np.r_[1.0, shares.cutoff + step], np.r_[shares.cutoff, shares.largest]
    ends = np.unique(np.r_[first, last])
    highest = _extreme(shares, ends, mean_rank, sign=-1)
    if highest is None:
        return np.nan, np.nan
    ranks = ends
    for _ in range(_MOST_ROUNDS):
        lowest = _extreme(shares, ranks, mean_rank, sign=1)
        if lowest is None:
            return np.nan, np.nan
        value, slope, level = lowest
        turn = np.sqrt(-1 / slope) if slope < 0 else shares.largest
        near = np.clip(step * np.array([[np.floor(turn / step)], [np.ceil(turn / step)]]), first, last)
        gain = 1 / near - slope * near - level
        new = np.setdiff1d(near[gain < -_NO_GAIN], ranks)
        if len(new) == 0:
            break
        ranks = np.union1d(ranks, new)
    return float(value), -float(highest[0])


def _mean(rank: NDArray[np.float64], share: NDArray[np.float64], power: int) -> float:
    """The mean of a power of the ranks; a rank that no share has may be infinite.

    The sum is rounded once: a dot product's last bit depends on the processor.
    """
    some = share > 0
    ranks = rank[some] ** abs(power)
    return math.fsum(share[some] * (ranks if power > 0 else 1 / ranks))


def _extreme(
    shares: SharesUpTo, rank: NDArray[np.float64], mean_rank: tuple[float, float], *, sign: int
) -> tuple[float, float, NDArray[np.float64]] | None:
    """The smallest mean of ``sign / rank`` over the shares of the ranks; None if there are no such shares.

    With it what one more share of rank r in the interval j of the cutoffs costs: ``slope * r + level[j]``.
    """
    from scipy.optimize import linprog

    up_to = (rank <= shares.cutoff[:, None]).astype(float)
    scaled = rank / shares.largest
    solution = linprog(
        sign / rank,
        A_ub=np.vstack([up_to, -up_to, scaled, -scaled]),
        b_ub=np.r_[shares.high, -shares.low, mean_rank[1] / shares.largest, -mean_rank[0] / shares.largest],
        A_eq=np.ones((1, len(rank))),
        b_eq=[1.0],
        method="highs",
    )
    if solution.status != 0 or solution.fun is None:
        return None
    cost, k = solution.ineqlin.marginals, len(shares.cutoff)
    of_cutoff = cost[:k] - cost[k : 2 * k]
    level = solution.eqlin.marginals[0] + np.r_[np.cumsum(of_cutoff[::-1])[::-1], 0.0]
    return float(solution.fun), float(cost[2 * k] - cost[2 * k + 1]) / shares.largest, level

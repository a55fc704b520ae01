"""The open-world model for questions that differ in how many answers they have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.openworld.moments import Weights, mixed_mean, moments
from kgtrec.openworld.theory import wrong_order_quantile

Floats = NDArray[np.float64]

_MOST_MISSING = 1 - 1e-9  # with no label at all there is nothing to score
_MOST_QUESTIONS = 2.0**53
_STRENGTHS, _STEPS = 17, 60  # number of strengths in the table of the curve; most steps from the table to a solution
_EXACT = 1e-12  # tolerance, as a share of the greatest score


@dataclass(frozen=True, slots=True, eq=False)
class MixedWorld:
    """The open-world model for questions of several numbers of answers."""

    n_answers: NDArray[np.int64]  # (k,)
    share: Floats  # (k,) proportional to the number of questions with a label
    missing: float  # beta

    @classmethod
    def of(cls, size: Floats, missing: float) -> MixedWorld:
        """Questions of these (q,) numbers of answers; a fractional number is split between its two neighbours.

        Examples
        --------
        >>> world = MixedWorld.of(np.array([1.0, 2.25]), 0.5)
        >>> world.n_answers.tolist(), world.share.tolist()
        ([1, 2, 3], [1.0, 0.75, 0.25])
        """
        whole = np.floor(size).astype(np.int64)
        n_answers, place = np.unique(np.concatenate([whole, whole + 1]), return_inverse=True)
        share = np.bincount(place, np.concatenate([1 - (size - whole), size - whole])).astype(np.float64, copy=False)
        filled = share > 0
        return cls(n_answers[filled], share[filled], 0.0).with_missing(missing)

    def with_missing(self, missing: float) -> MixedWorld:
        """The same questions with another beta, which is cut off below 1; NaN if beta is not known."""
        return replace(self, missing=float(np.clip(missing, 0.0, _MOST_MISSING)))

    def expected(self, weights: Weights, strength: Floats) -> Floats:
        """(s,) expected scores over labels."""
        return mixed_mean(weights, self.n_answers, self.share, self.missing, strength, strength, per_label=True)

    def strengths(self, weights: Mapping[str, Weights], score: Floats) -> Floats:
        """(m, s) strengths at which these scores are expected.

        1 where even strength 1 has a lower expected score; NaN if beta is not known. The method is false position in
        the Illinois form, for all systems at once.

        References
        ----------
        Dowell, Jarratt (1971), BIT 11, A modified regula falsi method for computing the root of an equation.
        """
        return np.stack([self._strength(own, row) for own, row in zip(weights.values(), score, strict=True)])

    def _strength(self, weights: Weights, score: Floats) -> Floats:
        if math.isnan(self.missing):
            return np.full(len(score), np.nan)
        grid = np.linspace(0.0, 1.0, _STRENGTHS)
        curve = self.expected(weights, grid)
        target = np.minimum(score, curve[-1])
        place = np.clip(np.searchsorted(curve, target) - 1, 0, _STRENGTHS - 2)
        low, high, below, above = grid[place], grid[place + 1], curve[place] - target, curve[place + 1] - target
        found, was_under = low, None
        # Illinois form: the value at an end that stays is halved; else a curved function would keep this end for long
        for _ in range(_STEPS):
            share = np.divide(above, above - below, out=np.zeros(len(score)), where=above > below)
            found = np.clip(high - (high - low) * share, low, high)
            value = self.expected(weights, found) - target
            if np.abs(value).max() <= _EXACT * curve[-1]:
                break
            under = value < 0
            stays = 1.0 if was_under is None else np.where(under == was_under, 0.5, 1.0)
            low, below = np.where(under, found, low), np.where(under, value, below * stays)
            high, above = np.where(under, high, found), np.where(under, above * stays, value)
            was_under = under
        return np.where(score >= curve[-1] * (1 - _EXACT), 1.0, found)

    def questions_needed(self, weights: Weights, strength: Floats, p: float) -> int | None:
        """Number of questions at which two systems, the stronger first, are in the wrong order with probability p."""
        found = moments(weights, self.n_answers, self.missing, strength, strength, per_label=True, share=self.share)
        variance = found.variance.sum() - 2 * found.covariance[0, 1]
        return needed_questions(float(variance), float(found.mean[0] - found.mean[1]), p)


def needed_questions(variance: float, difference: float, p: float) -> int | None:
    """Number of questions at which a normal difference of means has the wrong sign with probability p.

    None if no number is enough. A difference that needs more than 2^53 questions is a rounding error, so None too.
    """
    if not difference > 0:
        return None
    scale = wrong_order_quantile(p) / difference
    number = max(variance, 0.0) * scale * scale
    return max(1, math.ceil(number)) if number <= _MOST_QUESTIONS else None

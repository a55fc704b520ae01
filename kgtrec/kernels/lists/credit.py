"""What one relevant candidate adds to a measure over binary labels, by its place: the measures as sums of credits.

Summed over the relevant candidates of a list, each of these gives the value of the measure of the same name in
:mod:`kgtrec.kernels.lists.list_measures`, :mod:`~kgtrec.kernels.lists.gain` and
:mod:`~kgtrec.kernels.lists.preference`, which have the sources. Measures whose labels are uncertain need this form, see
:mod:`kgtrec.kernels.sampling.uncertain_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.list_measures import ALMOST_UP

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

UNLISTED = 1 << 62  # position of a candidate that the list lacks


class Place(NamedTuple):
    """Where a relevant candidate is; arrays that can be broadcast."""

    position: Counts  # 1-based
    above: Counts  # relevant candidates at better positions
    relevant: Counts  # relevant candidates in all, listed or not, with this one
    judged: Counts  # candidates with a label, listed or not


Credit = Callable[[Place], Values]


def average_precision(place: Place, cutoff: int | None = None) -> Values:
    """Return the precision at the position, divided by the number of relevant candidates."""
    return _within(place, cutoff) * (place.above + 1.0) / place.position / place.relevant


def ndcg(place: Place, cutoff: int | None = None) -> Values:
    """Return the discount of the position, divided by the sum of the discounts of the best possible list."""
    most = int(place.relevant.max(initial=1))
    ideal = np.cumsum(1.0 / np.log2(np.arange(most) + 2.0))
    seen = place.relevant if cutoff is None else np.minimum(place.relevant, cutoff)
    return _within(place, cutoff) / np.log2(place.position + 1.0) / ideal[seen - 1]


def q_measure(place: Place, cutoff: int | None = None, beta: float = 1.0) -> Values:
    """Return the blended ratio at the position, divided by the number of relevant candidates, or a lower cutoff."""
    blended = (1.0 + beta) * (place.above + 1.0) / (place.position + beta * np.minimum(place.position, place.relevant))
    return _within(place, cutoff) * blended / np.minimum(place.relevant, UNLISTED if cutoff is None else cutoff)


def precision(place: Place, cutoff: int) -> Values:
    """Return 1 / cutoff at positions down to the cutoff."""
    return _within(place, cutoff) / cutoff


def recall(place: Place, cutoff: int | None = None) -> Values:
    """Return the share of one of the relevant candidates."""
    return _within(place, cutoff) / place.relevant


def relative_precision(place: Place, cutoff: int) -> Values:
    """Return the share of one of those relevant candidates that fit above the cutoff."""
    return _within(place, cutoff) / np.minimum(place.relevant, cutoff)


def r_precision(place: Place, multiple: float = 1.0) -> Values:
    """Return 1 / last position at positions down to the last, the number of relevant candidates or a multiple of it."""
    last = (multiple * place.relevant + ALMOST_UP).astype(np.int64)
    return (place.position <= last) / np.maximum(last, 1)


def best_rank(place: Place) -> Values:
    """Return the position of the best relevant candidate."""
    return np.where(place.above == 0, place.position, 0.0)


def reciprocal_rank(place: Place, cutoff: int | None = None) -> Values:
    """Return 1 / position of the best relevant candidate."""
    return np.where(place.above == 0, _within(place, cutoff) / place.position, 0.0)


def success(place: Place, cutoff: int) -> Values:
    """Return 1 for the best relevant candidate, down to the cutoff."""
    return np.where(place.above == 0, _within(place, cutoff), 0.0)


def rank_biased_precision(place: Place, p: float = 0.8, cutoff: int | None = None) -> Values:
    """Return the probability that the reader stops at the position."""
    return _within(place, cutoff) * (1.0 - p) * p ** (place.position - 1.0)


def binary_gain(place: Place) -> Values:
    """Return 1 / log2(2 + other candidates above), divided by the number of relevant candidates."""
    return 1.0 / np.log2(np.maximum(place.position - place.above, 1) + 1.0) / place.relevant


def bpref(place: Place) -> Values:
    """Return how few wrong candidates are above, where positions count judged candidates only."""
    wrong_above = np.maximum(place.position - 1 - place.above, 0)
    most = np.maximum(np.minimum(place.judged - place.relevant, place.relevant), 1)
    return (1.0 - np.minimum(wrong_above, place.relevant) / most) / place.relevant


def _within(place: Place, cutoff: int | None) -> Values:
    return (place.position <= (UNLISTED - 1 if cutoff is None else cutoff)).astype(np.float64)

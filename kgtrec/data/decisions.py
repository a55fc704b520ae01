"""What has been settled about each triple of a pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.rows import Rows

STATES = ("automatic", "open", "agreed", "conflict", "doubted", "adjudicated", "undecidable")
AUTOMATIC, OPEN, AGREED, CONFLICT, DOUBTED, ADJUDICATED, UNDECIDABLE = range(7)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions(Rows):
    """One row per triple of the pool.

    ``open``: too few annotators have judged it. ``conflict``: they disagree. ``doubted``: one of them was unsure.
    The last two wait for an adjudicator, who decides (``adjudicated``) or is unsure too (``undecidable``).
    """

    state: NDArray[np.int8]  # (n,) row in STATES
    verdict: NDArray[np.int8]  # (n,) 0 = N, 1 = Y; -1: undecided, so that the triple stays unjudged

"""How many items make most of a difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def n_of_share(influence: NDArray[np.float64], share: float) -> int:
    """Return how many items make a share of the sum of absolute influences, the largest first; 0 if all are 0.

    NaN counts as no influence.

    Examples
    --------
    >>> n_of_share(np.array([0.5, -0.25, 0.125, 0.125]), 0.75), n_of_share(np.zeros(3), 0.9)
    (2, 0)
    """
    size = -np.sort(-np.abs(np.nan_to_num(influence)))
    reached = np.cumsum(size)
    if not len(size) or reached[-1] == 0:
        return 0
    return int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))) + 1

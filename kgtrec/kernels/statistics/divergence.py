"""How far one distribution over classes is from another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kl_divergence(counts: NDArray[np.int64], reference: NDArray[np.int64]) -> float:
    r"""Kullback-Leibler divergence of ``counts`` from ``reference``, :math:`\sum_c p_c \ln (p_c / q_c)`, in nats.

    The classes are those that ``reference`` has, unless ``counts`` has more: then those too.

    Parameters
    ----------
    counts, reference : (n_classes,) int arrays
        Observations per class, in each at least one; p and q are these over their sums.

    Returns
    -------
    float, nats, >= 0
        Infinite where ``counts`` has a class that ``reference`` lacks.

    References
    ----------
    Kullback and Leibler (1951), On information and sufficiency, Annals of Mathematical Statistics 22(1).

    Examples
    --------
    >>> round(kl_divergence(np.array([1, 0]), np.array([5, 5])), 6)  # ln 2
    0.693147
    """
    present = (counts > 0) | (reference > 0)
    p, q = counts[present], reference[present]
    p, q = p / p.sum(), q / q.sum()
    own = p > 0
    if np.any(q[own] == 0):
        return float("inf")
    # rounding can leave a tiny negative sum for equal distributions
    return max(0.0, float(np.sum(p[own] * np.log(p[own] / q[own]))))

"""The coefficients that tell how alike two rankings of systems are, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, nearest
from kgtrec.kernels.correlation import kendall_tau_b, rank_biased_overlap, spearman_rho, tau_ap

Floats = NDArray[np.float64]
# of (scores, reference), higher is better, systems along the last axis; the reference is what ranks are held against
COEFFICIENTS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "tau": kendall_tau_b,
    "tau_ap": tau_ap,
    "spearman": spearman_rho,
    "rbo": rank_biased_overlap,
}


def correlated(scores: Floats, reference: Floats, coefficient: str, *, higher_is_better: bool = True) -> Floats:
    """How alike the systems are ranked by each of many vectors of scores and by a reference.

    Parameters
    ----------
    scores : (..., n_systems) float array
    reference : (n_systems,) float array, or one that is broadcast
    coefficient : {"tau", "tau_ap", "spearman", "rbo"}
    higher_is_better : bool
        Two of the coefficients look at the top, which is at the low end of measures such as the mean rank.

    Returns
    -------
    (...) float array
        NaN where a score is, where all systems score alike, and where there are fewer than two.

    Raises
    ------
    KgtrecError
        If the coefficient is unknown.

    Examples
    --------
    >>> correlated(np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0.3, 0.1, 0.2]), "tau").round(4)
    array([0.3333,    nan])
    """
    if coefficient not in COEFFICIENTS:
        raise KgtrecError(
            f"expected a coefficient of {', '.join(COEFFICIENTS)}, found {coefficient!r}"
            f"{nearest(coefficient, COEFFICIENTS)}"
        )
    sign = 1.0 if higher_is_better else -1.0
    return COEFFICIENTS[coefficient](sign * scores, sign * reference)

"""The coefficients of similarity between two rankings of systems, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, one_of
from kgtrec.kernels.statistics.correlation import kendall_tau_b, rank_biased_overlap, spearman_rho, tau_ap

COEFFICIENTS = ("tau", "tau_ap", "spearman", "rbo")

Floats = NDArray[np.float64]
#: of (scores, reference), higher is better, systems along the last axis; the reference says which order is right
Coefficient = Callable[[Floats, Floats], Floats]


def coefficients_of(names: str | Sequence[str], *, symmetric: bool = False) -> dict[str, Coefficient]:
    """Return the functions of scores and a reference, by the names of coefficients.

    Parameters
    ----------
    names : one or several of COEFFICIENTS
    symmetric : bool
        Neither of the two is the reference: tau_AP is the mean of both directions.

    Raises
    ------
    KgtrecError
        If a name is unknown, or there is none.

    Examples
    --------
    >>> rankings = np.array([4.0, 3.0, 1.0, 2.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> {name: round(float(of(*rankings)), 4) for name, of in coefficients_of(["tau", "tau_ap"]).items()}
    {'tau': 0.6667, 'tau_ap': 0.7778}
    """
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        one_of("coefficients among", name, COEFFICIENTS)
    if not chosen:
        raise KgtrecError(f"expected a coefficient of {', '.join(COEFFICIENTS)}, found none")
    known: dict[str, Coefficient] = {
        "tau": kendall_tau_b,
        "tau_ap": partial(tau_ap, symmetric=symmetric),
        "spearman": spearman_rho,
        "rbo": rank_biased_overlap,
    }
    return {name: known[name] for name in chosen}


def correlated(scores: Floats, reference: Floats, coefficient: str, *, higher_is_better: bool = True) -> Floats:
    """Correlate the ranking of systems by each of many vectors of scores with that by a reference.

    Parameters
    ----------
    scores : (..., n_systems) float array
    reference : (n_systems,) float array, or one that is broadcast
    coefficient : {"tau", "tau_ap", "spearman", "rbo"}
    higher_is_better : bool
        Two of the coefficients weight the top, which is at the low end of measures such as the mean rank.

    Returns
    -------
    (...) float array
        NaN where a score is NaN, where all systems have the same score, and where there are fewer than two.

    Raises
    ------
    KgtrecError
        If the coefficient is unknown.

    Examples
    --------
    >>> correlated(np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0.3, 0.1, 0.2]), "tau").round(4)
    array([0.3333,    nan])
    """
    sign = 1.0 if higher_is_better else -1.0
    (of,) = coefficients_of(coefficient).values()
    return of(sign * without_noise(scores), sign * without_noise(reference))


def without_noise(scores: Floats) -> Floats:
    """Round to 44 binary digits, so that means of other summands that are equal, except for rounding, tie.

    Examples
    --------
    >>> bool(0.1 + 0.2 == 0.3), bool(without_noise(np.float64(0.1 + 0.2)) == without_noise(np.float64(0.3)))
    (False, True)
    """
    fraction, exponent = np.frexp(scores)
    return np.ldexp(np.round(np.ldexp(fraction, 44)), exponent - 44)

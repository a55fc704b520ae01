"""Sizes of samples, told as numbers or as shares of what there is."""

from __future__ import annotations

import operator
from typing import Any

from kgtrec.errors import KgtrecError


def count_of(size: Any, n: int, *, what: str = "sizes", of: str = "test triples", whole: bool = True) -> int:
    """How many of ``n`` a size stands for.

    Parameters
    ----------
    size : int or float
        A number from 1 to ``n``; or a share, a float in (0, 1], which stands for the nearest number, at least 1.
    n : int
    what, of : str
        What the size is of, and what is counted, for the error.
    whole : bool
        Whether 1.0 is a share; if not, shares are below it.

    Returns
    -------
    int

    Raises
    ------
    KgtrecError
        If it is neither.

    Examples
    --------
    >>> count_of(5, 60), count_of(0.05, 60), count_of(0.001, 60), count_of(1.0, 60)
    (5, 3, 1, 60)
    """
    if isinstance(size, float):
        if 0 < size < 1 or (whole and size == 1):
            return max(1, round(size * n))
    elif not isinstance(size, bool):
        try:
            count = operator.index(size)
        except TypeError:
            count = 0
        if 1 <= count <= n:
            return count
    end = "up to 1.0" if whole else "below 1.0"
    raise KgtrecError(f"expected {what} of 1 to {n:,} {of}, or of a share of them above 0 and {end}, found {size!r}")

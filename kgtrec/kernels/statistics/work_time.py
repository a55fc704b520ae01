"""How long judging takes: for a question that is opened, and for each of its candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PAUSE = 600.0  # seconds for a candidate, after which somebody has had a break


class WorkTimes(NamedTuple):
    """The mean seconds that work takes, and from how much work they were computed."""

    opening: float  # seconds for a question that is opened, before its first candidate
    candidate: float  # seconds for each candidate
    n_steps: int = 0  # steps of work that were fitted; 0: none


def fit_work_times(seconds: NDArray[np.float64], opened: NDArray[np.bool_], candidates: NDArray[np.int64]) -> WorkTimes:
    """Fit the time for opening a question and the time for a candidate to steps of work.

    Least squares of seconds = opening * opened + candidate * candidates, neither below 0. A step of more than ten
    minutes a candidate is taken for a break, and left out. The fit gives means, which is what hours add up from; since
    some candidates take very long, most take less.

    Parameters
    ----------
    seconds : (n,) float array
        From the end of the step before to the end of each step.
    opened : (n,) bool array
        Whether the step is the first of a question.
    candidates : (n,) int array
        How many candidates were judged in the step.

    Raises
    ------
    ValueError
        If no step is left.

    References
    ----------
    Lawson, Hanson (1974), Solving Least Squares Problems, chapter 23.

    Examples
    --------
    A candidate takes 30 s, and 20 s more where its question is new; then somebody has lunch:

    >>> fit_work_times(np.array([50.0, 30, 60, 3600]), np.array([True, False, False, True]), np.array([1, 1, 2, 1]))
    WorkTimes(opening=20.0, candidate=30.0, n_steps=3)
    """
    from scipy.optimize import nnls

    is_work = (seconds > 0) & (seconds <= PAUSE * candidates)
    if not is_work.any():
        raise ValueError("expected at least one step of work, found none")
    parts = np.stack([opened, candidates], axis=1)[is_work].astype(np.float64)
    (opening, candidate), _ = nnls(parts, seconds[is_work])
    return WorkTimes(round(float(opening), 9), round(float(candidate), 9), int(is_work.sum()))

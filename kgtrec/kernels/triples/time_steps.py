"""Times as whole numbers, in their order."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"-?[0-9]{1,4000}")  # as many digits as int() reads
_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")


def time_steps(times: Sequence[str]) -> NDArray[np.int64]:
    """Number times from 0 on: whole numbers and dates in the least step that all are apart, others in order of text.

    Parameters
    ----------
    times : (n,) sequence of str
        If all are whole numbers, or all dates such as 2014-03-02, a difference of two results is proportional to that
        of the times (hours that are multiples of 24 become days). Otherwise it counts the distinct times between them.

    Returns
    -------
    (n,) int array, steps

    Examples
    --------
    >>> time_steps(["48", "0", "-24"]).tolist(), time_steps(["2014-03-02", "2014-02-28"]).tolist()
    ([3, 1, 0], [1, 0])
    >>> time_steps(["1913-##-##", "1884-07-##", "1884-07-##"]).tolist()
    [1, 0, 0]
    """
    if not len(times):
        return np.zeros(0, np.int64)
    if all(map(_NUMBER.fullmatch, times)):
        numbers = np.array([int(time) for time in times], object)
        steps = (numbers - numbers.min()) // max(math.gcd(*(numbers - numbers.min())), 1)
        return steps.astype(np.int64) if steps.max() < 2**63 else np.unique(steps, return_inverse=True)[1].ravel()
    if all(map(_DATE.fullmatch, times)) and (days := _days(times)) is not None:
        values = days
    else:
        values = np.unique(np.array([time.encode() for time in times], object), return_inverse=True)[1].ravel()
    values = values - values.min()
    return values // max(int(np.gcd.reduce(values)), 1)


def _days(dates: Sequence[str]) -> NDArray[np.int64] | None:
    """Days since an epoch; None if one is no date of the calendar."""
    try:
        return np.array(dates, "datetime64[D]").astype(np.int64)
    except ValueError:
        return None

"""Pairs of a row of a score block and an entity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


class Pairs(NamedTuple):
    """Some entities of the rows of a block, in the order of the rows."""

    row: Index  # (n,) ascending
    entity: Index  # (n,) column of the block

    def of_rows(self, first: int, last: int) -> Pairs:
        """Take those of some rows that follow each other, numbered from the first of these rows.

        Examples
        --------
        >>> Pairs(np.array([0, 2, 3]), np.array([7, 8, 9])).of_rows(2, 4)
        Pairs(row=array([0, 1]), entity=array([8, 9]))
        """
        low, high = np.searchsorted(self.row, [first, last])
        return Pairs(self.row[low:high] - first, self.entity[low:high])


#: entities of the rows of a block that are left out: pairs, or where they are many a mask, (n_rows, n_entities)
Aside = Pairs | NDArray[np.bool_]


def aside_of_rows(aside: Aside, first: int, last: int) -> Aside:
    """Take those of some rows that follow each other, as :meth:`Pairs.of_rows`."""
    return aside.of_rows(first, last) if isinstance(aside, Pairs) else aside[first:last]


def aside_counts(aside: Aside, n_rows: int) -> NDArray[np.intp]:
    """Count them by row, (n_rows,)."""
    if isinstance(aside, Pairs):
        return np.bincount(aside.row, minlength=n_rows)
    return np.count_nonzero(aside, axis=1)

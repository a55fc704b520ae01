"""Rows of numbers that are taken where they are: an array, a memory map, or several of these one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class LargeArray(Protocol):
    """What is used of an array that may be larger than the memory: its shape, and the rows that are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, and the shape of each."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> NDArray[Any]: ...


class JoinedRows:
    """Several arrays as one, of which only the rows that are asked for are copied.

    Parameters
    ----------
    parts : sequence of LargeArray
        At least one, all of one type, with rows of one shape.

    Examples
    --------
    >>> rows = JoinedRows([np.zeros((2, 1)), np.ones((3, 1))])
    >>> rows.shape, rows[1:3].ravel(), rows[np.array([4, 0])].ravel()
    ((5, 1), array([0., 1.]), array([1., 0.]))
    """

    def __init__(self, parts: Sequence[LargeArray]) -> None:
        self.parts = tuple(parts)
        self._end = np.cumsum([len(part) for part in self.parts])
        self.shape: tuple[int, ...] = (int(self._end[-1]), *self.parts[0].shape[1:])
        self.dtype: np.dtype[Any] = self.parts[0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> NDArray[Any]:
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step != 1:
                return self[np.arange(first, last, step)]
            return self._between(first, last)
        taken = np.empty((len(rows), *self.shape[1:]), self.dtype)
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self)):
            raise IndexError(f"expected rows from 0 to {len(self) - 1}, found {rows.min()} to {rows.max()}")
        number = np.searchsorted(self._end, rows, side="right")
        for own in np.unique(number):
            wanted = np.flatnonzero(number == own)
            taken[wanted] = self.parts[own][rows[wanted] - self._start(own)]
        return taken

    def _start(self, number: int) -> int:
        return int(self._end[number]) - len(self.parts[number])

    def _between(self, first: int, last: int) -> NDArray[Any]:
        """Rows that follow each other; those of one part are not copied."""
        number, pieces = int(np.searchsorted(self._end, first, side="right")), []
        while first < last:
            start, end = self._start(number), min(last, int(self._end[number]))
            pieces.append(self.parts[number][first - start : end - start])
            first, number = end, number + 1
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty((0, *self.shape[1:]), self.dtype)

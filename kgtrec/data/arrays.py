"""Arrays of whatever other programs hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, warn

_MOST_MOVED = 1e-5  # of a rank, per question: what rounding may change


def as_array(thing: Any, what: str) -> NDArray[Any]:
    """Convert anything to a numpy array: torch tensors of any device or type, DLPack, array interface, lists.

    Raises
    ------
    KgtrecError
        If it gives none, or hides some of its values behind a mask.
    """
    if isinstance(thing, np.ma.MaskedArray) and np.ma.is_masked(thing):
        raise KgtrecError(f"{what}: expected an array of numbers, found masked ones; fill them first (filled(-np.inf))")
    try:
        if hasattr(thing, "detach"):
            thing = thing.detach().cpu()
            if str(getattr(thing, "dtype", "")) in ("torch.bfloat16", "torch.float16"):
                thing = thing.float()  # exact; numpy has no bfloat16, and halves take it four times as long
        elif hasattr(thing, "__dlpack__") and not hasattr(thing, "__array__"):
            thing = np.from_dlpack(thing)
        return np.asarray(thing)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise KgtrecError(
            f"{what}: expected something that converts to a numpy array, found {type(thing).__name__}: {error}"
        ) from None


def require_exact(largest: int, smallest: int, what: str) -> None:
    """Refuse whole numbers that float64 does not distinguish, as run files and answer ranks hold scores.

    Raises
    ------
    KgtrecError
        If one is beyond 2**53: it could tie with another there, and not in its own type.
    """
    if max(largest, -smallest) > 2**53:
        raise KgtrecError(
            f"{what}: expected integer scores within +-2**53, found {largest} at most and {smallest} at "
            "least; convert them to float64 first"
        )


class Rounding:
    """How far the ranks of a system move because its scores are rounded to float32, block by block.

    Where scores of a common size are rounded, one answer in some thousand ties with a candidate that was a little
    better or worse: mostly far down, where candidates are close to each other, and a place there is nothing. That is a
    note. Where ranks move by more than a hundred-thousandth on average, it is an error.

    Parameters
    ----------
    name : str
        The system's.
    n_questions : int
        In all blocks.
    """

    def __init__(self, name: str, n_questions: int) -> None:
        self._name, self._most = name, _MOST_MOVED * n_questions
        self._n, self._n_tied, self._moved = 0, 0, 0.0

    def add(self, above: NDArray[np.int64], tied: NDArray[np.int64], by_rounding: NDArray[np.int64]) -> None:
        """Take in the answers of a block: candidates above, those that tie, and those of them that rounding made tie.

        Raises
        ------
        KgtrecError
            If ranks move too far.
        """
        self._n += len(above)
        if not by_rounding.any():
            return
        self._n_tied += int(np.count_nonzero(by_rounding))
        self._moved += float((by_rounding / 2 / (1 + above + tied / 2)).sum())
        if self._moved > self._most:
            raise KgtrecError(
                f"{self._name}: expected scores that differ in float32 where they differ in float64, found "
                f"{self._n_tied:,} of {self._n:,} answers so far that tie with candidates of other scores when scores "
                "are rounded; take away what all scores of a question have in common, bring them to a size between "
                "1e-30 and 1e30, or rank them as a matrix in float64 (.npy)"
            )

    def warn(self) -> None:
        """Warn, at the end, of answers that tie by rounding."""
        if self._n_tied:
            warn(
                f"{self._name}: {self._n_tied:,} of {self._n:,} answers tie with candidates of other scores when "
                f"scores are rounded to float32; ranks change by {self._moved / self._n:.0e} of their value on average"
            )


@dataclass(frozen=True, slots=True, eq=False)
class RowsByCode:
    """The rows of a column of codes, by code: finding those of a few codes costs little, however long the column."""

    order: NDArray[np.intp]  # (n,) rows of the column in the order of their codes, those of a code in their own
    code: NDArray[np.int32]  # (n,) their codes

    @classmethod
    def of(cls, column: NDArray[np.int32]) -> RowsByCode:
        """Sort the rows of a column by their codes.

        Examples
        --------
        >>> RowsByCode.of(np.array([7, 5, 7], np.int32)).rows(np.array([7, 6])).tolist()
        [0, 2]
        """
        order = np.argsort(column, kind="stable")
        return cls(order, column[order])

    def rows(self, codes: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the rows of some codes, which are distinct, code by code."""
        wanted = codes.astype(self.code.dtype)  # or the whole column would be converted
        begin, end = np.searchsorted(self.code, wanted), np.searchsorted(self.code, wanted, "right")
        return np.concatenate([self.order[:0], *(self.order[i:j] for i, j in zip(begin, end, strict=True))])


class Growing:
    """A one-dimensional array to whose end values are added.

    Memory that is only reserved costs nothing until it is filled, and reserving it once avoids copies.

    Examples
    --------
    >>> array = Growing(np.int32)
    >>> array.append(np.array([1, 2]))
    >>> array.append(np.array([3]))
    >>> array.values
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, kind: type[np.generic]) -> None:
        self._room, self._n = np.empty(0, kind), 0

    def reserve(self, n: int) -> None:
        """Make room for ``n`` values in all."""
        if n > len(self._room):
            room = np.empty(n, self._room.dtype)
            room[: self._n] = self.values
            self._room = room

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        end = self._n + len(values)
        if end > len(self._room):
            self.reserve(max(end, len(self._room) * 3 // 2))
        self._room[self._n : end] = values
        self._n = end

    @property
    def values(self) -> NDArray[Any]:
        """What was added so far, not copied."""
        return self._room[: self._n]

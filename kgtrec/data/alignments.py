"""Entity alignment: two graphs' entities, which of them are the same, and vectors of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table
from kgtrec.data.table import Result, Table
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

Pairs = NDArray[np.int32]  # (n, 2): row of the left entity, row of the right one


@dataclass(frozen=True, slots=True, eq=False)
class Alignments:
    """Which left entity is the same as which right one, as row numbers of the vectors or the similarity matrix.

    An entity may be aligned with several others, and with none.
    """

    test: Pairs  # to be found
    train: Pairs  # what a system may have learned from; never a wrong answer
    left: Vocabulary  # labels of all left entities, row = row of the vectors
    right: Vocabulary

    @classmethod
    def of(
        cls,
        test: Any,
        train: Any = (),
        *,
        n_left: int | None = None,
        n_right: int | None = None,
        left: Vocabulary | None = None,
        right: Vocabulary | None = None,
    ) -> Alignments:
        """Make alignments of pairs of row numbers, from 0.

        Parameters
        ----------
        test, train : (n, 2) int array, or list of pairs
            Pairs of a left and a right row: those to be found, and those that are known. Default: no train pairs.
        n_left, n_right : int, optional
            How many entities each graph has. Default: as many as there are labels, else as the pairs name.
        left, right : Vocabulary, optional
            Labels. Default: ``left0, left1, ...`` and ``right0, right1, ...``.

        Raises
        ------
        KgtrecError
            If a pair is not two whole numbers, or one of them is out of range.

        Examples
        --------
        >>> alignments = Alignments.of([(0, 1), (1, 0)], n_left=3)
        >>> list(alignments.left), list(alignments.right)
        (['left0', 'left1', 'left2'], ['right0', 'right1'])
        """
        test, train = _pairs(test, "test"), _pairs(train, "train")
        both = np.concatenate([test, train])
        most = both.max(axis=0) + 1 if len(both) else np.zeros(2, np.int64)
        vocabularies = []
        for side, n, labels, largest in (("left", n_left, left, most[0]), ("right", n_right, right, most[1])):
            size = n if n is not None else len(labels) if labels is not None else int(largest)
            if largest > size:
                raise KgtrecError(
                    f"expected {side} entities from 0 to {size - 1} in the alignments, found {largest - 1}"
                )
            if labels is not None and len(labels) != size:
                raise KgtrecError(f"expected a label for each of {size} {side} entities, found {len(labels)}")
            vocabularies.append(labels or Vocabulary.of([f"{side}{row}" for row in range(size)]))
        return cls(test.astype(np.int32), train.astype(np.int32), *vocabularies)

    @classmethod
    def by_row(
        cls,
        n_left: int,
        n_right: int,
        is_test: NDArray[np.bool_] | None = None,
        *,
        left: Vocabulary | None = None,
        right: Vocabulary | None = None,
    ) -> Alignments:
        """Make alignments of each left row with the right row of the same number.

        ``is_test`` (n,) marks the test alignments, by default all; the others are train alignments.

        Raises
        ------
        KgtrecError
            If there are more rows on one side than on the other, or than flags.

        Examples
        --------
        >>> Alignments.by_row(3, 3, np.array([True, False, True])).test.tolist()
        [[0, 0], [2, 2]]
        """
        if n_left != n_right:
            raise KgtrecError(
                f"expected as many left rows as right ones, row by row aligned, found {n_left} and {n_right}; "
                "name a file of the test alignments (--alignments)"
            )
        flags = np.ones(n_left, np.bool_) if is_test is None else is_test
        if flags.dtype != np.bool_ or flags.shape != (n_left,):
            raise KgtrecError(
                f"expected {n_left} flags as is_test, one per row, found {flags.dtype} of shape {flags.shape}"
            )
        test, train = (np.flatnonzero(chosen)[:, None].repeat(2, axis=1) for chosen in (flags, ~flags))
        return cls.of(test, train, n_left=n_left, n_right=n_right, left=left, right=right)


@dataclass(frozen=True, slots=True, eq=False)
class EntityVectors:
    """Embeddings of two graphs' entities in one space."""

    left: NDArray[Any]  # (n_left, d) float, one row per left entity
    right: NDArray[Any]  # (n_right, d) float, one row per right entity

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of left and right entities."""
        return len(self.left), len(self.right)

    def __post_init__(self) -> None:
        """Refuse vectors whose similarity is undefined."""
        for side in ("left", "right"):
            vectors = getattr(self, side)
            is_array = isinstance(vectors, np.ndarray)
            if not is_array or vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
                found = f"{vectors.dtype} of shape {vectors.shape}" if is_array else repr(vectors)
                raise KgtrecError(f"expected {side} vectors as a matrix of real numbers, found {found}")
            for row, column in np.argwhere(~np.isfinite(vectors))[:1]:
                found = f"{vectors[row, column]} in row {row}"
                raise KgtrecError(f"expected finite numbers in the {side} vectors, found {found}")
        if self.left.shape[1] != self.right.shape[1]:
            raise KgtrecError(
                f"expected left and right vectors of one length, found {self.left.shape[1]} and {self.right.shape[1]} "
                "numbers; project them into one space first"
            )


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentStudy(Result):
    """One system on test sets of several sizes, one row per sampled test set and measure."""

    system: str
    size: NDArray[np.int64]  # (n_sets,) test alignments
    repeat: NDArray[np.int64]  # (n_sets,) sets of one repeat are nested: a larger one contains the smaller ones
    measures: tuple[str, ...]
    values: NDArray[np.float64]  # (n_sets, n_measures)
    ranks: AnswerRanks  # over the whole test set

    def to_table(self) -> pa.Table:
        """Return the long form for plots: columns system, size, repeat, measure, value; measures innermost."""
        columns = {"size": (0, self.size), "repeat": (0, self.repeat), "measure": (1, self.measures)}
        return long_table(self.values.shape, {"system": self.system, **columns, "value": self.values})

    def summary(self, interval: float = 0.95) -> pa.Table:
        """Return the mean over repeats, and the interval of the middle share ``interval`` of the repeats.

        Columns system, measure, size, repeats, mean, low, high; sizes innermost. The interval shows how much the value
        depends on which alignments are in the test set; for the whole test set it has no width.
        """
        sizes = np.unique(self.size)
        tail = (1 - interval) / 2
        rows: list[tuple[str, str, int, int, float, float, float]] = []
        for column, measure in enumerate(self.measures):
            for size in sizes:
                found = self.values[self.size == size, column]
                low, high = np.quantile(found, [tail, 1 - tail])
                rows.append((self.system, measure, int(size), len(found), float(found.mean()), float(low), float(high)))
        names = ("system", "measure", "size", "repeats", "mean", "low", "high")
        return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})

    def tables(self) -> tuple[Table, ...]:
        """Return ``summary``, a row per measure and size, and ``sets``, each measure on each sampled test set."""
        return Table("summary", "", "", self.summary()), Table("sets", "", "", self.to_table())


def _pairs(pairs: Any, what: str) -> NDArray[np.int64]:
    try:
        array = np.asarray(pairs)
    except ValueError:
        array = np.zeros(0, object)
    if array.size == 0 and array.dtype != object:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise KgtrecError(
            f"expected {what} alignments as pairs (left row, right row), found {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0:
        raise KgtrecError(f"expected row numbers from 0 in the {what} alignments, found {array.min()}")
    return array.astype(np.int64)

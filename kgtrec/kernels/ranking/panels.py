"""Scores of a factorised model, a panel of entities at a time.

A score is computed in float64 and rounded once to float32, by the same call for the same rows and the same panel,
wherever and in whatever order panels are computed. So any cut of the entities at the ends of panels gives the same
scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.ranking.comparisons import Comparison
from kgtrec.kernels.ranking.pairs import Aside, Pairs
from kgtrec.kernels.rows import LargeArray

PANEL = 1024  # entities
_PAIRS = 1024  # that are compared with a panel at a time
# Two scores in float64 are the same if they differ by no more than what their own computation may have rounded: a few
# units of the last digit of the largest product of the query with a vector, and of the score.
_NOISE, _LAST_DIGIT = 2.0**-45, 2.0**-51

Queries = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """What a model knows of its entities, and how a query is held against it."""

    E: LargeArray  # (entities, d) of any float type; may be mapped
    b: LargeArray | None  # (entities,)
    comparison: Comparison
    is_wide: bool = False  # some of its numbers are of a type that float32 does not hold; see tied_by_rounding

    def __len__(self) -> int:
        return len(self.E)


def are_wide(*arrays: Any) -> bool:
    """Return whether one of some arrays is of a type that float32 does not hold; None is no array.

    Examples
    --------
    >>> are_wide(np.zeros(1, np.float16), None), are_wide(np.zeros(1, np.float16), np.zeros(1))
    (False, True)
    """
    return not all(np.can_cast(array.dtype, np.float32) for array in arrays if array is not None)


def scores_of(
    vectors: Vectors,
    queries: Queries,
    first: int = 0,
    last: int | None = None,
    out: NDArray[np.float32] | None = None,
    *,
    panel: int = PANEL,
) -> NDArray[np.float32]:
    """Scores of each query for the entities from ``first`` up to ``last``.

    Numbers beyond float32 become infinity or NaN, which the ranking names with its question.

    Parameters
    ----------
    vectors : Vectors
    queries : (n, d) float array
    first, last : int
        Where panels begin and end; ``last`` may be the number of entities, its default.
    out : (n, last - first) float32 array, optional
        To write to.
    panel : int
        Entities in a panel.

    Examples
    --------
    >>> from kgtrec.kernels.ranking.comparisons import PRODUCT
    >>> scores_of(Vectors(np.eye(2), np.array([0, 1]), PRODUCT), np.array([[2.0, 3.0]]))
    array([[2., 4.]], dtype=float32)
    """
    last = len(vectors.E) if last is None else last
    scores_32 = np.empty((len(queries), last - first), np.float32) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(first, last, panel):
            end = min(start + panel, last)
            scores = vectors.comparison.block(queries, wide(vectors.E[start:end]))
            if vectors.b is not None:
                scores += np.asarray(vectors.b[start:end], np.float64)
            scores_32[:, start - first : end - first] = scores
    return scores_32


def pair_scores(vectors: Vectors, queries: Queries, entity: NDArray[np.integer]) -> NDArray[np.float32]:
    """(n,) scores of queries, each for one entity: those of :func:`scores_of`, except for one in some hundred million.

    Parameters
    ----------
    vectors : Vectors
    queries : (n, d) float array
    entity : (n,) int array
        Rows of E.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _wide_pair_scores(vectors, queries, entity).astype(np.float32)


def _wide_pair_scores(vectors: Vectors, queries: Queries, entity: NDArray[np.integer]) -> NDArray[np.float64]:
    scores = vectors.comparison.pairs(queries, wide(vectors.E[entity]))
    return scores if vectors.b is None else scores + np.asarray(vectors.b[entity], np.float64)


def tied_by_rounding(
    vectors: Vectors,
    queries: Queries,
    scores: NDArray[np.float32],
    entity: NDArray[np.integer],
    pairs: Pairs,
    own: NDArray[np.float32],
    uncounted: Aside,
) -> NDArray[np.int64]:
    """Return how many entities score the same as an answer in float32 alone, as they do not in float64.

    Only rows with pairs are scored again, so that it costs nothing where there are few ties.

    Parameters
    ----------
    vectors : Vectors
    queries : (n_rows, d) float array
    scores : (n_rows, n_columns) float32 array
        What :func:`scores_of` gives for some entities.
    entity : (n_columns,) int array, ascending
        What the columns are about: rows of E; those beyond its end are none of the model's, and not counted.
    pairs : Pairs of (n,)
        With entities as in ``entity``, which may be in other columns than these.
    own : (n,) float32 array
        The score of each pair.
    uncounted : Pairs of (m,) rows and columns, or a mask of them
        Entities that are not counted in their row.

    Returns
    -------
    (n,) int array

    Examples
    --------
    >>> from kgtrec.kernels.ranking.comparisons import PRODUCT
    >>> vectors, query = Vectors(np.array([[1.0], [1 + 1e-12], [1.0], [2.0]]), None, PRODUCT), np.ones((1, 1))
    >>> first, none = (Pairs(*np.zeros((2, count), np.intp)) for count in (1, 0))
    >>> scores = scores_of(vectors, query)
    >>> tied_by_rounding(vectors, query, scores, np.arange(4), first, scores[first], none).tolist()
    [1]
    """
    row, tied = pairs.row, np.zeros(len(pairs.row), np.int64)
    rows, place = np.unique(row, return_inverse=True)
    if isinstance(uncounted, Pairs):
        is_here = np.isin(uncounted.row, rows)
        aside_row, aside_column = np.searchsorted(rows, uncounted.row[is_here]), uncounted.entity[is_here]
    else:
        aside_row, aside_column = np.nonzero(uncounted[rows])
    own_wide = np.full(len(row), -np.inf)
    is_known = pairs.entity < len(vectors)
    with np.errstate(over="ignore", invalid="ignore"):
        own_wide[is_known] = _wide_pair_scores(vectors, queries[row[is_known]], pairs.entity[is_known])
        of_own = _LAST_DIGIT * np.where(np.isfinite(own_wide), np.abs(own_wide), 0)
        for first in range(0, int(np.searchsorted(entity, len(vectors))), PANEL):
            columns = entity[first : first + PANEL]
            columns = columns[columns < len(vectors)]
            panel = vectors.comparison.block(queries[rows], wide(vectors.E[columns]))
            noise = _NOISE * np.abs(panel).max(axis=1, where=np.isfinite(panel), initial=0)
            if vectors.b is not None:
                panel += np.asarray(vectors.b[columns], np.float64)
            is_inside = (aside_column >= first) & (aside_column < first + len(columns))
            panel[aside_row[is_inside], aside_column[is_inside] - first] = np.nan  # which differs from nothing
            for start in range(0, len(row), _PAIRS):
                some = slice(start, start + _PAIRS)
                differs = np.abs(panel[place[some]] - own_wide[some, None])
                differs = differs > (noise[place[some]] + of_own[some])[:, None]
                differs &= scores[row[some], first : first + len(columns)] == own[some, None]
                tied[some] += np.count_nonzero(differs, axis=1)
    return tied


def wide(vectors: Any) -> Queries:
    """Queries or vectors as a model gives them, in float64."""
    return np.ascontiguousarray(vectors, np.float64)

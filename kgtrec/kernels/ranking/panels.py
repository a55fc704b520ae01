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
from kgtrec.kernels.rows import Rows

PANEL = 1024  # entities

Queries = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """What a model knows of its entities, and how a query is held against it."""

    E: Rows  # (entities, d) of any float type; may be mapped
    b: Rows | None  # (entities,)
    comparison: Comparison

    def __len__(self) -> int:
        return len(self.E)


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
    found = np.empty((len(queries), last - first), np.float32) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(first, last, panel):
            end = min(start + panel, last)
            scores = vectors.comparison.block(queries, np.ascontiguousarray(vectors.E[start:end], np.float64))
            if vectors.b is not None:
                scores += np.asarray(vectors.b[start:end], np.float64)
            found[:, start - first : end - first] = scores
    return found


def pair_scores(vectors: Vectors, queries: Queries, entity: NDArray[np.integer]) -> NDArray[np.float32]:
    """(n,) scores of queries, each for one entity: those of :func:`scores_of`, but for one in some hundred million.

    Parameters
    ----------
    vectors : Vectors
    queries : (n, d) float array
    entity : (n,) int array
        Rows of E.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = vectors.comparison.pairs(queries, np.ascontiguousarray(vectors.E[entity], np.float64))
        if vectors.b is not None:
            scores = scores + np.asarray(vectors.b[entity], np.float64)
        return scores.astype(np.float32)


def wide(queries: Any) -> Queries:
    """Queries as a model gives them, in float64."""
    return np.ascontiguousarray(queries, np.float64)

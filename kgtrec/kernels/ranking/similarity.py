"""Similarity of vectors, in blocks: embeddings of two graphs to similarity scores."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Similarity = Literal["cosine", "dot", "neg-l1", "neg-l2"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)


def similarity_block(rows: NDArray[Any], columns: NDArray[Any], similarity: Similarity) -> NDArray[np.float32]:
    r"""Similarity of each of ``rows`` to each of ``columns``; higher is more similar.

    Everything is computed in float64 and rounded once, to float32. A product of float32 matrices depends in its
    last bits on the shape of the block, so that equal vectors might tie in one block and not in another; the
    rounding here removes that effect.

    Parameters
    ----------
    rows : (n, d) float array
    columns : (m, d) float array
    similarity : {"cosine", "dot", "neg-l1", "neg-l2"}
        :math:`x \cdot y / (|x| |y|)` (0 where a vector is 0), :math:`x \cdot y`, :math:`-\sum_i |x_i - y_i|` or
        :math:`-\sqrt{\sum_i (x_i - y_i)^2}`.

    Returns
    -------
    (n, m) float32 array
        Infinite beyond float32's range.

    Examples
    --------
    >>> left, right = np.array([[3.0, 4.0]]), np.array([[3.0, 4.0], [0.0, 2.0]])
    >>> [similarity_block(left, right, kind).tolist() for kind in ("dot", "neg-l1")]
    [[[25.0, 8.0]], [[-0.0, -5.0]]]
    """
    rows, columns = rows.astype(np.float64), columns.astype(np.float64)
    if similarity in ("cosine", "dot"):
        if similarity == "cosine":
            rows, columns = _of_length_one(rows), _of_length_one(columns)
        wide = rows @ columns.T
    else:
        from scipy.spatial.distance import cdist  # slow to import

        # not by |x|^2 + |y|^2 - 2xy, which is not 0 where vectors are equal
        wide = cdist(rows, columns, "cityblock" if similarity == "neg-l1" else "euclidean")
        np.negative(wide, out=wide)
    with np.errstate(over="ignore"):
        return wide.astype(np.float32)


def _of_length_one(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    # by the largest member first: squares of very large or very small numbers would leave float64's range
    largest = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(length > 0, length, 1.0)

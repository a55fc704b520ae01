"""What relations do to a vector before it is compared, as PyTorch-BigGraph calls it: its operators and comparators.

A relation's numbers are one row: a translation, a diagonal, the real and then the imaginary part of complex numbers, a
matrix row by row, or a matrix and then a translation. All is computed in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.ranking.comparisons import PRODUCT, Comparison, Cosine, MinusNorm, MinusSquares

_Matrix = NDArray[np.float64]

OPERATORS = ("none", "translation", "diagonal", "complex_diagonal", "linear", "affine")
COMPARATORS: dict[str, Comparison] = {
    "dot": PRODUCT,
    "cos": Cosine(),
    "l2": MinusNorm(2.0),
    "squared_l2": MinusSquares(),
}


def n_numbers(operator: str, d: int) -> int:
    """Count the numbers of a relation, beside vectors of ``d``.

    Examples
    --------
    >>> [n_numbers(operator, 3) for operator in OPERATORS]
    [0, 3, 3, 3, 9, 12]
    """
    return {"none": 0, "linear": d * d, "affine": d * d + d}.get(operator, d)


def identity(operator: str, d: int) -> _Matrix:
    """Give the numbers of a relation that changes nothing.

    Examples
    --------
    >>> identity("affine", 2).tolist(), identity("complex_diagonal", 2).tolist()
    ([1.0, 0.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0])
    """
    if operator in ("linear", "affine"):
        return np.concatenate([np.eye(d).ravel(), np.zeros(n_numbers(operator, d) - d * d)])
    if operator == "complex_diagonal":
        return np.repeat([1.0, 0.0], d // 2)
    return np.full(n_numbers(operator, d), 1.0 if operator == "diagonal" else 0.0)


def applied(operator: str, relations: _Matrix, points: _Matrix) -> _Matrix:
    """Apply the operator to each point.

    Parameters
    ----------
    operator : str
        One of :data:`OPERATORS`.
    relations : (n, k) or (1, k) float array
        The numbers of a relation for each point, or of one for all.
    points : (n, d) float array
    """
    if operator in ("translation", "affine"):
        return _turned(operator, relations, points, "nij,nj->ni") + translation(operator, relations, points)
    return _turned(operator, relations, points, "nij,nj->ni")


def transposed(operator: str, relations: _Matrix, points: _Matrix) -> _Matrix:
    """Find vectors whose products with others are those of the points with what the operator makes of the others.

    Its translation is left out.
    """
    if operator == "complex_diagonal":
        relations = conjugate(relations)
    return _turned(operator, relations, points, "nij,ni->nj")


def translation(operator: str, relations: _Matrix, points: _Matrix) -> _Matrix:
    """Give what the operator adds to each point: a row for each relation, of zeros where it adds nothing."""
    d = points.shape[1]
    return relations[:, -d:] if operator in ("translation", "affine") else np.zeros((len(relations), d))


def rotated(point: _Matrix, by: _Matrix) -> _Matrix:
    """Give the products of complex numbers, real parts in the first half."""
    real, imaginary = np.split(point, 2, axis=1)
    by_real, by_imaginary = np.split(by, 2, axis=1)
    return np.concatenate(
        [real * by_real - imaginary * by_imaginary, real * by_imaginary + imaginary * by_real], axis=1
    )


def conjugate(vectors: _Matrix) -> _Matrix:
    """Change the sign of imaginary parts, in the second half."""
    real, imaginary = np.split(vectors, 2, axis=1)
    return np.concatenate([real, -imaginary], axis=1)


def _turned(operator: str, relations: _Matrix, points: _Matrix, product: str) -> _Matrix:
    """What the operator does, without its translation; ``product`` is by its matrix, or by the transpose."""
    if operator == "diagonal":
        return points * relations
    if operator == "complex_diagonal":
        return rotated(points, relations)
    if operator in ("linear", "affine"):
        d = points.shape[1]
        matrices = relations[:, : d * d].reshape(len(relations), d, d)
        if len(matrices) > 1:
            return np.einsum(product, matrices, points)
        points = points @ (matrices[0].T if product.endswith("i") else matrices[0])
    return points

"""How a query scores against entities' vectors: by a product, or by a distance.

All in float64. A comparison works on blocks (each query against each entity) and on pairs (each query against one
entity of its own), where rounding may differ in the last digits. What leaves float64's range is infinite or NaN; the
caller ignores numpy's warnings of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_CACHED = 1 << 16  # numbers in a piece of work that fits a processor's cache


class Comparison(Protocol):
    """A function of a query and an entity's vector, higher is better."""

    def block(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n, m) scores of (n, d) queries against (m, d) entities."""
        ...

    def pairs(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n,) scores of (n, d) queries, each against one of (n, d) entities."""
        ...


class _OfProducts(ABC):
    """A comparison that needs nothing of a query and a vector but their product and what each of them has alone."""

    __slots__ = ()

    def block(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n, m) scores."""
        return self._scores(queries[:, : entities.shape[1]] @ entities.T, queries, entities, (-1, 1))

    def pairs(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n,) scores."""
        products = np.einsum("nd,nd->n", queries[:, : entities.shape[1]], entities)
        return self._scores(products, queries, entities, (-1,))

    @abstractmethod
    def _scores(self, products: Matrix, queries: Matrix, entities: Matrix, shape: tuple[int, ...]) -> Matrix:
        """The scores of products, which may be changed; numbers of the queries have this shape beside them."""


@dataclass(frozen=True, slots=True)
class Product(_OfProducts):
    """The product of both vectors, not beyond ``bound`` on either side.

    Examples
    --------
    >>> q, e = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> Product().block(q, e), Product().pairs(q, e[:1])
    (array([[11.,  2.]]), array([11.]))
    """

    bound: float = np.inf

    def _scores(self, products: Matrix, queries: Matrix, entities: Matrix, shape: tuple[int, ...]) -> Matrix:
        return products if self.bound == np.inf else np.clip(products, -self.bound, self.bound)


PRODUCT = Product()


@dataclass(frozen=True, slots=True)
class MinusSquares(_OfProducts):
    """Minus the squared Euclidean distance, which orders as the distance does: ``2 q.e - |q|^2 - |e|^2``.

    The query's own part is kept, so that near entities keep their digits when the score is rounded.

    Examples
    --------
    >>> MinusSquares().block(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[  0., -25.]])
    """

    def _scores(self, products: Matrix, queries: Matrix, entities: Matrix, shape: tuple[int, ...]) -> Matrix:
        products *= 2
        products -= np.einsum("nd,nd->n", queries, queries).reshape(shape)
        products -= np.einsum("nd,nd->n", entities, entities)
        return products


@dataclass(frozen=True, slots=True)
class ShiftedProduct(_OfProducts):
    """The product with a query's first numbers, and its last one, which an entity's vector lacks.

    Examples
    --------
    >>> ShiftedProduct().block(np.array([[1.0, 2.0, 10.0]]), np.array([[3.0, 4.0]]))
    array([[21.]])
    """

    def _scores(self, products: Matrix, queries: Matrix, entities: Matrix, shape: tuple[int, ...]) -> Matrix:
        products += queries[:, -1].reshape(shape)
        return products


@dataclass(frozen=True, slots=True)
class Cosine(_OfProducts):
    """The cosine of the angle between both vectors; NaN for a vector of zeros.

    Examples
    --------
    >>> Cosine().block(np.array([[0.0, 2.0]]), np.array([[3.0, 0.0], [3.0, 4.0]]))
    array([[0. , 0.8]])
    """

    def _scores(self, products: Matrix, queries: Matrix, entities: Matrix, shape: tuple[int, ...]) -> Matrix:
        with np.errstate(divide="ignore", invalid="ignore"):
            products /= np.linalg.norm(queries, axis=1).reshape(shape)  # after the product: right angles stay 0
            products /= np.linalg.norm(entities, axis=1)
        return products


@dataclass(frozen=True, slots=True)
class MinusNorm:
    """Minus the p-norm of the difference.

    Examples
    --------
    >>> MinusNorm(1.0).block(np.array([[0.0, 1.0]]), np.array([[3.0, 4.0]]))
    array([[-6.]])
    """

    p: float

    def block(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n, m) scores."""
        if self.p != 1:
            from scipy.spatial.distance import cdist

            return -cdist(queries, entities, "minkowski", p=self.p)
        columns = np.ascontiguousarray(entities.T)  # by dimension, which is faster than cdist

        def difference(points: Matrix, dimension: int, out: Matrix, _: Matrix) -> None:
            np.subtract(points[:, dimension, None], columns[dimension], out=out)
            np.abs(out, out=out)

        return _minus_sum(queries, len(entities), len(columns), difference)

    def pairs(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n,) scores."""
        return -np.linalg.norm(queries - entities, ord=self.p, axis=1)


@dataclass(frozen=True, slots=True)
class MinusModuli:
    """Minus the sum of the moduli of the difference of complex vectors, real parts in the first half.

    Examples
    --------
    >>> MinusModuli().block(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[-5.]])
    """

    def block(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n, m) scores."""
        real, imaginary = (np.ascontiguousarray(part.T) for part in np.split(entities, 2, axis=1))
        half = len(real)

        def modulus(points: Matrix, dimension: int, out: Matrix, spare: Matrix) -> None:
            np.subtract(points[:, dimension, None], real[dimension], out=out)
            np.subtract(points[:, half + dimension, None], imaginary[dimension], out=spare)
            np.multiply(out, out, out=out)
            np.multiply(spare, spare, out=spare)
            np.add(out, spare, out=out)
            np.sqrt(out, out=out)

        return _minus_sum(queries, len(entities), half, modulus)

    def pairs(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n,) scores."""
        real, imaginary = np.split(queries - entities, 2, axis=1)
        return -np.sqrt(real * real + imaginary * imaginary).sum(axis=1)


@dataclass(frozen=True, slots=True)
class Biased:
    """Another comparison of all but the first numbers of both vectors, which are added.

    Examples
    --------
    >>> Biased(MinusSquares()).block(np.array([[10.0, 0.0]]), np.array([[1.0, 3.0]]))
    array([[2.]])
    """

    of: Comparison

    def block(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n, m) scores."""
        scores = self.of.block(np.ascontiguousarray(queries[:, 1:]), np.ascontiguousarray(entities[:, 1:]))
        return scores + (queries[:, :1] + entities[:, 0])

    def pairs(self, queries: Matrix, entities: Matrix) -> Matrix:
        """(n,) scores."""
        return self.of.pairs(queries[:, 1:], entities[:, 1:]) + (queries[:, 0] + entities[:, 0])


def _minus_sum(points: Matrix, n: int, dimensions: int, term: Callable[[Matrix, int, Matrix, Matrix], None]) -> Matrix:
    """(points, n) minus the sum over dimensions of what ``term`` writes, a few points at a time that fit the cache."""
    scores = np.zeros((len(points), n))
    step = max(1, _CACHED // max(n, 1))
    for first in range(0, len(points), step):
        sums = scores[first : first + step]
        out, spare = np.empty_like(sums), np.empty_like(sums)
        for dimension in range(dimensions):
            term(points[first : first + step], dimension, out, spare)
            np.subtract(sums, out, out=sums)
    return scores

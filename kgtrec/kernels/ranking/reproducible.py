r"""Linear algebra that gives the same bits on every processor.

A matrix library adds the terms of a product in an order that depends on the processor and the number of threads, and
the last bits of a sum depend on it. Here numbers are split into parts of so few bits that every product of parts, and
every sum of such products, is a whole multiple of a power of two below 2^53 of them: exact in float64, in any
order. Everything else is elementwise: +, -, \*, / and square roots, which IEEE 754 defines to the last bit.

References
----------
Ozaki, Ogita, Oishi, Rump. Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications. Numerical Algorithms 59, 2012 (the split).
Golub, Van Loan. Matrix Computations, 4th ed., 2013: sections 4.2 (Cholesky), 8.5 (Jacobi, pairs in parallel).
Zhou, Saad. A Chebyshev-Davidson algorithm for large symmetric eigenproblems. SIAM J. Matrix Anal. Appl. 29, 2007
(the filter).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

_ROUNDING = 1.5 * 2.0**52  # added and subtracted again, it rounds a float64 to a whole number, ties to even
_SMALL = 128  # up to this many rows an eigenproblem is solved in full
_ROWS = 512  # of tall matrices at a time
_WIDEST = 10.0  # how much of another vector a filter may add to one that it leaves unchanged
_TOLERANCE = 1e-6  # error of an eigenvector's image, relative to the largest eigenvalue
_MOST_ROUNDS = 20
_HIGHEST_DEGREE = 12
_MOST_SWEEPS = 30


def on_grid(factors: Matrix, axis: int | tuple[int, ...] = -1) -> Matrix:
    """Each row rounded to multiples of a power of two, so coarse that a dot product of two such rows is exact.

    With b bits per number, a sum of k products needs 2 b + log2(k) bits; float64 has 53.

    Parameters
    ----------
    factors : (..., n, k) float array
    axis : int or several
        Axis along which products are summed: -1 rounds rows, -2 columns, and (-2, -1) whole matrices, for both.

    Returns
    -------
    (..., n, k) float array
        Off by at most 2^-b of the row's largest number, b = 22 for up to 512 factors.

    Examples
    --------
    >>> on_grid(np.array([[1.0, 1e-9]])).tolist()
    [[1.0, 0.0]]
    """
    terms = max(factors.shape[place] for place in np.atleast_1d(axis))
    bits = (53 - (max(terms, 2) - 1).bit_length()) // 2
    largest = np.abs(factors).max(axis=axis, keepdims=True, initial=0)
    rounding = np.ldexp(_ROUNDING, np.frexp(largest)[1] - bits)
    rounded: Matrix = factors + rounding
    rounded -= rounding
    return rounded


def product(left: Matrix, right: Matrix) -> Matrix:
    """Matrix product in which each number is split into two parts.

    Parameters
    ----------
    left : (..., n, k) float array
    right : (..., k, m) float array

    Returns
    -------
    (..., n, m) float array
        Off by about 2^-2b of the largest numbers of the row and the column, b as for :func:`on_grid`.

    Examples
    --------
    >>> product(np.array([[0.5, 2.0]]), np.array([[1.0], [0.25]])).tolist()
    [[1.0]]
    """
    left_high, right_high = on_grid(left, -1), on_grid(right, -2)
    left_low, right_low = on_grid(left - left_high, -1), on_grid(right - right_high, -2)
    total: Matrix = left_high @ right_low
    total += left_low @ right_high
    total += left_high @ right_high
    return total


def product_with_grid(left: Matrix, right: Matrix) -> Matrix:
    """:func:`product` for a right factor of shape (k, m) whose columns are :func:`on_grid`.

    Examples
    --------
    >>> product_with_grid(np.array([[0.5, 2.0]]), np.array([[1.0], [0.25]])).tolist()
    [[1.0]]
    """
    high = on_grid(left)
    total: Matrix = on_grid(left - high) @ right
    total += high @ right
    return total


def tall_product(one: Matrix, other: Matrix) -> Matrix:
    """The product of a matrix's transpose with another matrix: a sum, from top to bottom, of products of few rows each.

    Parameters
    ----------
    one : (n, k) float array
    other : (n, m) float array

    Returns
    -------
    (k, m) float array
        As exact as :func:`product` for 512 terms, for any number of terms.

    Examples
    --------
    >>> tall_product(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    total: Matrix = np.zeros((one.shape[1], other.shape[1]))
    for first in range(0, len(one), _ROWS):
        rows = slice(first, first + _ROWS)
        total += product(one[rows].T, other[rows])
    return total


def inverse_root(matrix: Matrix) -> Matrix:
    """The inverse of Cholesky's factor: W, lower triangular, with W A W^T = 1 for a positive definite A.

    Parameters
    ----------
    matrix : (k, k) float array, symmetric

    Returns
    -------
    (k, k) float array
        A row that depends on those above it, to 12 digits, is 0.

    Examples
    --------
    >>> inverse_root(np.array([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[0.5, 0.0], [-0.5, 1.0]]
    """
    k = len(matrix)
    rest = np.concatenate([matrix, np.eye(k)], axis=1)  # rows are reduced as in Gaussian elimination
    least = 1e-12 * np.diagonal(matrix)
    for place in range(k):
        pivot = rest[place, place]
        rest[place] *= 1 / np.sqrt(pivot) if pivot > least[place] else 0.0
        rest[place + 1 :] -= rest[place, place + 1 : k, None] * rest[place]
    return rest[:, k:]


def eigenvectors(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations.

    Parameters
    ----------
    matrix : (k, k) float array

    Returns
    -------
    values : (k,) float array, descending
    vectors : (k, k) float array
        Column i belongs to value i.

    Examples
    --------
    >>> eigenvectors(np.array([[3.0, 0.0], [0.0, 4.0]]))
    (array([4., 3.]), array([[0., 1.],
           [1., 0.]]))
    """
    k = len(matrix)
    size = k + k % 2
    # beside the matrix, an identity matrix: rotated in the same way, its rows become the eigenvectors
    both = np.zeros((size, 2 * size))
    both[:k, :k] = (matrix + matrix.T) / 2
    both[:, size:] = np.eye(size)
    rounds = _pairings(size)
    negligible = 2.0**-46 * np.abs(matrix).max(initial=0)
    for _ in range(_MOST_SWEEPS):  # 6 to 9 are usually enough
        if np.abs(both[:, :size] - np.diag(np.diagonal(both))).max(initial=0) <= negligible:
            break
        for one, other in rounds:
            _rotate(both, one, other)
    values = np.diagonal(both)[:k].copy()
    order = np.argsort(-values, kind="stable")
    return values[order], np.ascontiguousarray(both[:k, size : size + k][order].T)


def _rotate(both: Matrix, one: NDArray[np.intp], other: NDArray[np.intp]) -> None:
    """Rotate each of the disjoint pairs of rows, and columns, so that their common cell becomes 0."""
    shared = both[one, other]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (both[other, other] - both[one, one]) / (2 * shared)
        tangent = np.copysign(1.0, ratio) / (np.abs(ratio) + np.sqrt(1 + ratio * ratio))
    tangent[shared == 0] = 0.0
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    upper, lower = both[one], both[other]
    both[one] = cosine[:, None] * upper - sine[:, None] * lower
    both[other] = sine[:, None] * upper + cosine[:, None] * lower
    upper, lower = both[:, one], both[:, other]
    both[:, one] = upper * cosine - lower * sine
    both[:, other] = upper * sine + lower * cosine
    both[one, other] = both[other, one] = 0.0


def _pairings(size: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rounds that pair an even number of indices, until each has been paired with every other (round robin)."""
    places = np.arange(size)
    rounds = []
    for _ in range(size - 1):
        one, other = places[: size // 2], places[size // 2 :][::-1]
        rounds.append((np.minimum(one, other), np.maximum(one, other)))
        places = np.r_[places[:1], places[-1:], places[1:-1]]
    return rounds


def leading_eigenvectors(apply: Callable[[Matrix], Matrix], n: int, count: int, *, seed: int) -> tuple[Matrix, Matrix]:
    """The largest eigenvalues of a positive semidefinite matrix, and their eigenvectors.

    Alternately, Chebyshev polynomials of the matrix, which strengthen the large eigenvalues, are applied to a block of
    vectors, and the eigenproblem within the space of the block is solved.

    Parameters
    ----------
    apply : function
        (n, b) float array -> the matrix times it, with the same bits on every processor.
    n, count : int
        Rows of the matrix, and how many eigenvectors are wanted.
    seed : int
        For the first block.

    Returns
    -------
    values : (min(n, count),) float array, descending
    vectors : (n, min(n, count)) float array

    Examples
    --------
    >>> numbers = np.arange(3.0, 0, -1)
    >>> leading_eigenvectors(lambda block: numbers[:, None] * block, 3, 2, seed=0)[0].tolist()
    [3.0, 2.0]
    """
    block = count + max(8, count // 4)
    if n <= max(3 * block // 2, _SMALL):
        values, vectors = eigenvectors(apply(np.eye(n)))
        return values[:count], vectors[:, :count]
    start = np.random.Generator(np.random.PCG64(seed)).integers(-(2**20), 2**20, (n, block), endpoint=True)
    vectors = start.astype(np.float64)
    for _ in range(_MOST_ROUNDS):
        values, vectors, image = _within(apply, vectors)
        wrong = np.abs(image - values * vectors).max(axis=0)
        if wrong[:count].max() <= _TOLERANCE * values[0]:
            break
        vectors = _filtered(apply, vectors, image, values, wrong)
    return values[:count], np.ascontiguousarray(vectors[:, :count])


def _within(apply: Callable[[Matrix], Matrix], vectors: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Eigenvalues and eigenvectors of a matrix within the space that vectors span, and the matrix times the latter."""
    image = apply(vectors)
    gram = tall_product(vectors, vectors)
    scale = 1 / np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    root = inverse_root(gram * scale[:, None] * scale) * scale
    values, turned = eigenvectors(product(product(root, tall_product(vectors, image)), root.T))
    basis = product(root.T, turned)
    return values, product(vectors, basis), product(image, basis)


def _filtered(
    apply: Callable[[Matrix], Matrix], vectors: Matrix, image: Matrix, values: Matrix, wrong: Matrix
) -> Matrix:
    """A Chebyshev polynomial of the matrix, times vectors: within 1 up to the last of the values, large above it.

    Its degree is limited so that the error of a vector does not outgrow the other vectors.
    """
    bound = max(float(values[-1]), _TOLERANCE * float(values[0]))
    at = 2 * values / bound - 1
    before, now = vectors, (2 / bound) * image - vectors
    growth_before, growth = np.ones(len(at)), at
    error = wrong / values[0] + 1e-12
    for _ in range(_HIGHEST_DEGREE):
        growth_before, growth = growth, 2 * at * growth - growth_before
        if (growth * error).max() > _WIDEST:
            break
        before, now = now, 2 * ((2 / bound) * apply(now) - now) - before
    return now

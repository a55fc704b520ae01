"""Linear algebra of the same bits everywhere: what it gives, and that no order of addition can change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.ranking.reproducible import (
    eigenvectors,
    inverse_root,
    leading_eigenvectors,
    on_grid,
    product,
    product_with_grid,
    tall_product,
)
from tests.examples import examples

SEEDS = st.integers(0, 2**32)


def uneven(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of many magnitudes."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 4, shape)


@given(SEEDS, st.integers(2, 100))
@settings(max_examples=examples(30))
def test_numbers_on_the_grid_have_exact_dot_products(seed, factors):
    """Forwards, backwards and by a matrix product the sum is the same bits."""
    one, other = on_grid(np.random.default_rng(seed).standard_normal((2, factors)))
    terms = one * other
    sums = {float(np.cumsum(terms)[-1]), float(np.cumsum(terms[::-1])[-1]), float(one @ other)}
    assert len(sums) == 1


@given(SEEDS, st.integers(1, 20))
@settings(max_examples=examples(30))
def test_a_matrix_on_one_grid_may_be_summed_over_by_rows_and_by_columns(seed, size):
    whole = on_grid(uneven(np.random.default_rng(seed), size, size), (-2, -1))
    for axis in (-1, -2):
        assert np.array_equal(on_grid(whole, axis), whole)


@given(SEEDS, st.integers(1, 9), st.integers(1, 700), st.integers(1, 9))
@settings(max_examples=examples(30))
def test_products_do_not_depend_on_the_order_of_their_terms(seed, rows, terms, columns):
    """Reversed or shuffled, the terms of every cell give the same bits; and nearly what float64 gives."""
    rng = np.random.default_rng(seed)
    left, right = uneven(rng, rows, terms), uneven(rng, terms, columns)
    found = product(left, right)
    for order in (np.arange(terms)[::-1], rng.permutation(terms)):
        assert product(left[:, order], right[order]).tobytes() == found.tobytes()
    largest = np.abs(left).max(axis=1, keepdims=True) * np.abs(right).max(axis=0)
    assert (np.abs(found - left @ right) <= 2.0**-38 * terms * largest).all()


@given(SEEDS, st.integers(1, 9), st.integers(1, 50))
@settings(max_examples=examples(30))
def test_a_product_with_a_grid_is_the_product(seed, rows, terms):
    rng = np.random.default_rng(seed)
    left, right = uneven(rng, rows, terms), on_grid(uneven(rng, terms, terms), (-2, -1))
    largest = np.abs(left).max(axis=1, keepdims=True) * np.abs(right).max()
    for grid in (right, right.T):
        assert (np.abs(product_with_grid(left, grid) - left @ grid) <= 2.0**-40 * terms * largest).all()


def test_tall_matrices_are_multiplied_from_top_to_bottom():
    """Of 1,300 rows, the products of the first 512, the next 512 and the rest are added up in that order."""
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((1300, 4)), rng.standard_normal((1300, 3))
    pieces = [product(one[rows].T, other[rows]) for rows in (slice(512), slice(512, 1024), slice(1024, None))]
    found = tall_product(one, other)
    assert found.tobytes() == (pieces[0] + pieces[1] + pieces[2]).tobytes()
    np.testing.assert_allclose(found, one.T @ other, rtol=0, atol=1e-10)


@given(SEEDS, st.integers(1, 30))
@settings(max_examples=examples(30))
def test_the_inverse_root_turns_a_matrix_into_the_unit_matrix(seed, size):
    rng = np.random.default_rng(seed)
    some = rng.standard_normal((2 * size, size))
    matrix = some.T @ some + np.eye(size)
    found = inverse_root(matrix)
    np.testing.assert_allclose(found @ matrix @ found.T, np.eye(size), atol=1e-10)
    assert np.array_equal(found, np.tril(found))


def test_the_inverse_root_leaves_out_a_row_that_depends_on_others():
    found = inverse_root(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]))
    assert found.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0.5]]


@given(SEEDS, st.integers(1, 25))
@settings(max_examples=examples(30))
def test_eigenvectors_of_a_symmetric_matrix(seed, size):
    """Orthonormal, turning the matrix into a diagonal of descending eigenvalues, those of LAPACK."""
    matrix = np.random.default_rng(seed).integers(-3, 4, (size, size)).astype(np.float64)
    matrix += matrix.T
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-10 * (1 + np.abs(matrix).max()))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, values * vectors, atol=1e-10 * (1 + np.abs(matrix).max()))


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_eigenvectors_of_zeros(size):
    """An empty matrix has none; zeros have unit vectors, all of eigenvalue 0."""
    values, vectors = eigenvectors(np.zeros((size, size)))
    assert values.tolist() == [0] * size
    assert np.array_equal(np.abs(vectors), np.eye(size))


def positive(rank: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    some = (rng.random((n, rank)) < rng.random(rank)).astype(np.float64)
    return some @ some.T


@pytest.mark.parametrize(("rank", "n", "count"), [(400, 300, 20), (12, 250, 20), (300, 160, 3), (60, 200, 30)])
def test_leading_eigenvectors_are_those_of_the_full_problem(rank, n, count):
    """Also where there are fewer than are asked for: those of eigenvalue 0 are any, and orthonormal with the others."""
    matrix = positive(rank, n, seed=1)
    values, vectors = leading_eigenvectors(lambda block: matrix @ block, n, count, seed=0)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:count], atol=1e-6 * values[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, values * vectors, atol=2e-6 * values[0])


@pytest.mark.parametrize("matrix", [np.eye(200), np.zeros((200, 200)), np.diag(np.repeat([2.0, 1.0], 100))])
def test_leading_eigenvectors_end_where_eigenvalues_are_equal(matrix):
    """Nothing can be told apart, and whatever comes back is right."""
    values, vectors = leading_eigenvectors(lambda block: matrix @ block, len(matrix), 10, seed=0)
    np.testing.assert_allclose(values, np.full(10, matrix.max()), atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, values * vectors, atol=1e-6)


def test_more_leading_eigenvectors_than_rows_are_all_of_them():
    values, vectors = leading_eigenvectors(lambda block: 2 * block, 3, 10, seed=0)
    assert values.tolist() == [2, 2, 2]
    assert np.array_equal(vectors, np.eye(3))

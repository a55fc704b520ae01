"""Similarities of vectors, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.kernels.ranking.similarity import SIMILARITIES, similarity_block

OBVIOUS = {
    "cosine": lambda x, y: x @ y / np.sqrt((x @ x) * (y @ y)),
    "dot": lambda x, y: x @ y,
    "neg-l1": lambda x, y: -np.abs(x - y).sum(),
    "neg-l2": lambda x, y: -np.sqrt(((x - y) ** 2).sum()),
}


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_equals_the_definition(similarity):
    """Rounded once from float64, whatever the type of the vectors."""
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(5, 7)).astype(np.float16), rng.normal(size=(6, 7)).astype(np.float32)
    found = similarity_block(left, right, similarity)
    expected = [[OBVIOUS[similarity](x, y) for y in right.astype(float)] for x in left.astype(float)]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_equal_vectors_tie_exactly_in_any_block(similarity):
    """A row scored alone, and one among many with equal columns far apart, get the same float32 scores."""
    rng = np.random.default_rng(5)
    right = rng.normal(size=(301, 33)).astype(np.float32)
    right[300] = right[7]
    left = rng.normal(size=(90, 33)).astype(np.float32)
    whole = similarity_block(left, right, similarity)
    assert np.array_equal(whole[:, 7], whole[:, 300])
    assert np.array_equal(whole[40:41], similarity_block(left[40:41], right, similarity))
    assert np.array_equal(whole.T, similarity_block(right, left, similarity))


def test_a_distance_to_itself_is_zero():
    """Also for long vectors, where the expansion into squares leaves noise."""
    vectors = np.random.default_rng(6).normal(1e3, 1, (4, 50))
    for similarity in ("neg-l1", "neg-l2"):
        assert np.diag(similarity_block(vectors, vectors, similarity)).tolist() == [0, 0, 0, 0]


def test_cosine_of_extreme_vectors():
    """0 for a zero vector; neither tiny nor huge numbers lose it."""
    left = np.array([[0.0, 0.0], [1e-300, 1e-300], [1e300, 0.0]])
    found = similarity_block(left, np.array([[1.0, 1.0]]), "cosine")
    np.testing.assert_allclose(found[:, 0], [0, 1, np.sqrt(0.5)], rtol=1e-6)

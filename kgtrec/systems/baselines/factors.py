"""Baselines that factorise: truncated SVD of a relation-wise incidence, and RESCAL by alternating least squares.

Scores are the same bits on every processor, with any number of threads, and in blocks of any size: the
factors are computed by :mod:`kgtrec.kernels.ranking.reproducible`, and are rounded to so few bits that every product
and sum of them is exact in float64. Sparse matrices contain only ones, so that a product with one is a sum in their
order, whether or not the processor fuses multiplications with additions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgtrec.kernels.ranking.reproducible import (
    Matrix,
    eigenvectors,
    inverse_root,
    leading_eigenvectors,
    on_grid,
    product,
    product_with_grid,
    tall_product,
)
from kgtrec.systems.baselines.graph import Codes, Graph
from kgtrec.systems.baselines.record import Baseline, Option, Scorer, Settings

_DIGITS = 9


def _fit_svd(graph: Graph, several: Sequence[Settings], *, seed: int) -> Iterator[tuple[Settings, Scorer]]:
    """One decomposition at the largest rank; the others are its first columns.

    Rows are anchors, columns are the (direction, answer) pairs of train, cells say whether the fact exists.
    """
    n = graph.n_entities
    columns, column = np.unique(graph.direction * n + graph.answer, return_inverse=True)
    most = max(int(settings["factors"]) for settings in several)
    if n <= len(columns):
        left, right = _truncated_svd(graph.anchor, column, (n, len(columns)), most, seed)
    else:
        right, left = _truncated_svd(column, graph.anchor, (len(columns), n), most, seed)
    bounds = np.searchsorted(columns, np.arange(graph.n_directions + 1) * n)
    for settings in several:
        rank = slice(int(settings["factors"]))
        yield settings, _svd_scorer(on_grid(left[:, rank]), on_grid(right[:, rank]), columns, bounds, n)


def _svd_scorer(left: Matrix, right: Matrix, columns: Codes, bounds: Codes, n: int) -> Scorer:
    def score(anchor: Codes, direction: Codes) -> Matrix:
        block = np.full((len(anchor), n), -1.0)
        for one in np.unique(direction):
            rows = np.flatnonzero(direction == one)
            of_direction = slice(bounds[one], bounds[one + 1])
            values = np.maximum(np.round(left[anchor[rows]] @ right[of_direction].T, _DIGITS), -1 + 10.0**-_DIGITS)
            block[rows[:, None], columns[of_direction] - one * n] = values
        return block

    return score


def _truncated_svd(row: Codes, column: Codes, shape: tuple[int, int], factors: int, seed: int) -> tuple[Matrix, Matrix]:
    """(rows, k) and (columns, k) whose product is the best approximation of rank k, the largest part first.

    Of a matrix of zeros and ones X: eigenvectors of X X^T, and their products with X.
    """
    shared = np.bincount(column, minlength=shape[1])[column] > 1
    # a column with only one fact adds 1 to a cell of the diagonal, so most columns need not be visited
    alone = np.bincount(row[~shared], minlength=shape[0]).astype(np.float64)[:, None]
    few, column_of_few = np.unique(column[shared], return_inverse=True)
    matrix = _ones(row[shared], column_of_few, (shape[0], len(few)))
    turned = _ones(column_of_few, row[shared], (len(few), shape[0]))

    def squared(block: Matrix) -> Matrix:
        image: Matrix = matrix @ (turned @ block)
        image += alone * block
        return image

    values, left = leading_eigenvectors(squared, shape[0], factors, seed=seed)
    there = values > 1e-12 * values[0]
    singular = np.sqrt(values[there])
    left = left[:, there] / np.sqrt(singular)
    return left * singular, _ones(column, row, shape[::-1]) @ left


def _ones(row: Codes, column: Codes, shape: tuple[int, int]) -> Any:
    """A sparse matrix with a 1 for each (row, column); a repeated one is kept twice."""
    from scipy.sparse import csr_array

    order = np.lexsort((column, row))
    bounds = np.searchsorted(row[order], np.arange(shape[0] + 1))
    return csr_array((np.ones(len(row)), column[order], bounds), shape=shape)


def _fit_rescal(graph: Graph, several: Sequence[Settings], *, seed: int) -> Iterator[tuple[Settings, Scorer]]:
    """One run of least squares for all settings that differ only in the number of rounds."""
    groups: dict[tuple[int, float], dict[int, Settings]] = {}
    for settings in several:
        own = groups.setdefault((int(settings["factors"]), float(settings["decay"])), {})
        own[int(settings["iterations"])] = settings
    for (factors, decay), wanted in groups.items():
        rounds = rescal_rounds(graph, seed=seed, factors=factors, decay=decay)
        for number, (entity, core) in enumerate(itertools.islice(rounds, max(wanted) + 1)):
            if number in wanted:
                yield wanted[number], _rescal_scorer(entity, core, graph.n_relations)


def _rescal_scorer(entity: Matrix, core: Matrix, n_relations: int) -> Scorer:
    entity = on_grid(entity)

    def score(anchor: Codes, direction: Codes) -> Matrix:
        query = np.empty((len(anchor), entity.shape[1]))
        for one in np.unique(direction):
            rows = np.flatnonzero(direction == one)
            mixing = core[one] if one < n_relations else core[one - n_relations].T
            query[rows] = entity[anchor[rows]] @ mixing
        return np.round(on_grid(query) @ entity.T, _DIGITS)

    return score


def rescal_rounds(graph: Graph, *, seed: int, factors: int, decay: float) -> Iterator[tuple[Matrix, Matrix]]:
    r"""Yield the model after 0, 1, 2, ... rounds of least squares, without end.

    Entity factors A, (n_entities, k), and one core matrix per relation, (n_relations, k, k), with
    :math:`X_r \approx A R_r A^\top`; ``decay`` weighs their squared norms.

    References
    ----------
    Nickel, Tresp, Kriegel. A three-way model for collective learning on multi-relational data. ICML 2011.
    """
    facts = graph.direction < graph.n_relations
    head, relation, tail = graph.anchor[facts], graph.direction[facts], graph.answer[facts]
    heads, tails = _Links.of(graph, relation, head, tail), _Links.of(graph, relation, tail, head)
    entity = _leading_eigenvectors(graph, factors, seed)
    while True:
        # the model is invariant under rotations of its factors; in this one A^T A is diagonal
        squares, rotation = eigenvectors(tall_product(entity, entity))
        entity, squares = product(entity, rotation), np.maximum(squares, 0.0)
        # for the slice X of each relation: X A, one row per head, and X^T A, one row per tail
        to_tails, to_heads = heads.matrix @ entity, tails.matrix @ entity
        core = _cores(heads, entity, to_tails, squares, decay)
        yield entity, core
        entity = _entities(heads, tails, to_tails, to_heads, squares, core, decay)


def _leading_eigenvectors(graph: Graph, factors: int, seed: int) -> Matrix:
    """The start of least squares: the leading eigenvectors of the sum of all slices and their transposes."""
    # one row per direction of a fact: the sum of a slice and its transpose
    total = _ones(graph.anchor, graph.answer, (graph.n_entities, graph.n_entities))
    return leading_eigenvectors(lambda block: total @ (total @ block), graph.n_entities, factors, seed=seed)[1]


@dataclass(frozen=True, slots=True)
class _Links:
    """The facts of all relations from one side: a row for each head of a relation, or for each tail."""

    own: Codes  # (rows,) the entity
    matrix: Any  # sparse, (rows, n_entities): the entities of the other side
    rows: list[slice]  # of each relation

    @classmethod
    def of(cls, graph: Graph, relation: Codes, own: Codes, other: Codes) -> _Links:
        n = graph.n_entities
        keys, row = np.unique(relation * n + own, return_inverse=True)
        first = np.searchsorted(keys, np.arange(graph.n_relations + 1) * n)
        return cls(
            keys % n, _ones(row, other, (len(keys), n)), list(itertools.starmap(slice, itertools.pairwise(first)))
        )


def _cores(heads: _Links, entity: Matrix, to_tails: Matrix, squares: Matrix, decay: float) -> Matrix:
    """Ridge regression of each slice on the products of entity factors, cell by cell since A^T A is diagonal.

    Each core is on one grid, since sums run over both its rows and its columns.
    """
    sums = [tall_product(entity[heads.own[rows]], to_tails[rows]) for rows in heads.rows]
    return on_grid(np.stack(sums) / (squares[:, None] * squares + decay), (-2, -1))


def _entities(
    heads: _Links, tails: _Links, to_tails: Matrix, to_heads: Matrix, squares: Matrix, core: Matrix, decay: float
) -> Matrix:
    """Ridge regression of all slices and their transposes on the factors of the other side."""
    k = core.shape[1]
    numerator: Matrix = np.zeros((heads.matrix.shape[1], k))
    for of_heads, of_tails, mixing in zip(heads.rows, tails.rows, core, strict=True):
        numerator[heads.own[of_heads]] += product_with_grid(to_tails[of_heads], mixing.T)
        numerator[tails.own[of_tails]] += product_with_grid(to_heads[of_tails], mixing)
    denominator = decay * np.eye(k)
    root = np.sqrt(squares)
    for mixing in (core.transpose(0, 2, 1) * root[:, None], core * root[:, None]):
        rows = mixing.reshape(-1, k)
        denominator += tall_product(rows, rows)
    inverse = inverse_root(denominator)
    return product(product(numerator, inverse.T), inverse)


SVD = Baseline(
    "svd",
    _fit_svd,
    "Truncated SVD of the incidence of anchors and (relation, side, entity): similar facts give similar answers; "
    "entities never seen at the asked position get -1.",
    "Deerwester et al., Indexing by latent semantic analysis, JASIS 1990; Cremonesi et al., Performance of recommender "
    "algorithms on top-n recommendation tasks, RecSys 2010 (PureSVD)",
    {"factors": Option(100, "rank of the approximation")},
)
RESCAL = Baseline(
    "rescal",
    _fit_rescal,
    "RESCAL: one factor vector per entity and one matrix per relation, by alternating least squares.",
    "Nickel, Tresp, Kriegel, A three-way model for collective learning on multi-relational data, ICML 2011",
    {
        "factors": Option(100, "length of an entity's vector"),
        "iterations": Option(15, "rounds of least squares"),
        "decay": Option(3.0, "weight of the squared norms; if it is too large, every score is 0", least=0.001),
    },
)

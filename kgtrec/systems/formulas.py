"""Scores of embeddings that several frameworks share: a query made of anchor and relation, held against each entity.

Each function takes the entities' embeddings E and the relations' R as the framework stores them. All is computed in
float64; of E and R only the rows that are asked for are widened, so that both may be memory maps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of
from kgtrec.kernels.ranking.comparisons import PRODUCT, Comparison, MinusModuli, MinusNorm, MinusSquares, Product
from kgtrec.kernels.rows import Rows
from kgtrec.systems.kinds import Factors, RelationVectors

_Rows = NDArray[np.int64]
_Matrix = NDArray[np.float64]
_Queries = Callable[[_Rows, _Rows], _Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A model's score: a query made of anchor and relation, compared with each row of E."""

    relations: RelationVectors
    E: Rows  # (entities, d)
    tail_queries: _Queries
    head_queries: _Queries
    comparison: Comparison = PRODUCT

    def factors(
        self, name: str, entities: Vocabulary, relations: Vocabulary, kind: str, remarks: tuple[str, ...] = ()
    ) -> Factors:
        """As a system that is ranked."""
        return Factors(
            name,
            entities,
            relations,
            self.E,
            None,
            self.tail_queries,
            self.head_queries,
            self.comparison,
            kind,
            remarks,
            self.relations,
        )


def formula_of(E: Rows, relations: RelationVectors) -> Formula:
    """The formula that relations' vectors are for.

    Raises
    ------
    KgtrecError
        If there is none of that name, or it takes other parameters.

    Examples
    --------
    >>> formula = formula_of(np.eye(2), RelationVectors("transe", np.zeros((1, 2)), {"p": 1.0}))
    >>> formula.comparison
    MinusNorm(p=1.0)
    """
    one_of("a score among", relations.score, FORMULAS)
    needed = _PARAMETERS.get(relations.score, ())
    if sorted(relations.parameters) != sorted(needed):
        raise KgtrecError(
            f"expected {', '.join(needed) or 'no parameters'} for the score {relations.score!r}, found "
            f"{', '.join(relations.parameters) or 'none'}"
        )
    formula = FORMULAS[relations.score](E, relations.R, **relations.parameters)
    return with_reciprocals(formula) if relations.has_reciprocals else formula


def with_reciprocals(formula: Formula) -> Formula:
    """The same, its heads predicted as tails of reciprocal relations, which are numbered after the others."""
    tails, n_relations = formula.tail_queries, len(formula.relations.R) // 2
    return replace(
        formula,
        relations=replace(formula.relations, has_reciprocals=True),
        head_queries=lambda anchor, relation: tails(anchor, relation + n_relations),
    )


def distmult(E: Rows, R: Rows) -> Formula:
    """Sum of h r t.

    Examples
    --------
    >>> formula = distmult(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, -1.0]]))
    >>> formula.tail_queries(np.array([1]), np.array([0])) @ formula.E.T
    array([[-5., -7.]])
    """

    def queries(anchor: _Rows, relation: _Rows) -> _Matrix:
        return _wide(E[anchor]) * _wide(R[relation])

    return Formula(RelationVectors("distmult", R), E, queries, queries)


def complex_product(E: Rows, R: Rows) -> Formula:
    """The real part of the sum of h r conj(t); the first half of a vector is its real part.

    References
    ----------
    Trouillon et al. (2016), Complex embeddings for simple link prediction, eq. 11.
    """

    def tails(head: _Rows, relation: _Rows) -> _Matrix:
        return _rotated(_wide(E[head]), _wide(R[relation]))

    def heads(tail: _Rows, relation: _Rows) -> _Matrix:
        return _rotated(_wide(E[tail]), _conjugate(_wide(R[relation])))

    return Formula(RelationVectors("complex", R), E, tails, heads)


def rescal(E: Rows, R: Rows) -> Formula:
    """H' M t; the relation's matrix M is stored row by row."""
    d = E.shape[1]

    def matrices(relation: _Rows) -> _Matrix:
        return _wide(R[relation]).reshape(len(relation), d, d)

    def tails(head: _Rows, relation: _Rows) -> _Matrix:
        found: _Matrix = np.einsum("ni,nij->nj", _wide(E[head]), matrices(relation))
        return found

    def heads(tail: _Rows, relation: _Rows) -> _Matrix:
        found: _Matrix = np.einsum("nij,nj->ni", matrices(relation), _wide(E[tail]))
        return found

    return Formula(RelationVectors("rescal", R), E, tails, heads)


def canonical_polyadic(E: Rows, R: Rows) -> Formula:
    """Sum of h r t; the first half of an entity's vector is for heads, the second for tails."""
    half = E.shape[1] // 2

    def tails(head: _Rows, relation: _Rows) -> _Matrix:
        product = _wide(E[head])[:, :half] * _wide(R[relation])
        return np.concatenate([np.zeros_like(product), product], axis=1)

    def heads(tail: _Rows, relation: _Rows) -> _Matrix:
        product = _wide(E[tail])[:, half:] * _wide(R[relation])
        return np.concatenate([product, np.zeros_like(product)], axis=1)

    return Formula(RelationVectors("cp", R), E, tails, heads)


def squared_distance(E: Rows, R: Rows) -> Formula:
    """Minus the squared Euclidean distance between h + r and t, which orders as the distance does.

    Examples
    --------
    >>> formula = squared_distance(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]))
    >>> formula.comparison.block(formula.tail_queries(np.array([0]), np.array([0])), formula.E)
    array([[  0., -25.]])
    """
    return _translated(RelationVectors("transe-squared", R), E, MinusSquares())


def minus_distance(E: Rows, R: Rows, p: float) -> Formula:
    """Minus the p-norm of h + r - t."""
    return _translated(RelationVectors("transe", R, {"p": p}), E, MinusNorm(p))


def _translated(relations: RelationVectors, E: Rows, comparison: Comparison) -> Formula:
    """A score that holds h + r against t, and t - r against h."""
    R = relations.R
    return Formula(
        relations,
        E,
        lambda head, relation: _wide(E[head]) + _wide(R[relation]),
        lambda tail, relation: _wide(E[tail]) - _wide(R[relation]),
        comparison,
    )


def rotation_distance(E: Rows, phases: Rows) -> Formula:
    """Minus the sum of the moduli of h r - t, r of modulus 1 with the given phases.

    References
    ----------
    Sun et al. (2019), RotatE: knowledge graph embedding by relational rotation in complex space, eq. 3.
    """

    def rotation(relation: _Rows) -> _Matrix:
        angle = _wide(phases[relation])
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)

    # a rotation back keeps distances, so heads are those nearest to t turned back
    return Formula(
        RelationVectors("rotate", phases),
        E,
        lambda head, relation: _rotated(_wide(E[head]), rotation(relation)),
        lambda tail, relation: _rotated(_wide(E[tail]), _conjugate(rotation(relation))),
        MinusModuli(),
    )


def simple(E: Rows, R: Rows, bound: float) -> Formula:
    """Half the sum of h1 r1 t2 and t1 r2 h2, not beyond ``bound`` on either side; vectors are two halves each.

    References
    ----------
    Kazemi and Poole (2018), SimplE embedding for link prediction in knowledge graphs.
    """

    def swapped(found: _Matrix) -> _Matrix:
        return np.concatenate(np.split(found, 2, axis=1)[::-1], axis=1)

    # tails: t1 meets r2 h2, t2 meets r1 h1; heads: h1 meets r1 t2, h2 meets r2 t1
    return Formula(
        RelationVectors("simple", R, {"bound": bound}),
        E,
        lambda head, relation: swapped(_wide(E[head]) * _wide(R[relation])) / 2,
        lambda tail, relation: swapped(_wide(E[tail])) * _wide(R[relation]) / 2,
        Product(bound),
    )


#: name -> formula, by which files name it
FORMULAS: dict[str, Callable[..., Formula]] = {
    "distmult": distmult,
    "complex": complex_product,
    "rescal": rescal,
    "cp": canonical_polyadic,
    "transe": minus_distance,
    "transe-squared": squared_distance,
    "rotate": rotation_distance,
    "simple": simple,
}
_PARAMETERS = {"transe": ("p",), "simple": ("bound",)}


def _rotated(point: _Matrix, by: _Matrix) -> _Matrix:
    """Products of complex numbers, real parts in the first half."""
    real, imaginary = np.split(point, 2, axis=1)
    by_real, by_imaginary = np.split(by, 2, axis=1)
    return np.concatenate(
        [real * by_real - imaginary * by_imaginary, real * by_imaginary + imaginary * by_real], axis=1
    )


def _conjugate(found: _Matrix) -> _Matrix:
    half = found.shape[1] // 2
    return np.concatenate([found[:, :half], -found[:, half:]], axis=1)


def _wide(found: NDArray[Any]) -> _Matrix:
    return np.asarray(found, np.float64)

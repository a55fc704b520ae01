"""Scores of embeddings that several frameworks share: a query made of anchor and relation, held against each entity.

Each function takes the entities' embeddings E and the relations' R as the framework stores them. All is computed in
float64; of E and R only the rows that are asked for are widened, so that both may be memory maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of
from kgtrec.kernels.ranking.comparisons import (
    PRODUCT,
    Biased,
    Comparison,
    MinusModuli,
    MinusNorm,
    MinusSquares,
    Product,
    ShiftedProduct,
)
from kgtrec.kernels.rows import Rows
from kgtrec.systems.kinds import Factors, RelationVectors
from kgtrec.systems.operators import COMPARATORS, OPERATORS, applied, n_numbers, translation, transposed

_Rows = NDArray[np.int64]
_Matrix = NDArray[np.float64]
_Queries = Callable[[_Rows, _Rows], _Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A model's score: a query made of anchor and relation, compared with each row of E."""

    E: Rows  # (entities, d)
    tail_queries: _Queries | None  # None: no query holds against all entities as tails
    head_queries: _Queries
    comparison: Comparison = PRODUCT
    reciprocal_queries: _Queries | None = None  # of reciprocal relations; None: those of tails
    relations: RelationVectors | None = None  # from which queries are made

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
    score, d = relations.score, E.shape[1]
    one_of("a score among", score, FORMULAS)
    needed = _PARAMETERS.get(score, {})
    if sorted(relations.parameters) != sorted(needed):
        raise KgtrecError(
            f"expected {', '.join(needed) or 'no parameters'} for the score {score!r}, found "
            f"{', '.join(relations.parameters) or 'none'}"
        )
    for name, choices in needed.items():
        _require_parameter(name, relations.parameters[name], choices)
    operator = relations.parameters.get("operator")
    expected = n_numbers(str(operator), d) if operator else _WIDTHS.get(score, int)(d)
    has_halves = score in _HALVES or operator == "complex_diagonal"
    if relations.R.shape[1] != expected or (d % 2 and has_halves):
        even = ", an even number" if has_halves else ""
        raise KgtrecError(
            f"expected relations of {expected} numbers each beside entities of {d}{even}, as {score} has them, found "
            f"relations of {relations.R.shape[1]}"
        )
    formula = replace(FORMULAS[score](E, relations.R, **relations.parameters), relations=relations)
    if relations.has_reciprocals:
        # heads are predicted as tails of reciprocal relations, which are numbered after the others
        tails, n_relations = cast("_Queries", formula.reciprocal_queries or formula.tail_queries), len(relations.R) // 2
        return replace(formula, tail_queries=tails, head_queries=lambda a, relation: tails(a, relation + n_relations))
    if formula.tail_queries is None:
        raise KgtrecError(no_tails(str(operator), str(relations.parameters["comparator"])))
    return formula


def _require_parameter(name: str, value: object, choices: Sequence[str] | type) -> None:
    if choices is bool:
        if not isinstance(value, bool):
            raise KgtrecError(f"expected true or false as {name}, found {value!r}")
    elif choices is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise KgtrecError(f"expected a number as {name}, found {value!r}")
    elif not isinstance(value, str) or value not in cast("Sequence[str]", choices):
        raise KgtrecError(f"expected {name} among {', '.join(cast('Sequence[str]', choices))}, found {value!r}")


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

    return Formula(E, queries, queries)


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

    return Formula(E, tails, heads)


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

    return Formula(E, tails, heads)


def canonical_polyadic(E: Rows, R: Rows) -> Formula:
    """Sum of h r t; the first half of an entity's vector is for heads, the second for tails."""
    half = E.shape[1] // 2

    def tails(head: _Rows, relation: _Rows) -> _Matrix:
        product = _wide(E[head])[:, :half] * _wide(R[relation])
        return np.concatenate([np.zeros_like(product), product], axis=1)

    def heads(tail: _Rows, relation: _Rows) -> _Matrix:
        product = _wide(E[tail])[:, half:] * _wide(R[relation])
        return np.concatenate([product, np.zeros_like(product)], axis=1)

    return Formula(E, tails, heads)


def squared_distance(E: Rows, R: Rows) -> Formula:
    """Minus the squared Euclidean distance between h + r and t, which orders as the distance does.

    Examples
    --------
    >>> formula = squared_distance(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]))
    >>> formula.comparison.block(formula.tail_queries(np.array([0]), np.array([0])), formula.E)
    array([[  0., -25.]])
    """
    return _translated(E, R, MinusSquares())


def minus_distance(E: Rows, R: Rows, p: float) -> Formula:
    """Minus the p-norm of h + r - t."""
    return _translated(E, R, MinusNorm(p))


def _translated(E: Rows, R: Rows, comparison: Comparison) -> Formula:
    """A score that holds h + r against t, and t - r against h."""
    return Formula(
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
        E,
        lambda head, relation: swapped(_wide(E[head]) * _wide(R[relation])) / 2,
        lambda tail, relation: swapped(_wide(E[tail])) * _wide(R[relation]) / 2,
        Product(bound),
    )


def biggraph(E: Rows, R: Rows, operator: str, comparator: str, bias: bool) -> Formula:
    """PyTorch-BigGraph's: a comparator of h and of what the operator makes of t; with biases, the first numbers are.

    With reciprocal relations, which are its dynamic ones, the operator changes the anchor, whatever is asked for.

    Examples
    --------
    >>> formula = biggraph(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]]), "translation", "dot", False)
    >>> formula.tail_queries(np.array([0]), np.array([0]))  # h, and its product with the translation
    array([[ 1.,  2., 17.]])
    >>> formula.head_queries(np.array([0]), np.array([0]))  # t and the translation
    array([[6., 8., 0.]])
    """
    compared, is_product = COMPARATORS[comparator], comparator == "dot"

    def shifted(points: _Matrix, shift: _Matrix) -> _Matrix:
        return np.concatenate([points, shift[:, None]], axis=1) if is_product else points

    def without_bias(points: _Matrix) -> tuple[_Matrix, _Matrix]:
        """Points to take products with, and what is added to these."""
        if not (bias and is_product):
            return points, np.zeros(len(points))
        return np.concatenate([np.ones((len(points), 1)), points[:, 1:]], axis=1), points[:, 0]

    def changed(anchor: _Rows, relation: _Rows) -> _Matrix:
        return shifted(*without_bias(applied(operator, _wide(R[relation]), _wide(E[anchor]))))

    def tails(head: _Rows, relation: _Rows) -> _Matrix:
        points, shift = without_bias(_wide(E[head]))
        own = _wide(R[relation])
        moved = translation(operator, own, points)
        if is_product:
            return shifted(transposed(operator, own, points), shift + np.einsum("nd,nd->n", points, moved))
        away = -moved  # the distance of h and t + r is that of h - r and t
        if bias:
            away[:, 0] *= -1
        return points + away

    return Formula(
        E,
        None if no_tails(operator, comparator) else tails,
        changed,
        ShiftedProduct() if is_product else Biased(compared) if bias else compared,
        changed,
    )


def no_tails(operator: str, comparator: str) -> str:
    """Why no query holds against all entities as tails, which the operator changes; "" if one does."""
    able = {"dot": OPERATORS, "cos": OPERATORS[:1]}.get(comparator, OPERATORS[:2])
    if operator in able:
        return ""
    return (
        f"the operator {operator} changes each tail before {comparator} compares it, so that no vector of a question "
        f"holds against the entities' own ({comparator} allows {', '.join(able)}; dynamic relations allow all)"
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
    "biggraph": biggraph,
}
#: score -> parameter -> its values
_PARAMETERS: dict[str, dict[str, Sequence[str] | type]] = {
    "transe": {"p": float},
    "simple": {"bound": float},
    "biggraph": {"operator": OPERATORS, "comparator": tuple(COMPARATORS), "bias": bool},
}
#: score -> how many numbers a relation has, beside an entity's vector of d; default: as many
_WIDTHS: dict[str, Callable[[int], int]] = {
    "rescal": lambda d: d * d,
    "cp": lambda d: d // 2,
    "rotate": lambda d: d // 2,
}
_HALVES = ("complex", "cp", "rotate", "simple")  # of which a vector has two halves


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

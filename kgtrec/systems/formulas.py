"""Scores of embeddings that several frameworks share: a query made of anchor and relation, held against each entity.

All is computed in float64; of the vectors only those that are asked for are widened, so that they may be memory maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, is_number, one_of
from kgtrec.formats.factor_folders import FactorArrays
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
from kgtrec.kernels.ranking.panels import wide
from kgtrec.kernels.rows import LargeArray
from kgtrec.systems.kinds import Factors, Scoring
from kgtrec.systems.operators import (
    COMPARATORS,
    OPERATORS,
    applied,
    conjugate,
    n_numbers,
    rotated,
    translation,
    transposed,
)

_Matrix = NDArray[np.float64]
#: the vectors of (n,) anchors and of (n,) relations, as the framework stores them, to n queries
_Queries = Callable[[_Matrix, _Matrix], _Matrix]


@dataclass(frozen=True, slots=True)
class Formula:
    """A model's score: a query made of anchor and relation, compared with each entity's vector."""

    tails: _Queries | None  # None: no query holds against all entities as tails
    heads: _Queries
    comparison: Comparison = PRODUCT
    reciprocal: _Queries | None = None  # of reciprocal relations; None: those of tails


def factorised(
    name: str, arrays: FactorArrays, kind: str = "a factorised model", remarks: tuple[str, ...] = ()
) -> Factors:
    """Make a model of the vectors of entities and of relations.

    Raises
    ------
    KgtrecError
        If the score is unknown, or takes other parameters or vectors.

    Examples
    --------
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> labels, E = Vocabulary.of(["a", "b"]), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> arrays = FactorArrays("distmult", {}, False, labels, Vocabulary.of(["r"]), E, R=np.array([[1.0, -1.0]]))
    >>> model = factorised("m", arrays)
    >>> model.tail_queries(np.array([1]), np.array([0])) @ model.E.T
    array([[-5., -7.]])
    """
    score, parameters, E, R = arrays.score, arrays.parameters, arrays.E, cast("LargeArray", arrays.R)
    d = E.shape[1]
    one_of("a score among", score, FORMULAS)
    needed = _PARAMETERS.get(score, {})
    if sorted(parameters) != sorted(needed):
        raise KgtrecError(
            f"expected {', '.join(needed) or 'no parameters'} for the score {score!r}, found "
            f"{', '.join(parameters) or 'none'}"
        )
    for parameter, value in parameters.items():
        choices = needed[parameter]
        if isinstance(choices, Sequence):
            one_of(f"{parameter} among", value, choices)
        elif not (isinstance(value, bool) if choices is bool else is_number(value)):
            expected = "true or false" if choices is bool else "a number"
            raise KgtrecError(f"expected {expected} as {parameter}, found {value!r}")
    operator = parameters.get("operator")
    width = n_numbers(str(operator), d) if operator else _WIDTHS.get(score, int)(d)
    has_halves = score in _HALVES or operator == "complex_diagonal"
    if R.shape[1] != width or (d % 2 and has_halves):
        even = ", an even number" if has_halves else ""
        raise KgtrecError(
            f"expected relations of {width} numbers each beside entities of {d}{even}, as {score} has them, found "
            f"relations of {R.shape[1]}"
        )
    formula = FORMULAS[score](**parameters)
    tails, heads, first = formula.tails, formula.heads, 0
    if arrays.has_reciprocals:
        # heads are predicted as tails of reciprocal relations, which are numbered after the others
        tails = heads = cast("_Queries", formula.reciprocal or formula.tails)
        first = len(R) // 2
    elif tails is None:
        raise KgtrecError(no_tails(str(operator), str(parameters["comparator"])))

    def queries(make: _Queries, first: int) -> Scoring:
        return lambda anchor, relation: make(wide(E[anchor]), wide(R[relation + first]))

    made = queries(tails, 0), queries(heads, first)
    return Factors(
        name, arrays.entities, arrays.relations, E, arrays.b, *made, formula.comparison, kind, remarks, arrays
    )


def biggraph(operator: str, comparator: str, bias: bool) -> Formula:
    """PyTorch-BigGraph's: a comparator of h and of what the operator makes of t; with biases, the first numbers are.

    With reciprocal relations, which are its dynamic ones, the operator changes the anchor, whatever is asked for.

    Examples
    --------
    >>> formula, relation = biggraph("translation", "dot", False), np.array([[5.0, 6.0]])
    >>> formula.tails(np.array([[1.0, 2.0]]), relation)  # h, and its product with the translation
    array([[ 1.,  2., 17.]])
    >>> formula.heads(np.array([[1.0, 2.0]]), relation)  # t and the translation
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

    def changed(anchors: _Matrix, relations: _Matrix) -> _Matrix:
        return shifted(*without_bias(applied(operator, relations, anchors)))

    def tails(heads: _Matrix, relations: _Matrix) -> _Matrix:
        points, shift = without_bias(heads)
        moved = translation(operator, relations, points)
        if is_product:
            return shifted(transposed(operator, relations, points), shift + np.einsum("nd,nd->n", points, moved))
        away = -moved  # the distance of h and t + r is that of h - r and t
        if bias:
            away[:, 0] *= -1
        return points + away

    comparison = ShiftedProduct() if is_product else Biased(compared) if bias else compared
    return Formula(None if no_tails(operator, comparator) else tails, changed, comparison, changed)


def no_tails(operator: str, comparator: str) -> str:
    """Why no query holds against all entities as tails, which the operator changes; "" if one does."""
    able = {"dot": OPERATORS, "cos": OPERATORS[:1]}.get(comparator, OPERATORS[:2])
    if operator in able:
        return ""
    return (
        f"the operator {operator} changes each tail before {comparator} compares it, so that no vector of a question "
        f"holds against the entities' own ({comparator} allows {', '.join(able)}; dynamic relations allow all)"
    )


def _matrices(relations: _Matrix, d: int) -> _Matrix:
    return relations.reshape(len(relations), d, d)


def _padded(points: _Matrix, before: int, after: int) -> _Matrix:
    return np.pad(points, ((0, 0), (before, after)))


def _rotation(phases: _Matrix) -> _Matrix:
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def _swapped(vectors: _Matrix) -> _Matrix:
    return np.concatenate(np.split(vectors, 2, axis=1)[::-1], axis=1)


#: name -> formula of its parameters, by which files name it
FORMULAS: dict[str, Callable[..., Formula]] = {
    # the sum of h r t
    "distmult": lambda: Formula(np.multiply, np.multiply),
    # the real part of the sum of h r conj(t), real parts in the first half of a vector; Trouillon et al. (2016),
    # Complex embeddings for simple link prediction, eq. 11
    "complex": lambda: Formula(rotated, lambda tail, relation: rotated(tail, conjugate(relation))),
    # h' M t; the relation's matrix M is stored row by row
    "rescal": lambda: Formula(
        lambda head, relation: np.einsum("ni,nij->nj", head, _matrices(relation, head.shape[1])),
        lambda tail, relation: np.einsum("nij,nj->ni", _matrices(relation, tail.shape[1]), tail),
    ),
    # the sum of h r t; the first half of an entity's vector is for heads, the second for tails
    "cp": lambda: Formula(
        lambda head, relation: _padded(head[:, : relation.shape[1]] * relation, relation.shape[1], 0),
        lambda tail, relation: _padded(tail[:, relation.shape[1] :] * relation, 0, relation.shape[1]),
    ),
    # minus the p-norm of h + r - t, and minus its square for p = 2, which orders as the norm does
    "transe": lambda p: Formula(np.add, np.subtract, MinusNorm(p)),
    "transe-squared": lambda: Formula(np.add, np.subtract, MinusSquares()),
    # minus the sum of the moduli of h r - t, r of modulus 1 with the given phases; a rotation back keeps distances, so
    # heads are those nearest to t turned back; Sun et al. (2019), RotatE: knowledge graph embedding by relational
    # rotation in complex space, eq. 3
    "rotate": lambda: Formula(
        lambda head, relation: rotated(head, _rotation(relation)),
        lambda tail, relation: rotated(tail, conjugate(_rotation(relation))),
        MinusModuli(),
    ),
    # half the sum of h1 r1 t2 and t1 r2 h2, not beyond the bound on either side; Kazemi and Poole (2018), SimplE
    # embedding for link prediction in knowledge graphs; tails: t1 meets r2 h2, t2 meets r1 h1; heads: h1 meets r1 t2
    "simple": lambda bound: Formula(
        lambda head, relation: _swapped(head * relation) / 2,
        lambda tail, relation: _swapped(tail) * relation / 2,
        Product(bound),
    ),
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

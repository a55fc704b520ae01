"""Models of PyTorch-BigGraph: as a formula where a query holds against the entities' own vectors, else as a scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.comparisons import Biased, Comparison
from kgtrec.kernels.rows import JoinedRows, Rows
from kgtrec.systems.formulas import Formula, formula_of, no_tails
from kgtrec.systems.kinds import RelationVectors, Scorer, Scoring
from kgtrec.systems.operators import COMPARATORS, applied, identity

_Matrix = NDArray[np.float64]
_Rows = NDArray[np.int64]


class NoFactorsError(Exception):
    """Why a model has no factors."""


@dataclass(frozen=True, slots=True)
class RelationType:
    """One relation type of the settings; with dynamic relations the only one."""

    lhs: str  # entity type of heads
    rhs: str  # entity type of tails
    operator: str


@dataclass(frozen=True, slots=True, eq=False)
class BigGraphModel:
    """All that a score takes."""

    comparator: str
    has_bias: bool
    is_dynamic: bool
    relations: list[RelationType]
    E: dict[str, list[Rows]]  # embeddings by entity type, in partitions
    #: side -> relation type -> (relations, k) parameters; one row where relations are not dynamic
    parameters: dict[str, list[NDArray[Any]]]

    def formula(self) -> Formula:
        """As a query and its comparison with each entity's vector.

        Raises
        ------
        NoFactorsError
            If it is no such model.
        """
        if len(self.E) > 1:
            raise NoFactorsError(
                f"its entities are of several types ({', '.join(self.E)}), and the candidates of a relation of one"
            )
        operators = sorted({each.operator for each in self.relations} - {"none"}) or ["none"]
        if len(operators) > 1:
            raise NoFactorsError(f"its relations have several operators ({', '.join(operators)}), and not one for all")
        (operator,), (parts,) = operators, self.E.values()
        if not self.is_dynamic and (why := no_tails(operator, self.comparator)):
            raise NoFactorsError(why)
        d = parts[0].shape[1]
        rows = [
            own if each.operator == operator else identity(operator, d)[None]
            for side in self.parameters.values()
            for each, own in zip(self.relations, side, strict=True)
        ]
        settings: dict[str, float | str] = {"operator": operator, "comparator": self.comparator, "bias": self.has_bias}
        E = parts[0] if len(parts) == 1 else JoinedRows(parts)
        return formula_of(E, RelationVectors("biggraph", np.concatenate(rows), settings, self.is_dynamic))

    def scorer(self, name: str, entities: Vocabulary, relations: Vocabulary, kind: str, why: str) -> Scorer:
        """As scores of all entities, with all embeddings in memory.

        Raises
        ------
        KgtrecError
            If they do not fit.
        """
        E = {each: self._read(each) for each in self.E}
        remarks = () if len(E) == 1 else ("entities of another type than a relation's rank last, and tie",)
        tails, heads = (_rounded(partial(self._scores, E, tails=side)) for side in (True, False))
        return Scorer(name, entities, relations, tails, heads, kind, 6, remarks, why)

    def _read(self, kind: str) -> _Matrix:
        parts = self.E[kind]
        try:
            return np.concatenate([np.asarray(part[:], np.float64) for part in parts])
        except MemoryError:
            shapes = " and ".join(str(part.shape) for part in parts)
            raise KgtrecError(f"expected embeddings of {kind} to fit in memory, found the shape {shapes}") from None

    def _scores(self, E: dict[str, _Matrix], anchor: _Rows, relation: _Rows, *, tails: bool) -> _Matrix:
        """(n, entities) scores; entities of another type than the relation's are minus infinity."""
        ends = np.cumsum([len(found) for found in E.values()])
        start = {kind: int(end) - len(E[kind]) for kind, end in zip(E, ends, strict=True)}
        found = np.full((len(anchor), int(ends[-1])), -np.inf)
        kinds = np.zeros_like(relation) if self.is_dynamic else relation
        for number in np.unique(kinds):
            rows = np.flatnonzero(kinds == number)
            kind = self.relations[int(number)]
            own, other = (kind.lhs, kind.rhs) if tails else (kind.rhs, kind.lhs)
            place = anchor[rows] - start[own]
            known = (place >= 0) & (place < len(E[own]))
            rows, place = rows[known], place[known]
            points, candidates = E[own][place], E[other]
            # dynamic relations change the anchor, by the side's own parameters; others change tails alone
            if self.is_dynamic:
                values = self.parameters["lhs" if tails else "rhs"][0][relation[rows]]
                points = applied(kind.operator, np.asarray(values, np.float64), points)
            else:
                values = np.asarray(self.parameters["rhs"][int(number)], np.float64)
                if tails:
                    candidates = applied(kind.operator, values, candidates)
                else:
                    points = applied(kind.operator, values, points)
            first = start[other]
            found[rows, first : first + len(candidates)] = self._comparison.block(points, candidates)
        return found

    @property
    def _comparison(self) -> Comparison:
        compared = COMPARATORS[self.comparator]
        return Biased(compared) if self.has_bias else compared


def _rounded(scores: Callable[[_Rows, _Rows], _Matrix]) -> Scoring:
    """Scores in float32; numbers beyond it become infinity, which the ranking takes or names."""

    def found(anchor: _Rows, relation: _Rows) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):
            return scores(anchor, relation).astype(np.float32)

    return found

"""Models of PyTorch-BigGraph: as a formula where a query holds against the entities' own vectors, else as a scorer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.formats.factor_folders import FactorArrays
from kgtrec.kernels.ranking.comparisons import Biased
from kgtrec.kernels.rows import JoinedRows, LargeArray
from kgtrec.systems.formulas import factorised, no_tails
from kgtrec.systems.kinds import Factors, Scorer
from kgtrec.systems.operators import COMPARATORS, applied, identity

_Matrix = NDArray[np.float64]
_Rows = NDArray[np.int64]


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
    E: dict[str, list[LargeArray]]  # embeddings by entity type, in partitions
    #: side -> relation type -> (relations, k) parameters; one row where relations are not dynamic
    parameters: dict[str, list[NDArray[Any]]]

    def system(self, name: str, entities: Vocabulary, relations: Vocabulary) -> Factors | Scorer:
        """Factors, if a query of it holds against each entity's own vector; else scores, with all vectors in memory.

        Raises
        ------
        KgtrecError
            If they do not fit.
        """
        types = list(dict.fromkeys(each.operator for each in self.relations))
        kind = f"a PyTorch-BigGraph model ({', '.join(types)} with {self.comparator})"
        operators = sorted({*types} - {"none"}) or ["none"]
        why_not = "" if self.is_dynamic else no_tails(operators[0], self.comparator)
        if len(self.E) > 1:
            why_not = (
                f"its entities are of several types ({', '.join(self.E)}), and the candidates of a relation of one"
            )
        elif len(operators) > 1:
            why_not = f"its relations have several operators ({', '.join(operators)}), and not one for all"
        if why_not:
            E = {each: self._in_memory(each) for each in self.E}
            remarks = () if len(E) == 1 else ("entities of another type than a relation's rank last, and tie",)
            tails, heads = (partial(self._scores, E, tails=side) for side in (True, False))
            return Scorer(name, entities, relations, tails, heads, kind, 6, remarks, why_not)
        (operator,), (parts,) = operators, self.E.values()
        none = identity(operator, parts[0].shape[1])[None]
        rows = [
            own if each.operator == operator else none
            for side in self.parameters.values()
            for each, own in zip(self.relations, side, strict=True)
        ]
        settings: dict[str, float | str] = {"operator": operator, "comparator": self.comparator, "bias": self.has_bias}
        vectors = parts[0] if len(parts) == 1 else JoinedRows(parts)
        about = "biggraph", settings, self.is_dynamic, entities, relations
        return factorised(name, FactorArrays(*about, vectors, R=np.concatenate(rows)), kind)

    def _in_memory(self, kind: str) -> _Matrix:
        parts = self.E[kind]
        try:
            return np.concatenate([np.asarray(part[:], np.float64) for part in parts])
        except MemoryError:
            shapes = " and ".join(str(part.shape) for part in parts)
            raise KgtrecError(f"expected embeddings of {kind} to fit in memory, found the shape {shapes}") from None

    @np.errstate(over="ignore", invalid="ignore")  # beyond float32 is infinity, which the ranking takes or names
    def _scores(self, E: dict[str, _Matrix], anchor: _Rows, relation: _Rows, *, tails: bool) -> NDArray[np.float32]:
        """(n, entities) scores; entities of another type than the relation's are minus infinity."""
        compared = COMPARATORS[self.comparator]
        if self.has_bias:
            compared = Biased(compared)
        ends = np.cumsum([len(scores) for scores in E.values()])
        start = {kind: int(end) - len(E[kind]) for kind, end in zip(E, ends, strict=True)}
        scores = np.full((len(anchor), int(ends[-1])), -np.inf)
        kinds = np.zeros_like(relation) if self.is_dynamic else relation
        for number in np.unique(kinds):
            rows = np.flatnonzero(kinds == number)
            kind = self.relations[int(number)]
            own, other = (kind.lhs, kind.rhs) if tails else (kind.rhs, kind.lhs)
            row = anchor[rows] - start[own]
            known = (row >= 0) & (row < len(E[own]))
            rows, row = rows[known], row[known]
            points, candidates = E[own][row], E[other]
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
            scores[rows, first : first + len(candidates)] = compared.block(points, candidates)
        return scores.astype(np.float32)

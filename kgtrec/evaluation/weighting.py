"""Weights of items: each relation, or each question, counts equally, or by a given distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import plain
from kgtrec.errors import KgtrecError, nearest, warn
from kgtrec.evaluation.strata import TrainStrata
from kgtrec.evaluation.summarise import ItemValues
from kgtrec.measures.names import AnyMeasure

WEIGHTS = ("question", "relation", "question-relation", "popularity")


class Weighting:
    """How much each item counts.

    Parameters
    ----------
    weights : {"question", "relation", "question-relation", "popularity"} or mapping, optional
        Each question or each relation counts equally, or each relation and each question of it; each answer counts
        1 / its degree in train, or 1 if train lacks it; or a mapping from relation to its share, on any scale. None:
        each item counts equally, unless the measure fixes its weights.
    qrels : Qrels
    collection : Collection, optional
        For the questions' relations, and the train triples.

    Raises
    ------
    KgtrecError
        If the weights are of an unknown kind, a share is negative or of an unknown relation, or there are
        shares, or weights by popularity, and no collection with train triples.

    Warns
    -----
    KgtrecWarning
        If shares leave out relations of the qrels; those have a share of 0.
    """

    def __init__(self, weights: str | Mapping[str, float] | None, qrels: Qrels, collection: Collection | None) -> None:
        if isinstance(weights, str) and weights not in WEIGHTS:
            raise KgtrecError(
                f"expected weights by {', '.join(WEIGHTS[:-1])} or {WEIGHTS[-1]}, or shares of relations, found "
                f"{weights!r}{nearest(weights, WEIGHTS)}"
            )
        self._weights, self._qrels, self._collection = weights, qrels, collection
        self._shares = None if weights is None or isinstance(weights, str) else self._shares_of(weights)

    def warn_fixed(self, measures: Iterable[AnyMeasure]) -> None:
        """Warn of measures that fix other weights than these."""
        for measure in measures:
            fixed = _fixed(measure)
            if fixed is not None and self._weights not in (None, fixed):
                how = "weighs answers by beta" if fixed == "beta" else f"counts each {fixed} equally"
                warn(f"{measure.label} {how} by definition; the weights do not change it")

    def by_question(self, measure: AnyMeasure) -> bool:
        """Check whether each question counts equally in a measure over answers."""
        return (_fixed(measure) or self._weights) == "question"

    def of(self, items: ItemValues, measure: AnyMeasure) -> NDArray[np.float64] | None:
        """Return (n,) weights of the items of a measure; None if all count equally."""
        weights = _fixed(measure) or self._weights
        if weights == "beta":
            own = measure.parameters
            strata = TrainStrata(self._qrels, self._collection, measure.label)
            return strata.rarity(own["beta"], relations=own["relations"])
        if weights is None or measure.record.aggregate == "sum":
            return None
        if weights == "question":
            return _alike(items.group, items.question)
        if weights == "popularity":
            return self._rarity
        relation = self._relations[items.question]
        if weights == "question-relation":
            return _alike_within(items.group, relation, items.question)
        alike = _alike(items.group, relation)
        return alike if isinstance(weights, str) or self._shares is None else alike * self._shares[relation]

    @cached_property
    def _rarity(self) -> NDArray[np.float64]:
        """(answers,) 1 / degree in train."""
        degree = TrainStrata(self._qrels, self._collection, "--weights popularity").popularity
        return 1.0 / np.maximum(degree, 1)

    @cached_property
    def _relations(self) -> NDArray[np.int32]:
        """(questions of the qrels,) relation of each."""
        if self._collection is None:
            raise KgtrecError(
                "weights by relation need the questions' topics, and qrels alone have none: give a collection"
            )
        return plain(self._collection.questions).relation[self._collection.topics_of(self._qrels.questions)]

    def _shares_of(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        if self._collection is None:
            raise KgtrecError("shares of relations need a collection")
        relations = plain(self._collection.questions).relations
        code = relations.encode(list(weights))
        if np.any(code < 0):
            wrong = list(weights)[int(np.flatnonzero(code < 0)[0])]
            raise KgtrecError(
                f"expected relations of the collection, found a share of {wrong!r}{nearest(wrong, relations)}"
            )
        share = np.array(list(weights.values()), np.float64)
        if not np.all(np.isfinite(share)) or np.any(share < 0) or share.sum() == 0:
            raise KgtrecError("expected shares of relations that are numbers of at least 0, and not all 0")
        shares = np.full(len(relations), np.nan)
        shares[code] = np.ldexp(share, -np.frexp(share.max())[1])  # exact, and no sum of them overflows
        asked = np.unique(self._relations[self._qrels.question[self._qrels.grade >= 1]])
        without = asked[np.isnan(shares[asked])]
        if len(without):
            warn(
                f"the shares leave out {len(without)} of the {len(asked)} relations of the qrels, such as "
                f"{relations[int(without[0])]!r}; they and their answers count 0"
            )
        return np.where(np.isnan(shares), 0.0, shares)


def _fixed(measure: AnyMeasure) -> str | None:
    """The weights that a measure has by definition."""
    fixed = measure.record.weighting
    return None if fixed == "beta" and measure.parameters["beta"] == 0 else fixed


def _alike(group: NDArray[np.int32], kind: NDArray[np.int32]) -> NDArray[np.float64]:
    """(n,) 1 / number of items of the same kind in the group."""
    key = group.astype(np.int64) * (int(kind.max(initial=0)) + 1) + kind
    _, place, count = np.unique(key, return_inverse=True, return_counts=True)
    return 1.0 / count[place]


def _alike_within(
    group: NDArray[np.int32], relation: NDArray[np.int32], question: NDArray[np.int32]
) -> NDArray[np.float64]:
    """(n,) 1 / (items of the same question * questions of the same relation) in the group."""
    key = group.astype(np.int64) * (int(question.max(initial=0)) + 1) + question
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return _alike(group, question) * _alike(group[first], relation[first])[place]

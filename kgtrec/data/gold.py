"""Triples whose verdict is known, by which a campaign sees how well its annotators judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.questions import SIDES, Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary

_RUN = "gold"


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """One row per triple, sorted by (relation, head, tail); none of them is in the campaign's pool."""

    pool: Pool  # (g,) the triples, as a pool of their own, for both their questions
    verdict: NDArray[np.int8]  # (g,) row in VERDICTS: N or Y
    explanation: pa.StringArray  # (g,) why, for whoever got it wrong; may be empty
    judgements: Judgements  # what annotators said of them

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, str, str]]) -> Gold:
        """Gold of rows (head, relation, tail, verdict, explanation), in any order, with no judgements.

        Raises
        ------
        KgtrecError
            If a triple is repeated.

        Examples
        --------
        >>> gold = Gold.of([("paris", "capital_of", "france", "Y", ""), ("nice", "capital_of", "france", "N", "Paris")])
        >>> gold, gold.verdict.tolist(), gold.explanation.to_pylist()
        (<Gold: 2 triples, 0 judgements>, [0, 1], ['Paris', ''])
        """
        listed = list(rows)
        pool = _pool_of([row[:3] for row in listed])
        place = _rows(pool, [row[:3] for row in listed])
        order = np.empty(len(listed), np.intp)
        order[place] = np.arange(len(listed))
        return cls(
            pool,
            np.array([VERDICTS.index(listed[row][3]) for row in order], np.int8),
            labels_of([listed[row][4] for row in order]),
            Judgements.none(),
        )

    @classmethod
    @cache
    def none(cls) -> Gold:
        """No triples; the same object each time, as a page asks for it at each request."""
        return cls.of([])

    def __len__(self) -> int:
        return len(self.verdict)

    def __repr__(self) -> str:
        return f"<Gold: {len(self):,} triples, {len(self.judgements):,} judgements>"

    def rows(self, triples: Sequence[tuple[str, str, str]]) -> NDArray[np.intp]:
        """(n,) row of each triple of labels, -1 where it is not gold."""
        if len(self) == 0 or len(triples) == 0:
            return np.full(len(triples), -1, np.intp)
        return _rows(self.pool, triples)


def _rows(pool: Pool, triples: Sequence[tuple[str, str, str]]) -> NDArray[np.intp]:
    heads, relations, tails = ([triple[place] for triple in triples] for place in range(3))
    entities = pool.triples.entities
    return pool.rows(entities.encode(heads), pool.triples.relations.encode(relations), entities.encode(tails))


def _pool_of(triples: Sequence[tuple[str, str, str]]) -> Pool:
    """A pool of triples, each put in once for each of its questions."""
    entity = Vocabulary.of(sorted({label for head, _, tail in triples for label in (head, tail)}, key=str.encode))
    relation = Vocabulary.of(sorted({relation for _, relation, _ in triples}, key=str.encode))
    heads, relations, tails = ([triple[place] for triple in triples] for place in range(3))
    coded = Triples(entity.encode(heads), relation.encode(relations), entity.encode(tails), entity, relation)
    n = len(coded)
    asked = np.stack(
        [np.repeat([0, 1], n), np.tile(coded.relation, 2), np.concatenate([coded.head, coded.tail])]
    )  # side, relation, anchor; tail questions first
    distinct, question = np.unique(asked, axis=1, return_inverse=True)
    ids = [f"{SIDES[1 - side]}{row}" for row, side in enumerate(distinct[0])]
    questions = Questions(
        Vocabulary.of(ids),
        distinct[0] == 1,
        distinct[1].astype(np.int32),
        distinct[2].astype(np.int32),
        entity,
        relation,
    )
    each = np.tile(np.arange(n, dtype=np.int32), 2)
    none = np.zeros(2 * n, np.int32)
    return Pool.of(coded, each, question.reshape(-1).astype(np.int32), none, none + 1, [_RUN], questions)

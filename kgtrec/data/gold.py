"""Triples whose verdict is known, by which a campaign sees how well its annotators judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.judgements import VERDICTS
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

#: the verdict of a triple for which somebody is still to fill it in
NOT_YET = -1
_CODE_OF = {"": NOT_YET, **{verdict: code for code, verdict in enumerate(VERDICTS)}}


@dataclass(frozen=True, eq=False)
class Gold:
    """One row per triple, sorted by (relation, head, tail).

    Those of a campaign's pool are judged there like all others; the others are for the training round.
    """

    triples: Triples  # (g,)
    verdict: NDArray[np.int8]  # (g,) row in VERDICTS: N or Y; NOT_YET: not filled in yet
    explanation: pa.StringArray  # (g,) why, for whoever gets it wrong in training; may be empty

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, str, str]]) -> Gold:
        """Gold of rows (head, relation, tail, verdict, explanation), in any order; an empty verdict is not known yet.

        Raises
        ------
        KgtrecError
            If a triple is repeated.

        Examples
        --------
        >>> gold = Gold.of([("paris", "capital_of", "france", "Y", ""), ("nice", "capital_of", "france", "N", "Paris")])
        >>> gold, gold.verdict.tolist(), gold.explanation.to_pylist()
        (<Gold: 2 triples>, [0, 1], ['Paris', ''])
        """
        listed = sorted(rows, key=lambda row: (row[1].encode(), row[0].encode(), row[2].encode()))
        heads, relations, tails, *_ = map(list, zip(*listed, strict=True)) if listed else [[]] * 5
        entities, code = Vocabulary.encoding(labels_of(heads + tails))  # Triples.of would import pandas
        asked, relation = Vocabulary.encoding(labels_of(relations))
        found = cls(
            Triples(code[: len(listed)], relation, code[len(listed) :], entities, asked),
            np.array([_CODE_OF[row[3]] for row in listed], np.int8),
            labels_of([row[4] for row in listed]),
        )
        if len(found.row_of) < len(listed):
            raise KgtrecError(f"expected each triple once, found {len(listed) - len(found.row_of)} again")
        return found

    @classmethod
    @cache
    def none(cls) -> Gold:
        """No triples; the same object each time, as a page asks for it at each request."""
        return cls.of([])

    def __len__(self) -> int:
        return len(self.verdict)

    def __repr__(self) -> str:
        return f"<Gold: {len(self):,} triples>"

    @cached_property
    def labels(self) -> list[tuple[str, str, str]]:
        """(g,) head, relation and tail."""
        own = self.triples
        columns = own.entities.decode(own.head), own.relations.decode(own.relation), own.entities.decode(own.tail)
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    @cached_property
    def row_of(self) -> dict[tuple[str, str, str], int]:
        """Labels of a triple -> its row."""
        return {labels: row for row, labels in enumerate(self.labels)}

    def rows(self, triples: Sequence[tuple[str, str, str]]) -> NDArray[np.intp]:
        """(n,) row of each triple of labels, -1 where it is not gold."""
        return np.array([self.row_of.get(labels, -1) for labels in triples], np.intp)

    @property
    def listed(self) -> list[tuple[str, str, str, str, str]]:
        """(g,) head, relation, tail, verdict and explanation, as :meth:`of` takes them."""
        return [
            (*labels, (*VERDICTS, "")[verdict], explanation)
            for labels, verdict, explanation in zip(
                self.labels, self.verdict, self.explanation.to_pylist(), strict=True
            )
        ]

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Gold:
        """The triples at ``rows``, ascending."""
        rows = np.arange(len(self))[rows]
        return Gold(self.triples.take(rows), self.verdict[rows], self.explanation.take(arrow_of(rows)))

"""The one table behind every measure: where each judged answer is ranked among all candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame, frame_of, with_note
from kgtrec.data.triples import FILTERS, are_splits
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd


_COUNTS = {"answer": np.bool_, "above": np.int32, "tied": np.int32, "n_other": np.int32, "score": np.float64}
_MOST = {np.bool_: 1, np.int32: 2**31 - 1}


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRanks(Columns):
    """One row per answer (and per further judged pair) of one system, sorted by (question, entity).

    Counts are over the candidates that are not answers of the question, the row's own entity left out,
    so that micro ranks (other answers removed) and macro positions (other answers kept) both follow, see
    :mod:`kgtrec.kernels.ranking.positions`.
    """

    name: str
    question: NDArray[np.int32]  # (n,) row in questions
    entity: NDArray[np.int32]  # (n,) row in entities
    answer: NDArray[np.bool_]  # (n,) True: known as an answer when the scores were ranked; False: a further judged pair
    above: NDArray[np.int32]  # (n,) non-answers that score higher
    tied: NDArray[np.int32]  # (n,) non-answers that score the same
    n_other: NDArray[np.int32]  # (n,) all non-answer candidates of the question, the row's own entity left out
    score: NDArray[np.float64]  # (n,) the row's own score, to order the rows of one question
    questions: Vocabulary
    entities: Vocabulary
    filtered_by: tuple[str, ...]  # splits whose triples were filtered out, of train, valid, test; () = raw
    collection: str  # stamp of the collection that was ranked, "" where there is none
    # (n,) the entity is below the end of a cut list: `above` counts what is listed, `tied` all else; None: none is
    cut: NDArray[np.bool_] | None = None
    source: str = ""  # the file that the table was read from, for messages; "" where it was made
    # (n,) answers that are filtered triples for the qrels at hand: in no list, and counted for no row; None: none is
    filtered: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        collection: Collection,
        filtered_by: tuple[str, ...],
        *,
        score: NDArray[Any],
        answer: NDArray[np.bool_],
        cut: NDArray[np.bool_] | None = None,
        **codes: Any,
    ) -> AnswerRanks:
        """Make the ranks of a collection's answers, sorted; all columns but these are whole numbers of any type."""
        return cls(
            name,
            **{column: values.astype(np.int32, copy=False) for column, values in codes.items()},
            score=score.astype(np.float64, copy=False),
            answer=answer,
            cut=cut,
            questions=collection.questions.ids,
            entities=collection.entities,
            filtered_by=filtered_by,
            collection=collection.stamp,
        )

    def __repr__(self) -> str:
        return (
            f"<AnswerRanks {self.name!r}: {len(self):,} rows, filtered by {', '.join(self.filtered_by) or 'nothing'}>"
        )

    def digest(self) -> str:
        """Return a hash of the rows, in whatever order and under whatever codes: labels, answers, counts and scores."""
        order = np.lexsort((self.entities.byte_order[self.entity], self.questions.byte_order[self.question]))
        digest = hashlib.sha256()
        for labels in (self.questions.decode(self.question[order]), self.entities.decode(self.entity[order])):
            digest.update(json.dumps(labels.to_pylist()).encode())
        for column, kind in (
            (self.answer, "u1"),
            (self.above, "<i4"),
            (self.tied, "<i4"),
            (self.n_other, "<i4"),
            (self.score + 0.0, "<f8"),  # 0 for -0
            (np.zeros(len(self), np.bool_) if self.cut is None else self.cut, "u1"),
        ):
            digest.update(column[order].astype(kind).tobytes())
        return digest.hexdigest()

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame with columns ``query_id, doc_id, answer, above, tied, n_other, score`` and ``cut``, if any.

        Its ``attrs`` name the collection and the splits that were filtered by, for :meth:`from_frame`.
        """
        columns = {name: getattr(self, name) for name in (*_COUNTS, "cut") if getattr(self, name) is not None}
        frame = frame_of(query_id=self.decoded("question"), doc_id=self.decoded("entity"), **columns)
        return with_note(frame, collection=self.collection, filtered_by=self.filtered_by)

    @classmethod
    def from_frame(
        cls, frame: Any, name: str, *, collection: str | None = None, filtered_by: Iterable[str] | None = None
    ) -> AnswerRanks:
        """Read back what :meth:`to_frame` gives, or our Parquet in pandas, polars or pyarrow.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or Arrow table
            One row per answer.
        name : str
            Name of the system.
        collection : str
            Stamp of the collection. Default: as noted in the frame's ``attrs`` or Arrow's metadata; else unknown.
        filtered_by : iterable of {"train", "valid", "test"}, optional
            Splits whose triples were removed. Default: as noted there.

        Raises
        ------
        KgtrecError
            If a column is missing, its numbers are not those of a ranking, or nothing says what was filtered by.
        """
        columns = Frame(frame)
        noted = columns.note.get("filtered_by") if filtered_by is None else filtered_by
        splits = list(noted) if isinstance(noted, Iterable) and not isinstance(noted, str) else None
        if not are_splits(splits):
            raise KgtrecError(
                f"{name}: expected the splits that the answer ranks are filtered by, found "
                f"{'no note of them' if noted is None else repr(noted)}; give AnswerRanks.from_frame(frame, name, "
                "filtered_by=, collection=), such as ('train', 'valid', 'test'), or () for raw ranks, and "
                "collection.stamp"
            )
        labels = ("query_id", "doc_id") if "query_id" in columns.names else ("question", "entity")
        (questions, question), (entities, entity) = (columns.codes(label) for label in labels)
        counts: dict[str, Any] = {}
        for key, kind in (_COUNTS | ({"cut": np.bool_} if "cut" in columns.names else {})).items():
            values = columns.counts(key, 0, _MOST[kind]) if kind in _MOST else columns.values(key)
            counts[key] = values.astype(kind)
        stamp = columns.note.get("collection", "") if collection is None else collection
        codes = {"questions": questions, "entities": entities}
        return cls.of_rows(name, question, entity, counts, **codes, collection=stamp, filtered_by=splits)

    @classmethod
    def of_rows(
        cls,
        name: str,
        question: NDArray[np.int32],
        entity: NDArray[np.int32],
        counts: Mapping[str, NDArray[Any]],
        *,
        filtered_by: Iterable[str],
        **own: Any,
    ) -> AnswerRanks:
        """Make the table of rows in any order.

        Raises
        ------
        KgtrecError
            If no ranking can give them.
        """
        order = np.lexsort((entity, question))
        columns: dict[str, Any] = {column: values[order] for column, values in counts.items()}
        splits = tuple(split for split in FILTERS if split in tuple(filtered_by))
        ranks = cls(name, question[order], entity[order], **columns, filtered_by=splits, **own)
        ranks.require_possible()
        return ranks

    def require_possible(self) -> None:
        """Refuse rows that no ranking can give; the rows must be sorted."""
        key = self.question.astype(np.int64) * len(self.entities) + self.entity
        above, tied = self.above.astype(np.int64), self.tied.astype(np.int64)
        are_counts = (above >= 0) & (tied >= 0) & (above + tied <= self.n_other)
        rules = (
            (are_counts, "above + tied from 0 to n_other", "other counts"),
            (~np.isnan(self.score), "a number as score", "NaN"),
            (np.r_[True, key[1:] != key[:-1]][: len(key)], "each pair once", "one again"),
        )
        for is_right, expected, found in rules:
            if not is_right.all():
                row = int(is_right.argmin())
                pair = f"({self.questions[int(self.question[row])]}, {self.entities[int(self.entity[row])]})"
                raise KgtrecError(f"expected {expected}, found {found} in row {row} {pair}")

    def renamed(self, name: str) -> AnswerRanks:
        """Return the same table under another system name."""
        return replace(self, name=name)


def joined_answer_ranks(parts: Sequence[AnswerRanks]) -> AnswerRanks:
    """Return the answer ranks of several parts of one system as one table, sorted by (question, entity).

    Labels have the codes of the first part, then those that the others add.

    Raises
    ------
    KgtrecError
        If there are no parts.
    """
    if not parts:
        raise KgtrecError("expected at least one block of scores, found none")
    whole = parts[0].joined(*parts[1:])
    return whole.take(np.lexsort((whole.entity, whole.question)))

"""The ranked lists that one system returned, in memory or read part by part."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame, frame_of, holds_answer_ranks, nested, with_note
from kgtrec.data.pair_set import pair_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, require
from kgtrec.kernels.integer_keys import begins
from kgtrec.kernels.ranking.answer_ranks import score_in_words

if TYPE_CHECKING:
    import pandas as pd


_ROWS_AT_A_TIME = 1 << 16
_TABLE_BITS = 18


@dataclass(frozen=True, slots=True, eq=False)
class Run(Columns):
    """Per question a list of scored entities, in trec_eval's order.

    Rows are sorted by question, then score descending, then the entity label descending in byte order of its UTF-8.
    Each (question, entity) occurs once; scores are float64, never NaN or +inf.
    """

    name: str
    question: NDArray[np.int32]  # (n,) row in questions, never decreasing
    entity: NDArray[np.int32]  # (n,) row in entities
    score: NDArray[np.float64]  # (n,) higher is better
    questions: Vocabulary
    entities: Vocabulary
    collection: str = ""  # stamp of the collection that the question ids belong to, "" if unknown
    filtered_by: tuple[str, ...] | None = None  # splits whose triples were filtered out; () = raw; None: unknown

    @classmethod
    def of(
        cls,
        name: str,
        question: NDArray[np.int32],
        entity: NDArray[np.int32],
        score: NDArray[np.float64],
        questions: Vocabulary,
        entities: Vocabulary,
        *,
        collection: str = "",
        filtered_by: tuple[str, ...] | None = None,
    ) -> Run:
        """Make a run of rows in any order: checked, and sorted unless it is already in order.

        Raises
        ------
        KgtrecError
            If a score is NaN or +inf, or a pair is repeated; the message names it.
        """

        def pair(row: int) -> str:
            return f"({questions[question[row]]}, {entities[entity[row]]})"

        require(
            score < np.inf,
            lambda row: KgtrecError(f"expected a number as score, found {score_in_words(score[row])} for {pair(row)}"),
        )
        question, entity, score = _in_order(question, entity, score, entities)
        if (row := repeated_row(question, entity, len(entities))) is not None:
            raise KgtrecError(f"expected each pair once, found {pair(row)} more than once")
        return cls(name, question, entity, score, questions, entities, collection, filtered_by)

    def parts(self) -> Iterator[Run]:
        """Return the run as its only part; see :class:`kgtrec.data.run.StreamedRun`."""
        yield self

    def each(self, change: Callable[[Run], Run]) -> Run:
        """Return the run after a change."""
        return change(self)

    def cut(self, depth: int) -> Run:
        """Return the first ``depth`` rows of each question."""
        starts = np.flatnonzero(begins(self.question))
        return self.take(np.arange(len(self)) - np.repeat(starts, np.diff(np.r_[starts, len(self)])) < depth)

    def of_questions(self, questions: Vocabulary) -> Run:
        """Return the rows of some questions."""
        rows = np.flatnonzero(questions.encode(self.questions.labels) >= 0)
        ids, kept, question = self.questions.part(rows, self.question)
        return replace(self.take(kept), question=question, questions=ids)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str = "run") -> Run:
        """Make a run of a data frame with ir-measures' columns ``query_id, doc_id, score``.

        What :meth:`to_frame` notes in the frame's ``attrs`` is read back.
        """
        if holds_answer_ranks(frame):
            raise KgtrecError("expected a run, found answer ranks; use AnswerRanks.from_frame(frame, name)")
        columns = Frame(frame)
        (questions, question), (entities, entity) = columns.codes("query_id"), columns.codes("doc_id")
        splits = columns.note.get("filtered_by")
        return cls.of(
            name,
            question,
            entity,
            columns.values("score"),
            questions,
            entities,
            collection=columns.note.get("collection", ""),
            filtered_by=None if splits is None else tuple(splits),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with ir-measures' columns ``query_id, doc_id, score``, in the run's order.

        Its ``attrs`` name the collection and the splits that were filtered by, if the run has them.
        """
        frame = frame_of(query_id=self.decoded("question"), doc_id=self.decoded("entity"), score=self.score)
        return with_note(frame, collection=self.collection, filtered_by=self.filtered_by)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Nest scores by question and entity, for pytrec_eval and ranx: ``ranx.Run(run.to_dict(), name=run.name)``."""
        return nested(self.decoded("question"), self.decoded("entity"), self.score)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self):,} rows, {len(self.questions):,} questions>"

    def renamed(self, name: str) -> Run:
        """Return the same run under another name."""
        return replace(self, name=name)


def _in_order(
    question: NDArray[np.int32], entity: NDArray[np.int32], score: NDArray[np.float64], entities: Vocabulary
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """The rows in a run's order; the same arrays if they are in order already.

    Most runs are sorted except for the order of ties, so only the stretches that are out of order are sorted.
    """
    if np.any(question[1:] < question[:-1]):
        order = np.lexsort((-entities.byte_order[entity], -score, question))
        return question[order], entity[order], score[order]
    same = question[1:] == question[:-1]
    rising = same & (score[1:] > score[:-1])
    same_score = same & (score[1:] == score[:-1])
    wrong = rising.copy()
    tied = np.flatnonzero(same_score)
    wrong[tied] = entities.byte_order[entity[tied]] < entities.byte_order[entity[tied + 1]]
    if not wrong.any():
        return question, entity, score
    # a stretch is a question, or only some tied rows of one where all scores are in order
    linked = np.r_[False, same if rising.any() else same_score, False]  # with the row above
    edges = np.flatnonzero(linked[1:] != linked[:-1])
    first, last = edges[::2], edges[1::2]
    is_wrong = np.zeros(len(first), np.bool_)
    is_wrong[np.searchsorted(first, np.flatnonzero(wrong), side="right") - 1] = True
    first, length = first[is_wrong], (last - first + 1)[is_wrong]
    stretch = np.repeat(np.arange(len(first)), length)
    rows = np.arange(len(stretch)) + (first - np.cumsum(length) + length)[stretch]
    order = rows[np.lexsort((-entities.byte_order[entity[rows]], -score[rows], stretch))]
    sorted_entity, sorted_score = entity.copy(), score.copy()
    sorted_entity[rows], sorted_score[rows] = entity[order], score[order]
    return question, sorted_entity, sorted_score


def repeated_row(question: NDArray[np.int32], entity: NDArray[np.int32], n_entities: int) -> int | None:
    """Return a row whose pair occurs in an earlier row too, or None; rows must be grouped by question.

    Every pair writes its row number into a table at the index of its hash, and reads it back: a pair that reads another
    row number has an equal pair or a collision, and only those few are compared. Linear, where a sort is not.
    """
    table = np.empty(1 << _TABLE_BITS, np.int32)
    n = len(question)
    # whole questions at a time, about as many rows as keep collisions few and the table in the cache
    ends = np.append(np.flatnonzero(question[1:] != question[:-1]) + 1, n)
    bounds = dict.fromkeys([0, *ends[np.searchsorted(ends, np.arange(0, n, _ROWS_AT_A_TIME))].tolist(), n])
    for first, last in itertools.pairwise(bounds):
        place = pair_hashes(question[first:last], entity[first:last], _TABLE_BITS)
        rows = np.arange(last - first, dtype=np.int32)
        table[place] = rows
        found = table[place]
        lost = np.flatnonzero(found != rows)
        suspects = first + np.append(lost, found[lost])
        key = question[suspects] * np.int64(n_entities) + entity[suspects]
        own, other = key[: len(lost)], key[len(lost) :]
        ordered = np.sort(own)
        if np.any(own == other) or np.any(ordered[1:] == ordered[:-1]):
            key = question[first:last] * np.int64(n_entities) + entity[first:last]
            order = np.argsort(key, kind="stable")
            return int(first + order[1:][key[order][1:] == key[order][:-1]].min())
    return None


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRun:
    """Like :class:`kgtrec.data.run.Run`, with rows that are read again whenever they are needed.

    Each part is a run with the whole lists of some questions, and with the vocabularies of the whole.
    """

    name: str
    n_rows: int
    questions: Vocabulary
    entities: Vocabulary
    read: Callable[[], Iterator[Run]]  # the parts, from the first one
    collection: str = ""
    filtered_by: tuple[str, ...] | None = None

    def parts(self) -> Iterator[Run]:
        """Return the parts in the order of the file, under the run's name."""
        for part in self.read():
            yield replace(part, name=self.name, collection=self.collection, filtered_by=self.filtered_by)

    def renamed(self, name: str) -> StreamedRun:
        """Return the same run under another name."""
        return replace(self, name=name)

    def each(self, change: Callable[[Run], Run]) -> StreamedRun:
        """Apply to every part a change that adds no rows and keeps its vocabularies."""
        return replace(self, read=lambda: map(change, self.read()))

    def of_questions(self, questions: Vocabulary) -> StreamedRun:
        """Return the rows of some questions."""
        rows = np.flatnonzero(questions.encode(self.questions.labels) >= 0)
        kept = Vocabulary(self.questions.decode(rows))

        def change(part: Run) -> Run:
            _, own, question = self.questions.part(rows, part.question)
            return replace(part.take(own), question=question, questions=kept)

        return replace(self.each(change), questions=kept)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"<StreamedRun {self.name!r}: {len(self):,} rows, {len(self.questions):,} questions>"


AnyRun = Run | StreamedRun

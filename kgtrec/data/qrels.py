"""Graded judgements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame, frame_of, nested, with_note
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, require

if TYPE_CHECKING:
    import pandas as pd


def grades_of(values: NDArray[np.float64], place: str) -> NDArray[np.int32]:
    """Convert numbers to grades; ``place`` says where they are, for the error about an invalid one."""
    bounds = np.iinfo(np.int32)
    require(
        (values == np.trunc(values)) & (values >= bounds.min) & (values <= bounds.max),
        lambda row: KgtrecError(f"expected whole numbers of 32 bits {place}, found {values[row]}"),
    )
    return values.astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Qrels(Columns):
    """Graded judgements, one row per judged pair, sorted by (question, entity).

    An absent pair is unjudged, which is not grade 0. A negative grade counts as unjudged too, as in trec_eval.
    """

    question: NDArray[np.int32]  # (n,) row in questions
    entity: NDArray[np.int32]  # (n,) row in entities
    grade: NDArray[np.int32]  # (n,) 0 = judged wrong
    questions: Vocabulary
    entities: Vocabulary
    collection: str = ""  # stamp of the collection that the question ids belong to, "" if unknown

    @classmethod
    def of(
        cls,
        question: NDArray[np.int32],
        entity: NDArray[np.int32],
        grade: NDArray[np.int32],
        questions: Vocabulary,
        entities: Vocabulary,
        *,
        collection: str = "",
    ) -> Qrels:
        """Make qrels of rows in any order.

        Raises
        ------
        KgtrecError
            If a pair is repeated.
        """
        order = np.lexsort((entity, question))
        question, entity, grade = question[order], entity[order], grade[order]
        require(
            (question[1:] != question[:-1]) | (entity[1:] != entity[:-1]),
            lambda row: KgtrecError(
                f"expected each pair once, found ({questions[question[row]]}, {entities[entity[row]]}) again"
            ),
        )
        return cls(question, entity, grade, questions, entities, collection)

    def of_questions(self, rows: NDArray[np.intp]) -> Qrels:
        """Return the judgements of some questions, given as ascending rows."""
        questions, kept, question = self.questions.part(rows, self.question)
        return replace(self.take(kept), question=question, questions=questions)

    def with_rows(self, kept: NDArray[np.bool_] | NDArray[np.intp]) -> Qrels:
        """Return some of the rows, under the ids of the questions that they have, of no collection."""
        used, question = np.unique(self.question[kept], return_inverse=True)
        ids = Vocabulary(self.questions.decode(used))
        return Qrels(question.astype(np.int32), self.entity[kept], self.grade[kept], ids, self.entities)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Qrels:
        """Make qrels of a data frame with ir-measures' columns ``query_id, doc_id, relevance``, or PyTerrier's.

        What :meth:`to_frame` notes in the frame's ``attrs`` is read back.
        """
        columns = Frame(frame)
        (questions, question), (entities, entity) = columns.codes("query_id"), columns.codes("doc_id")
        grade = grades_of(columns.values("relevance"), "in column 'relevance'")
        return cls.of(question, entity, grade, questions, entities, collection=columns.note.get("collection", ""))

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with ir-measures' columns ``query_id, doc_id, relevance``; ``attrs`` name the collection."""
        frame = frame_of(query_id=self.decoded("question"), doc_id=self.decoded("entity"), relevance=self.grade)
        return with_note(frame, collection=self.collection)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Nest grades by question and entity, as pytrec_eval and ranx take them: ``ranx.Qrels(qrels.to_dict())``."""
        return nested(self.decoded("question"), self.decoded("entity"), self.grade)

    def __repr__(self) -> str:
        return f"<Qrels: {len(self):,} judgements, {len(self.questions):,} questions>"

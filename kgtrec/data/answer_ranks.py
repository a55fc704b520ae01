"""The one table behind every measure: where each judged answer is ranked among all candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRanks:
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
    filtered_by: tuple[str, ...]  # splits whose known triples were removed, of train, valid, test; () = raw
    collection: str  # fingerprint of the collection that was ranked, "" where there is none
    # (n,) the entity is below the end of a cut list: `above` counts what is listed, `tied` all else; None: none is
    cut: NDArray[np.bool_] | None = None
    source: str = ""  # the file that the table was read from, for messages; "" where it was made

    @classmethod
    def of(
        cls,
        name: str,
        collection: Collection,
        filtered_by: tuple[str, ...],
        *,
        question: NDArray[Any],
        entity: NDArray[Any],
        answer: NDArray[np.bool_],
        above: NDArray[Any],
        tied: NDArray[Any],
        n_other: NDArray[Any],
        score: NDArray[Any],
        cut: NDArray[np.bool_] | None = None,
    ) -> AnswerRanks:
        """The ranks of a collection's answers, from columns of any integer and float types, sorted."""
        return cls(
            name,
            question.astype(np.int32, copy=False),
            entity.astype(np.int32, copy=False),
            answer,
            above.astype(np.int32, copy=False),
            tied.astype(np.int32, copy=False),
            n_other.astype(np.int32, copy=False),
            score.astype(np.float64, copy=False),
            collection.questions.ids,
            collection.entities,
            filtered_by,
            collection.fingerprint,
            cut,
        )

    def __repr__(self) -> str:
        filtered = ", ".join(self.filtered_by) or "nothing"
        return f"<AnswerRanks {self.name!r}: {len(self):,} rows, filtered by {filtered}>"

    def __len__(self) -> int:
        return len(self.question)

    def renamed(self, name: str) -> AnswerRanks:
        """The same table under another system name."""
        return replace(self, name=name)

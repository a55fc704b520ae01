"""The one table behind every measure: where each judged answer stands among all candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
    answer: NDArray[np.bool_]  # (n,) True: an answer when the scores were ranked; False: a further judged pair
    above: NDArray[np.int32]  # (n,) non-answers that score higher
    tied: NDArray[np.int32]  # (n,) non-answers that score the same
    n_other: NDArray[np.int32]  # (n,) all non-answer candidates of the question, the row's own entity left out
    score: NDArray[np.float64]  # (n,) the row's own score, to order the rows of one question
    questions: Vocabulary
    entities: Vocabulary
    filtered_by: tuple[str, ...]  # splits whose known triples were removed, of train, valid, test; () = raw
    collection: str  # fingerprint of the collection that was ranked, "" where there is none
    source: str = ""  # the file that the table was read from, for messages; "" where it was made

    def __repr__(self) -> str:
        filtered = ", ".join(self.filtered_by) or "nothing"
        return f"<AnswerRanks {self.name!r}: {len(self):,} rows, filtered by {filtered}>"

    def __len__(self) -> int:
        return len(self.question)

    def renamed(self, name: str) -> AnswerRanks:
        """The same table under another system name."""
        return replace(self, name=name)

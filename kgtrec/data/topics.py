"""Topics as a file holds them: labels, not codes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """One row per question of a topics file; which side is asked for is not in the file but in how ids are made."""

    ids: Vocabulary  # (n,)
    anchor: pa.StringArray  # (n,) label of the given entity
    relation: pa.StringArray  # (n,) label

    @classmethod
    def of(cls, questions: Questions) -> Topics:
        """The topics of triple questions, in their order."""
        return cls(
            questions.ids,
            questions.entities.decode(questions.anchor),
            questions.relations.decode(questions.relation),
        )

    def __len__(self) -> int:
        return len(self.ids)

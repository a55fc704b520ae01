"""Topics as in a file: labels, not codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.questions import SIDES, Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """One row per question of a topics file; the side asked for is given only by the beginning of its id."""

    ids: Vocabulary  # (n,)
    anchor: pa.StringArray  # (n,) label of the given entity
    relation: pa.StringArray  # (n,) label

    @classmethod
    def of(cls, questions: Questions) -> Topics:
        """The topics of triple questions, in their order."""
        return cls(
            questions.ids, questions.entities.decode(questions.anchor), questions.relations.decode(questions.relation)
        )

    def questions(self) -> Questions:
        """The triple questions, under vocabularies of their own; an id begins with the side that is asked for.

        Raises
        ------
        KgtrecError
            If an id begins with neither side.

        Examples
        --------
        >>> topics = Topics(Vocabulary.of(["head7"]), pa.array(["paris"]), pa.array(["capital"]))
        >>> topics.questions()
        <Questions: 1 (1 head, 0 tail)>
        """
        is_head, is_tail = (values_of(pc.starts_with(self.ids.labels, side)) for side in SIDES)
        if not (is_head | is_tail).all():
            wrong = self.ids[int(np.argmin(is_head | is_tail))]
            raise KgtrecError(f"expected ids that begin with {' or '.join(SIDES)}, the side asked for, found {wrong!r}")
        entities, anchor = Vocabulary.encoding(self.anchor)
        relations, relation = Vocabulary.encoding(self.relation)
        return Questions(self.ids, is_head, relation, anchor, entities, relations)

    def __len__(self) -> int:
        return len(self.ids)

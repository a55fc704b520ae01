"""Triple questions, and topics as in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame, frame_of
from kgtrec.data.triples import Triples, label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of, require
from kgtrec.kernels.integer_keys import ranges
from kgtrec.kernels.sampling.random_order import Keys, hashed

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("head", "tail")


def checked_sides(sides: Sequence[str]) -> tuple[str, ...]:
    """Return the sides that are named, in the order of ``SIDES``; a KgtrecError if there is no such side.

    Examples
    --------
    >>> checked_sides("tail"), checked_sides(["tail", "head"])
    (('tail',), ('head', 'tail'))
    """
    named = (sides,) if isinstance(sides, str) else tuple(sides)
    for side in named:
        one_of("a side of", side, SIDES)
    return tuple(side for side in SIDES if side in named)


def only_side(side: str) -> str:
    """Return the way out where a system answers one side only, for messages."""
    return f"--sides {side} (sides=['{side}'] in Python) asks no other questions"


@dataclass(frozen=True, slots=True, eq=False)
class Questions(Columns):
    """One row per triple question: (?, relation, anchor) on the head side, (anchor, relation, ?) on the tail side."""

    ids: Vocabulary  # (n,) head0, head1, ..., tail0, ...
    is_head: NDArray[np.bool_]  # (n,) True: the head is asked for
    relation: NDArray[np.int32]  # (n,) row in relations
    anchor: NDArray[np.int32]  # (n,) row in entities
    entities: Vocabulary
    relations: Vocabulary

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, entities: Vocabulary | None = None, relations: Vocabulary | None = None
    ) -> Questions:
        """Make questions of a data frame with columns ``question, side, relation, anchor``.

        Parameters
        ----------
        frame : DataFrame
            One row per question, labels in the cells.
        entities, relations : Vocabulary, optional
            With at least the labels of the frame. Default: those labels, in order of first appearance.

        Raises
        ------
        KgtrecError
            If a column is missing, a side is not one of ``SIDES``, an id or a question is repeated, or a label is not
            in its vocabulary.

        Examples
        --------
        >>> import pandas as pd
        >>> Questions.from_frame(pd.DataFrame({
        ...     "question": ["q1"], "side": ["tail"], "relation": ["capital_of"], "anchor": ["paris"]
        ... }))
        <Questions: 1 (0 head, 1 tail)>
        """
        columns = Frame(frame)
        ids, row = columns.codes("question")
        require(
            np.bincount(row) <= 1, lambda code: KgtrecError(f"expected each question once, found {ids[code]!r} again")
        )
        sides = columns.labels("side").to_pylist()
        if wrong := [side for side in sides if side not in SIDES]:
            raise KgtrecError(f"expected {' or '.join(SIDES)} in column 'side', found {wrong[0]!r}")
        relations, relation = columns.codes("relation", relations)
        entities, anchor = columns.codes("anchor", entities)
        asked = cls(ids, np.array([side == "head" for side in sides], np.bool_), relation, anchor, entities, relations)
        first = np.unique(asked._keys(asked.is_head, relation, anchor), return_index=True)[1]
        expected = "expected each side, relation and anchor once"
        is_first = np.bincount(first, minlength=len(ids)) > 0
        require(is_first, lambda row: KgtrecError(f"{expected}, found those of {ids[row]!r} again"))
        return asked

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with columns ``question, side, relation, anchor``."""
        return frame_of(
            question=self.ids.labels,
            side=np.where(self.is_head, *SIDES).astype(object),
            relation=self.decoded("relation"),
            anchor=self.entities.decode(self.anchor),
        )

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Questions:
        """Return the questions at ``rows`` (row numbers, or a mask), with their ids."""
        return replace(Columns.take(self, rows), ids=Vocabulary(self.ids.decode(np.arange(len(self))[rows])))

    def __repr__(self) -> str:
        n_head = int(self.is_head.sum())
        return f"<Questions: {len(self):,} ({n_head:,} head, {len(self) - n_head:,} tail)>"

    def rows(
        self, is_head: NDArray[np.bool_], relation: NDArray[np.int32], anchor: NDArray[np.int32]
    ) -> NDArray[np.intp]:
        """Return the row of each (side, relation, anchor), -1 where there is none, as with codes below 0."""
        found, row = self.matches(is_head, relation, anchor)
        rows = np.full(len(is_head), -1, np.intp)
        rows[found] = row
        return rows

    def matches(
        self, is_head: NDArray[np.bool_], relation: NDArray[np.int32], anchor: NDArray[np.int32]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which (side, relation, anchor) are questions, and their rows: several where qualifiers were left out.

        Codes below 0 match nothing.
        """
        own, asked = self._keys(self.is_head, self.relation, self.anchor), self._keys(is_head, relation, anchor)
        order = np.argsort(own, kind="stable")
        first, last = (np.searchsorted(own, asked, side, sorter=order) for side in ("left", "right"))
        found, place = ranges(first, np.where((relation >= 0) & (anchor >= 0), last - first, 0))
        return found, order[place]

    def rows_in(self, others: Questions) -> NDArray[np.intp]:
        """Return the (n,) row of each question, by its labels, in other questions; -1 where it is missing."""
        relation = others.relations.encode(self.relations.labels)[self.relation]
        return others.rows(self.is_head, relation, others.entities.encode(self.entities.labels)[self.anchor])

    def rows_of(self, sides: Sequence[str]) -> NDArray[np.intp]:
        """Return the rows of the questions of some sides, ascending.

        Raises
        ------
        KgtrecError
            If a side is unknown, or there is no question of these sides, though there are others.
        """
        sides = checked_sides(sides)
        rows = np.flatnonzero((self.is_head & (SIDES[0] in sides)) | (~self.is_head & (SIDES[1] in sides)))
        if len(rows) == 0 and len(self):
            raise KgtrecError(f"expected questions that ask for the {' or '.join(sides) or 'head or tail'}, found none")
        return rows

    def _keys(
        self, is_head: NDArray[np.bool_], relation: NDArray[np.int32], anchor: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        return (is_head.astype(np.int64) * len(self.relations) + relation) * len(self.entities) + anchor

    def triples(self, question: NDArray[np.int32], entity: NDArray[np.int32]) -> Triples:
        """Return the (n,) triple that each entity (row in ``entities``) gives as an answer to its question."""
        is_head, anchor = self.is_head[question], self.anchor[question]
        head, tail = np.where(is_head, entity, anchor), np.where(is_head, anchor, entity)
        return Triples(head, self.relation[question], tail, self.entities, self.relations)


def completions(questions: Questions, triples: Triples) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the questions that the triples answer, and with which entity.

    Parameters
    ----------
    questions : Questions
    triples : Triples
        With the vocabularies of the questions.

    Returns
    -------
    question, entity : (n,) int32 arrays, n <= 2 * n_triples
        First those of the head side, in the order of the triples, then those of the tail side.

    Examples
    --------
    >>> from kgtrec.collection.questions import questions_of
    >>> triples = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> question, entity = completions(questions_of(triples), triples)
    >>> question.tolist(), entity.tolist()
    ([0, 0, 1, 2], [0, 2, 1, 1])
    """
    question, entity, _ = completed_rows(questions, triples)
    return question, entity


def completed_rows(
    questions: Questions, triples: Triples
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]:
    """Return the result of :func:`completions`, and the row of the triple behind each.

    Of questions that are one without their qualifiers, see :func:`kgtrec.data.triples.plain`, a triple completes each.
    """
    sides = np.repeat([True, False], len(triples))
    row = np.tile(np.arange(len(triples)), 2)
    found, question = questions.matches(sides, triples.relation[row], np.concatenate([triples.tail, triples.head]))
    entity = np.concatenate([triples.head, triples.tail])
    return question.astype(np.int32), entity[found], row[found]


def question_keys(questions: Questions) -> Keys:
    """Hash the labels and the side of each question, (n,)."""
    relation = label_hashes(questions.relations)[questions.relation]
    return hashed(relation, label_hashes(questions.entities)[questions.anchor], questions.is_head.astype(np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """One row per question of a topics file; the side asked for is given only by the beginning of its id."""

    ids: Vocabulary  # (n,)
    anchor: pa.StringArray  # (n,) label of the given entity
    relation: pa.StringArray  # (n,) label

    @classmethod
    def of(cls, questions: Questions) -> Topics:
        """Make the topics of triple questions, in their order."""
        return cls(
            questions.ids, questions.entities.decode(questions.anchor), questions.relations.decode(questions.relation)
        )

    def questions(self) -> Questions:
        """Return the triple questions, under vocabularies of their own; an id begins with the side that is asked for.

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
        expected = f"expected ids that begin with {' or '.join(SIDES)}, the side asked for"
        require(is_head | is_tail, lambda row: KgtrecError(f"{expected}, found {self.ids[row]!r}"))
        entities, anchor = Vocabulary.encoding(self.anchor)
        relations, relation = Vocabulary.encoding(self.relation)
        return Questions(self.ids, is_head, relation, anchor, entities, relations)

    def __len__(self) -> int:
        return len(self.ids)

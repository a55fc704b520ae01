"""Which entities may answer a question at all: its candidates, where they are not all entities of the collection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.questions import Questions
from kgtrec.data.triples import EntityTypes, Triples, fingerprint_of, plain, qualifiers_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.integer_keys import distinct, is_among_sorted, ranges


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Columns):
    """The entities that a side of a relation takes, one row per relation, side and entity, each once, sorted.

    A side without a row takes every entity. Relations have no qualifiers, such as times.
    """

    relation: NDArray[np.int32]  # (n,) row in relations
    is_head: NDArray[np.bool_]  # (n,) True: the side of the head
    entity: NDArray[np.int32]  # (n,) row in entities
    entities: Vocabulary
    relations: Vocabulary

    @classmethod
    def of(cls, place: NDArray[np.integer], entity: NDArray[np.integer], of: Triples | Questions) -> Candidates:
        """Make them of rows in any order, repeated or not; a place is ``2 * relation + is_head``, as :attr:`place`."""
        width = max(len(of.entities), 1)
        place, entity = np.divmod(distinct(place.astype(np.int64) * width + entity), width)
        own = (place // 2).astype(np.int32), place % 2 == 1, entity.astype(np.int32)
        return cls(*own, of.entities, qualifiers_of(of.relations)[0])

    @classmethod
    def seen_in(cls, train: Triples, types: EntityTypes | None = None) -> Candidates:
        """Make them of the entities that train has there, and with types of all entities that share a type with these.

        References
        ----------
        Krompass et al. (2015), Type-constrained representation learning in knowledge graphs: local closed world.

        Examples
        --------
        >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("ann", "knows", "bob")])
        >>> [train.entities[entity] for entity in Candidates.seen_in(train).entity]
        ['bob', 'ann', 'tea', 'jam', 'ann', 'bob']
        """
        relation = plain(train).relation.astype(np.int64)
        place = np.concatenate([2 * relation, 2 * relation + 1])
        seen = cls.of(place, np.concatenate([train.tail, train.head]), train)
        if types is None or not len(types):
            return seen
        own = types.recoded(entities=train.entities)
        own = own.take(np.lexsort((own.entity, own.type)))
        own = own.take(own.entity >= 0)
        by_entity = own.take(np.argsort(own.entity, kind="stable"))
        row, at = ranges(*_spans(by_entity.entity, seen.entity))
        kinds = distinct(seen.place[row] * len(types.types) + by_entity.type[at])
        place, kind = np.divmod(kinds, len(types.types))
        row, at = ranges(*_spans(own.type, kind))
        return cls.of(np.concatenate([seen.place, place[row]]), np.concatenate([seen.entity, own.entity[at]]), train)

    @property
    def place(self) -> NDArray[np.int64]:
        """(n,) ``2 * relation + is_head``, ascending."""
        return self.relation.astype(np.int64) * 2 + self.is_head

    def of_questions(self, questions: Questions) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(n_questions,) the first row of each question and how many it has; none: every entity may answer it."""
        return _spans(self.place, _places(questions))

    def has(
        self, questions: Questions, question: NDArray[np.integer], entity: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """(n,) whether the entity of each pair is one that its question takes."""
        own, place, width = self.place, _places(questions)[question], len(self.entities)
        return is_among_sorted(place * width + entity, own * width + self.entity) | ~is_among_sorted(place, own)

    def fingerprint(self, of_triples: str) -> str:
        """Sixteen hex digits of a collection's triples and its candidates."""
        import hashlib  # slow to import, and scoring needs none

        sides = (self.take(self.is_head == is_head) for is_head in (True, False))
        sets = [Triples(own.entity, own.relation, own.entity, own.entities, own.relations) for own in sides]
        return hashlib.sha256(f"{of_triples} {fingerprint_of(*sets)}".encode()).hexdigest()[:16]


def _places(questions: Questions) -> NDArray[np.int64]:
    asked = plain(questions)
    return asked.relation.astype(np.int64) * 2 + asked.is_head


def _spans(ordered: NDArray[np.integer], keys: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each key begins in an ascending column, and how often it is there."""
    first = np.searchsorted(ordered, keys)
    return first, np.searchsorted(ordered, keys, side="right") - first

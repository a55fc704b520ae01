"""A test collection: what `kgtrec questions` builds and every later step reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError

CATEGORIES = ("1-1", "1-N", "N-1", "N-N")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Known answers outside the qrels, one row per question, entity and split, sorted by them."""

    question: NDArray[np.int32]  # (n,) row in Questions
    entity: NDArray[np.int32]  # (n,) row in entities
    split: NDArray[np.int8]  # (n,) 0 = train, 1 = valid, 2 = test (test triples left out by sampling)

    def __len__(self) -> int:
        return len(self.question)


@dataclass(frozen=True, slots=True, eq=False)
class RelationCategories:
    """How many-to-many each relation is, one row per relation of the collection."""

    category: NDArray[np.int8]  # (n,) row in CATEGORIES; -1 where a relation has no triples
    tails_per_head: NDArray[np.float64]  # (n,) mean number of tails of a (head, relation)
    heads_per_tail: NDArray[np.float64]  # (n,) mean number of heads of a (relation, tail)


@dataclass(frozen=True, eq=False)
class Collection:
    """Questions, their judged answers, and the entities already known to answer them."""

    questions: Questions
    qrels: Qrels  # its vocabularies are questions.ids and questions.entities, and it has the fingerprint
    known: Known
    categories: RelationCategories
    train: Triples  # what a system may learn from; its vocabularies are entities and relations
    report: Mapping[str, Any] = field(default_factory=dict)  # counts, policies and options of build_questions
    labels: Vocabulary | None = None  # the labels of entity ids e0, e1, ...; None: entities have their own labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "qrels", replace(self.qrels, collection=self.fingerprint))

    def __repr__(self) -> str:
        return (
            f"<Collection {self.fingerprint}: {len(self.questions):,} questions, {len(self.qrels):,} judgements, "
            f"{len(self.entities):,} entities, {len(self.relations):,} relations>"
        )

    @property
    def entities(self) -> Vocabulary:
        return self.questions.entities

    @property
    def relations(self) -> Vocabulary:
        return self.questions.relations

    def topics_of(self, questions: Vocabulary) -> NDArray[np.int32]:
        """(n,) row of each of ``questions`` in the collection's questions.

        Raises
        ------
        CollectionError
            If the collection lacks one of them.
        """
        row = self.questions.ids.encode(questions.labels)
        if np.any(row < 0):
            missing = questions[int(np.flatnonzero(row < 0)[0])]
            raise CollectionError(f"question {missing!r} of the qrels is not in the collection's topics")
        return row

    @property
    def is_alignment(self) -> bool:
        """Whether it is an entity alignment, whose candidates are the entities of one side only."""
        return "alignment" in self.report

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any question, entity or known triple, but not with judgements.

        Ranks keep their meaning when judgements are added: questions and candidates stay the same. The labels of
        entity ids e0, e1, ... are part of it, since other triples may look the same under such ids.
        """
        import hashlib  # slow to import, and scoring needs none

        digest = hashlib.sha256()
        labels = [] if self.labels is None else [self.labels]
        for vocabulary in (self.questions.ids, self.entities, self.relations, *labels):
            digest.update("\n".join(vocabulary).encode() + b"\0")
        questions, known = self.questions, self.known
        for array in (
            questions.is_head,
            questions.relation,
            questions.anchor,
            known.question,
            known.entity,
            known.split,
        ):
            digest.update(np.ascontiguousarray(array).tobytes() + b"\0")
        return digest.hexdigest()[:16]

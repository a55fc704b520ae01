"""A test collection: what `kgtrec questions` builds and every later step reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.columns import Columns
from kgtrec.data.pair_set import Pairs
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, completed_rows
from kgtrec.data.triples import FILTERS, SPLITS, Triples, fingerprint_of, plain, qualifiers_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, require
from kgtrec.kernels.integer_keys import distinct, first_places, is_among, is_among_sorted, ranges

CATEGORIES = ("1-1", "1-N", "N-1", "N-N")
STAMP = re.compile("[0-9a-f]{16}_[0-9a-f]{8}")  # a fingerprint and a numbering


def require_collection(found: object) -> None:
    """Raise KgtrecError if it is a path or anything else instead of a collection."""
    if not isinstance(found, Collection):
        raise KgtrecError(f"expected a collection, found {found!r}; kgtrec.read_collection reads that of a folder")


@dataclass(frozen=True, slots=True, eq=False)
class FilteredAnswers(Columns):
    """Filtered answers, which are outside the qrels, one row per question, entity and split, sorted by them."""

    question: NDArray[np.int32]  # (n,) row in Questions
    entity: NDArray[np.int32]  # (n,) row in entities
    split: NDArray[np.int8]  # (n,) row in SPLITS: train, valid, or test (triples left out by sampling)


@dataclass(frozen=True, slots=True, eq=False)
class MissingLinks(Columns):
    """How many links the easiest explanation of each answer lacks, one row per hard answer of a query, sorted."""

    question: NDArray[np.int32]  # (n,) row in Questions
    entity: NDArray[np.int32]  # (n,) row in entities
    count: NDArray[np.int8]  # (n,) -1: no explanation is in the graph


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Columns):
    """The entities that each side of a relation takes, one row per side and entity, each once, sorted by them.

    A side without a row takes every entity.
    """

    place: NDArray[np.int64]  # (n,) 2 * relation + whether it is the side of heads; relations without qualifiers
    entity: NDArray[np.int32]  # (n,) row in entities

    def fingerprint(self, of_triples: str, entities: Vocabulary, relations: Vocabulary) -> str:
        """Return sixteen hex digits of a collection's triples and its candidates."""
        relation, plain_relations = (self.place // 2).astype(np.int32), qualifiers_of(relations)[0]
        rows = Triples(self.entity, relation, self.entity, entities, plain_relations)
        sides = (rows.take(self.place % 2 == is_head) for is_head in (1, 0))
        return _digits(of_triples.encode(), fingerprint_of(*sides).encode(), n=16)


@dataclass(frozen=True, slots=True, eq=False)
class RelationCategories:
    """How many-to-many each relation is, one row per relation of the collection."""

    category: NDArray[np.int8]  # (n,) row in CATEGORIES; -1 where a relation has no triples
    tails_per_head: NDArray[np.float64]  # (n,) mean number of tails of a (head, relation)
    heads_per_tail: NDArray[np.float64]  # (n,) mean number of heads of a (relation, tail)


@dataclass(frozen=True, eq=False)
class Collection:
    """Questions, their judged answers, and the answers that are filtered."""

    questions: Questions
    qrels: Qrels  # its vocabularies are questions.ids and questions.entities, and it has the stamp
    filtered: FilteredAnswers
    categories: RelationCategories
    train: Triples  # what a system may learn from; its vocabularies are entities and relations
    report: Mapping[str, Any] = field(default_factory=dict)  # counts, policies and options of build_questions
    labels: Vocabulary | None = None  # the labels of entity ids e0, e1, ...; None: entities have their own labels
    fingerprint: str = ""  # of the sets of triples by split; by default of the questions and what is filtered
    # inductive: the graph that a model was trained on, with its own entities and the collection's relations, where
    # train is the graph of the candidates; None: the model was trained on train
    training: Triples | None = None
    missing_links: MissingLinks | None = None  # of complex queries
    #: where relations have qualifiers, such as times: the triples of valid, and all of test, whatever the qrels
    held: tuple[Triples, Triples] | None = None
    candidates: Candidates | None = None  # None: all entities, of every question

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", self._fingerprint())
        object.__setattr__(self, "qrels", replace(self.qrels, collection=self.stamp))

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
        """Return the (n,) row of each of ``questions`` in the collection's questions.

        Raises
        ------
        CollectionError
            If the collection lacks one of them.
        """
        rows = self.questions.ids.encode(questions.labels)
        require(
            rows >= 0,
            lambda row: CollectionError(f"question {questions[row]!r} of the qrels is not in the collection's topics"),
        )
        return rows

    def filtered_pairs(self, splits: Sequence[str]) -> Pairs:
        """Return the pairs that some splits, or facts of other times, filter."""
        rows = np.isin(self.filtered.split, [FILTERS.index(split) for split in splits])
        question, entity = self.filtered.question[rows], self.filtered.entity[rows]
        if FILTERS[-1] in splits:
            others = np.divmod(self._other_times, len(self.entities))
            question, entity = (
                np.concatenate([own, more.astype(np.int32)])
                for own, more in zip((question, entity), others, strict=True)
            )
        return Pairs(question, entity, self.questions.ids, self.entities)

    @cached_property
    def _other_times(self) -> NDArray[np.int64]:
        """Pairs that hold under other qualifiers only; found when they are asked for, since they may be very many."""
        facts, asked, width = plain(self.facts(SPLITS)), plain(self.questions), len(self.entities)
        question, entity, _ = completed_rows(asked, facts.take(first_places(facts.keys())))
        answers = self.qrels.take(self.qrels.grade >= 1)
        now = [(each.question.astype(np.int64) * width + each.entity) for each in (answers, self.filtered)]
        pairs = question.astype(np.int64) * width + entity
        return np.sort(pairs[~is_among(pairs, np.concatenate(now))])

    def answers_and_filtered(self, filtered_by: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the pairs that are answers, and those that are no candidates: filtered by a split, and no answers.

        Both are keys ``question * n_entities + entity``, each once, ascending. Entities that a question does not take
        (:meth:`takes`) are none of them, unless they are answers.
        """
        qrels, width = self.qrels, len(self.entities)
        is_answer = qrels.grade >= 1
        answers = distinct(qrels.question[is_answer].astype(np.int64) * width + qrels.entity[is_answer])
        pairs = self.filtered_pairs(filtered_by)
        filtered = distinct(pairs.question.astype(np.int64) * width + pairs.entity)
        return answers, filtered[~is_among_sorted(filtered, answers) & self.takes(*np.divmod(filtered, width))]

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        """The side and relation that each question is about, as in ``candidates``, (n_questions,)."""
        asked = plain(self.questions)
        return asked.relation.astype(np.int64) * 2 + asked.is_head

    def takes(self, question: NDArray[np.integer], entity: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether the entity of each pair is a candidate of its question before the filter, (n,).

        An answer is one in any case, whatever is returned for it.
        """
        if (own := self.candidates) is None:
            return np.ones(len(question), np.bool_)
        place, width = self._place[question], len(self.entities)
        is_taken = is_among_sorted(place * width + entity, own.place * width + own.entity)
        return is_taken | ~is_among_sorted(place, own.place)

    def others(self, rows: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        """Return a mask of the entities that some questions do not take, (n_rows, n_entities); None: they take all.

        Answers may be among them.
        """
        if (own := self.candidates) is None:
            return None
        first, end = (np.searchsorted(own.place, self._place[rows], side) for side in ("left", "right"))
        mask = np.repeat(end > first, len(self.entities)).reshape(len(rows), -1)
        row, at = ranges(first, end - first)
        mask[row, own.entity[at]] = False
        return mask

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many candidates each question has before the filter, its answers included, (n_questions,)."""
        n, width = len(self.questions), len(self.entities)
        places = np.zeros(0, np.int64) if self.candidates is None else self.candidates.place
        count = np.bincount(places, minlength=2 * len(self.relations))[self._place]
        answers = np.divmod(self.answers_and_filtered(())[0], width)
        return np.where(count > 0, count, width) + np.bincount(answers[0][~self.takes(*answers)], minlength=n)

    def facts(self, splits: Sequence[str]) -> Triples:
        """Return the triples of some splits, where relations have qualifiers.

        Raises
        ------
        CollectionError
            If those of valid and test are not held.
        """
        if self.held is None:
            raise CollectionError(
                "expected facts with a time, as --filter static (other-times) and --baseline recent need, found a "
                "collection without"
            )
        of_split = dict(zip(SPLITS, (self.train, *self.held), strict=True))
        first, *others = (of_split[split] for split in splits)
        return first.joined(*others)

    @property
    def is_alignment(self) -> bool:
        """Whether it is an entity alignment, whose candidates are the entities of one side only."""
        return "alignment" in self.report

    @cached_property
    def numbering(self) -> str:
        """Eight hex digits of what each question id stands for, which the order of the test triples decides."""
        return self.numbering_as(self.questions)

    def numbering_as(self, questions: Questions) -> str:
        """Return it for questions of the collection's own vocabularies with other ids, or in another order."""
        return _digits(
            b"labels" if self.labels is None else b"ids",
            "\n".join(questions.ids).encode(),
            _bytes(questions.is_head),
            _bytes(self.relations.places_of(questions.relation)),
            _bytes(self.entities.places_of(questions.anchor)),
        )

    def _fingerprint(self) -> str:
        """Of the questions of each side and the filtered answers by split, where the test triples are not given."""
        asked, filtered = self.questions, self.filtered
        sides = [np.flatnonzero(asked.is_head == is_head).astype(np.int32) for is_head in (True, False)]
        splits = [np.flatnonzero(filtered.split == code) for code in range(len(SPLITS))]
        sets = [asked.triples(row, asked.anchor[row]) for row in sides]
        sets += [asked.triples(filtered.question[row], filtered.entity[row]) for row in splits]
        found = fingerprint_of(*(replace(triples, entities=self.labels or self.entities) for triples in sets))
        own = self.candidates
        return found if own is None else own.fingerprint(found, self.labels or self.entities, self.relations)

    @property
    def stamp(self) -> str:
        """Fingerprint and numbering, as recorded with ranks, runs and qrels.

        Judgements do not change it: questions and candidates stay the same, and ranks keep their meaning.
        """
        return f"{self.fingerprint}_{self.numbering}"

    @property
    def matrix_stamp(self) -> str:
        """The same for score matrices, whose columns are in the order of the entities."""
        return f"{self.fingerprint}_{_digits(self.numbering.encode(), _bytes(self.entities.byte_order))}"


def has_validation(report: Mapping[str, Any]) -> bool:
    """Return whether there are validation triples, or need not be, as in an entity alignment; a report may be empty."""
    counts = report.get("triples_read")
    return "alignment" in report or not (isinstance(counts, Mapping) and counts.get("valid") == 0)


def why_another(found: str, expected: str, place: str = "RUN") -> str:
    """Say what the stamp of another collection than the expected one means, before a way out in a message.

    Examples
    --------
    >>> why_another("4a84c83d560bd2ab_0c1d2e3f", "feedfeedfeedfeed_0c1d2e3f")
    'where the same ids may mean other questions; '
    >>> why_another("4a84c83d560bd2ab_0c1d2e3f", "4a84c83d560bd2ab_aaaaaaaa").partition(" (")[0]
    'which has the same triples and other ids of questions; renumber it by its old topics'
    """
    if found.partition("_")[0] != expected.partition("_")[0]:
        return "where the same ids may mean other questions; "
    return (
        "which has the same triples and other ids of questions; renumber it by its old topics (kgtrec convert "
        f"{place} OUT --topics OLD/topics.tsv --collection COLLECTION), or "
    )


def _bytes(values: NDArray[Any]) -> bytes:
    return values.astype("<i4").tobytes()


def _digits(*parts: bytes, n: int = 8) -> str:
    """Some hex digits of some bytes."""
    import hashlib  # slow to import, and scoring needs none

    return hashlib.sha256(b"".join(parts)).hexdigest()[:n]

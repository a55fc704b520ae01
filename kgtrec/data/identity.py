"""The one place where questions and entities of two sources are matched: by content, never by id or position.

A question is (side, anchor, relation) and an entity is its label. Ids (``head0``, ``e7``) and orders
differ between collections: a sample numbers its questions from 0, and every framework sorts entities in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import labels_of
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Frame, has_columns
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions, Topics
from kgtrec.data.run import Run, StreamedRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, kind_of, require, warn

_SHOWN = 3  # examples in a message
_Numbered = TypeVar("_Numbered", Run, StreamedRun, Qrels, AnswerRanks)


@dataclass(frozen=True, slots=True, eq=False)
class SourceOrder:
    """The position of each question, or entity, of a collection among those of a source."""

    place: NDArray[np.intp]  # (n,) row, or column, of the source; all distinct
    size: int  # how many the source has, including those that the collection lacks

    @property
    def is_same(self) -> bool:
        """Whether the source has the same ones in the same order."""
        return self.size == len(self.place) and bool(np.array_equal(self.place, np.arange(self.size)))

    @property
    def extra(self) -> int:
        """How many of the source's the collection lacks."""
        return self.size - len(self.place)

    def own(self) -> NDArray[np.intp]:
        """Return the (size,) position of each of the source's in the collection, -1 where the collection lacks it."""
        place = np.full(self.size, -1, np.intp)
        place[self.place] = np.arange(len(self.place))
        return place


def entity_names(collection: Collection) -> Vocabulary:
    """Return the (n,) names of a collection's entities outside it: their labels, also where it gives them ids."""
    return collection.entities if collection.labels is None else collection.labels


def entity_places(collection: Collection, entities: Any, *, where: str = "entities") -> SourceOrder:
    """Return the position of each entity of a collection in another order of entities.

    Parameters
    ----------
    collection : Collection
    entities : Collection, Vocabulary, sequence of str, or mapping of str to int
        Labels in their order, or the number of each label, as PyKEEN's ``entity_to_id``. A collection means its own
        entities in its own order.
    where : str
        Where the entities come from, for messages.

    Raises
    ------
    CollectionError
        If ``entities`` lacks an entity of the collection.
    KgtrecError
        If a label is repeated, or the numbers are not 0, 1, ...

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> list(collection.entities), entity_places(collection, {"jam": 2, "ann": 0, "tea": 3, "bob": 1}).place.tolist()
    (['ann', 'tea', 'bob', 'jam'], [0, 3, 1, 2])
    """
    if entities is collection or entities is collection.entities:
        return SourceOrder(np.arange(len(collection.entities)), len(collection.entities))
    wanted = entity_names(collection)
    labels = entity_names(entities) if isinstance(entities, Collection) else ordered_labels(entities, where)
    order = SourceOrder(labels.encode(wanted.labels).astype(np.intp), len(labels))
    _require_all(f"{where}: expected all {len(wanted):,} entities", order, wanted.__getitem__, labels.__getitem__)
    return order


def question_places(collection: Collection, questions: Any, *, where: str = "questions") -> SourceOrder:
    """Return the position of each question of a collection in another order of questions; ids do not matter.

    Parameters
    ----------
    collection : Collection
    questions : Collection, Questions, Topics, DataFrame, or sequence of (side, anchor, relation)
        A collection means its own questions in its own order; a data frame has columns ``side``, ``anchor`` and
        ``relation``, all text; a side is ``"head"`` or ``"tail"``: what is asked for.
    where : str
        Where the questions come from, for messages.

    Raises
    ------
    CollectionError
        If ``questions`` lacks a question of the collection.
    KgtrecError
        If a question is repeated, or the side asked for cannot be read from an id or side.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> question_places(collection, [("tail", "ann", "likes"), ("head", "jam", "likes")]).place.tolist()
    [1, 0]
    """
    own = collection.questions
    if questions is collection or questions is own:
        return SourceOrder(np.arange(len(own)), len(own))
    asked, names = _questions(questions, collection, where)
    known = entity_names(collection)
    relation = collection.relations.encode(asked.relations.decode(asked.relation))
    row = own.rows(asked.is_head, relation, known.encode(names.decode(asked.anchor)))
    is_own = np.flatnonzero(row >= 0)
    times = np.bincount(row[is_own], minlength=len(own))
    if (twice := np.flatnonzero(times > 1)).size:
        raise KgtrecError(
            f"{where}: expected each question once, found {_text_of(own, known, twice[0])} {times[twice[0]]} times"
            + (f", and {len(twice) - 1:,} others repeated" if len(twice) > 1 else "")
            + "; keep one row for each (test triples that ask the same question share it)"
        )
    place = np.full(len(own), -1, np.intp)
    place[row[is_own]] = is_own
    order, text_of = SourceOrder(place, len(row)), partial(_text_of, own, known)
    _require_all(f"{where}: expected all {len(own):,} questions", order, text_of, partial(_text_of, asked, names))
    return order


def renumbered(
    system: _Numbered, collection: Collection, questions: Questions, *, where: str = "questions"
) -> _Numbered:
    """Return a run, answer ranks or qrels with the question ids of a collection instead of those of the same questions.

    Parameters
    ----------
    system : Run, StreamedRun, Qrels or AnswerRanks
    collection : Collection
    questions : Questions
        The same as the collection's, in any order, under the ids that ``system`` has.
    where : str
        Where the questions come from, for messages.

    Raises
    ------
    CollectionError
        If these are not the questions of the collection, or not those that the system's record names; if the system
        has another question, or an entity that the collection lacks.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> rows = [("ann", "likes", "jam"), ("bob", "likes", "tea")]
    >>> old, new = (build_questions(Triples.of([]), None, Triples.of(test)) for test in (rows, rows[::-1]))
    >>> old.qrels.to_dict()["head0"], renumbered(old.qrels, new, old.questions).to_dict()["head1"]
    ({'ann': 1}, {'ann': 1})
    """
    own, places = collection.questions, question_places(collection, questions, where=where)
    if places.extra:
        raise CollectionError(
            f"{where}: expected only questions of the collection, found {places.extra:,} others; the ids of another "
            "collection's questions cannot be renumbered"
        )
    row = places.own()
    before = replace(
        own, ids=questions.ids, is_head=own.is_head[row], relation=own.relation[row], anchor=own.anchor[row]
    )
    stamp = f"{collection.fingerprint}_{collection.numbering_as(before)}"
    if system.collection not in ("", stamp):
        raise CollectionError(
            f"{where}: expected the topics of collection {system.collection}, which the ids are of, found those of "
            f"{stamp}"
        )
    for what, labels, known in (
        (f"question to be one of {where}", system.questions, questions.ids),
        ("entity to be one of the collection", system.entities, collection.entities),
    ):
        if (unknown := np.flatnonzero(known.encode(labels.labels) < 0)).size:
            raise CollectionError(f"expected each {what}, found {labels[unknown[0]]!r}")
    ids = Vocabulary(own.ids.decode(row[questions.ids.encode(system.questions.labels)]))
    if isinstance(system, StreamedRun):
        system = system.each(lambda part: replace(part, questions=ids))
    return replace(system, questions=ids, collection=collection.stamp)


def warn_of_extra(places: SourceOrder, what: str, *, where: str = "") -> None:
    """Warn that questions or entities of a source, ``where``, are left out because the collection lacks them."""
    if places.extra:
        warn(f"{where and f'{where}: '}left out {places.extra} {what} that are not in the collection")


def require_same_ids(collection: Collection, questions: Questions, *, where: str = "questions") -> None:
    """Refuse questions whose ids name other questions in a collection.

    Parameters
    ----------
    collection : Collection
    questions : Questions
        With the collection's own names of entities.
    where : str
        Where the questions come from, for messages.

    Raises
    ------
    CollectionError
        If the collection lacks an id, or has another question under it.
    """
    require(
        questions.rows_in(collection.questions) == collection.topics_of(questions.ids),
        lambda row: CollectionError(
            f"{where}: expected the questions of its collection, found another one under the id "
            f"{questions.ids[row]}; was it made for another collection?"
        ),
    )


def require_one_numbering(some: Questions, others: Questions) -> None:
    """Refuse two sets of questions that have different questions under one id, or different ids for one question.

    Raises
    ------
    CollectionError
        At the first of ``others`` that has another id among ``some``, or whose id names another question there.
    """
    row_of = others.rows_in(some)
    require(
        row_of == some.ids.encode(others.ids.labels),
        lambda row: CollectionError(
            f"expected the ids of the pool, whose {others.ids[row]} is {_text_of(others, others.entities, row)}, found "
            + (f"another question under {others.ids[row]}" if row_of[row] < 0 else some.ids[row_of[row]] + " for it")
            + "; use the topics that the pool was made for"
        ),
    )


def ordered_labels(entities: Any, where: str) -> Vocabulary:
    """Return labels in the order of their numbers, of a list in that order or of a mapping from label to number.

    Raises
    ------
    KgtrecError
        If a label is repeated, or the numbers are not 0, 1, ...
    """
    if isinstance(entities, Vocabulary):
        return entities
    if isinstance(entities, Mapping):
        entities = _by_number(entities, where)
    if isinstance(entities, str | set | frozenset) or not isinstance(entities, Iterable):
        raise KgtrecError(f"{where}: expected labels in order, or the number of each label, found {kind_of(entities)}")
    try:
        return Vocabulary.of(entities)
    except KgtrecError as error:
        raise KgtrecError(f"{where}: {error}") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise KgtrecError(
            f"{where}: expected labels, all text, in the order of the columns, found other values, such as numbers"
        ) from None


def _by_number(numbers: Mapping[Any, Any], where: str) -> list[Any]:
    """Labels in the order of their numbers."""
    try:
        ordered = sorted(numbers.items(), key=lambda item: item[1])
        wrong = [number for place, (_, number) in enumerate(ordered) if number != place]
    except TypeError:
        raise KgtrecError(f"{where}: expected a whole number for each label, found other values") from None
    if wrong:
        raise KgtrecError(
            f"{where}: expected the numbers from 0 to {len(ordered) - 1}, one for each label, found {wrong[0]!r}"
            + ("; give the number of each label, not the label of each number" if isinstance(wrong[0], str) else "")
        )
    return [label for label, _ in ordered]


def _questions(questions: Any, collection: Collection, where: str) -> tuple[Questions, Vocabulary]:
    """The questions, and the names of their entities."""
    if isinstance(questions, Collection):
        return questions.questions, entity_names(questions)
    if isinstance(questions, Questions):
        return questions, entity_names(collection) if questions.entities is collection.entities else questions.entities
    topics = questions if isinstance(questions, Topics) else _topics(questions, where)
    try:
        found = topics.questions()
    except KgtrecError as error:
        raise KgtrecError(f"{where}: {error}") from None
    return found, found.entities


def _topics(questions: Any, where: str) -> Topics:
    """Topics of (side, anchor, relation), in rows or in the columns of a frame."""
    if has_columns(questions):
        columns = Frame(questions)
        questions = zip(*(columns.labels(name).to_pylist() for name in ("side", "anchor", "relation")), strict=True)
    if isinstance(questions, str | Mapping | set | frozenset) or not isinstance(questions, Iterable):
        raise KgtrecError(
            f"{where}: expected a collection, its questions, topics, or (side, anchor, relation) for each question, "
            f"found {kind_of(questions)}"
        )
    rows = list(questions)
    for number, row in enumerate(rows):
        is_one = isinstance(row, tuple | list | np.ndarray) and len(row) == 3
        if not is_one or not all(isinstance(part, str) for part in row):
            raise KgtrecError(
                f"{where}: expected (side, anchor, relation), all text, for each question, found {row!r} "
                f"as number {number}"
            )
    if wrong := [side for side, *_ in rows if side not in SIDES]:
        raise KgtrecError(f"{where}: expected {' or '.join(SIDES)} as the side that is asked for, found {wrong[0]!r}")
    ids = Vocabulary.of([f"{row[0]}{number}" for number, row in enumerate(rows)])
    return Topics(ids, *(labels_of([row[at] for row in rows]) for at in (1, 2)))


def _text_of(questions: Questions, names: Vocabulary, row: int) -> str:
    anchor, relation = names[questions.anchor[row]], questions.relations[questions.relation[row]]
    return question_text(bool(questions.is_head[row]), anchor, relation)


def question_text(is_head: bool, anchor: str, relation: str) -> str:
    """Write a question as in messages: (anchor, relation, ?), or (?, relation, anchor) on the head side."""
    return f"(?, {relation}, {anchor})" if is_head else f"({anchor}, {relation}, ?)"


def _require_all(
    expected: str, order: SourceOrder, text_of: Callable[[int], str], text_of_source: Callable[[int], str]
) -> None:
    missing = np.flatnonzero(order.place < 0)
    if len(missing) == 0:
        return
    found = f"found no {', '.join(map(text_of, missing[:_SHOWN]))}"
    found += f" ({len(missing):,} are missing)" if len(missing) > _SHOWN else ""
    if len(extra := np.setdiff1d(np.arange(order.size), order.place)):
        shown = ", ".join(map(text_of_source, extra[:_SHOWN]))
        found += f"; {len(extra):,} others are not in the collection, such as {shown}"
    raise CollectionError(f"{expected} of the collection, {found}")

"""Triples of a knowledge graph, the splits of a data set, hashes of their labels, and the types of entities."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, bytes_and_offsets, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame, frame_of, has_columns
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, kind_of
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.sampling.random_order import Keys, hashed, hashes_of_texts
from kgtrec.kernels.triples.time_steps import time_steps

if TYPE_CHECKING:
    import pandas as pd

SPLITS = ("train", "valid", "test")
#: what candidates can be filtered by: facts of a split, and those that hold under another qualifier, such as a time
FILTERS = (*SPLITS, "other-times")
#: between a relation and its qualifier, such as a time; no relation's label has it otherwise
BETWEEN = " @ "
#: what can be done about triples that a split should not hold
POLICIES = ("drop", "keep", "error")
#: the policies that another framework follows: arguments of build_questions
POLICIES_LIKE = {
    # TriplesFactory.from_labeled_triples: rows are made unique, those with labels that train lacks are left out
    "pykeen": {"repeated": "drop", "leaked": "keep", "unseen_entities": "drop", "unseen_relations": "drop"}
}


def qualified(relation: pa.StringArray, qualifier: pa.StringArray) -> pa.StringArray:
    """Return the labels of relations with a qualifier each: ``plays_for @ 2014-03-02``; an empty one adds nothing.

    Such a relation is another one than ``plays_for`` and than that at another time: two facts, two questions, two
    triples of a pool. What asks for the relation alone (per relation, systems, baselines) takes :func:`plain`.

    Raises
    ------
    KgtrecError
        If a relation's own label has ``BETWEEN``, or would have it with the blank after it.
    """
    between, nothing, blank = labels_of([BETWEEN, "", " "])
    refuse_qualified(pc.binary_join_element_wise(relation, blank, nothing))
    whole = pc.binary_join_element_wise(relation, qualifier, between)
    return pc.if_else(pc.equal(qualifier, nothing), relation, whole)


def refuse_qualified(relation: pa.StringArray) -> None:
    """Refuse labels of relations that would be taken for a relation and its qualifier.

    Raises
    ------
    KgtrecError
        At the first.
    """
    if len(wrong := relation.filter(pc.match_substring(relation, BETWEEN))):
        raise KgtrecError(
            f"expected relation labels without {BETWEEN!r}, which is between a relation and its qualifier, such as a "
            f"time, found {wrong[0].as_py().rstrip()!r}; replace it in the triples"
        )


@lru_cache(maxsize=8)
def qualifiers_of(relations: Vocabulary) -> tuple[Vocabulary, NDArray[np.int32], Vocabulary, NDArray[np.int32]]:
    """Take labels of relations apart: the plain relations and each one's row there; the qualifiers, "" for none, too.

    Examples
    --------
    >>> plain, code, qualifiers, own = qualifiers_of(Vocabulary.of(["knows @ 1999", "knows", "met @ 1999"]))
    >>> list(plain), code.tolist(), list(qualifiers), own.tolist()
    (['knows', 'met'], [0, 0, 1], ['1999', ''], [0, 1, 0])
    """
    labels = relations.labels
    if not pc.any(pc.match_substring(labels, BETWEEN)).as_py():
        none = np.zeros(len(relations), np.int32)
        return relations, np.arange(len(relations), dtype=np.int32), Vocabulary.of([""]), none
    # one separator more, so that every label has a second part
    parts = pc.split_pattern(pc.binary_join_element_wise(labels, *labels_of([BETWEEN, ""])), BETWEEN, max_splits=1)
    own = pc.replace_substring_regex(pc.list_element(parts, 1), f"(^|{BETWEEN})$", "")
    return *Vocabulary.encoding(pc.list_element(parts, 0)), *Vocabulary.encoding(own)


@lru_cache(maxsize=8)
def steps_of(relations: Vocabulary) -> NDArray[np.int64]:
    """Return the (n,) time of each relation as a whole number, in the order of times; -1 for one without qualifier.

    Examples
    --------
    >>> steps_of(Vocabulary.of(["knows @ 2001", "knows", "met @ 1999"])).tolist()
    [1, -1, 0]
    """
    _, _, qualifiers, own = qualifiers_of(relations)
    labels = qualifiers.labels.to_pylist()
    steps = np.full(len(labels), -1, np.int64)
    steps[[row for row, label in enumerate(labels) if label]] = time_steps([label for label in labels if label])
    return steps[own]


class _Related(Protocol):
    @property
    def relation(self) -> NDArray[np.int32]: ...
    @property
    def relations(self) -> Vocabulary: ...


_Rows = TypeVar("_Rows", bound=_Related)


def plain(rows: _Rows) -> _Rows:
    """Return the same triples or questions, their relations without qualifiers.

    Examples
    --------
    >>> plain(Triples.of([("ann", "knows @ 1999", "bob"), ("ann", "knows @ 2001", "bob")]).take([0, 1])).keys().tolist()
    [1, 1]
    """
    relations, code, *_ = qualifiers_of(rows.relations)
    if relations is rows.relations:
        return rows
    return replace(rows, relation=np.append(code, np.int32(-1))[rows.relation], relations=relations)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True, eq=False)
class Triples(Columns):
    """(head, relation, tail) rows in file order; a row may be repeated. Facts with a time have qualified relations."""

    head: NDArray[np.int32]  # (n,) row in entities
    relation: NDArray[np.int32]  # (n,) row in relations
    tail: NDArray[np.int32]  # (n,) row in entities
    entities: Vocabulary
    relations: Vocabulary

    @classmethod
    def of(cls, rows: Any) -> Triples:
        """Make triples of labels, codes in order of first appearance (head before tail).

        Parameters
        ----------
        rows : iterable of (head, relation, tail) or (head, relation, tail, time), array, data frame or TriplesFactory
            A frame as for :meth:`from_frame`; PyKEEN's factory with labels. All rows have a time, or none has.

        Raises
        ------
        KgtrecError
            If a row is not three or four texts, or ``rows`` is none of these.

        Examples
        --------
        >>> triples = Triples.of([("ann", "knows", "bob"), ("bob", "knows", "ann")])
        >>> len(triples), list(triples.entities)
        (2, ['ann', 'bob'])
        """
        if isinstance(rows, Triples):
            return rows
        if has_columns(rows):
            return cls.from_frame(rows)
        if hasattr(rows, "label_triples"):
            rows = rows.label_triples(rows.mapped_triples)
        if not isinstance(rows, Iterable) or isinstance(rows, str | os.PathLike):
            raise KgtrecError(
                "expected rows of (head, relation, tail), a data frame or PyKEEN's TriplesFactory, found "
                f"{kind_of(rows)}; kgtrec.read_triples(path) reads a file"
            )
        numbers = isinstance(rows, np.ndarray) and rows.dtype.kind in "iuf"
        rows = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
        width = 4 if rows and isinstance(rows[0], tuple | list) and len(rows[0]) == 4 else 3
        for row in rows:
            is_row = isinstance(row, tuple | list) and len(row) == width
            if not is_row or not all(isinstance(label, str) for label in row):
                hint = "; convert an array of numbers with .astype(str)" if numbers else ""
                expected = ", time), four" if width == 4 else "), three"
                raise KgtrecError(f"expected (head, relation, tail{expected} labels, found {row!r}{hint}")
        return cls.of_columns(*(labels_of([row[i] for row in rows]) for i in range(width)))

    @classmethod
    def of_columns(
        cls, head: pa.Array, relation: pa.Array, tail: pa.Array, qualifier: pa.Array | None = None
    ) -> Triples:
        """Make them of label columns of equal length; for ``qualifier``, such as a time, see :func:`qualified`."""
        n = len(head)
        relation = relation if qualifier is None else qualified(relation.cast(pa.string()), qualifier.cast(pa.string()))
        both = pa.concat_arrays([head.cast(pa.string()), tail.cast(pa.string())])
        # interleaved, so that codes follow the reading order
        entities, codes = Vocabulary.encoding(both.take(arrow_of(np.arange(2 * n).reshape(2, n).T.ravel())))
        relations, relation_codes = Vocabulary.encoding(relation)
        return cls(codes[0::2].copy(), relation_codes, codes[1::2].copy(), entities, relations)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Triples:
        """Make triples of a data frame with the columns head, relation, tail, and time if facts have one, in its order.

        Raises
        ------
        KgtrecError
            If a column is missing, or holds anything but text.

        Examples
        --------
        >>> import pandas as pd
        >>> Triples.from_frame(pd.DataFrame({"head": ["ann"], "relation": ["knows"], "tail": ["bob"]}))
        <Triples: 1 of 2 entities, 1 relations>
        """
        columns = Frame(frame)
        named = ("head", "relation", "tail", *(("time",) if "time" in columns.names else ()))
        return cls.of_columns(*map(columns.labels, named))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with the columns head, relation, tail, a row per triple."""
        return frame_of(**{name: self.decoded(name) for name in ("head", "relation", "tail")})

    def __repr__(self) -> str:
        return f"<Triples: {len(self):,} of {len(self.entities):,} entities, {len(self.relations):,} relations>"

    def keys(self) -> NDArray[np.int64]:
        """Return (n,) one integer per triple, equal where the triples are equal (under the same vocabularies)."""
        n_relations, n_entities = max(len(self.relations), 1), max(len(self.entities), 1)
        if n_relations * n_entities**2 > np.iinfo(np.int64).max:
            raise KgtrecError(f"too many labels for 64-bit triple keys: {n_entities} entities, {n_relations} relations")
        return (self.head.astype(np.int64) * n_relations + self.relation) * n_entities + self.tail

    def labels_at(self, row: int | np.integer) -> tuple[str, str, str]:
        """Return the head, relation and tail of a row."""
        return self.entities[self.head[row]], self.relations[self.relation[row]], self.entities[self.tail[row]]


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Train, valid and test triples under shared vocabularies."""

    train: Triples
    valid: Triples
    test: Triples

    @classmethod
    def of(cls, train: Triples, valid: Triples, test: Triples) -> Splits:
        """Bring three sets of triples under one vocabulary: train's labels, then valid's new ones, then test's."""
        entities = train.entities.extended(valid.entities.labels).extended(test.entities.labels)
        relations = train.relations.extended(valid.relations.labels).extended(test.relations.labels)
        return cls(*(split.recoded(entities=entities, relations=relations) for split in (train, valid, test)))

    @classmethod
    def by_time(cls, facts: Triples, shares: tuple[float, float] = (0.7, 0.85)) -> Splits:
        """Cut facts with a time at two quantiles of their times, as TGB does; facts of one time stay together.

        Raises
        ------
        KgtrecError
            If a fact has no time, or a part has no fact.

        References
        ----------
        Gastinger et al. (2024), TGB 2.0, arXiv:2406.09639.

        Examples
        --------
        >>> facts = Triples.of([("ann", "in", "rome", str(day)) for day in range(10)])
        >>> [len(part) for part in (lambda cut: (cut.train, cut.valid, cut.test))(Splits.by_time(facts))]
        [7, 2, 1]
        """
        step = steps_of(facts.relations)[facts.relation]
        if not len(step) or step.min() < 0:
            raise KgtrecError("expected facts with a time, to split them by it, found one without")
        # of facts and their inverses, which TGB adds before it cuts
        first, last = np.quantile(np.repeat(step, 2), shares)
        part = (step > first).astype(np.int8) + (step > last)
        if len(sizes := np.unique(part)) < len(SPLITS):
            raise KgtrecError(f"expected times enough for train, valid and test, found facts for {len(sizes)} of them")
        return cls(*(facts.take(part == code) for code in range(len(SPLITS))))

    @property
    def entities(self) -> Vocabulary:
        return self.test.entities

    @property
    def relations(self) -> Vocabulary:
        return self.test.relations


def fingerprint_of(*sets: Triples) -> str:
    """Hash sets of triples under shared vocabularies to sixteen hex digits: their labels, in whatever order.

    Labels without a triple count too, since each entity is a candidate.

    Examples
    --------
    >>> one = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> other = Triples.of([("bob", "likes", "tea"), ("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> fingerprint_of(one), fingerprint_of(other)
    ('c8fbf11db42e2d40', 'c8fbf11db42e2d40')
    """
    import hashlib  # slow to import, and scoring needs none

    entities, relations = sets[0].entities, sets[0].relations
    digest = hashlib.sha256()
    for vocabulary in (entities, relations):
        data, offsets = bytes_and_offsets(vocabulary.decode(np.argsort(vocabulary.byte_order)))
        digest.update(np.append(len(vocabulary), np.diff(offsets)).astype("<i8").tobytes())
        digest.update(data[offsets[0] : offsets[-1]].tobytes())
    for triples in sets:
        by_label = replace(
            triples,
            head=entities.places_of(triples.head),
            relation=relations.places_of(triples.relation),
            tail=entities.places_of(triples.tail),
        )
        keys = distinct(by_label.keys())
        digest.update(np.append(len(keys), keys).astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def are_splits(found: Any) -> TypeGuard[list[str]]:
    """Return whether a value from a file is a list of ``FILTERS``.

    Examples
    --------
    >>> are_splits(["train"]), are_splits(["training"]), are_splits("train")
    (True, False, False)
    """
    return isinstance(found, list) and all(split in FILTERS for split in found)


def label_hashes(labels: Vocabulary) -> Keys:
    """Hash each label to 64 bits, (n,).

    Examples
    --------
    >>> one, other = label_hashes(Vocabulary.of(["a", "b"])), label_hashes(Vocabulary.of(["b", "c", "a"]))
    >>> one.tolist() == other[[2, 0]].tolist()
    True
    """
    return hashes_of_texts(*bytes_and_offsets(labels.labels))


def triple_keys(triples: Triples, *of: Keys | int) -> Keys:
    """Hash a seed, the further keys ``of``, and the labels of each triple, (n,).

    Examples
    --------
    >>> one = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> other = Triples.of([("bob", "likes", "tea"), ("ann", "likes", "tea")])
    >>> triple_keys(one, 7).tolist() == triple_keys(other, 7)[::-1].tolist()
    True
    """
    entity, relation = label_hashes(triples.entities), label_hashes(triples.relations)
    return hashed(*of, entity[triples.head], relation[triples.relation], entity[triples.tail])


def check_numbers(triples: Triples) -> NDArray[np.int32]:
    """Return a (n,) number of nine digits for each triple, of its labels alone, to check that a row is about them.

    Examples
    --------
    >>> check_numbers(Triples.of([("france", "capital", "paris"), ("paris", "capital", "france")])).tolist()
    [204431719, 205843775]
    """
    least, numbers = np.uint64(10**8), np.uint64(9 * 10**8)
    return (least + triple_keys(triples) % numbers).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class EntityTypes(Columns):
    """One row per entity and type of it. The types of an entity without a row are unknown."""

    entity: NDArray[np.int32]  # (n,) row in entities
    type: NDArray[np.int32]  # (n,) row in types
    entities: Vocabulary  # those that have a type
    types: Vocabulary

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> EntityTypes:
        """Make the types of (entity, type) labels, in any order; a repeated row counts once.

        Examples
        --------
        >>> EntityTypes.of([("paris", "city"), ("paris", "capital"), ("ann", "person")])
        <EntityTypes: 2 entities, 3 types>
        """
        rows = list(rows)
        return cls.of_columns(*(pa.array([row[i] for row in rows], pa.string()) for i in range(2)))

    @classmethod
    def of_columns(cls, entity: pa.Array, kind: pa.Array) -> EntityTypes:
        """Make them of two label columns of equal length."""
        entities, entity_codes = Vocabulary.encoding(entity)
        types, type_codes = Vocabulary.encoding(kind)
        n_types = max(len(types), 1)
        codes = np.divmod(np.unique(entity_codes.astype(np.int64) * n_types + type_codes), n_types)
        return cls(codes[0].astype(np.int32), codes[1].astype(np.int32), entities, types)

    def __repr__(self) -> str:
        return f"<EntityTypes: {len(self.entities):,} entities, {len(self.types):,} types>"


@dataclass(frozen=True, slots=True, eq=False)
class RelationTypes(Columns):
    """The domain and range of each relation: one row per relation, side and type.

    Where a side has several rows, any of the types is allowed. A side without a row allows every entity.
    """

    relation: NDArray[np.int32]  # (n,) row in relations
    is_head: NDArray[np.bool_]  # (n,) True: of the head (the domain), False: of the tail (the range)
    type: NDArray[np.int32]  # (n,) row in types
    relations: Vocabulary
    types: Vocabulary

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str]]) -> RelationTypes:
        """Make the types of (relation, type of head, type of tail) labels, in any order; a repeated row counts once.

        Examples
        --------
        >>> RelationTypes.of([("capital", "country", "city"), ("capital", "country", "town")])
        <RelationTypes: 1 relations, 3 types>
        """
        rows = list(rows)
        return cls.of_columns(*(pa.array([row[i] for row in rows], pa.string()) for i in range(3)))

    @classmethod
    def of_columns(cls, relation: pa.Array, head: pa.Array, tail: pa.Array) -> RelationTypes:
        """Make them of three label columns of equal length."""
        relations, relation_codes = Vocabulary.encoding(relation)
        types, type_codes = Vocabulary.encoding(pa.concat_arrays([head, tail]))
        n_types = max(len(types), 1)
        sided = relation_codes.astype(np.int64) * 2 + np.array([[1], [0]])  # the heads, then the tails
        slot, kind = np.divmod(np.unique(sided.ravel() * n_types + type_codes), n_types)
        return cls((slot // 2).astype(np.int32), slot % 2 == 1, kind.astype(np.int32), relations, types)

    def __repr__(self) -> str:
        return f"<RelationTypes: {len(self.relations):,} relations, {len(self.types):,} types>"

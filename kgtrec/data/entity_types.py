"""The types of entities, and the types that a relation takes as head and tail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.rows import Rows
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class EntityTypes(Rows):
    """One row per entity and type of it. The types of an entity without a row are unknown."""

    entity: NDArray[np.int32]  # (n,) row in entities
    type: NDArray[np.int32]  # (n,) row in types
    entities: Vocabulary  # those that have a type
    types: Vocabulary

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> EntityTypes:
        """The types of (entity, type) labels, in any order; a repeated row counts once.

        Examples
        --------
        >>> EntityTypes.of([("paris", "city"), ("paris", "capital"), ("ann", "person")])
        <EntityTypes: 2 entities, 3 types>
        """
        rows = list(rows)
        return cls.of_columns(*(pa.array([row[i] for row in rows], pa.string()) for i in range(2)))

    @classmethod
    def of_columns(cls, entity: pa.Array, kind: pa.Array) -> EntityTypes:
        """The same from two label columns of equal length."""
        entities, entity_codes = Vocabulary.encoding(entity)
        types, type_codes = Vocabulary.encoding(kind)
        pairs = np.unique(entity_codes.astype(np.int64) * max(len(types), 1) + type_codes)
        codes = np.divmod(pairs, max(len(types), 1))
        return cls(codes[0].astype(np.int32), codes[1].astype(np.int32), entities, types)

    def __repr__(self) -> str:
        return f"<EntityTypes: {len(self.entities):,} entities, {len(self.types):,} types>"


@dataclass(frozen=True, slots=True, eq=False)
class RelationTypes(Rows):
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
        """The types of (relation, type of head, type of tail) labels, in any order; a repeated row counts once.

        Examples
        --------
        >>> RelationTypes.of([("capital", "country", "city"), ("capital", "country", "town")])
        <RelationTypes: 1 relations, 3 types>
        """
        rows = list(rows)
        return cls.of_columns(*(pa.array([row[i] for row in rows], pa.string()) for i in range(3)))

    @classmethod
    def of_columns(cls, relation: pa.Array, head: pa.Array, tail: pa.Array) -> RelationTypes:
        """The same from three label columns of equal length."""
        relations, relation_codes = Vocabulary.encoding(relation)
        types, type_codes = Vocabulary.encoding(pa.concat_arrays([head, tail]))
        n = len(relation_codes)
        sides = np.repeat([1, 0], n)
        keys = (np.tile(relation_codes, 2).astype(np.int64) * 2 + sides) * max(len(types), 1) + type_codes
        slot, kind = np.divmod(np.unique(keys), max(len(types), 1))
        return cls((slot // 2).astype(np.int32), slot % 2 == 1, kind.astype(np.int32), relations, types)

    def __repr__(self) -> str:
        return f"<RelationTypes: {len(self.relations):,} relations, {len(self.types):,} types>"

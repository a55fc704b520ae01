"""Which entities a side of a relation takes: those that train has there, or those that a file says."""

from __future__ import annotations

import numpy as np

from kgtrec.data.collection import Candidates
from kgtrec.data.triples import EntityTypes, Triples, plain, qualifiers_of
from kgtrec.errors import FormatError, warn
from kgtrec.formats.entity_types import read_candidates
from kgtrec.formats.files import PathLike
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.triples.types import sharing_types


def entities_by_side(given: PathLike, train: Triples) -> Candidates:
    """Return the entities that each side of the relations of train takes.

    Parameters
    ----------
    given : "train" or path
        Those that train has there; or of a file, see :func:`kgtrec.formats.entity_types.read_candidates`. Of a file of
        types a side takes those that train has there, and all entities that share a type with one of them.
    train : Triples
        Its vocabularies are those of the collection.

    Raises
    ------
    FormatError
        If a file has no entity of the collection.

    Warns
    -----
    KgtrecWarning
        How many rows of a file are of entities or relations that the collection lacks.

    References
    ----------
    Krompass et al. (2015), Type-constrained representation learning in knowledge graphs, ISWC: the local closed world.

    Examples
    --------
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("ann", "knows", "bob")])
    >>> found = entities_by_side("train", train)
    >>> found.place.tolist(), [train.entities[entity] for entity in found.entity]
    ([0, 0, 1, 1, 2, 3], ['tea', 'jam', 'ann', 'bob', 'bob', 'ann'])
    """
    relations, width = qualifiers_of(train.relations)[0], len(train.entities)
    relation, found = plain(train).relation, None if given == "train" else read_candidates(given)
    place, entity = np.concatenate([2 * relation, 2 * relation + 1]), np.concatenate([train.tail, train.head])
    known = np.ones(1, np.bool_)
    if isinstance(found, EntityTypes):
        own = found.recoded(entities=train.entities)
        known, shape = own.entity >= 0, (width, 2 * len(relations), len(own.types))
        more = sharing_types(entity, place, types_of_entities=(own.entity[known], own.type[known]), shape=shape)
        entity, place = np.concatenate([entity, more[0]]), np.concatenate([place, more[1]])
    elif found is not None:
        place, entity = relations.encode(found[0]) * 2 + found[1], train.entities.encode(found[2])
        known = np.minimum(place, entity) >= 0
        place, entity = place[known], entity[known]
    if not known.any():
        raise FormatError("expected entities and relations of the collection, found none", given)
    if lost := np.count_nonzero(~known):
        warn(f"{given}: left out {lost:,} of {len(known):,} rows, of entities or relations that the collection lacks")
    place, entity = np.divmod(distinct(place.astype(np.int64) * width + entity), width)
    return Candidates(place, entity.astype(np.int32))

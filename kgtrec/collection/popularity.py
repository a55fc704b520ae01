"""How popular entities are, alone and under a relation: counts of facts of train."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.triples import Triples

Counts = NDArray[np.int64]


def degrees(train: Triples) -> Counts:
    """Return (entities,) how often each entity is the head or the tail of a fact of train; their sum is 2 |train|.

    A fact that links an entity with itself counts twice.

    Examples
    --------
    >>> train = Triples.of([("ann", "knows", "bob"), ("ann", "likes", "bob"), ("cat", "likes", "cat")])
    >>> dict(zip(train.entities, degrees(train).tolist()))
    {'ann': 2, 'bob': 2, 'cat': 2}
    """
    return np.bincount(np.concatenate([train.head, train.tail]), minlength=len(train.entities)).astype(np.int64)


def degrees_under(train: Triples, entity: NDArray[np.int32], relation: NDArray[np.int32]) -> Counts:
    """Return (n,) how often each entity is the head or the tail of a fact of train of the relation beside it.

    Parameters
    ----------
    train : Triples
    entity, relation : (n,) int arrays
        Rows in ``train.entities`` and ``train.relations``.

    Examples
    --------
    >>> train = Triples.of([("ann", "knows", "bob"), ("ann", "likes", "bob"), ("cat", "likes", "cat")])
    >>> likes = train.relations.encode(["likes", "likes"])
    >>> degrees_under(train, train.entities.encode(["ann", "cat"]), likes)
    array([1, 2])
    """
    width = np.int64(max(len(train.entities), 1))
    own = np.concatenate([train.relation * width + train.head, train.relation * width + train.tail])
    pair, count = np.unique(own, return_counts=True)
    wanted = relation * width + entity
    pair, count = np.append(pair, np.int64(-1)), np.append(count, 0)  # so that a pair that train lacks has a place
    place = np.searchsorted(pair[:-1], wanted)
    return np.where(pair[place] == wanted, count[place], 0)

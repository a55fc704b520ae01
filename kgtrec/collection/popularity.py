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
        Rows in ``train.entities`` and ``train.relations``; entity -1: unknown, in no fact.

    Examples
    --------
    >>> train = Triples.of([("ann", "knows", "bob"), ("ann", "likes", "bob"), ("cat", "likes", "cat")])
    >>> likes = train.relations.encode(["likes", "likes"])
    >>> degrees_under(train, train.entities.encode(["ann", "cat"]), likes)
    array([1, 2])
    """
    width = np.int64(max(len(train.entities), 1))
    own = np.concatenate([train.relation * width + train.head, train.relation * width + train.tail])
    pairs, place = np.unique(np.append(own, relation * width + entity), return_inverse=True)
    count = np.bincount(place[: len(own)], minlength=len(pairs))[place[len(own) :]]
    return np.where(entity >= 0, count, 0)


def inverse_popularity(
    train: Triples, entity: NDArray[np.int32], relation: NDArray[np.int32], exponent: float, *, relations: bool = True
) -> NDArray[np.float64]:
    """Weigh answers against the popularity of the entity and that of the relation among the entity's facts.

    ((e + d) (s + d' / d)) ** -exponent, with d the degree of the entity and d' that under the relation; e and s are the
    least d and d' / d above 0 among these answers. The paper leaves open what its small constants are, and which facts
    it counts: they are those of the authors' program, which counts train. Weights have no scale, so that d stands for
    the paper's d / (2 |train|); an entity without a fact has d' / d = 0. The older paper has (1 + d) ** -exponent.

    Parameters
    ----------
    train : Triples
    entity, relation : (n,) int arrays
        The answer, and the relation of its question: rows in ``train.entities`` and ``train.relations``; entity -1:
        unknown, in no fact.
    exponent : float, at least 0
    relations : bool
        False: the weights of the older paper, by the entity alone.

    Returns
    -------
    (n,) float array, above 0, on no scale

    References
    ----------
    Moon, Kang, Ko (2026), arXiv:2606.08921, eq. 3. Moon, Ko (2026), arXiv:2512.06296.

    Examples
    --------
    >>> train = Triples.of([("ann", "knows", "bob"), ("ann", "likes", "bob"), ("ann", "likes", "tea")])
    >>> answer, likes = train.entities.encode(["ann", "tea"]), train.relations.encode(["likes", "likes"])
    >>> inverse_popularity(train, answer, likes, 1.0).round(4)  # 1 / (1 + 3) / (2/3 + 2/3) and 1 / (1 + 1) / (2/3 + 1)
    array([0.1875, 0.3   ])
    >>> inverse_popularity(train, answer, likes, 1.0, relations=False)
    array([0.25, 0.5 ])
    """
    degree = np.append(degrees(train), 0)[entity]
    if not relations:
        return np.asarray((1.0 + degree) ** -exponent, np.float64)
    share = degrees_under(train, entity, relation) / np.maximum(degree, 1)
    weight = np.ones(len(degree))
    for popularity in (degree.astype(np.float64), share):
        least = popularity.min(initial=np.inf, where=popularity > 0)
        if least < np.inf:
            weight *= (popularity + least) ** -exponent
    return weight

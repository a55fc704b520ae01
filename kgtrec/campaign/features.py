"""What the runs of a pool and the train facts say of its triples, as numbers from which labels can be predicted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kgtrec.collection.popularity import degrees
from kgtrec.data.campaign import Campaign
from kgtrec.data.collection import Collection
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import plain
from kgtrec.kernels.triples.categories import relation_fanout
from kgtrec.pooling.trivial import triples_under

_Floats = NDArray[np.float64]


def triple_features(
    campaign: Campaign, collection: Collection, families: Mapping[str, str] | None = None
) -> dict[str, _Floats]:
    """Describe each triple of a campaign's pool by numbers that anybody knows before a triple is judged.

    Ranks are those of the pool's contributions, as -log2, so that a higher number is a better rank; a run that has not
    contributed a triple counts as the rank below the last one of the pool. Counts are log(1 + n). The head question is
    the one that the triple's head answers.

    Parameters
    ----------
    campaign : Campaign
    collection : Collection
        For whose questions the pool was made.
    families : mapping of str to str, optional
        Of runs; a run without one counts as one.

    Returns
    -------
    dict of str to (n,) float array
        A row per triple of the pool.

    Raises
    ------
    CollectionError
        If the pool is not of this collection.

    Examples
    --------
    See :func:`kgtrec.campaign.learn`.
    """
    pool, n = campaign.pool, len(campaign.pool)
    triples = plain(triples_under(collection, pool.triples))
    head, relation, tail = (codes.astype(np.int64) for codes in (triples.head, triples.relation, triples.tail))
    train, n_entities = plain(collection.train), np.int64(len(collection.entities))
    n_known = np.bincount(
        campaign.known_answers.question[campaign.known_answers.grade >= 1], minlength=len(pool.questions)
    )
    names = [(families or {}).get(run) or f"\0{run}" for run in pool.runs]
    family = np.unique(names, return_inverse=True)[1]
    from_family = np.zeros((max(len(set(names)), 1), n), np.bool_)
    from_family[family[pool.run], pool.triple] = True
    features = {
        "best rank": -np.log2(pool.depth),
        "share of runs": pool.is_from.mean(axis=0),
        "share of families": from_family.mean(axis=0),
        "more than one family": from_family.sum(axis=0) > 1,
    }
    below = int(pool.rank.max(initial=0)) + 1
    anchors = pool.triples.tail, pool.triples.head
    for is_head, side, anchor in zip((True, False), SIDES, anchors, strict=True):
        own = pool.questions.is_head[pool.question] == is_head
        best = np.full(n, below, np.int32)
        np.minimum.at(best, pool.triple[own], pool.rank[own])
        reciprocal = np.bincount(pool.triple[own], 1 / pool.rank[own], n)
        asked = pool.questions.rows(np.full(n, is_head), pool.triples.relation, anchor)
        features |= {
            f"best rank in the {side} question": -np.log2(best),
            f"share of runs in the {side} question": np.bincount(pool.triple[own], minlength=n) / len(pool.runs),
            f"mean reciprocal rank in the {side} question": reciprocal / len(pool.runs),
            f"the {side} question is asked": asked >= 0,
            f"known answers of the {side} question": np.log1p(np.where(asked >= 0, n_known[asked], 0)),
        }
    degree = degrees(train)
    n_relations = len(train.relations)
    tails_per_head, heads_per_tail = relation_fanout(train.head, train.relation, train.tail, n_relations)
    wide = train.relation * n_entities  # 64 bits, as n_entities
    pair = np.minimum(train.head, train.tail) * n_entities + np.maximum(train.head, train.tail)
    features |= {
        "tails per head of the relation": np.log1p(np.nan_to_num(tails_per_head[relation])),
        "heads per tail of the relation": np.log1p(np.nan_to_num(heads_per_tail[relation])),
        "train facts of the relation": np.log1p(np.bincount(train.relation, minlength=n_relations)[relation]),
        "train facts of the head": np.log1p(degree[head]),
        "train facts of the tail": np.log1p(degree[tail]),
        "tails of the head and relation": np.log1p(_counts(wide + train.head, relation * n_entities + head)),
        "heads of the relation and tail": np.log1p(_counts(wide + train.tail, relation * n_entities + tail)),
        "a train fact links head and tail": np.isin(np.minimum(head, tail) * n_entities + np.maximum(head, tail), pair),
    }
    return {name: np.asarray(values, np.float64) for name, values in features.items()}


def _counts(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each wanted key is among the keys."""
    values, count = np.unique(np.append(keys, -1), return_counts=True)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[place] == wanted, count[place], 0)

"""Candidates for evaluations that cannot rank all entities: those that are plausible, and a random part of the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kgtrec.collection.popularity import degrees
from kgtrec.data.collection import Collection
from kgtrec.data.triples import SPLITS, plain
from kgtrec.errors import CollectionError, KgtrecError, whole_number

Codes = NDArray[np.int64]


def candidate_lists(collection: Collection, n_listed: int = 500, *, seed: int = 0) -> NDArray[np.int32]:
    """Choose candidates for each question: half of them plausible ones, and half a uniform sample of all others.

    Plausible are the entities that train has most often at the place of the answer in triples of the relation, then
    those that it has most often at all. Answers and known answers are no candidates.

    Parameters
    ----------
    collection : Collection
        The questions, and the train triples that plausible candidates come from.
    n_listed : int
        Candidates of each question, at least 2.
    seed : int
        The sample of a question depends on it and on the labels, not on the order of triples.

    Returns
    -------
    (questions, n_listed) int array
        Rows of ``collection.entities``; the first ``n_listed // 2`` columns are the plausible ones. Score them and
        the answers of the question, and give the scores to ``SampledRanks.of_scores``, with this number as
        ``n_certain``, and as ``sample`` the row of the question, since its answers share a sample.

    Raises
    ------
    KgtrecError
        If a question has fewer candidates.
    CollectionError
        If it is an entity alignment.

    Examples
    --------
    >>> from kgtrec import Triples, build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("eve", "likes", "tea")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> [collection.entities[entity] for entity in candidate_lists(collection, 2)[1]]  # ann likes ?
    ['ann', 'eve']
    """
    n, seed = whole_number("n_listed", n_listed, 2), whole_number("seed", seed)
    if collection.is_alignment:
        raise CollectionError(
            "expected a collection of triple questions, found that of an entity alignment, whose candidates are the "
            "entities of one side only"
        )
    asked, width, order = collection.questions, len(collection.entities), collection.entities.byte_order
    by_place = np.argsort(order)
    at_all = by_place[np.argsort(-degrees(collection.train)[by_place], kind="stable")]
    places = asked.relations.places_of(asked.relation), collection.entities.places_of(asked.anchor)
    keys = np.stack([asked.is_head, *places], axis=1).tolist()
    no_candidates = _no_candidates(collection)
    found = np.empty((len(asked), n), np.int32)
    for rows, frequent in _by_frequency(collection, by_place):
        for row in rows.tolist():
            out, others = no_candidates[row], collection.others(np.array([row]))
            if others is not None:
                out = np.union1d(out, np.flatnonzero(others))
            if width - len(out) < n:
                raise KgtrecError(
                    f"expected {n:,} candidates for each question, found {width - len(out):,} for {asked.ids[row]}; "
                    "choose fewer"
                )
            chosen = _first(frequent, out, n // 2)
            if len(chosen) < n // 2:
                more = _first(at_all, np.concatenate([out, chosen]), n // 2 - len(chosen))
                chosen = np.concatenate([chosen, more])
            rng = np.random.default_rng([seed, *keys[row]])
            rest = _drawn(rng, order[np.concatenate([out, chosen])], width, n - n // 2)
            found[row] = np.concatenate([chosen, by_place[rest]])
    return found


def _no_candidates(collection: Collection) -> list[Codes]:
    """The answers and known answers of each question."""
    width = len(collection.entities)
    excluded = np.sort(np.concatenate(collection.answers_and_filtered(SPLITS)))
    firsts = np.arange(1, len(collection.questions)) * width
    return np.split(excluded % width, np.searchsorted(excluded, firsts))


def _by_frequency(collection: Collection, by_place: Codes) -> Iterator[tuple[Codes, Codes]]:
    """The questions of each relation and side, and the entities that train has there, the most frequent first."""
    train, asked = plain(collection.train), plain(collection.questions)
    width, order = len(by_place), collection.entities.byte_order
    both = np.concatenate([train.tail, train.head]).astype(np.int64)  # a tail question asks for a tail
    kind = np.concatenate([train.relation * 2, train.relation * 2 + 1]).astype(np.int64)
    keys, often = np.unique(kind * width + order[both], return_counts=True)
    asks = asked.relation.astype(np.int64) * 2 + asked.is_head
    for one in np.unique(asks):
        first, last = np.searchsorted(keys, [one * width, (one + 1) * width])
        yield (
            np.flatnonzero(asks == one),
            by_place[keys[first:last] % width][np.argsort(-often[first:last], kind="stable")],
        )


def _first(entities: Codes, out: Codes, n: int) -> Codes:
    """The first n entities that are not out."""
    some = entities[: n + len(out)]
    return some[~np.isin(some, out)][:n]


def _drawn(rng: np.random.Generator, out: Codes, width: int, n: int) -> Codes:
    """A uniform sample of n of the numbers below ``width`` that are not out."""
    drawn = np.empty(0, np.int64)
    while len(drawn) < n:
        more = rng.integers(0, width, 2 * n)
        drawn = np.concatenate([drawn, more[~np.isin(more, out)]])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:n]

"""Strata of the answers by what train says of them: popularity of entities, half-links, and missing links."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.collection.popularity import degrees, inverse_popularity
from kgtrec.data.arrow import labels_of
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names
from kgtrec.data.qrels import Qrels
from kgtrec.data.scores import QUANTILES
from kgtrec.data.triples import plain
from kgtrec.errors import CollectionError, KgtrecError, whole_number
from kgtrec.kernels.integer_keys import distinct, is_among_sorted

HALF_LINKS = ("both", "anchor only", "answer only", "none")  # which half-links of an answer train has
SEEN = ("relation and anchor", "relation only", "anchor only", "neither")  # what of a question the model has met
Codes = NDArray[np.int32]
_MOST = 1_000  # quantiles
_UNKNOWN = 9  # missing links, more than any structure has


class TrainStrata:
    """The answers of qrels, one row per relevant judgement, and what the train triples say of them.

    Parameters
    ----------
    qrels : Qrels
    collection : Collection, optional
        Its train triples and the topics of the questions. Entities that it lacks have degree 0.
    what : str
        What they are needed for, for messages.

    Raises
    ------
    KgtrecError
        If there is no collection.
    CollectionError
        If it has no train triples, or lacks a question.
    """

    def __init__(self, qrels: Qrels, collection: Collection | None, what: str) -> None:
        if collection is None:
            raise KgtrecError(f"{what} needs train triples, and qrels alone have none: give a collection")
        if len(collection.train) == 0:
            raise CollectionError(
                f"{what} needs train triples, and this collection has none: build one from train, valid and test "
                "(kgtrec questions)"
            )
        relevant = qrels.grade >= 1
        self._topics, self._train = plain(collection.questions), plain(collection.train)
        self._topic = collection.topics_of(qrels.questions)
        self._question = qrels.question[relevant]
        self._answer = collection.entities.encode(qrels.entities.labels)[qrels.entity[relevant]]

    @cached_property
    def _degree(self) -> NDArray[np.int64]:
        """(entities + 1,) the last is that of unknown entities, which have code -1."""
        return np.append(degrees(self._train), 0)

    @property
    def popularity(self) -> NDArray[np.int64]:
        """(answers,) degree in train of each answer."""
        return self._degree[self._answer]

    def rarity(self, exponent: float, *, relations: bool) -> NDArray[np.float64]:
        """(answers,) weights of PROBE, see :func:`kgtrec.collection.popularity.inverse_popularity`."""
        relation = self._topics.relation[self._topic[self._question]]
        return inverse_popularity(self._train, self._answer, relation, exponent, relations=relations)

    def of(self, per: str, quantiles: int | None) -> tuple[Codes, list[str]]:
        """Return the stratum of each answer, or of each question per "anchor-popularity", and the names of the strata.

        Popularity is cut at quantiles over the answers, that of the anchor too; see :func:`cut`.
        """
        if per == "half-link":
            return self._half_links(), list(HALF_LINKS)
        quantiles = QUANTILES if quantiles is None else quantiles
        if per == "popularity":
            return cut(self.popularity, self.popularity, quantiles)
        degree = self._degree[self._topics.anchor[self._topic]]
        return cut(degree, degree[self._question], quantiles)

    def _half_links(self) -> Codes:
        """(answers,) row in ``HALF_LINKS``.

        A triple (h, r, t) has the half-links (h, r) and (r, t), each seen if a train triple has it. One of them holds
        the anchor of the question, the other one the answer.

        References
        ----------
        Gregucci et al. (2026), arXiv:2606.18001. They divide test triples; the names of the four parts are ours.
        """
        topic = self._topic[self._question]
        triples, width = self._topics.triples(topic, self._answer), len(self._train.relations)
        is_seen = [
            is_among_sorted(
                end.astype(np.int64) * width + triples.relation,
                distinct(own.astype(np.int64) * width + self._train.relation),
            )
            for end, own in ((triples.head, self._train.head), (triples.tail, self._train.tail))
        ]
        is_head = self._topics.is_head[topic]
        anchor, answer = np.where(is_head, is_seen[::-1], is_seen)
        return (2 * ~anchor + ~answer).astype(np.int32)


def seen_strata(collection: Collection) -> Codes:
    """Return the (questions,) row in ``SEEN``: which of relation and anchor the graph has that a model is trained on.

    Relations without their qualifiers; entities by label.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> graph = [("c", "likes", "d"), ("c", "hates", "d")], None, [("d", "likes", "c"), ("d", "hates", "c")]
    >>> collection = build_questions([("a", "likes", "d")], *graph[1:], inference=graph[0])
    >>> [SEEN[code] for code in seen_strata(collection)]  # (?, likes, c), (?, hates, c), (d, likes, ?), (d, hates, ?)
    ['relation only', 'neither', 'relation and anchor', 'anchor only']
    """
    if collection.missing_links is not None:
        raise KgtrecError("expected questions of one link, to score them per seen, found complex queries")
    questions = plain(collection.questions)
    training = plain(collection.train if collection.training is None else collection.training)
    met = np.isin(questions.relation, training.relation)
    if collection.training is None:
        has_anchor = np.isin(questions.anchor, np.concatenate([training.head, training.tail]))
    else:
        has_anchor = (training.entities.encode(entity_names(collection).labels) >= 0)[questions.anchor]
    return (2 * ~met + ~has_anchor).astype(np.int32)


def by_missing_links(qrels: Qrels, collection: Collection | None) -> tuple[Codes, dict[str, pa.Array]]:
    """Return the stratum of each answer to a complex query, and the structure and the missing links of each stratum.

    An answer of which the collection does not say it, or that has no explanation in its graph, is "unknown".

    Raises
    ------
    KgtrecError
        If there is no collection of complex queries.
    """
    links = None if collection is None else collection.missing_links
    if collection is None or links is None:
        raise KgtrecError(
            "--per missing-links needs a collection of complex queries, which says how many links an answer lacks: "
            "make one (kgtrec questions --queries)"
        )
    relevant, width = qrels.grade >= 1, len(collection.entities)
    topic = collection.topics_of(qrels.questions)[qrels.question[relevant]]
    entity = collection.entities.encode(qrels.entities.labels)[qrels.entity[relevant]]
    own, key = links.question.astype(np.int64) * width + links.entity, topic.astype(np.int64) * width + entity
    known, count = is_among_sorted(key, own) & (entity >= 0), np.full(len(key), -1, np.int64)
    count[known] = links.count[np.searchsorted(own, key[known])]
    count[count < 0] = _UNKNOWN
    structures = plain(collection.questions)
    used, stratum = np.unique(structures.relation[topic] * np.int64(_UNKNOWN + 1) + count, return_inverse=True)
    structure, count = np.divmod(used, _UNKNOWN + 1)
    named = labels_of([str(each) if each < _UNKNOWN else "unknown" for each in count.tolist()])
    items = {"relation": structures.relations.decode(structure), "missing-links": named}
    return stratum.astype(np.int32), items


def cut(degree: NDArray[np.int64], counted: NDArray[np.int64], quantiles: int) -> tuple[Codes, list[str]]:
    """Cut degrees at the quantiles of some of them, so that each stratum holds about as many of these.

    Parameters
    ----------
    degree : (n,) int array
    counted : (m,) int array
        The degrees of which the quantiles are taken.
    quantiles : int
        How many strata. Equal degrees are never separated, so that there may be fewer.

    Returns
    -------
    (n,) int array, list of str
        The stratum of each degree, and the least and the most of each stratum, ascending.

    Examples
    --------
    >>> degree = np.array([9, 1, 1, 1, 4, 7])
    >>> strata, names = cut(degree, degree, 3)
    >>> strata.tolist(), names
    ([2, 0, 0, 0, 1, 2], ['1', '4', '7 to 9'])
    """
    place = np.arange(1, whole_number("quantiles", quantiles, 2, _MOST)) * len(counted)
    ends = distinct(np.sort(counted)[-(-place // quantiles) - 1]) if len(counted) else counted
    used, stratum = np.unique(np.searchsorted(ends, degree), return_inverse=True)
    own = [degree[stratum == place] for place in range(len(used))]
    ranges = [dict.fromkeys((str(part.min()), str(part.max()))) for part in own]
    return stratum.astype(np.int32), [" to ".join(ends) for ends in ranges]

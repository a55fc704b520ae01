"""Label sets: the judgements that systems are scored with, and what each says of a candidate."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.decide import decisions_of, require_whole
from kgtrec.campaign.qrels import with_judgements
from kgtrec.data.campaign import Campaign
from kgtrec.data.collection import Collection
from kgtrec.data.judgements import AUTOMATIC, CONFLICT, DOUBTED, UNDECIDABLE
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completed_rows
from kgtrec.errors import CollectionError, KgtrecError, in_file
from kgtrec.evaluation.belonging import of_collection
from kgtrec.evaluation.given import judgements_of
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.output.folders import SETTINGS
from kgtrec.kernels.integer_keys import is_among

#: what a label set says of a candidate, by its code
STATUSES = (
    "unjudged",
    "test answer",
    "judged yes",
    "judged no",
    "yes by rule",
    "no by rule",
    "unsure",
    "known from train",
    "known from valid",
)
UNJUDGED, ANSWER, YES, NO, YES_BY_RULE, NO_BY_RULE, UNSETTLED, KNOWN, _ = range(9)
ANSWERS = (ANSWER, YES, YES_BY_RULE)
TEST_ANSWERS = "test answers"


@dataclass(frozen=True, slots=True, eq=False)
class LabelSet:
    """Judgements under the ids of a collection's questions, and the status of each pair that a label set knows of."""

    name: str
    about: str
    qrels: Qrels
    question: NDArray[np.int32]  # (n,) row in the collection's questions
    entity: NDArray[np.int32]  # (n,) row in the collection's entities
    status: NDArray[np.uint8]  # (n,) row in STATUSES
    templates: Mapping[str, str]  # of a campaign

    @classmethod
    def of(cls, name: str, qrels: Qrels, collection: Collection, about: str = "") -> LabelSet:
        """Make the label set of qrels."""
        qrels = of_collection(qrels, collection)
        own = qrels.recoded(questions=collection.questions.ids, entities=collection.entities)
        own = own.take((own.entity >= 0) & (own.grade >= 0))
        collection.topics_of(qrels.questions)  # refuses those of others
        width, answers = len(collection.entities), collection.qrels.take(collection.qrels.grade >= 1)
        is_test = is_among(_keys(own, width), _keys(answers, width))
        status = np.where(own.grade >= 1, np.where(is_test, ANSWER, YES), NO).astype(np.uint8)
        about = about or f"{len(np.unique(qrels.question)):,} questions, {(qrels.grade >= 1).sum():,} answers"
        if wrong := int((qrels.grade == 0).sum()):
            about += f", {wrong:,} judged no"
        return cls(name, about, qrels, own.question, own.entity, status, {})


def label_sets(collection: Collection, labels: Any = ()) -> list[LabelSet]:
    """Return the collection's own judgements, then those of some qrels and campaigns.

    Parameters
    ----------
    collection : Collection
    labels : path, Qrels, Campaign, several of them, or mapping from names, optional

    Raises
    ------
    CollectionError
        If they are of another collection.
    KgtrecError
        If a campaign's people judge a designed sample, which gives no qrels of whole questions.
    """
    named: dict[str, Any] = {}
    for name, given in _named(labels):
        if name in named or name == TEST_ANSWERS:
            raise KgtrecError(f"expected label sets of different names, found {name!r} twice; rename one")
        named[name] = given
    return [
        LabelSet.of(TEST_ANSWERS, collection.qrels, collection),
        *(_read(collection, *own) for own in named.items()),
    ]


def _named(labels: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(labels, Mapping):
        yield from labels.items()
        return
    several: list[Any] = [labels] if isinstance(labels, str | os.PathLike | Qrels | Campaign) else list(labels or ())
    for place, given in enumerate(several, 2):
        yield Path(given).resolve().name if isinstance(given, str | os.PathLike) else f"labels {place}", given


def _read(collection: Collection, name: str, given: Any) -> LabelSet:
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        with in_file(path):
            if Path(path, SETTINGS).is_file():
                return _of_campaign(name, read_campaign(path), collection)
            return LabelSet.of(name, judgements_of(path), collection)
    if isinstance(given, Campaign):
        return _of_campaign(name, given, collection)
    return LabelSet.of(name, judgements_of(given), collection)


def _of_campaign(name: str, campaign: Campaign, collection: Collection) -> LabelSet:
    """The settled triples of a campaign as qrels of the questions that were pooled for, and what else it says."""
    decisions, pool, asked = decisions_of(campaign), campaign.pool, collection.questions
    require_whole(decisions)
    pooled = pool.questions.recoded(entities=collection.entities, relations=collection.relations)
    pooled = pooled.take((pooled.relation >= 0) & (pooled.anchor >= 0))
    rows = np.unique(asked.matches(pooled.is_head, pooled.relation, pooled.anchor)[1])
    if len(rows) < len(pool.questions):
        raise CollectionError(
            f"expected a campaign about questions of the collection, found "
            f"{len(pool.questions) - len(rows):,} others of {len(pool.questions):,}"
        )
    qrels = with_judgements(collection, pool, decisions).qrels.of_questions(rows)
    whole = LabelSet.of(name, qrels, collection)
    triples = pool.triples.recoded(entities=collection.entities, relations=collection.relations)
    is_rule, is_open = decisions.state == AUTOMATIC, np.isin(decisions.state, (CONFLICT, DOUBTED, UNDECIDABLE))
    known = np.flatnonzero(
        (is_rule | is_open) & (np.minimum(triples.head, triples.tail) >= 0) & (triples.relation >= 0)
    )
    question, entity, row = completed_rows(asked, triples.take(known))
    among = np.isin(question, rows)
    question, entity, row = question[among], entity[among], known[row[among]]
    width = len(collection.entities)
    said = question.astype(np.int64) * width + entity
    kept = ~is_among(_keys(whole, width), said)
    about = f"{whole.about}; campaign, {len(pool):,} pooled triples"
    if n := int(is_rule.sum()):
        about += f", {n:,} judged no by rules"
    return LabelSet(
        name,
        about,
        qrels,
        np.concatenate([whole.question[kept], question.astype(np.int32)]),
        np.concatenate([whole.entity[kept], entity.astype(np.int32)]),
        np.concatenate([whole.status[kept], np.where(is_rule[row], NO_BY_RULE, UNSETTLED).astype(np.uint8)]),
        campaign.templates,
    )


def _keys(pairs: Any, width: int) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = pairs.question.astype(np.int64) * width + pairs.entity
    return keys

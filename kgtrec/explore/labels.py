"""Label sets: the judgements that systems are scored with, and what each says of a candidate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    *("unjudged", "test answer", "judged yes", "judged no", "yes by rule", "no by rule", "unsure"),
    *("known from train", "known from valid"),
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
    templates: Mapping[str, str] = field(default_factory=dict)  # of a campaign


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
    one = [labels] if isinstance(labels, str | os.PathLike | Qrels | Campaign) else labels
    found = {TEST_ANSWERS: _of_qrels(TEST_ANSWERS, collection.qrels, collection)}
    for place, given in enumerate(one.items() if isinstance(one, Mapping) else one, 2):
        name, own = given if isinstance(one, Mapping) else (f"labels {place}", given)
        is_path = isinstance(own, str | os.PathLike)
        name = Path(own).resolve().name if is_path and not isinstance(one, Mapping) else name
        if name in found:
            raise KgtrecError(f"expected label sets of different names, found {name!r} twice; rename one")
        with in_file(own if is_path else name):
            own = read_campaign(own) if is_path and Path(own, SETTINGS).is_file() else own
            found[name] = (
                _of_campaign(name, own, collection)
                if isinstance(own, Campaign)
                else _of_qrels(name, judgements_of(own), collection)
            )
    return list(found.values())


def _of_qrels(name: str, qrels: Qrels, collection: Collection) -> LabelSet:
    qrels = of_collection(qrels, collection)
    own = qrels.recoded(questions=collection.questions.ids, entities=collection.entities)
    own = own.take((own.entity >= 0) & (own.grade >= 0))
    collection.topics_of(qrels.questions)  # refuses those of others
    width, answers = len(collection.entities), collection.qrels.take(collection.qrels.grade >= 1)
    keys, of_answers = (each.question.astype(np.int64) * width + each.entity for each in (own, answers))
    status = np.where(own.grade >= 1, np.where(is_among(keys, of_answers), ANSWER, YES), NO).astype(np.uint8)
    about = f"{len(np.unique(qrels.question)):,} questions, {(qrels.grade >= 1).sum():,} answers"
    about += f", {(qrels.grade == 0).sum():,} judged no" * bool((qrels.grade == 0).any())
    return LabelSet(name, about, qrels, own.question, own.entity, status)


def _of_campaign(name: str, campaign: Campaign, collection: Collection) -> LabelSet:
    """The settled triples of a campaign as qrels of the questions that were pooled for, and what else it says."""
    decisions, pool, asked = decisions_of(campaign), campaign.pool, collection.questions
    require_whole(decisions)
    under = {"entities": collection.entities, "relations": collection.relations}
    pooled, triples = pool.questions.recoded(**under), pool.triples.recoded(**under)
    pooled = pooled.take((pooled.relation >= 0) & (pooled.anchor >= 0))
    rows = np.unique(asked.matches(pooled.is_head, pooled.relation, pooled.anchor)[1])
    if others := len(pool.questions) - len(rows):
        raise CollectionError(
            f"expected a campaign about questions of the collection, found {others:,} others of {len(pool.questions):,}"
        )
    whole = _of_qrels(name, with_judgements(collection, pool, decisions).qrels.of_questions(rows), collection)
    is_rule, is_open = decisions.state == AUTOMATIC, np.isin(decisions.state, (CONFLICT, DOUBTED, UNDECIDABLE))
    known = (is_rule | is_open) & (np.minimum(triples.head, triples.tail) >= 0) & (triples.relation >= 0)
    question, entity, row = completed_rows(asked, triples.take(known))
    among = np.isin(question, rows)
    question, entity, row = question[among], entity[among], np.flatnonzero(known)[row[among]]
    width = np.int64(len(collection.entities))
    kept = ~is_among(whole.question * width + whole.entity, question * width + entity)
    of_rules = f", {is_rule.sum():,} judged no by rules" * bool(is_rule.any())
    return replace(
        whole,
        about=f"{whole.about}; campaign, {len(pool):,} pooled triples{of_rules}",
        question=np.concatenate([whole.question[kept], question]),
        entity=np.concatenate([whole.entity[kept], entity]),
        status=np.append(whole.status[kept], np.where(is_rule[row], NO_BY_RULE, UNSETTLED).astype(np.uint8)),
        templates=campaign.templates,
    )

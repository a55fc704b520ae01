"""A collection as text for retrieval: its questions in words, and what each entity is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgtrec.campaign.tasks import names_of
from kgtrec.campaign.wording import readable, template_of
from kgtrec.data.campaign import template_parts
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names
from kgtrec.errors import KgtrecError

_ASKED = "what"  # stands for the answer


def _in_words(relation: str) -> str:
    return f"{{head}} {readable(relation)} {{tail}}"


def queries_of(collection: Collection, templates: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Put the questions into words: the template of the relation with the anchor's name, and ``what`` for the answer.

    Parameters
    ----------
    collection : Collection
    templates : mapping of str to str
        Relation -> a text with ``{head}`` and ``{tail}``. Default: head, the words of the relation, tail.
    names : mapping of str to str
        Entity -> its name; the words of its label, if it has none.

    Returns
    -------
    (n_questions,) list of str

    Raises
    ------
    KgtrecError
        If a needed template is invalid.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> none, test = Triples.of([]), Triples.of([("paris", "capital_of", "Q142")])
    >>> collection = build_questions(none, none, test, ids=True)
    >>> queries_of(collection, {}, {"Q142": "France"})
    ['what capital of France', 'paris capital of what']
    >>> queries_of(collection, {"capital_of": "Is {head} the capital of {tail}?"}, {})
    ['Is what the capital of Q142?', 'Is paris the capital of what?']
    """
    asked = collection.questions
    anchors = names_of(entity_names(collection), asked.anchor, names).to_pylist()
    parts = {}
    for relation in np.unique(asked.relation).tolist():
        label = asked.relations[relation]
        try:
            parts[relation] = template_parts(template_of(templates, label, _in_words, names=names))
        except KgtrecError as error:
            raise KgtrecError(f"relation {label!r}: {error}") from None
    queries = []
    for anchor, relation, is_head in zip(anchors, asked.relation.tolist(), asked.is_head.tolist(), strict=True):
        filled = {"{head}": _ASKED if is_head else anchor, "{tail}": anchor if is_head else _ASKED}
        queries.append("".join(filled.get(part, part) for part in parts[relation]))
    return queries


def documents_of(collection: Collection, names: Mapping[str, str], descriptions: Mapping[str, str]) -> list[str]:
    """Describe each entity: its name, or the words of its label, and its description if there is one.

    Returns
    -------
    (n_entities,) list of str

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> none, test = Triples.of([]), Triples.of([("paris", "capital_of", "Q142")])
    >>> documents_of(build_questions(none, none, test, ids=True), {"Q142": "France"}, {"Q142": "a country"})
    ['paris', 'France: a country']
    """
    labels = entity_names(collection)
    called = names_of(labels, np.arange(len(labels), dtype=np.int32), names).to_pylist()
    about = (descriptions.get(label) for label in labels)
    return [name if text is None else f"{name}: {text}" for name, text in zip(called, about, strict=True)]

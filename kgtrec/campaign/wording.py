"""First drafts of question templates, made of nothing but the names of relations."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LAST = re.compile(r"[^/#]+(?=[/#]*$)")
_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029{}]+")


def draft_template(relation: str) -> str:
    """A template that says what the relation is called, for a person to make a sentence of.

    Whether a relation reads from head to tail or back, and with which words, is not in its name, so the draft does not
    pretend to know. It is also what people are asked where there is no template.

    Examples
    --------
    >>> draft_template("/people/person/place_of_birth")
    'Is this true: {head} | place of birth | {tail}?'
    """
    return f"Is this true: {{head}} | {readable(relation)} | {{tail}}?"


def readable(relation: str) -> str:
    """The words in the name of a relation, with the paths and joints of common KGs taken off.

    Examples
    --------
    >>> readable("http://dbpedia.org/ontology/birthPlace"), readable("_member_of_domain_usage"), readable("P22")
    ('birth place', 'member of domain usage', 'P22')
    >>> readable("/award/award_winner/awards_won./award/award_honor/award")
    'awards won, award'
    """
    parts = relation.split("./") if relation.startswith("/") else [relation]
    return ", ".join(_words(part) for part in parts)


def _words(path: str) -> str:
    last = _LAST.search(path)
    name = _NOT_TEXT.sub(" ", last[0] if last else path)
    words = _CAMEL.sub(" ", name).replace("_", " ").split()
    joined = " ".join(word if word.isupper() or not _CAMEL.search(name) else word.lower() for word in words)
    return joined or _NOT_TEXT.sub(" ", path).strip() or "related to"

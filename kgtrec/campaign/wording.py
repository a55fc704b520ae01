"""What relations and entities are called in KGs, put into words for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from kgtrec.data.campaign import TIME_SLOT
from kgtrec.data.triples import BETWEEN

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# birthPlace, but not iPhone, eBay, macOS, McDonald or sha256Sum, which are spelled so
_CAMEL_NAME = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+)+")
_LAST = re.compile(r"[^/#]+(?=[/#]*$)")
_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029{}]+")
_BRACKETED = re.compile(r"\A<([A-Za-z][^<>\s]*)>\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_TITLE = re.compile(r"/(?:resource|wiki)/(.+)", re.DOTALL)  # of an encyclopedia, in which a slash may stand
_END = re.compile(r"[/#]([^/#]+)[/#]*\Z")
_MACHINE_ID = re.compile(r"(?:/[mg]/|[mg]\.)[0-9a-z_]+")  # of Freebase: an underscore is a digit there
#: what an entity's label has in it if :func:`readable` changes anything of it, for a quick look at many
JOINTED = r"_|://|\A<[A-Za-z]|\A/|\A[a-z]{2}[a-z]*[A-Z]"
_BLANKS = re.compile(r"[_\s]+")


def draft_template(relation: str) -> str:
    """Draft a template with the name of the relation, for a person to turn into a sentence.

    The name of a relation does not say in which direction it reads, and with which words, so the draft does not either.
    It is also used as the question where there is no template.

    Examples
    --------
    >>> draft_template("/people/person/place_of_birth")
    'Is this true: {head} | place of birth | {tail}?'
    """
    return f"Is this true: {{head}} | {readable(relation)} | {{tail}}?"


def template_of(templates: Mapping[str, str], relation: str, draft: Callable[[str], str] = draft_template) -> str:
    """Return the template of a relation, in which its time is filled in: for ``{time}``, or in brackets at the end.

    A relation's template is for all its times; one for a time alone goes before it, as it is.

    Examples
    --------
    >>> template_of({}, "born_in")
    'Is this true: {head} | born in | {tail}?'
    >>> template_of({"in": "Was {head} in {tail} in {time}?"}, "in @ 2014"), template_of({}, "in @ 2014")
    ('Was {head} in {tail} in 2014?', 'Is this true: {head} | in | {tail}? (2014)')
    """
    plain, _, time = relation.partition(BETWEEN)
    own = templates.get(relation) or templates.get(plain) or draft(plain)
    time = time.replace("{", "(").replace("}", ")")  # braces stand for slots
    in_brackets = time and TIME_SLOT not in own and relation not in templates
    return f"{own} ({time})" if in_brackets else own.replace(TIME_SLOT, time or TIME_SLOT)


def readable(label: str, *, is_entity: bool = False) -> str:
    """Extract the words in the label of a relation or an entity, without the paths and separators of common KGs.

    A relation is called by a technical name, so that every slash, underscore and capital letter in it may be a joint.
    An entity may be called by what people call it: of its label the path of a URI, underscores and the capitals of a
    ``camelCase`` are joints, and what may be spelled so on purpose (``AC/DC``, ``McDonald``, ``iPhone``) stays, as do
    identifiers (``Q42``, ``/m/02_286``, ``00260881``).

    Examples
    --------
    >>> readable("http://dbpedia.org/ontology/birthPlace"), readable("_member_of_domain_usage"), readable("P22")
    ('birth place', 'member of domain usage', 'P22')
    >>> readable("/award/award_winner/awards_won./award/award_honor/award")
    'awards won, award'
    >>> readable("acquired_abnormality", is_entity=True), readable("AC/DC", is_entity=True)
    ('acquired abnormality', 'AC/DC')
    """
    if is_entity:
        return _name(label)
    parts = label.split("./") if label.startswith("/") else [label]
    return ", ".join(_words(part) for part in parts)


def _words(path: str) -> str:
    last = _LAST.search(path)
    name = _NOT_TEXT.sub(" ", last[0] if last else path)
    words = _CAMEL.sub(" ", name).replace("_", " ").split()
    joined = " ".join(word if word.isupper() or not _CAMEL.search(name) else word.lower() for word in words)
    return joined or _NOT_TEXT.sub(" ", path).strip() or "related to"


def _name(label: str) -> str:
    text = _BRACKETED.sub(r"\1", label)
    if uri := _URI.match(text):
        last = _TITLE.search(text, uri.end()) or _END.search(text, uri.end())
        if last is None:
            return label
        text = unquote(last[1])
        if not text.isprintable() or "\ufffd" in text:  # the percent signs do not stand for text
            text = last[1]
    elif text.startswith("/") and not _MACHINE_ID.fullmatch(text) and (last := _LAST.search(text)):
        text = last[0]
    if _MACHINE_ID.fullmatch(text):
        return text
    if _CAMEL_NAME.fullmatch(text):
        return _CAMEL.sub(" ", text).lower()
    return (_BLANKS.sub(" ", text).strip() if "_" in text else text) or label

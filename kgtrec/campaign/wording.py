"""What relations and entities are called in KGs, put into words for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from kgtrec.data.campaign import SLOTS, TIME_SLOT, template_parts
from kgtrec.data.queries import is_query, read_label
from kgtrec.data.triples import BETWEEN
from kgtrec.kernels.triples.queries import STRUCTURES, letters

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
#: structure -> a link from the next anchor (a) or a variable to a variable or the answer (?), by two letters each
_IN_WORDS = {
    "1p": "a?", "2p": "for some X: aX and X?", "3p": "for some X and Y: aX and XY and Y?",
    "4p": "for some X, Y and Z: aX and XY and YZ and Z?", "2i": "a? and a?", "3i": "a? and a? and a?",
    "4i": "a? and a? and a? and a?", "ip": "for some X: aX and aX and X?", "pi": "for some X: aX and X? and a?",
    "2in": "a? and not a?", "3in": "a? and a? and not a?", "inp": "for some X: aX and not aX and X?",
    "pin": "for some X: aX and X? and not a?", "pni": "not (for some X: aX and X?) and a?", "2u": "a? or a?",
    "up": "for some X: (aX or aX) and X?",
}  # fmt: skip
_BLANKS = re.compile(r"[_\s]+")


def draft_template(relation: str) -> str:
    """Draft a template with the name of the relation, for a person to turn into a better sentence.

    The name may be a noun, a verb or half a sentence, so it stands as a line of a fact sheet, which fits all of them
    and says whose it is. The draft is also used as the question where there is no template.

    Examples
    --------
    >>> draft_template("/people/person/place_of_birth")
    'On a fact sheet about {head}, is the line “place of birth: {tail}” true?'
    """
    if is_query(relation):
        return query_template(relation, {}, {})
    return f"On a fact sheet about {{head}}, is the line “{readable(relation)}: {{tail}}” true?"


def relations_in(relation: str) -> list[str]:
    """Return the relations that a complex query is made of, each once, without sign; of another one the plain one.

    Examples
    --------
    >>> relations_in('2i @ [["ann", ["likes"]], ["bob", ["-sells"]]]'), relations_in("likes")
    (['likes', 'sells'], ['likes'])
    """
    if not is_query(relation):
        return [relation.partition(BETWEEN)[0]]
    name, labels = read_label(relation)
    kinds = letters(STRUCTURES[name])
    return list(dict.fromkeys(each.lstrip("+-") for kind, each in zip(kinds, labels, strict=True) if kind == "r"))


def query_template(query: str, templates: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Put a complex query into words, each link by the template of its relation.

    Parameters
    ----------
    query : str
        The relation of its question, see :func:`kgtrec.data.queries.read_label`.
    templates, names : mapping of str to str
        As for :func:`kgtrec.campaign.tasks.phrase_triples`. The template of R is also that of ``+R``, and, turned
        around, of ``-R``.

    Returns
    -------
    str
        A template in which ``{head}`` is the first anchor, and ``{tail}`` the answer.

    Examples
    --------
    >>> query_template('2p @ ["ann", ["knows", "likes"]]', {"knows": "Does {head} know {tail}?"}, {})
    'Is this true for some X: “Does {head} know X?” and “X: likes {tail}”?'
    >>> query_template('2in @ [["ann", ["likes"]], ["b1", ["-eats", "n"]]]', {}, {"b1": "Bob"})
    'Is this true: “{head}: likes {tail}” and not “{tail}: eats Bob”?'
    """
    name, labels = read_label(query)
    kinds = letters(STRUCTURES[name])
    anchors, relations = ([label for own, label in zip(kinds, labels, strict=True) if own == kind] for kind in "er")
    words = [_NOT_TEXT.sub(" ", names.get(label) or readable(label, is_entity=True)) for label in anchors[1:]]
    anchor, relation = iter([SLOTS[0], *words]), iter(relations)

    def link(match: re.Match[str]) -> str:
        label, (start, goal) = next(relation), match.groups()
        ends = next(anchor) if start == "a" else start, SLOTS[1] if goal == "?" else goal
        is_turned = label not in templates and label.startswith("-")
        filled = dict(zip(SLOTS, ends[::-1] if is_turned else ends, strict=True))
        bare = label.lstrip("+-")
        parts = template_parts(templates.get(label) or templates.get(bare) or _draft(bare))
        return f"“{''.join(filled.get(part, part) for part in parts)}”"

    text = re.sub(r"\b([aXYZ])([XYZ?])", link, _IN_WORDS[name])
    return f"Is this true{' ' if text.startswith('for') else ': '}{text}?"


def _draft(relation: str) -> str:
    return f"{{head}}: {readable(relation)} {{tail}}"


def template_of(
    templates: Mapping[str, str],
    relation: str,
    draft: Callable[[str], str] = draft_template,
    *,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return the template of a relation, in which its time is filled in: for ``{time}``, or in brackets at the end.

    A relation's template is for all its times; one for a time alone goes before it, as it is. A complex query is put
    into words by the templates of the relations in it, and the ``names`` of its anchors.

    Examples
    --------
    >>> template_of({}, "born_in")
    'On a fact sheet about {head}, is the line “born in: {tail}” true?'
    >>> template_of({"in": "Was {head} in {tail} in {time}?"}, "in @ 2014"), template_of({}, "in @ 2014")
    ('Was {head} in {tail} in 2014?', 'On a fact sheet about {head}, is the line “in: {tail}” true? (2014)')
    """
    if relation not in templates and is_query(relation):
        return query_template(relation, templates, names or {})
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
    if is_query(label):  # what follows its first anchor
        name, labels = read_label(label)
        kinds = letters(STRUCTURES[name])[1:]
        words = [
            readable(each.lstrip("+-" * (kind == "r")), is_entity=kind == "e")
            for kind, each in zip(kinds, labels[1:], strict=True)
        ]
        return " ".join(words)
    parts = label.split("./") if label.startswith("/") else [label]
    return ", ".join(dict.fromkeys(map(_words, parts)))


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

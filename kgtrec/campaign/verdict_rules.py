"""The rules for a verdict, each written once: incoming and recorded verdicts are checked by them.

Each function gives what is wrong, in one line, or the empty string.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import HOST, MANAGER, NOT_DRAWN, PERSON_ROLES, REQUIRED, Automatic, People
from kgtrec.data.judgements import (
    ADJUDICATED,
    ADJUDICATOR,
    ANNOTATOR,
    CONFLICT,
    DOUBTED,
    EXPERT,
    ROLES,
    STATES,
    TIME,
    UNDECIDABLE,
    UNSURE,
    VERDICTS,
)
from kgtrec.errors import nearest

_MOST_SHOWN = 20  # refused verdicts in a list of them
#: how verdicts of a person who has only another role can be imported
_WAYS_IN: Mapping[tuple[str, ...], str] = {
    (PERSON_ROLES[MANAGER],): "; a manager judges nothing",
    (ROLES[ADJUDICATOR],): "; kgtrec campaign adjudicate --import imports these",
    (ROLES[EXPERT],): "; --role expert imports these",
}
LONGEST_SOURCE = 2048  # characters
LONGEST_NOTE = 10_000
_SHOWN = 100
_LINK = re.compile(r"https://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL | re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # without line breaks and tabs; some control a terminal
_NOT_IN_LINKS = frozenset(' "<>\\^`{|}')
_SETTLED_BY_ADJUDICATORS = (CONFLICT, DOUBTED, ADJUDICATED, UNDECIDABLE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A verdict that the rules do not allow, and why."""

    place: str  # of the verdict, such as "ann.csv:12"
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"

    @property
    def reason(self) -> str:
        """The kind of mistake: the message without the values of this row.

        Examples
        --------
        >>> Refusal("ann.csv:7", "expected task 7 to be 'a' 'r' 'b', found 'a' 'r' 'c'").reason
        'expected task N to be ...'
        """
        begin, *quoted = re.split(r" ['\"]", self.message, maxsplit=1)
        plain = re.sub("task [0-9]+", "task N", begin)
        reason, *rest = re.split("[,;]", plain)
        return f"{reason} ..." if quoted and not rest else reason


def refusal_lines(refused: Sequence[Refusal]) -> Iterator[str]:
    """Return one line per refused verdict; if there are many, the first ones, and the number of each kind.

    Examples
    --------
    >>> list(refusal_lines([Refusal("ann.csv:2", "expected a link to the source of a Y, found none")]))
    ['ann.csv:2: expected a link to the source of a Y, found none']
    """
    yield from map(str, refused[:_MOST_SHOWN])
    if len(refused) > _MOST_SHOWN:
        yield f"... and {len(refused) - _MOST_SHOWN:,} more; in total"
        counts = Counter(refusal.reason for refusal in refused).most_common()
        for reason, number in counts[:_MOST_SHOWN]:
            yield f"  {number:,} times: {reason}"
        if len(counts) > _MOST_SHOWN:
            yield f"  {sum(number for _, number in counts[_MOST_SHOWN:]):,} times: other reasons"


@lru_cache(maxsize=8)  # a program that goes on asks at each verdict
def roles_of(people: People) -> Mapping[str, Mapping[str, bool]]:
    """Map each person to their roles, and each role to whether they are active in it.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> roles_of(People(Vocabulary.of(["ann"]), np.array([0, 0]), np.array([0, 2]), np.array([True, False])))
    {'ann': {'annotator': True, 'expert': False}}
    """
    names = list(people.names)
    roles: dict[str, dict[str, bool]] = {name: {} for name in names}
    for person, role, active in zip(people.person, people.role, people.is_active, strict=True):
        roles[names[person]][PERSON_ROLES[role]] = bool(active)
    return roles


def wrong_person(person: str | None, role: str, roles: Mapping[str, Mapping[str, bool]]) -> str:
    """Check that a person is one of the campaign's people, in that role; also those who have left."""
    if not person:
        return "expected the name of the person who judged, found none; give it with --person"
    if person not in roles:
        return f"expected one of the campaign's people, found {quoted(person)}{nearest(person, roles)}"
    if role not in ROLES:
        return f"expected a role of {', '.join(ROLES)}, found {quoted(role)}{nearest(role, ROLES)}"
    if role not in roles[person]:
        own = [name for name in PERSON_ROLES if name in roles[person]]
        who = " and ".join(f"{'a' if name == PERSON_ROLES[MANAGER] else 'an'} {name}" for name in own)
        return f"expected an {role}, found {person!r}, who is {who}{_WAYS_IN.get(tuple(own), '')}"
    return ""


def wrong_source(verdict: str, source: str, wrong: Callable[[str], str], links: str = REQUIRED) -> str:
    """Check the link of a verdict, or its absence.

    Parameters
    ----------
    verdict, source : str
    wrong : callable
        What is wrong with a link that is there, whoever asked for it: :func:`wrong_link` with the campaign's hosts.
    links : {"required", "asked", "none"}
        Whether a Y or N needs one, see :meth:`kgtrec.campaign.Campaign.links`.

    Examples
    --------
    >>> wrong_source("N", "", lambda link: "")
    'expected a link to the source of a N, found none'
    >>> wrong_source("N", "", lambda link: "", "asked"), wrong_source("unsure", "", lambda link: "")
    ('', '')
    """
    if len(source) > LONGEST_SOURCE:
        return f"expected a link of at most {LONGEST_SOURCE:,} characters, found {len(source):,}: {quoted(source)}"
    if has_half_a_pair(source):
        return f"expected a link of Unicode text, found half a surrogate pair in {quoted(source)}"
    if source:
        return wrong(source)
    is_fine = links != REQUIRED or verdict == VERDICTS[UNSURE]
    return "" if is_fine else f"expected a link to the source of a {verdict}, found none"


def wrong_note(note: str) -> str:
    """Check that a note is text of a bounded length without control characters."""
    if len(note) > LONGEST_NOTE:
        return f"expected a note of at most {LONGEST_NOTE:,} characters, found {len(note):,}: {quoted(note)}"
    if has_half_a_pair(note):
        return f"expected a note of Unicode text, found half a surrogate pair in {quoted(note)}"
    if control := _CONTROL.search(note):
        return f"expected a note without control characters, found {control[0]!r} in {quoted(note)}"
    return ""


def wrong_link(link: str, hosts: Sequence[str]) -> str:
    """Check a link to a source.

    It must begin with ``https://``, then name a host of letters, digits, dots and dashes (names with other letters in
    their ``xn--`` form), which is one of ``hosts`` or ends in a dot and one of them; any host with a dot is accepted if
    ``hosts`` is empty. No user, password or port, no numeric address, no dot at the end, no white space, control or
    other characters that are not allowed in a link. Upper case does not matter in a host.

    Examples
    --------
    >>> wrong_link("https://en.wikipedia.org/wiki/Paris", ["wikipedia.org"])
    ''
    >>> wrong_link("https://notwikipedia.org/", ["wikipedia.org"])
    "expected a link to one of the campaign's sources (wikipedia.org), found the host 'notwikipedia.org'"
    """
    found = quoted(link)
    if not (link.isprintable() and _NOT_IN_LINKS.isdisjoint(link)):
        wrong = next(sign for sign in link if sign in _NOT_IN_LINKS or not sign.isprintable())
        return f"expected a link without white space and special characters, found {wrong!r} in {found}"
    parts = _LINK.fullmatch(link)
    if parts is None:
        return f"expected a link that begins with https://, found {found}"
    host = parts[1].lower() if parts[1].isascii() else parts[1]
    if not HOST.fullmatch(host):
        return f"expected a link with the plain name of a host after https://, found {quoted(parts[1])} in {found}"
    if hosts and not any(host == verified.lower() or host.endswith(f".{verified.lower()}") for verified in hosts):
        return f"expected a link to one of the campaign's sources ({_some(hosts)}), found the host {quoted(host)}"
    return ""


def link_patterns(hosts: Sequence[str]) -> list[tuple[str, str]]:
    """Write regular expressions that match every link which :func:`wrong_link` accepts, each with what else is wrong.

    For a page that cannot ask: upper case does not matter in them, and Python and JavaScript read them alike. They let
    some wrong links through, which are refused when the verdict is imported.

    Examples
    --------
    >>> (form, _), (host, wrong) = link_patterns(["wikipedia.org"])
    >>> re.fullmatch(host, "https://en.wikipedia.org/wiki/Paris", re.IGNORECASE) is not None
    True
    >>> wrong
    "expected a link to one of the campaign's sources (wikipedia.org)"
    """
    patterns = [
        (
            r"https://[^\s\"<>\\^`{|}]+",
            "expected a link that begins with https://, without white space and special characters",
        )
    ]
    if hosts:
        own = "|".join(host.lower().replace(".", r"\.") for host in hosts)
        patterns.append(
            (
                rf"https://(?:[a-z0-9_.-]+\.)?(?:{own})(?:[/?#].*)?",
                f"expected a link to one of the campaign's sources ({_some(hosts)})",
            )
        )
    return patterns


def _some(hosts: Sequence[str]) -> str:
    return ", ".join(hosts[:5]) + (f" and {len(hosts) - 5} more" if len(hosts) > 5 else "")


def hosts_of(links: pa.StringArray) -> pa.StringArray:
    """Find the host of each link, (n,); empty where a text is no https link.

    Examples
    --------
    >>> hosts_of(pa.array(["https://EN.wikipedia.org/wiki/Paris", "", "https://bnf.fr#x"])).to_pylist()
    ['en.wikipedia.org', '', 'bnf.fr']
    """
    parts = pc.extract_regex(pc.fill_null(links, ""), r"^[Hh][Tt][Tt][Pp][Ss]://(?P<host>[^/?#]*)")
    return pc.fill_null(pc.ascii_lower(pc.struct_field(parts, "host")), "")


def wrong_triple(role: str, automatic: Automatic, triple: int) -> str:
    """Check that people judge what they are asked about; an expert may judge what a rule has, to check the rules."""
    rule = automatic.rule[triple]
    if rule == NOT_DRAWN:
        return "expected a triple of the sample that people judge, found one that was not drawn"
    if rule >= 0 and role != ROLES[EXPERT]:
        return f"expected a triple for people to judge, found one that a rule has judged N ({automatic.rules[rule]})"
    return ""


def wrong_role(person: str, role: str, earlier: str) -> str:
    """Check that nobody judges a triple in two roles: annotators judge blind, the others judge the labels of others.

    ``earlier`` is the role in which the person judged the triple first.
    """
    if role == earlier:
        return ""
    if role == ROLES[ANNOTATOR]:
        done = "has adjudicated this triple" if earlier == ROLES[ADJUDICATOR] else "has judged this triple as expert"
        return f"expected an annotator who judges blind, found {person!r}, who {done}"
    return f"expected an {role} who has not judged the triple, found {person!r}, its {earlier}"


def wrong_state(state: int) -> str:
    """Check that an adjudicator decides conflicts and doubts, or corrects what adjudicators settled."""
    if state in _SETTLED_BY_ADJUDICATORS:
        return ""
    return f"expected a triple in conflict or doubted, found one that is {STATES[state]}"


def is_time(text: str) -> bool:
    """Check whether a text is a time in UTC in the form of a judgement.

    Examples
    --------
    >>> is_time("2026-11-21T20:00:00Z"), is_time("2026-02-30T20:00:00Z")
    (True, False)
    """
    with suppress(ValueError):  # no such day
        return re.fullmatch(TIME, text) is not None and bool(datetime.fromisoformat(text))
    return False


def has_half_a_pair(text: str) -> bool:
    """Check whether a text contains half a surrogate pair, which UTF-8 cannot encode."""
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def quoted(text: str) -> str:
    """Quote a text for a message: on one line, and shortened."""
    shortened = repr(text[:_SHOWN]) if len(text) <= _SHOWN else f"{repr(text[:_SHOWN])[:-1]}...'"
    return shortened.encode("utf-8", "backslashreplace").decode()

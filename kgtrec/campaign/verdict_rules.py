"""The rules for a verdict, each written once: what comes in is held against them, and so is what is recorded already.

Each function tells what is wrong, in one line, or gives the empty string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from kgtrec.data.campaign import HOST, People
from kgtrec.data.decisions import ADJUDICATED, CONFLICT, DOUBTED, STATES, UNDECIDABLE
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES, TIME, UNSURE, VERDICTS
from kgtrec.errors import nearest

LONGEST_SOURCE = 2048  # characters
LONGEST_NOTE = 10_000
_SHOWN = 100
_LINK = re.compile(r"https://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL | re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # line breaks and tabs aside; terminals obey some
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
        """What kind of thing is wrong: the message without what was found in this row.

        Examples
        --------
        >>> Refusal("ann.csv:7", "expected task 7 to be 'a' 'r' 'b', found 'a' 'r' 'c'").reason
        'expected task N to be ...'
        """
        begin, *quoted = re.split(r" ['\"]", self.message, maxsplit=1)
        plain = re.sub("task [0-9]+", "task N", begin)
        reason, *rest = re.split("[,;]", plain)
        return f"{reason} ..." if quoted and not rest else reason


def roles_of(people: People) -> dict[str, dict[str, bool]]:
    """Person -> role -> whether active in it.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> roles_of(People(Vocabulary.of(["ann"]), np.array([0, 0]), np.array([0, 2]), np.array([True, False])))
    {'ann': {'annotator': True, 'expert': False}}
    """
    names = list(people.names)
    found: dict[str, dict[str, bool]] = {name: {} for name in names}
    for person, role, active in zip(people.person, people.role, people.is_active, strict=True):
        found[names[person]][ROLES[role]] = bool(active)
    return found


def wrong_person(person: str | None, role: str, roles: Mapping[str, Mapping[str, bool]]) -> str:
    """Whether somebody is one of the campaign's people, in that role; those who have left are."""
    if not person:
        return "expected the name of the person who judged, found none; give it with --person"
    if person not in roles:
        return f"expected one of the campaign's people, found {quoted(person)}{nearest(person, roles)}"
    if role not in ROLES:
        return f"expected a role of {', '.join(ROLES)}, found {quoted(role)}{nearest(role, ROLES)}"
    if role not in roles[person]:
        own = [name for name in ROLES if name in roles[person]]
        return f"expected somebody who is {role}, found {person!r}, who is {' and '.join(own)}{_way_in(own)}"
    return ""


def _way_in(own: Sequence[str]) -> str:
    """How the verdicts of somebody in another role are taken in."""
    if own == [ROLES[ADJUDICATOR]]:
        return "; kgtrec campaign adjudicate --import takes these in"
    return "; --role expert takes these in" if own == [ROLES[EXPERT]] else ""


def wrong_source(verdict: str, source: str, wrong: Callable[[str], str]) -> str:
    """A Y or N needs a link, and a link must please ``wrong``: that is :func:`wrong_link` with the campaign's hosts."""
    if len(source) > LONGEST_SOURCE:
        return f"expected a link of at most {LONGEST_SOURCE:,} characters, found {len(source):,}: {quoted(source)}"
    if has_half_a_pair(source):
        return f"expected a link of Unicode text, found half a surrogate pair in {quoted(source)}"
    if source:
        return wrong(source)
    return "" if verdict == VERDICTS[UNSURE] else f"expected a link to the source of a {verdict}, found none"


def wrong_note(note: str) -> str:
    """A note is text of a bounded length, which no terminal obeys."""
    if len(note) > LONGEST_NOTE:
        return f"expected a note of at most {LONGEST_NOTE:,} characters, found {len(note):,}: {quoted(note)}"
    if has_half_a_pair(note):
        return f"expected a note of Unicode text, found half a surrogate pair in {quoted(note)}"
    if control := _CONTROL.search(note):
        return f"expected a note without control characters, found {control[0]!r} in {quoted(note)}"
    return ""


def wrong_link(link: str, hosts: Sequence[str]) -> str:
    """What is wrong with a link to a source, or the empty string.

    It must begin with ``https://``, then name a host of letters, digits, dots and dashes (names with other letters in
    their ``xn--`` form), which is one of ``hosts`` or ends in a dot and one of them; any host with a dot will do where
    ``hosts`` is empty. No user, password or port, no address in numbers, no dot at the end, no white space, control
    or other characters that a link cannot hold. Upper case does not matter in a host.

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
        some = ", ".join(hosts[:5]) + (f" and {len(hosts) - 5} more" if len(hosts) > 5 else "")
        return f"expected a link to one of the campaign's sources ({some}), found the host {quoted(host)}"
    return ""


def host_of(link: str) -> str:
    """The host of a link that :func:`wrong_link` finds nothing wrong with.

    Examples
    --------
    >>> host_of("https://EN.wikipedia.org/wiki/Paris")
    'en.wikipedia.org'
    """
    parts = _LINK.fullmatch(link)
    return parts[1].lower() if parts else ""


def wrong_triple(role: str, rule: str) -> str:
    """People do not judge what a rule has judged; an expert may, to tell how good the rules are."""
    if rule and role != ROLES[EXPERT]:
        return f"expected a triple for people to judge, found one that a rule has judged N ({rule})"
    return ""


def wrong_role(person: str, role: str, earlier: str) -> str:
    """Nobody judges a triple in two roles: an annotator judges blind, the others judge what somebody else said.

    ``earlier`` is the role in which the person judged the triple first.
    """
    if role == earlier:
        return ""
    if role == ROLES[ANNOTATOR]:
        done = "has adjudicated this triple" if earlier == ROLES[ADJUDICATOR] else "has judged this triple as expert"
        return f"expected an annotator who judges blind, found {person!r}, who {done}"
    return f"expected an {role} who has not judged the triple, found {person!r}, its {earlier}"


def wrong_time(person: str, time: str, before: str) -> str:
    """A correction is not older than what it corrects; equal times will do."""
    if time >= before:
        return ""
    return f"expected a correction no older than what {person!r} has said before, of {before}, found one of {time}"


def wrong_state(state: int) -> str:
    """An adjudicator settles conflicts and doubts, and may say something else of what adjudicators settled."""
    if state in _SETTLED_BY_ADJUDICATORS:
        return ""
    return f"expected a triple in conflict or doubted, found one that is {STATES[state]}"


def is_time(text: str) -> bool:
    """Whether a text is a time in UTC as a judgement holds it.

    Examples
    --------
    >>> is_time("2026-11-21T20:00:00Z"), is_time("2026-02-30T20:00:00Z")
    (True, False)
    """
    with suppress(ValueError):  # no such day
        return re.fullmatch(TIME, text) is not None and bool(datetime.fromisoformat(text))
    return False


def has_half_a_pair(text: str) -> bool:
    """Whether a text holds half a surrogate pair, which has no form in UTF-8."""
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def quoted(text: str) -> str:
    """A text as a message shows it: on one line, and shortened."""
    shortened = repr(text[:_SHOWN]) if len(text) <= _SHOWN else f"{repr(text[:_SHOWN])[:-1]}...'"
    return shortened.encode("utf-8", "backslashreplace").decode()

"""Verdicts from outside, checked before they are recorded: whatever made the file, nothing in it is taken on trust."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.adjudicate import decisions_of
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.decisions import ADJUDICATED, CONFLICT, DOUBTED, STATES, UNDECIDABLE
from kgtrec.data.incoming import Incoming
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES, UNSURE, VERDICTS, Judgements
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, nearest

LONGEST_SOURCE = 2048  # characters
LONGEST_NOTE = 10_000
_TIME = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z")
_SHOWN = 100
# a host, and nothing else that may stand between the slashes: no user, no password, no port, no address in numbers
_LINK = re.compile(r"https://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL | re.ASCII)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)+(?![0-9]+\Z|0x[0-9a-f]*\Z){_LABEL}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # line breaks and tabs aside; terminals obey some
_NOT_IN_LINKS = frozenset(' "<>\\^`{|}')
_SETTLED_BY_ADJUDICATORS = (CONFLICT, DOUBTED, ADJUDICATED, UNDECIDABLE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A verdict that was not accepted, and why."""

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


class RefusedError(KgtrecError):
    """Verdicts were refused, so none was accepted.

    Parameters
    ----------
    refused : sequence of Refusal
        One per verdict, in their order.
    """

    def __init__(self, refused: Sequence[Refusal]) -> None:
        super().__init__("\n".join(map(str, refused)))
        self.refused = tuple(refused)


@dataclass(frozen=True, slots=True, eq=False)
class Accepted:
    """What is to be recorded of some incoming verdicts."""

    judgements: Judgements  # new events, in the order in which they came
    repeated: int = 0  # verdicts that are recorded already, word for word
    again: int = 0  # verdicts that stand among the incoming ones before, word for word
    corrections: int = 0  # how many of the events take the place of an earlier verdict
    refused: tuple[Refusal, ...] = ()  # in the order in which they came; empty unless some may be left out

    def __len__(self) -> int:
        return len(self.judgements)


def accept(
    campaign: Campaign,
    incoming: Iterable[Incoming],
    *,
    time: str,
    correct: bool = False,
    unassigned: bool = False,
    keep_going: bool = False,
) -> Accepted:
    """Check verdicts against the campaign, as far as it is recorded, and make events of those that are new.

    To leave no gap between what is checked and what is recorded, read the campaign's judgements, call this and append
    in one block of a :class:`kgtrec.formats.judgements.JudgementWriter`.

    A verdict is refused if

    - its row could not be read;
    - its person is not one of the campaign's people, or has not the role, or is not active in it;
    - its triple is not in the pool, is another than that of its task number, or is judged by a rule already (an
      expert may tell how good the rules are);
    - the verdict is not exactly one of ``VERDICTS``;
    - it says Y or N without a link, or its link is not that of :func:`wrong_link`'s rules;
    - link or note is longer than ``LONGEST_SOURCE`` or ``LONGEST_NOTE``, holds half a surrogate pair, or the note
      control characters other than tabs and line breaks;
    - it was not assigned to that annotator, in a campaign that has assignments;
    - the same person has said something else about the triple in the same role: verdict, link or note;
    - it is among several of ``incoming`` that differ, of one person in one role on one triple: all of them are refused,
      since nothing tells which one is meant;
    - an adjudicator judges a triple as an annotator too, or the other way round;
    - an adjudicator judges a triple that is neither in conflict nor doubted, and that none has adjudicated.

    A verdict that is recorded already, word for word, as the last one of its person in the role on the triple, counts
    as repeated and changes nothing, also when the person has left since; one that is new and comes twice is recorded
    once. Annotators' verdicts among ``incoming`` are taken before the adjudicators'.

    Parameters
    ----------
    campaign : Campaign
    incoming : iterable of Incoming
    time : str
        Now, UTC, as 2026-11-21T20:00:00Z.
    correct : bool
        Whether a person may say something else than before: a new event, which takes the place of the earlier one.
    unassigned : bool
        Whether annotators may judge what they were not assigned.
    keep_going : bool
        Whether to accept the other verdicts where some are refused.

    Returns
    -------
    Accepted

    Raises
    ------
    RefusedError
        If any verdict is refused; not with ``keep_going``.
    KgtrecError
        If ``time`` has another form.

    Examples
    --------
    >>> from kgtrec.data.campaign import Assignments, Automatic, People
    >>> from kgtrec.data.pool import Pool
    >>> from kgtrec.data.qrels import Qrels
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples, none = Triples.of([("france", "capital", "paris")]), np.zeros(1, np.int32)
    >>> asked = Questions(Vocabulary.of(["tail0"]), none > 0, none, none, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, none, none, none, none + 1, ["mine"], asked)
    >>> ann, no = Vocabulary.of(["ann"]), none[:0]
    >>> texts = ann.labels[:0]
    >>> campaign = Campaign(
    ...     pool, Qrels(no, no, no, asked.ids, asked.entities), Automatic.none(1), People(ann, none, none, none == 0),
    ...     Assignments(no, no, ann), Judgements(no, no, no, no, texts, texts, texts, ann), sources=("wikipedia.org",))
    >>> said = Incoming("ann.csv:2", "ann", "Y", 1, source="https://en.wikipedia.org/wiki/Paris")
    >>> accept(campaign, [said], time="2026-11-21T20:00:00Z").judgements
    <Judgements: 1 events of 1 people>
    >>> accept(campaign, [replace(said, source="")], time="2026-11-21T20:00:00Z")
    Traceback (most recent call last):
    ...
    kgtrec.acceptance.RefusedError: ann.csv:2: expected a link to the source of a Y, found none
    """
    if not _is_time(time):
        raise KgtrecError(f"expected a time in UTC such as 2026-11-21T20:00:00Z, got {time!r}")
    rows = list(incoming)
    desk = _Desk(campaign, rows, correct=correct, unassigned=unassigned)
    adjudicates = [row.role == ROLES[ADJUDICATOR] for row in rows]
    for place in [place for place, later in enumerate(adjudicates) if not later]:
        desk.take(place)
    if any(adjudicates):
        desk.settle(_joined(campaign.judgements, desk.judgements(time)))
        for place in [place for place, later in enumerate(adjudicates) if later]:
            desk.take(place)
    refused = tuple(Refusal(rows[place].place, desk.refused[place]) for place in sorted(desk.refused))
    if refused and not keep_going:
        raise RefusedError(refused)
    return Accepted(desk.judgements(time), desk.repeated, desk.twice, desk.corrections, refused)


def _is_time(text: str) -> bool:
    with suppress(ValueError):  # no such day
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    return False


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
    found = _quoted(link)
    if not (link.isprintable() and _NOT_IN_LINKS.isdisjoint(link)):
        wrong = next(sign for sign in link if sign in _NOT_IN_LINKS or not sign.isprintable())
        return f"expected a link without white space and special characters, found {wrong!r} in {found}"
    parts = _LINK.fullmatch(link)
    if parts is None:
        return f"expected a link that begins with https://, found {found}"
    host = parts[1].lower() if parts[1].isascii() else parts[1]
    if len(host) > 253 or not _HOST.fullmatch(host):
        return f"expected a link with the plain name of a host after https://, found {_quoted(parts[1])} in {found}"
    if hosts and not any(host == verified.lower() or host.endswith(f".{verified.lower()}") for verified in hosts):
        some = ", ".join(hosts[:5]) + (f" and {len(hosts) - 5} more" if len(hosts) > 5 else "")
        return f"expected a link to one of the campaign's sources ({some}), found the host {_quoted(host)}"
    return ""


class _Desk:
    """Takes verdicts one by one, and knows what was said before."""

    def __init__(self, campaign: Campaign, rows: Sequence[Incoming], *, correct: bool, unassigned: bool) -> None:
        self.campaign, self.rows, self.correct = campaign, rows, correct
        self.refused: dict[int, str] = {}  # place in rows -> why
        self.repeated = self.twice = self.corrections = 0
        self.new: set[tuple[str, str, int]] = set()  # keys of what was accepted here
        self.accepted: dict[int, int] = {}  # place in rows -> row of the triple
        people = campaign.people
        self.names = list(people.names)
        self.is_active = {
            (self.names[person], ROLES[role]): bool(active)
            for person, role, active in zip(people.person, people.role, people.is_active, strict=True)
        }
        self.triple = np.where([row.wrong != "" for row in rows], -1, _triples_of(campaign, rows))
        self.is_automatic = campaign.automatic.is_automatic
        self.wrong_link = cache(partial(wrong_link, hosts=campaign.sources))  # one page proves several verdicts
        self.state: NDArray[np.int8] | None = None
        self._remember()
        self.assigned: set[tuple[str, int]] | None = None
        if len(campaign.assignments) and not unassigned:
            own = campaign.assignments
            names = own.annotators.decode(own.annotator).to_pylist()
            self.assigned = set(zip(names, own.triple.tolist(), strict=True))
        self._find_contradictions()

    def _remember(self) -> None:
        """What was said before about the triples of the rows."""
        events = self.campaign.judgements
        events = events.take(np.isin(events.triple, self.triple)).latest()
        self.said: dict[tuple[str, str, int], tuple[str, str, str]] = {}
        self.when: dict[tuple[str, str, int], str] = {}
        names = events.annotators.decode(events.annotator).to_pylist()
        columns = events.triple.tolist(), events.role.tolist(), events.verdict.tolist()
        texts = events.source.to_pylist(), events.note.to_pylist(), events.time.to_pylist()
        for name, triple, role, verdict, source, note, time in zip(names, *columns, *texts, strict=True):
            key = name, ROLES[role], triple
            self.said[key], self.when[key] = (VERDICTS[verdict], source, note), time

    def _find_contradictions(self) -> None:
        """Verdicts among the rows that differ, of one person in one role on one triple."""
        self.first: dict[tuple[str | None, str, int], int] = {}
        self.again: dict[int, int] = {}  # place -> an earlier place of the same person, role and triple, other words
        for place, row in enumerate(self.rows):
            if self.triple[place] < 0:
                continue
            earlier = self.first.setdefault((row.person, row.role, int(self.triple[place])), place)
            if _words(self.rows[earlier]) != _words(row):
                self.again[place] = earlier
                self.again.setdefault(earlier, place)

    def settle(self, judgements: Judgements) -> None:
        """Find out which triples wait for an adjudicator."""
        self.state = decisions_of(replace(self.campaign, judgements=judgements)).state

    def take(self, place: int) -> None:
        """Accept a verdict, or refuse it."""
        row, triple = self.rows[place], int(self.triple[place])
        if wrong := self._wrong(place):
            self.refused[place] = wrong
            return
        key = str(row.person), row.role, triple
        if self.said.get(key) == _words(row):
            self.twice += key in self.new
            self.repeated += key not in self.new
            return
        if wrong := _wrong_texts(row, self.wrong_link) or self._not_now(place):
            self.refused[place] = wrong
            return
        self.corrections += key in self.said
        self.said[key] = _words(row)
        self.new.add(key)
        self.accepted[place] = triple

    def _wrong(self, place: int) -> str:
        """What keeps a verdict from being one at all, or the empty string."""
        row, triple = self.rows[place], int(self.triple[place])
        if row.wrong:
            return row.wrong
        if not row.person:
            return "expected the name of the person who judged, found none; give it with --person"
        if row.person not in self.names:
            return (
                f"expected one of the campaign's people, found {_quoted(row.person)}{nearest(row.person, self.names)}"
            )
        if row.role not in ROLES:
            return f"expected a role of {', '.join(ROLES)}, found {_quoted(row.role)}{nearest(row.role, ROLES)}"
        if (row.person, row.role) not in self.is_active:
            own = [role for role in ROLES if (row.person, role) in self.is_active]
            return (
                f"expected somebody who is {row.role}, found {row.person!r}, who is {' and '.join(own)}{_way_in(own)}"
            )
        if triple < 0:
            return self._no_triple(row)
        if row.verdict not in VERDICTS:
            return (
                f"expected one of {', '.join(VERDICTS)}, found {_quoted(row.verdict)}{nearest(row.verdict, VERDICTS)}"
            )
        if place in self.again:
            other = self.rows[self.again[place]]
            return f"expected one verdict of {row.person!r} on this triple, found another one at {other.place}"
        return ""

    def _no_triple(self, row: Incoming) -> str:
        n = len(self.campaign.pool)
        labels = row.head, row.relation, row.tail
        if None in labels and labels != (None, None, None):
            return "expected all of head, relation and tail, or a task number alone, found some of them"
        if labels == (None, None, None):
            if row.task is None:
                return "expected a task number, or head, relation and tail, found neither"
            return f"expected a task of 1 to {n}, found {row.task}"
        found = " ".join(map(_quoted, map(str, labels)))
        if row.task is None or not 1 <= row.task <= n:
            number = "" if row.task is None else f" as task {row.task}"
            return f"expected a triple of the pool's {n}, found {found}{number}"
        own = self.campaign.pool.triples.take(np.array([row.task - 1]))
        texts = own.entities[own.head[0]], own.relations[own.relation[0]], own.entities[own.tail[0]]
        return f"expected task {row.task} to be {' '.join(map(repr, texts))}, found {found}"

    def _not_now(self, place: int) -> str:
        """What keeps a verdict from being recorded as things stand, or the empty string."""
        row, triple = self.rows[place], int(self.triple[place])
        campaign, person = self.campaign, str(row.person)
        if not self.is_active[person, row.role]:
            return f"expected an active {row.role}, found {person!r}, who has left"
        if row.role != ROLES[EXPERT] and self.is_automatic[triple]:
            rule = campaign.automatic.rules[campaign.automatic.rule[triple]]
            return f"expected a triple for people to judge, found one that a rule has judged N ({rule})"
        key = person, row.role, triple
        if key in self.said and not self.correct:
            what, before, now = next(
                (what, before, now)
                for what, before, now in zip(("verdict", "link", "note"), self.said[key], _words(row), strict=True)
                if before != now
            )
            return (
                f"expected what {person!r} has said before, {what} {_quoted(before)} of {self.when[key]}, "
                f"found {_quoted(now)}; give --correct if this is to take its place"
            )
        if row.role == ROLES[ANNOTATOR]:
            if self.assigned is not None and key not in self.said and (person, triple) not in self.assigned:
                return f"expected a task that is assigned to {person!r}, found another; give --unassigned to take it"
            if (person, ROLES[ADJUDICATOR], triple) in self.said:
                return f"expected an annotator who judges blind, found {person!r}, who has adjudicated this triple"
        if row.role == ROLES[ADJUDICATOR]:
            if (person, ROLES[ANNOTATOR], triple) in self.said:
                return f"expected an adjudicator who has not judged the triple, found {person!r}, its annotator"
            if self.state is not None and self.state[triple] not in _SETTLED_BY_ADJUDICATORS:
                return f"expected a triple in conflict or doubted, found one that is {STATES[self.state[triple]]}"
        return ""

    def judgements(self, time: str) -> Judgements:
        """What was accepted so far, in the order in which it came."""
        places = sorted(self.accepted)
        rows = [self.rows[place] for place in places]
        people, person = Vocabulary.encoding(labels_of([str(row.person) for row in rows]))
        return Judgements(
            np.array([self.accepted[place] for place in places], np.int32),
            person,
            np.array([ROLES.index(row.role) for row in rows], np.int8),
            np.array([VERDICTS.index(row.verdict) for row in rows], np.int8),
            labels_of([row.source for row in rows]),
            labels_of([row.note for row in rows]),
            labels_of([time] * len(rows)),
            people,
        )


def _words(row: Incoming) -> tuple[str, str, str]:
    """What a verdict says; when it was said does not matter."""
    return row.verdict, row.source, row.note


def _triples_of(campaign: Campaign, rows: Sequence[Incoming]) -> NDArray[np.intp]:
    """(n,) row in the pool's triples of each verdict; -1: none, or the labels are not those of the task."""
    pool, n = campaign.pool, len(campaign.pool)
    task = np.array([row.task if row.task is not None and 1 <= row.task <= n else 0 for row in rows], np.intp) - 1
    # half a surrogate pair is no label of any vocabulary
    labels = [[_encodable(getattr(row, name)) for row in rows] for name in ("head", "relation", "tail")]
    vocabularies = pool.triples.entities, pool.triples.relations, pool.triples.entities
    codes = [
        np.where([text is None for text in texts], -1, vocabulary.encode(labels_of([text or "" for text in texts])))
        for texts, vocabulary in zip(labels, vocabularies, strict=True)
    ]
    by_labels = pool.rows(*(code.astype(np.int32) for code in codes))
    says_labels = np.array([(row.head, row.relation, row.tail) != (None, None, None) for row in rows], np.bool_)
    says_task = np.array([row.task is not None for row in rows], np.bool_)
    is_right = (by_labels == task) | ~says_task
    return np.where(says_labels, np.where(is_right, by_labels, -1), task)


def _encodable(text: str | None) -> str | None:
    return None if text is None or _has_half_a_pair(text) else text


def _has_half_a_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def _wrong_texts(row: Incoming, wrong_link: Callable[[str], str]) -> str:
    for what, text, limit in (("link", row.source, LONGEST_SOURCE), ("note", row.note, LONGEST_NOTE)):
        if len(text) > limit:
            return f"expected a {what} of at most {limit:,} characters, found {len(text):,}: {_quoted(text)}"
        if _has_half_a_pair(text):
            return f"expected a {what} of Unicode text, found half a surrogate pair in {_quoted(text)}"
    if control := _CONTROL.search(row.note):
        return f"expected a note without control characters, found {control[0]!r} in {_quoted(row.note)}"
    if not row.source:
        return (
            "" if row.verdict == VERDICTS[UNSURE] else f"expected a link to the source of a {row.verdict}, found none"
        )
    return wrong_link(row.source)


def _way_in(own: Sequence[str]) -> str:
    """How the verdicts of somebody in another role are taken in."""
    if own == ["adjudicator"]:
        return "; kgtrec campaign adjudicate --import takes these in"
    return "; --role expert takes these in" if own == ["expert"] else ""


def _quoted(text: str) -> str:
    """A text as a message shows it: on one line, and shortened."""
    shortened = repr(text[:_SHOWN]) if len(text) <= _SHOWN else f"{repr(text[:_SHOWN])[:-1]}...'"
    return shortened.encode("utf-8", "backslashreplace").decode()


def _joined(first: Judgements, second: Judgements) -> Judgements:
    """The events of two files, one after the other."""
    people = first.annotators.extended(second.annotators.labels)
    return replace(
        first,
        triple=np.concatenate([first.triple, second.triple]),
        annotator=np.concatenate([first.annotator, people.encode(second.annotators.labels)[second.annotator]]),
        role=np.concatenate([first.role, second.role]),
        verdict=np.concatenate([first.verdict, second.verdict]),
        source=pa.concat_arrays([first.source, second.source]),
        note=pa.concat_arrays([first.note, second.note]),
        time=pa.concat_arrays([first.time, second.time]),
        annotators=people,
    )

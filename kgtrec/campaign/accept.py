"""Incoming verdicts, checked before they are recorded: nothing in a file is trusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.decide import states_of_triples
from kgtrec.campaign.verdict_rules import (
    Refusal,
    has_half_a_pair,
    is_time,
    quoted,
    roles_of,
    wrong_link,
    wrong_note,
    wrong_person,
    wrong_role,
    wrong_source,
    wrong_state,
    wrong_triple,
)
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, ROLES, VERDICTS, Incoming, Judgements
from kgtrec.data.triples import check_numbers
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, nearest


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
    """The events to record for some incoming verdicts."""

    judgements: Judgements  # new events, in the order of the input, but those of adjudicators last
    repeated: int = 0  # verdicts that equal a recorded one
    again: int = 0  # verdicts that equal an earlier one of the input
    corrections: int = 0  # how many of the events replace an earlier verdict
    refused: tuple[Refusal, ...] = ()  # in the order of the input; empty unless some may be left out

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
    places: NDArray[np.intp] | None = None,
) -> Accepted:
    """Check verdicts against the campaign as recorded so far, and make events of those that are new.

    Nothing is stored. :class:`kgtrec.campaign.OpenCampaign` reads the folder of a campaign, calls this function
    and appends, all under one lock, so that nothing changes between the check and the recording.

    A verdict is refused if

    - its row could not be read;
    - its person is not one of the campaign's people, does not have the role, or is not active in it;
    - its triple is not in the pool, does not match its task number, or is judged by a rule already (an expert may
      judge it, to check the rules);
    - the verdict is not exactly one of ``VERDICTS``;
    - it is Y or N without a link where the campaign requires one of its role, or its link breaks the rules of
      :func:`kgtrec.campaign.verdict_rules.wrong_link`;
    - link or note is longer than 2,048 or 10,000 characters or contains half a surrogate pair, or the note contains
      control characters other than tabs and line breaks;
    - it was not assigned to that annotator, in a campaign that has assignments;
    - the same person gave another verdict, link or note for the triple in the same role, unless these are what the
      incoming verdict replaces (:attr:`kgtrec.campaign.Incoming.before`);
    - it is one of several different ones in ``incoming`` of one person in one role on one triple: all of them are
      refused, since it is unknown which one is meant;
    - its person has judged the triple in another role: annotator, adjudicator and expert of a triple are three people;
    - an adjudicator judges a triple that is neither in conflict nor doubted, and that was not adjudicated before.

    A correction is recorded with a later time than what it replaces, by a second where the clock says the same or was
    set back: which of two verdicts is the later one can be seen by their times alone.

    A verdict that equals the last recorded one of its person in the role on the triple counts as repeated and changes
    nothing, also if the person has left since; a new one that occurs twice is recorded once. Annotators' and experts'
    verdicts in ``incoming`` are accepted and recorded before the adjudicators'. So an accepted input can be accepted
    again, and each of its rows then counts as repeated.

    Parameters
    ----------
    campaign : Campaign
    incoming : iterable of Incoming
    time : str
        Now, UTC, as 2026-11-21T20:00:00Z.
    correct : bool
        Whether a person may change an earlier verdict: by a new event, which replaces it.
    unassigned : bool
        Whether annotators may judge triples that they were not assigned.
    keep_going : bool
        Whether to accept the other verdicts if some are refused.
    places : (n,) int array, optional
        The result of :func:`places_of`, from those who have called it already.

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
    kgtrec.campaign.accept.RefusedError: ann.csv:2: expected a link to the source of a Y, found none
    """
    if not is_time(time):
        raise KgtrecError(f"expected a time in UTC such as 2026-11-21T20:00:00Z, got {time!r}")
    rows = list(incoming)
    triple = places_of(campaign, rows) if places is None else places
    desk = _Desk(campaign, rows, triple, time=time, correct=correct, unassigned=unassigned)
    desk.work()
    refused = tuple(Refusal(rows[place].place, desk.refused[place]) for place in sorted(desk.refused))
    if refused and not keep_going:
        raise RefusedError(refused)
    return Accepted(desk.judgements(), desk.repeated, desk.twice, desk.corrections, refused)


def places_of(campaign: Campaign, rows: Sequence[Incoming]) -> NDArray[np.intp]:
    """(n,) row in the pool's triples of what each verdict is about, -1 where it is none or not that of the number."""
    pool, n = campaign.pool, len(campaign.pool)
    task = np.array([row.task if row.task is not None and 1 <= row.task <= n else 0 for row in rows], np.intp) - 1
    # a label with half a surrogate pair is in no vocabulary
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
    doubtful = np.flatnonzero((by_labels >= 0) & ~is_right)
    if len(doubtful):  # a number as pages that are files have it
        checks = check_numbers(pool.triples.take(by_labels[doubtful]))
        is_right[doubtful] = checks == np.array([rows[place].task for place in doubtful.tolist()])
    return np.where(says_labels, np.where(is_right, by_labels, -1), task)


class _Desk:
    """Checks verdicts one by one, given the earlier ones on the same triples."""

    def __init__(
        self,
        campaign: Campaign,
        rows: Sequence[Incoming],
        triple: NDArray[np.intp],  # of each row, -1 where there is none
        *,
        time: str,
        correct: bool,
        unassigned: bool,
    ) -> None:
        self.campaign, self.rows, self.time, self.correct = campaign, rows, time, correct
        self.refused: dict[int, str] = {}  # index in rows -> reason
        self.repeated = self.twice = self.corrections = 0
        self.new: set[tuple[str, str, int]] = set()  # keys of the verdicts accepted here
        self.accepted: dict[int, tuple[int, str]] = {}  # index in rows -> row of the triple, time; in order
        self.roles = roles_of(campaign.people)
        is_readable = np.array([row.wrong == "" for row in rows], np.bool_)
        self.triple = np.where(is_readable, triple, -1)
        self.concerned = np.unique(self.triple[self.triple >= 0])
        self.wrong_link = cache(partial(wrong_link, hosts=campaign.sources))  # one page proves several verdicts
        self.state: dict[int, int] = {}
        self._remember()
        own = campaign.assignments
        self.only_assigned = len(own) > 0 and not unassigned
        theirs = own.about(self.concerned)
        names = own.annotators.decode(own.annotator[theirs]).to_pylist()
        self.assigned = set(zip(names, own.triple[theirs].tolist(), strict=True))
        self._find_contradictions()

    def work(self) -> None:
        """Take every row, those of adjudicators after the others."""
        adjudicates = np.array([row.role == ROLES[ADJUDICATOR] for row in self.rows], np.bool_)
        for place in np.flatnonzero(~adjudicates).tolist():
            self.take(place)
        if adjudicates.any():
            self.settle()
            for place in np.flatnonzero(adjudicates).tolist():
                self.take(place)

    def _remember(self) -> None:
        """Read the earlier verdicts on the triples of the rows."""
        said = self.campaign.judgements
        self.events = events = said.take(np.isin(said.triple, self.concerned))
        self.said: dict[tuple[str, str, int], tuple[str, str, str]] = {}
        self.when: dict[tuple[str, str, int], str] = {}
        self.last: dict[tuple[str, str, int], str] = {}  # when the last of those came of which only the last counts
        self.role: dict[tuple[str, int], str] = {}  # person and triple -> the role in which they judged it first
        names = events.annotators.decode(events.annotator).to_pylist()
        columns = events.triple.tolist(), events.role.tolist(), events.verdict.tolist()
        texts = events.source.to_pylist(), events.note.to_pylist(), events.time.to_pylist()
        for name, triple, role, verdict, source, note, time in zip(names, *columns, *texts, strict=True):
            key = name, ROLES[role], triple
            self.said[key], self.when[key] = (VERDICTS[verdict], source, note), time
            self.last[_rivals(*key)] = time
            self.role.setdefault((name, triple), ROLES[role])

    def _find_contradictions(self) -> None:
        """Find different verdicts among the rows of one person in one role on one triple."""
        self.first: dict[tuple[str | None, str, int], int] = {}
        self.again: dict[int, int] = {}  # index -> an earlier, different row of the same person, role and triple
        for place, row in enumerate(self.rows):
            if self.triple[place] < 0:
                continue
            earlier = self.first.setdefault((row.person, row.role, int(self.triple[place])), place)
            if _words(self.rows[earlier]) != _words(row):
                self.again[place] = earlier
                self.again.setdefault(earlier, place)

    def settle(self) -> None:
        """Find the triples that wait for an adjudicator, after the annotators' verdicts."""
        now = replace(self.campaign, judgements=self.events.joined(self.judgements()))
        found = states_of_triples(now, self.concerned)
        self.state = dict(zip(self.concerned.tolist(), found.tolist(), strict=True))

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
        links = self.campaign.links(row.role)
        words = wrong_source(row.verdict, row.source, self.wrong_link, links) or wrong_note(row.note)
        if wrong := words or self._not_now(place):
            self.refused[place] = wrong
            return
        self.corrections += key in self.said
        self.said[key] = _words(row)
        self.role.setdefault((key[0], triple), row.role)
        self.new.add(key)
        before = self.last.get(_rivals(*key), "")
        self.last[_rivals(*key)] = time = self.time if self.time > before else second_after(before)
        self.accepted[place] = triple, time

    def _wrong(self, place: int) -> str:
        """Why a verdict is invalid by itself, or the empty string."""
        row, triple = self.rows[place], int(self.triple[place])
        if row.wrong:
            return row.wrong
        if wrong := wrong_person(row.person, row.role, self.roles):
            return wrong
        if triple < 0:
            return self._no_triple(row)
        if row.verdict not in VERDICTS:
            return f"expected one of {', '.join(VERDICTS)}, found {quoted(row.verdict)}{nearest(row.verdict, VERDICTS)}"
        if place in self.again:
            other = self.rows[self.again[place]]
            return f"expected one verdict of {row.person!r} on this triple, found another one at {other.place}"
        return ""

    def _no_triple(self, row: Incoming) -> str:
        n = len(self.campaign.pool)
        labels = row.head, row.relation, row.tail
        if None in labels and labels != (None, None, None):
            return "expected all of head, relation and tail, or only a task number, found some of them"
        if labels == (None, None, None):
            if row.task is None:
                return "expected a task number, or head, relation and tail, found neither"
            return f"expected a task of 1 to {n}, found {row.task}"
        found = " ".join(map(quoted, map(str, labels)))
        if row.task is None or not 1 <= row.task <= n:
            number = "" if row.task is None else f" as task {row.task}"
            return f"expected a triple of the pool's {n}, found {found}{number}"
        texts = self.campaign.pool.triples.labels_at(row.task - 1)
        return f"expected task {row.task} to be {' '.join(map(repr, texts))}, found {found}"

    def _not_now(self, place: int) -> str:
        """Why a verdict cannot be recorded now, or the empty string."""
        row, triple = self.rows[place], int(self.triple[place])
        campaign, person = self.campaign, str(row.person)
        if not self.roles[person][row.role]:
            return f"expected an active {row.role}, found {person!r}, who has left"
        rule = campaign.automatic.rule[triple]
        if rule >= 0 and (wrong := wrong_triple(row.role, campaign.automatic.rules[rule])):
            return wrong
        key = person, row.role, triple
        if key in self.said and not self.correct and row.before != self.said[key]:
            what, before, now = next(
                (what, before, now)
                for what, before, now in zip(("verdict", "link", "note"), self.said[key], _words(row), strict=True)
                if before != now
            )
            return (
                f"expected the earlier verdict of {person!r}, {what} {quoted(before)} of {self.when[key]}, "
                f"found {quoted(now)}; give --correct to replace it"
            )
        if wrong := wrong_role(person, row.role, self.role.get((person, triple), row.role)):
            return wrong
        must_be_assigned = self.only_assigned and row.role == ROLES[ANNOTATOR] and key not in self.said
        if must_be_assigned and (person, triple) not in self.assigned:
            return f"expected a task that is assigned to {person!r}, found another; give --unassigned to accept it"
        return wrong_state(self.state[triple]) if row.role == ROLES[ADJUDICATOR] else ""

    def judgements(self) -> Judgements:
        """The events accepted so far, in the order of acceptance."""
        rows = [self.rows[place] for place in self.accepted]
        people, person = Vocabulary.encoding(labels_of([str(row.person) for row in rows]))
        return Judgements(
            np.array([triple for triple, _ in self.accepted.values()], np.int32),
            person,
            np.array([ROLES.index(row.role) for row in rows], np.int8),
            np.array([VERDICTS.index(row.verdict) for row in rows], np.int8),
            labels_of([row.source for row in rows]),
            labels_of([row.note for row in rows]),
            labels_of([time for _, time in self.accepted.values()]),
            people,
        )


def _rivals(person: str, role: str, triple: int) -> tuple[str, str, int]:
    """By which verdicts are known of which only the last one counts, see :meth:`Judgements.in_time`."""
    return (person if role == ROLES[ANNOTATOR] else ""), role, triple


def second_after(time: str) -> str:
    """The time of an event that takes the place of one of this time, whatever the clock says."""
    with suppress(ValueError, OverflowError):  # a time of a file may be no time of a clock
        return (datetime.fromisoformat(time).replace(tzinfo=None) + timedelta(seconds=1)).isoformat() + "Z"
    return time


def _words(row: Incoming) -> tuple[str, str, str]:
    """The contents of a verdict, without its time."""
    return row.verdict, row.source, row.note


def _encodable(text: str | None) -> str | None:
    return None if text is None or has_half_a_pair(text) else text

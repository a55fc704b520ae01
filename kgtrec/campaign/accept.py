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
    triples: NDArray[np.intp] | None = None,
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
        As recorded so far.
    incoming : iterable of Incoming
        The verdicts to check, in the order in which they were given.
    time : str
        Now, UTC, as 2026-11-21T20:00:00Z.
    correct : bool
        Whether a person may change an earlier verdict: by a new event, which replaces it.
    unassigned : bool
        Whether annotators may judge triples that they were not assigned.
    keep_going : bool
        Whether to accept the other verdicts if some are refused.
    triples : (n,) int array, optional
        The result of :func:`triples_about`, from those who have called it already.

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
    triple = triples_about(campaign, rows) if triples is None else triples
    checker = _VerdictChecker(campaign, rows, triple, time=time, correct=correct, unassigned=unassigned)
    checker.check_all()
    refused = tuple(Refusal(rows[row].place, checker.refused[row]) for row in sorted(checker.refused))
    if refused and not keep_going:
        raise RefusedError(refused)
    return Accepted(checker.judgements(), checker.repeated, checker.again, checker.corrections, refused)


def triples_about(campaign: Campaign, rows: Sequence[Incoming]) -> NDArray[np.intp]:
    """Find the pool's triple that each verdict is about, (n,) rows; -1 where it is none or not that of the number."""
    pool, n = campaign.pool, len(campaign.pool)
    task = np.array([row.task if row.task is not None and 1 <= row.task <= n else 0 for row in rows], np.intp) - 1
    texts = ([getattr(row, name) or "" for row in rows] for name in ("head", "relation", "tail"))
    head, relation, tail = (labels_of(["" if has_half_a_pair(text) else text for text in column]) for column in texts)
    entities, relations = pool.triples.entities, pool.triples.relations  # "" is no label
    by_labels = pool.rows(entities.encode(head), relations.encode(relation), entities.encode(tail))
    says_labels = np.array([(row.head, row.relation, row.tail) != (None, None, None) for row in rows], np.bool_)
    says_task = np.array([row.task is not None for row in rows], np.bool_)
    is_right = (by_labels == task) | ~says_task
    doubtful = np.flatnonzero((by_labels >= 0) & ~is_right)
    if len(doubtful):  # a number as pages that are files have it
        checks = check_numbers(pool.triples.take(by_labels[doubtful]))
        is_right[doubtful] = checks == np.array([rows[row].task for row in doubtful.tolist()])
    return np.where(says_labels, np.where(is_right, by_labels, -1), task)


_Key = tuple[str, str, int]  # person, role, row of the triple
_Words = tuple[str, str, str]  # verdict, source and note


class _VerdictChecker:
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
        self.repeated = self.again = self.corrections = 0
        self.new: set[_Key] = set()  # of the verdicts accepted here
        self.accepted: dict[int, str] = {}  # index in rows -> time; in order
        self.roles = roles_of(campaign.people)
        self.triple = [-1 if row.wrong else int(one) for row, one in zip(rows, triple, strict=True)]
        self.concerned = np.unique(np.array([one for one in self.triple if one >= 0], np.intp))
        self.wrong_link = cache(partial(wrong_link, hosts=campaign.sources))  # one page proves several verdicts
        self.state: dict[int, int] = {}
        self.events = events = campaign.judgements.take(np.isin(campaign.judgements.triple, self.concerned))
        self.recorded: dict[_Key, tuple[_Words, str]] = {}  # the last one of each person, and its time
        self.last: dict[_Key, str] = {}  # when the last of those came of which only the last counts
        self.role: dict[tuple[str, int], str] = {}  # person and triple -> the role in which they judged it first
        columns = (events.role, events.triple, events.verdict, events.source, events.note, events.time)
        names = events.decoded("annotator").to_pylist()
        for name, role, one, verdict, source, note, when in zip(names, *(c.tolist() for c in columns), strict=True):
            key = name, ROLES[role], one
            self.recorded[key] = (VERDICTS[verdict], source, note), when
            self.last[_rivals(*key)] = when
            self.role.setdefault((name, one), ROLES[role])
        own = campaign.assignments
        self.only_assigned = len(own) > 0 and not unassigned
        own = own.take(own.about(self.concerned))
        self.assigned = set(zip(own.decoded("annotator").to_pylist(), own.triple.tolist(), strict=True))
        self.other: dict[int, int] = {}  # index -> an earlier, different row of the same person, role and triple
        first: dict[tuple[str | None, str, int], int] = {}
        for index, row in enumerate(rows):
            earlier = first.setdefault((row.person, row.role, self.triple[index]), index)
            if _words(rows[earlier]) != _words(row):
                self.other[index] = earlier
                self.other.setdefault(earlier, index)

    def check_all(self) -> None:
        """Take every row, those of adjudicators after the others."""
        last = [index for index, row in enumerate(self.rows) if row.role == ROLES[ADJUDICATOR]]
        for index in sorted(set(range(len(self.rows))).difference(last)):
            self.check(index)
        if last:  # by the states after the annotators' verdicts
            now = replace(self.campaign, judgements=self.events.joined(self.judgements()))
            states = states_of_triples(now, self.concerned)
            self.state = dict(zip(self.concerned.tolist(), states.tolist(), strict=True))
        for index in last:
            self.check(index)

    def check(self, index: int) -> None:
        """Accept a verdict, or refuse it."""
        row, triple = self.rows[index], self.triple[index]
        key, words = (str(row.person), row.role, triple), _words(row)
        wrong = self._wrong_by_itself(index)
        if not wrong and key in self.recorded and self.recorded[key][0] == words:
            self.again += key in self.new
            self.repeated += key not in self.new
            return
        wrong = (
            wrong
            or wrong_source(row.verdict, row.source, self.wrong_link, self.campaign.links(row.role))
            or wrong_note(row.note)
            or self._wrong_now(index)
        )
        if wrong:
            self.refused[index] = wrong
            return
        before = self.last.get(_rivals(*key), "")
        time = self.time if self.time > before else second_after(before)
        self.corrections += key in self.recorded
        self.recorded[key] = words, time
        self.last[_rivals(*key)] = self.accepted[index] = time
        self.role.setdefault((key[0], triple), row.role)
        self.new.add(key)

    def _wrong_by_itself(self, index: int) -> str:
        """Why a verdict is invalid whatever was recorded, or the empty string."""
        row = self.rows[index]
        if wrong := row.wrong or wrong_person(row.person, row.role, self.roles):
            return wrong
        if self.triple[index] < 0:
            return self._no_triple(row)
        if row.verdict not in VERDICTS:
            return f"expected one of {', '.join(VERDICTS)}, found {quoted(row.verdict)}{nearest(row.verdict, VERDICTS)}"
        if index in self.other:
            other = self.rows[self.other[index]]
            return f"expected one verdict of {row.person!r} on this triple, found another one at {other.place}"
        return ""

    def _no_triple(self, row: Incoming) -> str:
        n = len(self.campaign.pool)
        labels = row.head, row.relation, row.tail
        if labels == (None, None, None):
            if row.task is None:
                return "expected a task number, or head, relation and tail, found neither"
            return f"expected a task of 1 to {n}, found {row.task}"
        if None in labels:
            return "expected all of head, relation and tail, or only a task number, found some of them"
        found = " ".join(map(quoted, map(str, labels)))
        if row.task is None or not 1 <= row.task <= n:
            number = "" if row.task is None else f" as task {row.task}"
            return f"expected a triple of the pool's {n}, found {found}{number}"
        texts = self.campaign.pool.triples.labels_at(row.task - 1)
        return f"expected task {row.task} to be {' '.join(map(repr, texts))}, found {found}"

    def _wrong_now(self, index: int) -> str:
        """Why a verdict cannot be recorded now, or the empty string."""
        row, triple = self.rows[index], self.triple[index]
        automatic, person = self.campaign.automatic, str(row.person)
        if not self.roles[person][row.role]:
            return f"expected an active {row.role}, found {person!r}, who has left"
        if wrong := wrong_triple(row.role, automatic, triple):
            return wrong
        key = person, row.role, triple
        if key in self.recorded and not self.correct and row.before != self.recorded[key][0]:
            words, when = self.recorded[key]
            what, before, now = next(
                change
                for change in zip(("verdict", "link", "note"), words, _words(row), strict=True)
                if change[1] != change[2]
            )
            return (
                f"expected the earlier verdict of {person!r}, {what} {quoted(before)} of {when}, "
                f"found {quoted(now)}; give --correct to replace it"
            )
        if wrong := wrong_role(person, row.role, self.role.get((person, triple), row.role)):
            return wrong
        must_be_assigned = self.only_assigned and row.role == ROLES[ANNOTATOR] and key not in self.recorded
        if must_be_assigned and (person, triple) not in self.assigned:
            return f"expected a task that is assigned to {person!r}, found another; give --unassigned to accept it"
        return wrong_state(self.state[triple]) if row.role == ROLES[ADJUDICATOR] else ""

    def judgements(self) -> Judgements:
        """The events accepted so far, in the order of acceptance."""
        rows = [self.rows[index] for index in self.accepted]
        people, person = Vocabulary.encoding(labels_of([str(row.person) for row in rows]))
        return Judgements(
            np.array([self.triple[index] for index in self.accepted], np.int32),
            person,
            np.array([ROLES.index(row.role) for row in rows], np.int8),
            np.array([VERDICTS.index(row.verdict) for row in rows], np.int8),
            labels_of([row.source for row in rows]),
            labels_of([row.note for row in rows]),
            labels_of(list(self.accepted.values())),
            people,
        )


def _rivals(person: str, role: str, triple: int) -> _Key:
    """By which verdicts are known of which only the last one counts, see :meth:`Judgements.in_time`."""
    return (person if role == ROLES[ANNOTATOR] else ""), role, triple


def second_after(time: str) -> str:
    """Give the time of an event that takes the place of one of this time, whatever the clock says."""
    with suppress(ValueError, OverflowError):  # a time of a file may be no time of a clock
        return (datetime.fromisoformat(time).replace(tzinfo=None) + timedelta(seconds=1)).isoformat() + "Z"
    return time


def _words(row: Incoming) -> _Words:
    """The contents of a verdict, without its time."""
    return row.verdict, row.source, row.note

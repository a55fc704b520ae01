"""A campaign held open for the threads of a server: each looks at it as it is now, and stores through its rules."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.accept import second_after
from kgtrec.campaign.adjudicate import Sides, queue_of, sides_of
from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import judged_in_another_role
from kgtrec.campaign.store import OpenCampaign
from kgtrec.campaign.training import training_rows
from kgtrec.campaign.verdict_rules import Refusal, roles_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ADJUDICATOR, EXPERT, ROLES, VERDICTS, Gold, Incoming, Judgements
from kgtrec.data.questions import question_keys
from kgtrec.data.triples import Triples, triple_keys
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample
from kgtrec.formats.campaign.folder import read_text
from kgtrec.formats.campaign.sent_back import SentBack, append_sent_back, read_sent_back
from kgtrec.formats.files import FileState, PathLike
from kgtrec.formats.output.folders import EXPERT_SAMPLE, GUIDELINES, SENT_BACK
from kgtrec.formats.output.locks import campaign_lock

_T = TypeVar("_T")
_SPARE = np.uint64(11)  # bits of a hash that a script's numbers have no room for


@dataclass(frozen=True, slots=True)
class Statement:
    """A verdict as one person gave it."""

    verdict: str  # one of VERDICTS
    source: str
    note: str
    time: str = ""  # when, as judgements hold it

    @property
    def said(self) -> tuple[str, str, str]:
        """What it says; when it was said does not matter."""
        return self.verdict, self.source, self.note

    @property
    def digest(self) -> str:
        """Identifies in a form the statement that it showed."""
        return hashlib.sha256(json.dumps(self.said).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class TaskRows:
    """What is one person's to judge, question by question."""

    row: NDArray[np.int32]  # (m,) row in the pool's triples
    question: NDArray[np.int32]  # (m,) on whose page it is, row in the pool's questions

    @cached_property
    def questions(self) -> NDArray[np.int32]:
        """Each question once, in the order in which they come."""
        found, first = np.unique(self.question, return_index=True)
        return found[np.argsort(first)]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What pages need of a pool and its assignments, worked out once.

    A page names triples and questions by hashes of their labels, which show no place in the pool.
    """

    of: Campaign  # its pool, automatic triples, assignments and gold
    group: NDArray[np.int32]  # (n,) per triple of the pool the question with whose triples it is judged
    task: NDArray[np.int64]  # (n,) number of each triple
    question: NDArray[np.int64]  # (q,) number of each question
    by_task: NDArray[np.intp]  # (n,) rows of the triples in the order of their numbers
    assigned: Mapping[str, TaskRows]  # person -> what they judge as an annotator, in their order
    training: Mapping[int, tuple[int, str]]  # number of each triple of the training round -> row in gold, and verdict

    @classmethod
    def of_campaign(cls, campaign: Campaign) -> Numbers:
        """Compute the numbers of a campaign's pool."""
        pool, own = campaign.pool, campaign.assignments
        group = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)
        task, asked = page_numbers(pool.triples), pool.questions
        for_people = campaign.automatic.for_people[own.triple]
        person, row = own.annotator[for_people], own.triple[for_people]
        order = np.argsort(person, kind="stable")
        codes, start = np.unique(person[order], return_index=True)
        names = own.annotators.decode(codes).to_pylist()
        parts = np.split(row[order], start[1:])
        gold, trained = campaign.gold, training_rows(campaign)
        numbers = page_numbers(gold.triples.take(trained)).tolist()
        answers = [(int(row), VERDICTS[gold.verdict[row]]) for row in trained]
        return cls(
            campaign,
            group,
            task,
            (question_keys(asked) >> _SPARE).astype(np.int64),
            np.argsort(task),
            {name: TaskRows(rows, group[rows]) for name, rows in zip(names, parts, strict=bool(names))},
            dict(zip(numbers, answers, strict=True)),
        )

    def is_for(self, campaign: Campaign) -> bool:
        """Say whether a campaign has the same pool, groups, assignments, gold and training round."""
        own = self.of
        return all(
            getattr(own, name) is getattr(campaign, name) for name in ("pool", "automatic", "assignments", "gold")
        ) and all(getattr(own, name) == getattr(campaign, name) for name in ("training", "assignment_seed"))

    def tasks_of(self, rows: NDArray[np.int32]) -> TaskRows:
        """Give the questions of some triples, for somebody who judges whole groups."""
        return TaskRows(rows, self.group[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What one person may know of a campaign, as it is now: all but what others have said."""

    person: str
    campaign: Campaign  # its judgements are those of the person alone; without gold, which numbers have
    numbers: Numbers
    edition: str  # of the pool, in which forms are filled in
    sent_back: Mapping[tuple[str, int], SentBack]  # role, row of a triple -> why a manager has sent it back; it waits

    @property
    def judgements(self) -> Judgements:
        """What the person has said."""
        return self.campaign.judgements

    @property
    def roles(self) -> frozenset[str]:
        """Those in which the person is active."""
        own = roles_of(self.campaign.people).get(self.person, {})
        return frozenset(role for role, is_active in own.items() if is_active)

    def row_of(self, task: int) -> int | None:
        """Find the row in the pool's triples of a task; None where there is none of that number."""
        own = self.numbers
        place = int(np.searchsorted(own.task, task, sorter=own.by_task))
        row = int(own.by_task[place]) if place < len(own.by_task) else -1
        return row if row >= 0 and own.task[row] == task else None

    def said(self, role: str, rows: NDArray[np.integer] | Sequence[int]) -> dict[int, list[Statement]]:
        """Map the row of each triple to what the person has said of it in a role, oldest first."""
        events = self.judgements
        events = events.take((events.role == ROLES.index(role)) & np.isin(events.triple, rows))
        found: dict[int, list[Statement]] = {}
        texts = (events.source.to_pylist(), events.note.to_pylist(), events.time.to_pylist())
        for triple, verdict, *rest in zip(events.triple.tolist(), events.verdict.tolist(), *texts, strict=True):
            found.setdefault(triple, []).append(Statement(VERDICTS[verdict], *rest))
        return found


class _Order(NamedTuple):
    """Verdicts that a thread waits for, until they are stored or refused."""

    rows: Sequence[Incoming]
    refused: Future[tuple[Refusal, ...]]


class CampaignService:
    """The folder of a campaign, open for several threads, of which one at a time uses it.

    What other programs change in the folder is seen at the next look.

    Parameters
    ----------
    folder : path

    Raises
    ------
    FormatError
        If it is not the folder of a campaign, or nobody can judge in it yet.

    Examples
    --------
    Store a verdict, and look at what its person has said::

        service = CampaignService("campaign")
        service.store([Incoming("page", "ann", "Y", 17, source="https://en.wikipedia.org/wiki/Paris")])
        service.look("ann").said("annotator", [16])
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self._opened = OpenCampaign(folder)
        self._lock = threading.RLock()
        self._queue = threading.Lock()
        self._waiting: list[_Order] = []  # in the order in which they came
        self._files: dict[str, tuple[FileState | None, object, Any]] = {}
        self._numbers = Numbers.of_campaign(self._opened.campaign_of(""))

    def look(self, person: str) -> Look:
        """Give what somebody may know of the campaign as it is now.

        Raises
        ------
        FormatError
            If somebody has left the folder in a state that cannot be read.
        """
        with self._lock:
            campaign = self._opened.campaign_of(person)
            if not self._numbers.is_for(campaign):
                self._numbers = Numbers.of_campaign(campaign)
            known = Look(person, replace(campaign, gold=Gold.none()), self._numbers, edition_of(campaign), {})
            own = self._all_sent_back().get(person)
            return replace(known, sent_back=_waiting(known, own)) if own else known

    def _all_sent_back(self) -> dict[str, list[SentBack]]:
        """Person -> the last line about each of their verdicts that was sent back."""

        def read() -> dict[str, list[SentBack]]:
            found: dict[str, list[SentBack]] = {}
            for line in read_sent_back(self.folder).values():
                found.setdefault(line.person, []).append(line)
            return found

        return self._last_read(SENT_BACK, read)

    def _last_read(self, name: str, read: Callable[[], _T], of: object = None) -> _T:
        """What was read of a file of the folder, for some other thing; read again if either is another one now."""
        state = FileState.of(self.folder / name)
        known = self._files.get(name)
        if known is None or known[0] != state or known[1] is not of or not (state is None or state.is_old):
            known = self._files[name] = state, of, read()
        return known[2]

    def waiting(self) -> dict[tuple[str, str, int], SentBack]:
        """Map person, role and row of a triple to what was sent back to them and waits: for managers.

        Raises
        ------
        FormatError
            As :meth:`look`.
        """
        with self._lock:
            looks = map(self.look, self._all_sent_back())
            return {(own.person, *key): line for own in looks for key, line in own.sent_back.items()}

    def send_back(self, by: str, person: str, role: str, task: int, digest: str, remark: str) -> None:
        """Ask somebody to judge a triple again, with a remark; on the disk when this returns.

        Parameters
        ----------
        by : str
            A manager; or the person themselves, whose verdict stands.
        person, role : str
        task : int
            Number on the page.
        digest : str
            Of the verdict that is sent back.
        remark : str

        Raises
        ------
        KgtrecError
            If the person is not active in the role, or has not said that of the triple last; nothing is stored then.
        OSError
            If the disk is full or fails; nothing is stored then.
        """
        with self._lock, campaign_lock(self.folder):
            known = self.look(person)
            if role not in known.roles:
                raise KgtrecError(f"expected an active {role}, found {person!r}")
            row = known.row_of(task)
            said = [] if row is None else known.said(role, [row]).get(row, [])
            if row is None or not said or said[-1].digest != digest:
                raise KgtrecError(f"{person} has said something else meanwhile; look at it again")
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            line = SentBack(now, by, person, role, *known.campaign.pool.triples.labels_at(row), len(said), remark)
            before = read_sent_back(self.folder).get(line.about)
            if before is not None and before.time >= now:  # by a clock that was set back since
                line = line._replace(time=second_after(before.time))
            append_sent_back(self.folder, line)

    @property
    def broken(self) -> list[str]:
        """Lines of templates.tsv that cannot be read now: of their relations people are asked in general words."""
        with self._lock:
            return [str(error).removeprefix(f"{self.folder}{os.sep}") for error in self._opened.broken]

    def campaign(self) -> Campaign:
        """Give all that the folder holds now: for those who may see everybody's verdicts.

        Raises
        ------
        FormatError
            As :meth:`look`.
        """
        with self._lock:
            return self._opened.campaign

    def conflicts(self, look: Look) -> NDArray[np.int32]:
        """Find the triples that wait for an adjudicator, or that the person has decided, (m,) rows of the pool's.

        The first are those of :func:`kgtrec.campaign.adjudicate.queue_of`. Both are of one moment: what is decided
        after the look stays among them.

        Raises
        ------
        KgtrecError
            If the person is no adjudicator, or the pool is not that of the look any more.
        FormatError
            As :meth:`look`.
        """
        with self._lock:
            if ROLES[ADJUDICATOR] not in look.roles:
                raise KgtrecError(f"expected an active adjudicator, found {look.person!r}")
            now = self._opened.campaign_of(look.person)
            if edition_of(now) != look.edition:  # rows would mean other triples
                raise KgtrecError(f"{self.folder}: the pool was replaced meanwhile; try again")
            queue = queue_of(look.campaign, look.person, state=self._opened.states())
            return np.union1d(queue, now.judgements.triple[now.judgements.role == ADJUDICATOR]).astype(np.int32)

    def sides(self, look: Look, rows: NDArray[np.integer]) -> Sides:
        """Give what annotators have said of triples that an adjudicator may see, without names: no others are taken.

        These are the ones of :meth:`conflicts`.

        Raises
        ------
        KgtrecError
            As :meth:`conflicts`.
        FormatError
            As :meth:`look`.
        """
        with self._lock:
            if not np.isin(rows, self.conflicts(look)).all():
                raise KgtrecError(f"{look.person!r} may not see what others have said of some of these triples")
            return sides_of(self._opened.campaign_about(rows), rows)

    def sample(self, look: Look) -> NDArray[np.int32]:
        """Find the triples that an expert should judge again, (m,) rows of the pool's; none if no sample was drawn.

        Those of expert_sample.tsv, without their labels, and without what the person has judged in another role.

        Raises
        ------
        FormatError
            If the file is malformed, or of another pool.
        """
        pool = look.campaign.pool

        def read() -> NDArray[np.int32]:
            return read_expert_sample(self.folder, pool).triple if is_drawn(self.folder) else np.zeros(0, np.int32)

        with self._lock:
            rows = self._last_read(EXPERT_SAMPLE, read, pool)
        return rows[~judged_in_another_role(look.campaign.judgements, look.person, rows, role=EXPERT)]

    @contextmanager
    def changing(self) -> Iterator[Campaign]:
        """Give all that the folder holds, which nobody else changes until the block ends; nobody is served meanwhile.

        Raises
        ------
        FormatError
            As :meth:`look`.
        """
        with self._lock, campaign_lock(self.folder):
            yield self._opened.campaign

    def store(self, rows: Sequence[Incoming]) -> tuple[Refusal, ...]:
        """Store those verdicts that the rules let in; they are on the disk when this returns.

        What several threads ask for while the disk is busy is stored together by the next write.

        Returns
        -------
        tuple of Refusal
            Those that were not let in, in their order.

        Raises
        ------
        OSError
            If the disk is full or fails; nothing is stored then.
        FormatError
            As :meth:`look`.
        """
        order = _Order(rows, Future())
        with self._queue:
            self._waiting.append(order)
        while not order.refused.done():
            with self._lock:  # whoever has it stores for all who wait, perhaps also for this thread
                if not order.refused.done():
                    self._store(self._next_batch())
        return order.refused.result()

    def _next_batch(self) -> list[_Order]:
        """Those who wait longest, each person once: what one person says twice depends on the order."""
        batch, others = list[_Order](), list[_Order]()
        people: set[str | None] = set()
        with self._queue:
            for order in self._waiting:
                own = {row.person for row in order.rows}
                (batch if people.isdisjoint(own) else others).append(order)
                people |= own
            self._waiting = others
        return batch

    def _store(self, batch: Sequence[_Order]) -> None:
        rows = [replace(row, place=f"{nth}: {row.place}") for nth, order in enumerate(batch) for row in order.rows]
        try:
            found: list[list[Refusal]] = [[] for _ in batch]
            for one in self._opened.store(rows, keep_going=True).refused:
                nth, _, place = one.place.partition(": ")
                found[int(nth)].append(replace(one, place=place))
            for order, refused in zip(batch, found, strict=True):
                order.refused.set_result(tuple(refused))
        except BaseException as error:
            for order in batch:
                order.refused.set_exception(error)

    def guidelines(self) -> str:
        """Read the guidelines as they are now, Markdown; empty where there are none."""
        path = self.folder / GUIDELINES

        def read() -> str:
            with suppress(FormatError):
                return read_text(path) if path.exists() else ""
            return ""

        with self._lock:
            return self._last_read(GUIDELINES, read)


def _waiting(known: Look, lines: Sequence[SentBack]) -> dict[tuple[str, int], SentBack]:
    """Those of a person's lines after which the person has not said anything yet, by role and row of the triple."""
    tasks = page_numbers(Triples.of([line.about[2:] for line in lines])).tolist()
    found: dict[tuple[str, int], SentBack] = {}
    for line, task in zip(lines, tasks, strict=True):
        row = known.row_of(task)
        if row is not None and line.by != line.person:
            n_events = np.count_nonzero(
                (known.judgements.triple == row) & (known.judgements.role == ROLES.index(line.role))
            )
            if n_events <= line.events:
                found[line.role, row] = line
    return found


def page_numbers(triples: Triples) -> NDArray[np.int64]:
    """Compute the numbers by which pages name triples, (n,) hashes of their labels."""
    return (triple_keys(triples) >> _SPARE).astype(np.int64)


def edition_of(campaign: Campaign) -> str:
    """Identify the pool of a campaign by a text that changes with it, and with nothing else."""
    files = json.dumps(campaign.settings.get("files"), sort_keys=True)
    return hashlib.sha256(files.encode()).hexdigest()[:16]

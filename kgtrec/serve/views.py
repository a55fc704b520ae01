"""What a person is shown: pure functions from what they may know of a campaign to what a template shows.

They get a :class:`kgtrec.serve.service.Look`, in which no other person's verdict is, and take from its pool the triples
alone: no run, no rank and no probability. What others have said comes to an adjudicator's page alone, without names and
times, by :meth:`kgtrec.serve.service.CampaignService.sides`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from string import ascii_uppercase
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.adjudicate import Sides
from kgtrec.campaign.assign import own_order
from kgtrec.campaign.tasks import phrase_triples, search_text
from kgtrec.campaign.wording import draft_template, readable
from kgtrec.data.arrow import arrow_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import REQUIRED, Campaign
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES, VERDICTS
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.serve.rendering import visible
from kgtrec.serve.service import CampaignService, Look, Statement, TaskRows

BLANK = "\N{HORIZONTAL ELLIPSIS}"  # what a question shows in the place of its candidates
PAGE = 50  # verdicts that a list shows at once
_WIKIS = ("wikipedia.org", "wikidata.org", "wiktionary.org", "wikisource.org", "wikivoyage.org", "wikimedia.org")
_ENTRANCES = {"wikipedia.org": "en.wikipedia.org", "wikidata.org": "www.wikidata.org"}
_MOST_SEARCHES = 12
_TURNS = re.compile(
    "[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_SAID = re.compile(r"'[^']*'|\b[YN]\b")
_PAUSE = 600  # seconds without a verdict, after which somebody has had a break
_STRETCH = 3600  # seconds of work, after which a break is suggested
_RECENT = 50  # verdicts from which the pace is computed


@dataclass(frozen=True, slots=True)
class RolePages:
    """What the pages of a role in which people judge are called."""

    path: str  # of the next question; questions, the list of verdicts and view times are below it
    start: str  # what the link there is called
    verdicts: str  # what the list of one's own verdicts is called
    answers: Mapping[str, str]  # VERDICTS as people read them, in the order of the page
    done: str  # what is said when nothing is left
    nothing: str  # and when there was nothing
    later: str  # what then may come
    gone: str  # what is said of a task that is not the person's, or not any more
    lead: str = ""  # what a question begins with
    links: str = REQUIRED  # the campaign's rule for links, one of LINKS


_ANSWERS = {"Y": "Yes", "N": "No", "unsure": "Unsure"}
#: role -> its pages
ROLE_PAGES = {
    ROLES[ANNOTATOR]: RolePages(
        path="/question",
        start="Judge",
        verdicts="My verdicts",
        answers=_ANSWERS,
        done="All your tasks are done. Thank you!",
        nothing="There is nothing for you to judge yet",
        later="Come back when the manager of the campaign asks you to.",
        gone="This is not one of your tasks, or not any more.",
    ),
    ROLES[ADJUDICATOR]: RolePages(
        path="/conflict",
        start="Decide",
        verdicts="My decisions",
        answers=_ANSWERS | {"unsure": "Undecidable"},
        done="Nothing is left to decide. Thank you!",
        nothing="There is nothing to decide yet",
        later="What annotators disagree on, or one of them is unsure of, comes here while they go on.",
        gone="There is nothing to decide here any more: the annotators have come to agree, or somebody else has "
        "decided.",
        lead="Annotators disagree here, or one of them is unsure. Which of them is A is drawn anew for each candidate.",
    ),
    ROLES[EXPERT]: RolePages(
        path="/sample",
        start="Judge the sample",
        verdicts="My verdicts on the sample",
        answers=_ANSWERS,
        done="You have judged the whole sample. Thank you!",
        nothing="There is no sample for you to judge yet",
        later="Come back when the manager of the campaign asks you to.",
        gone="This is not in your sample, or not any more.",
    ),
}


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing as a page shows it."""

    name: str
    label: str  # empty where it is the name
    text: str = ""  # what it is, where the campaign has a description


@dataclass(frozen=True, slots=True)
class Side:
    """What one annotator has said of a triple, as an adjudicator sees it: without a name and a time."""

    letter: str  # A, B, ...
    answer: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A triple to be judged."""

    task: int  # number on the page, see kgtrec.serve.service.Numbers
    question: str
    head: Entity
    relation: str
    tail: Entity
    last: Statement | None = None  # the person's own last words on it
    can_undo: bool = False  # whether these took the place of earlier ones
    sides: tuple[Side, ...] = ()  # for an adjudicator
    remark: str = ""  # with which a manager has sent the last words back; they wait for others

    @property
    def digest(self) -> str:
        """Of what is shown as the last words."""
        return "" if self.last is None else self.last.digest


@dataclass(frozen=True, slots=True)
class Search:
    """A ready-made search in a source."""

    host: str
    url: str


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A question with all its candidates that are one person's."""

    number: int  # likewise
    title: str
    candidates: tuple[Candidate, ...]
    known: tuple[Entity, ...]  # answers known before anybody was asked
    searches: tuple[Search, ...]
    link: str  # stands for the candidates without a link of their own, until another one is given
    links: tuple[str, ...]  # to choose from: what the person has given for the question, the latest first, and sides
    previous: int | None  # number of the question before
    next: int | None  # number of the next question that has something to do, another one


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is."""

    done: int
    left: int
    minutes_left: int | None  # at the pace of the last verdicts; None: too few
    needs_break: bool  # an hour has gone without a pause

    @property
    def pace(self) -> str:
        """What follows the number of tasks that are left, on the page.

        Examples
        --------
        >>> Progress(3, 90, 125, False).pace, Progress(3, 20, 25, False).pace, Progress(0, 90, None, False).pace
        (', about 2 h 5 min at your pace', ', about 25 min at your pace', '')
        """
        if self.minutes_left is None or not self.left:
            return ""
        hours, minutes = divmod(self.minutes_left, 60)
        return f", about {f'{hours} h ' if hours else ''}{minutes} min at your pace"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One of a person's verdicts, in the list of all of them."""

    task: int
    question: str
    number: int  # of the question's page
    statement: Statement
    remark: str = ""  # with which it was sent back, if it waits


class Work:
    """What one person has to do in one role, question by question, in an order that shows nothing of the pool.

    Questions come in the order of the person's tasks; the candidates of each in the person's own, by
    :func:`kgtrec.campaign.assign.own_order`. What the person has judged besides comes after the rest.

    Parameters
    ----------
    look : Look
    role : str
        One of ``ROLE_PAGES``.
    assigned : TaskRows
        What the person has to judge.
    sides : callable, optional
        What is said of some of them, for an adjudicator. Default: what others have said is not shown.
    """

    def __init__(
        self,
        look: Look,
        role: str,
        assigned: TaskRows,
        sides: Callable[[NDArray[np.int32]], list[tuple[Side, ...]]] | None = None,
    ) -> None:
        self.look, self.role, self._sides = look, role, sides
        self.pages = replace(ROLE_PAGES[role], links=look.campaign.links(role))
        events = look.judgements
        judged = events.triple[events.role == ROLES.index(role)]
        others = np.unique(judged[~np.isin(judged, assigned.row, kind="table")])
        if role != ROLES[EXPERT]:
            others = others[~look.campaign.automatic.is_automatic[others]]
        tasks = assigned.followed_by(others, look.numbers.group[others])
        self.rows, self._question, self.questions = tasks.row, tasks.question, tasks.questions
        self._remarks = {row: line.remark for (of, row), line in look.sent_back.items() if of == role}
        self.is_judged = np.isin(self.rows, judged, kind="table") & ~np.isin(self.rows, list(self._remarks))
        self.task_numbers = look.numbers.task[self.rows]
        self.numbers = look.numbers.question[self.questions]

    @property
    def n_open(self) -> int:
        """How many tasks have no verdict, or one that was sent back."""
        return int((~self.is_judged).sum())

    def has_task(self, task: int) -> bool:
        """Say whether a task is one of the person's."""
        return bool(np.isin(task, self.task_numbers))

    def tasks(self, number: int) -> list[int]:
        """List the tasks on a question's page, in any order; none where it is not the person's."""
        return list(map(int, self.task_numbers[self._is_of(number)]))

    def _is_of(self, number: int) -> NDArray[np.bool_]:
        """(n,) which of the person's triples are on a question's page."""
        return np.isin(self._question, self.questions[self.numbers == number])

    def next_question(self, after: int | None = None) -> int | None:
        """Find the first question with an open task, from the one after ``after`` on (not chosen)."""
        is_open = np.isin(self.questions, self._question[~self.is_judged])
        order = np.arange(len(self.questions))
        if after is not None and len(place := np.flatnonzero(self.numbers == after)):
            order = np.roll(order, -(int(place[0]) + 1))[:-1]
        found = order[is_open[order]]
        return int(self.numbers[found[0]]) if len(found) else None

    def first_open(self, number: int) -> int | None:
        """Find the first open task on a question's page, in the person's order."""
        rows = self.rows[self._is_of(number) & ~self.is_judged]
        if not len(rows):
            return None
        campaign = self.look.campaign
        order = own_order(self._triples(rows), self.look.person, seed=campaign.assignment_seed)
        return int(self.look.numbers.task[rows[order[0]]])

    def _triples(self, rows: NDArray[np.int32]) -> Triples:
        return _small(self.look.campaign.pool.triples.take(rows.astype(np.intp)))

    def page(self, number: int) -> QuestionPage | None:
        """Fill the page of a question; None where nothing of it is the person's, or there is none."""
        place = np.flatnonzero(self.numbers == number)
        if not len(place):
            return None
        question, campaign = int(self.questions[place[0]]), self.look.campaign
        rows = self.rows[self._question == question]
        triples = self._triples(rows)
        order = own_order(triples, self.look.person, seed=campaign.assignment_seed)
        rows, triples = rows[order], triples.take(order)
        said = self.look.said(self.role, rows)
        asked = campaign.pool.questions
        anchor, relation = asked.entities[asked.anchor[question]], asked.relations[asked.relation[question]]
        labels = (BLANK, relation, anchor) if asked.is_head[question] else (anchor, relation, BLANK)
        (title,) = phrased(campaign, Triples.of([labels]))
        known = campaign.known_answers
        first, last = np.searchsorted(known.question, [question, question + 1])
        answers = [_entity(campaign, label) for label in known.entities.decode(known.entity[first:last]).to_pylist()]
        text = search_text(asked, np.array([question]), _names(campaign, [anchor]))[0].as_py()
        events = self.look.judgements
        events = events.take((events.role == ROLES.index(self.role)) & np.isin(events.triple, rows)).latest()
        own = [source for source in reversed(events.source.to_pylist()) if source]
        words = [said.get(row, ()) for row in rows.tolist()]
        remarks = [self._remarks.get(row, "") for row in rows.tolist()]
        tasks = self.look.numbers.task[rows].tolist()
        asked_about = candidates(campaign, tasks, triples, words, self._sides and self._sides(rows), remarks)
        of_sides = [side.source for one in asked_about for side in one.sides if side.source]
        return QuestionPage(
            number,
            title,
            tuple(asked_about),
            tuple(sorted(answers, key=lambda entity: (entity.name, entity.label))),
            searches(campaign.sources, text),
            own[0] if own and not of_sides else "",  # a side's link is about one candidate
            tuple(dict.fromkeys(own + of_sides)),
            int(self.numbers[place[0] - 1]) if place[0] else None,
            self.next_question(number),
        )

    def progress(self, now: datetime) -> Progress:
        """Count what is done and left, and estimate how long that takes."""
        events = self.look.judgements
        times = moments(events.time.take(arrow_of(np.flatnonzero(events.role == ROLES.index(self.role)))))
        return Progress(len(self.rows) - self.n_open, self.n_open, *pace(times, self.n_open, now.timestamp()))

    def verdicts(self, verdict: str = "", text: str = "") -> list[Verdict]:
        """List the person's last verdicts, the latest first, only those with an answer and a text."""
        said = {row: words[-1] for row, words in self.look.said(self.role, self.rows).items()}
        rows = [row for row, words in said.items() if verdict in ("", words.verdict)]
        questions = phrased(self.look.campaign, self._triples(np.array(rows, np.int32)))
        numbers = self.look.numbers
        page_of = dict(zip(self.rows.tolist(), numbers.question[self._question].tolist(), strict=True))
        found = [
            Verdict(int(numbers.task[row]), question, page_of[row], said[row], self._remarks.get(row, ""))
            for row, question in zip(rows, questions, strict=True)
            if text.casefold() in f"{question}\n{said[row].source}\n{said[row].note}".casefold()
        ]
        return sorted(found, key=lambda verdict: (verdict.statement.time, verdict.task), reverse=True)


def relink_text(n: int, former: str) -> str:
    """Say how many answers have the former link of a question, as judge.js does.

    Examples
    --------
    >>> relink_text(2, "https://a.org")
    '2 answers of this question have the former link, https://a.org.'
    """
    return (
        f"{n} {'answer of this question has' if n == 1 else 'answers of this question have'} the former link, {former}."
    )


def work_of(service: CampaignService, look: Look, role: str) -> Work:
    """Find what somebody has to do in a role.

    An annotator what was assigned, in the order in which it was. An adjudicator what waits for a decision, with the
    sides; what the person has decided stays where it was. An expert the sample.

    Parameters
    ----------
    service : CampaignService
    look : Look
        Of the person, at the same campaign.
    role : str
        One of ``ROLE_PAGES``.
    """
    if role == ROLES[ANNOTATOR]:
        return Work(look, role, look.numbers.assigned.get(look.person, look.numbers.tasks_of(np.zeros(0, np.int32))))
    if role == ROLES[EXPERT]:
        own = look.judgements.triple[look.judgements.role == EXPERT]
        return Work(look, role, look.numbers.tasks_of(np.union1d(service.sample(look), own)))
    tasks = look.numbers.tasks_of(service.conflicts(look))
    return Work(look, role, tasks, lambda rows: lettered_sides(service.sides(look, rows), len(rows)))


def lettered_sides(sides: Sides, n: int) -> list[tuple[Side, ...]]:
    """Give the sides of each of n triples a letter.

    Examples
    --------
    >>> one = Sides(np.array([1, 1]), np.array([1, 2]), pa.array(["", ""]), pa.array(["as of 2020", ""]))
    >>> [(side.letter, side.answer, side.note) for side in lettered_sides(one, 2)[1]]
    [('A', 'Yes', 'as of 2020'), ('B', 'Unsure', '')]
    """
    found: list[tuple[Side, ...]] = [()] * n
    texts = sides.source.to_pylist(), sides.note.to_pylist()
    for place, verdict, source, note in zip(sides.place.tolist(), sides.verdict.tolist(), *texts, strict=True):
        letter = ascii_uppercase[len(found[place]) % len(ascii_uppercase)]
        found[place] += (Side(letter, _ANSWERS[VERDICTS[verdict]], source, note),)
    return found


def candidates(
    campaign: Campaign,
    tasks: Sequence[int],
    triples: Triples,
    said: Sequence[Sequence[Statement]] | None = None,
    sides: Sequence[tuple[Side, ...]] | None = None,
    remarks: Sequence[str] | None = None,
) -> list[Candidate]:
    """Make candidates of triples, in their order.

    Parameters
    ----------
    campaign : Campaign
    tasks : (n,) sequence of int
        Their numbers on the page.
    triples : Triples
    said : (n,) sequence of sequences of Statement, optional
        What the person has said of each in their role, oldest first.
    sides : (n,) sequence of tuples, optional
        What an adjudicator is shown of each.
    remarks : (n,) sequence of str, optional
        With which remark the person's verdict on each was sent back; empty where it was not.
    """
    labels = zip(*(triples.decoded(name).to_pylist() for name in ("head", "relation", "tail")), strict=True)
    nothing: list[tuple[()]] = [()] * len(tasks)
    more = said or nothing, sides or nothing, remarks or [""] * len(tasks)
    found = []
    for task, (head, relation, tail), question, words, shown, remark in zip(
        tasks, labels, phrased(campaign, triples), *more, strict=True
    ):
        own = _entity(campaign, head), readable(relation), _entity(campaign, tail)
        found.append(Candidate(task, question, *own, words[-1] if words else None, len(words) > 1, shown, remark))
    return found


def phrased(campaign: Campaign, triples: Triples) -> list[str]:
    """Phrase triples as questions, (n,), in time for these alone; no name turns the direction of what is around it."""
    triples = _small(triples)
    names = _names(campaign, triples.entities)
    for label in triples.entities:
        if _TURNS.search(names.get(label, label)):
            name = visible(names.get(label) or readable(label, is_entity=True))
            names[label] = f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    templates = {label: visible(campaign.templates.get(label, draft_template(label))) for label in triples.relations}
    return phrase_triples(triples, templates, names).to_pylist()


def in_words(text: str) -> str:
    """Put what a command says of Y and N in the words of the page; what is quoted stays.

    Examples
    --------
    >>> in_words("expected a link to the source of a N, found none"), in_words("N called Y"), in_words("found 'N'")
    ('expected a link to the source of a No, found none', 'No called Yes', "found 'N'")
    """
    return _SAID.sub(lambda found: _ANSWERS.get(found[0], found[0]), text)


def searches(hosts: Sequence[str], text: str) -> tuple[Search, ...]:
    """Make searches for a text in sources, one a host; on the whole web where none is named.

    Examples
    --------
    >>> for found in searches(["wikipedia.org", "bnf.fr"], "France capital"):
    ...     print(found.host, found.url)
    wikipedia.org https://en.wikipedia.org/w/index.php?search=France+capital
    bnf.fr https://duckduckgo.com/?q=site%3Abnf.fr+France+capital
    """
    if not hosts:
        return (Search("the web", f"https://duckduckgo.com/?q={quote_plus(text)}"),)
    found = []
    for host in hosts[:_MOST_SEARCHES]:
        if any(host == wiki or host.endswith(f".{wiki}") for wiki in _WIKIS):
            url = f"https://{_ENTRANCES.get(host, host)}/w/index.php?search={quote_plus(text)}"
        else:
            url = f"https://duckduckgo.com/?q={quote_plus(f'site:{host} {text}')}"
        found.append(Search(host, url))
    return tuple(found)


def moments(times: pa.StringArray) -> NDArray[np.int64]:
    """Convert times as judgements hold them to seconds since 1970, (n,) in their order.

    Examples
    --------
    >>> moments(pa.array(["1970-01-02T00:00:01Z"])).tolist()
    [86401]
    """
    seconds = pc.cast(pc.utf8_slice_codeunits(times, 0, 19), pa.timestamp("s"))
    return values_of(pc.cast(seconds, pa.int64()))


def pace(moments: NDArray[np.int64], left: int, now: float) -> tuple[int | None, bool]:
    """Estimate the minutes that tasks take at the pace of the last verdicts, and whether a break is due.

    Pauses of more than ten minutes do not count. A break is due when the last one is an hour ago.

    Parameters
    ----------
    moments : (n,) int array, seconds since 1970
        Of one person's verdicts, in any order.
    left : int, tasks
    now : float, seconds since 1970

    Examples
    --------
    >>> pace(np.arange(30) * 60, 90, now=30 * 60)
    (90, False)
    """
    moments = np.sort(moments[moments <= now])
    gaps = np.diff(np.append(moments, now))
    pauses = np.flatnonzero(gaps > _PAUSE)
    begin = pauses[-1] + 1 if len(pauses) else 0
    stretch = now - moments[begin] if begin < len(moments) else 0
    between = gaps[:-1][-_RECENT:]
    between = between[between <= _PAUSE]
    minutes = round(left * float(between.mean()) / 60) if len(between) >= 3 and between.any() else None
    return minutes, bool(stretch >= _STRETCH)


def now_utc() -> datetime:
    """Give the time."""
    return datetime.now(UTC)


def _small(own: Triples) -> Triples:
    """Triples under vocabularies of their own, which cost no more than these."""
    return Triples.of_columns(*map(own.decoded, ("head", "relation", "tail")))


def _names(campaign: Campaign, labels: Iterable[str] | Vocabulary) -> dict[str, str]:
    return {label: campaign.names[label] for label in labels if label in campaign.names}


def _entity(campaign: Campaign, label: str) -> Entity:
    name = campaign.names.get(label) or readable(label, is_entity=True)
    text = campaign.descriptions.get(label, "")
    return Entity(name, "" if name == label else label, text and f"{name}: {text}")

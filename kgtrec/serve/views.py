"""What a person is shown: pure functions from what they may know of a campaign to what a template shows.

They get a :class:`kgtrec.serve.desk.Look`, in which no other person's verdict is, and take from its pool the triples
alone: no run, no rank and no probability. What others have said comes to an adjudicator's page alone, without names and
times, by :meth:`kgtrec.serve.desk.Desk.sides`.
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
from kgtrec.serve.desk import Desk, Look, Theirs, Words
from kgtrec.serve.rendering import visible

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
_RECENT = 50  # verdicts from which the pace is told


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
        later="Come back when who manages the campaign tells you to.",
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
        later="Come back when who manages the campaign tells you to.",
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

    task: int  # number on the page, see kgtrec.serve.desk.Numbers
    question: str
    head: Entity
    relation: str
    tail: Entity
    last: Words | None = None  # the person's own last words on it
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
class Relink:
    """The link of a question was corrected, and answers that were given under the former one still have that."""

    former: str
    link: str
    n: int  # such answers

    @property
    def told(self) -> str:
        """What the page says of it; judge.js says the same.

        Examples
        --------
        >>> Relink("https://a.org", "https://b.org", 2).told
        '2 answers of this question have the former link, https://a.org.'
        """
        have = "answer of this question has" if self.n == 1 else "answers of this question have"
        return f"{self.n} {have} the former link, {self.former}."


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is."""

    done: int
    left: int
    minutes_left: int | None  # at the pace of the last verdicts; None: too few to tell
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
    words: Words
    remark: str = ""  # with which it was sent back, if it waits


class Work:
    """What one person has to do in one role, question by question, in an order that tells nothing.

    Questions come in the order of what is theirs to do; the candidates of each in the person's own, by
    :func:`kgtrec.campaign.assign.own_order`. What the person has judged besides is theirs too, after the rest.

    Parameters
    ----------
    look : Look
    role : str
        One of ``ROLE_PAGES``.
    theirs : Theirs
        What is theirs to judge.
    sides : callable, optional
        What is said of some of them, for an adjudicator. Default: what others have said is not told.
    """

    def __init__(
        self,
        look: Look,
        role: str,
        theirs: Theirs,
        sides: Callable[[NDArray[np.int32]], list[tuple[Side, ...]]] | None = None,
    ) -> None:
        self.look, self.role, self._sides = look, role, sides
        self.pages = replace(ROLE_PAGES[role], links=look.campaign.links(role))
        events = look.judgements
        judged = events.triple[events.role == ROLES.index(role)]
        others = np.unique(judged[~np.isin(judged, theirs.row, kind="table")])
        if role != ROLES[EXPERT]:
            others = others[~look.campaign.automatic.is_automatic[others]]
        theirs = theirs.followed_by(others, look.numbers.group[others])
        self.rows, self._question, self.questions = theirs.row, theirs.question, theirs.questions
        self._remarks = {row: line.remark for (of, row), line in look.sent_back.items() if of == role}
        self.is_judged = np.isin(self.rows, judged, kind="table") & ~np.isin(self.rows, list(self._remarks))
        self.task_numbers = look.numbers.task[self.rows]
        self.numbers = look.numbers.question[self.questions]

    @property
    def n_open(self) -> int:
        """How many tasks have no verdict, or one that was sent back."""
        return int((~self.is_judged).sum())

    def has_task(self, task: int) -> bool:
        """Whether a task is one of the person's."""
        return bool(np.isin(task, self.task_numbers))

    def tasks(self, number: int) -> list[int]:
        """The tasks on a question's page, in no order that matters; none where it is not the person's."""
        found: list[int] = self.task_numbers[self._is_of(number)].tolist()
        return found

    def _is_of(self, number: int) -> NDArray[np.bool_]:
        """(n,) which of the person's triples are on a question's page."""
        return np.isin(self._question, self.questions[self.numbers == number])

    def next_question(self, after: int | None = None) -> int | None:
        """Number of the first question with something to do, from the one after ``after`` on, which is not chosen."""
        is_open = np.isin(self.questions, self._question[~self.is_judged])
        order = np.arange(len(self.questions))
        if after is not None and len(place := np.flatnonzero(self.numbers == after)):
            order = np.roll(order, -(int(place[0]) + 1))[:-1]
        found = order[is_open[order]]
        return int(self.numbers[found[0]]) if len(found) else None

    def first_open(self, number: int) -> int | None:
        """The first task on a question's page that has something to do, in the person's order."""
        rows = self.rows[self._is_of(number) & ~self.is_judged]
        if not len(rows):
            return None
        campaign = self.look.campaign
        order = own_order(self._triples(rows), self.look.person, seed=campaign.assignment_seed)
        return int(self.look.numbers.task[rows[order[0]]])

    def _triples(self, rows: NDArray[np.int32]) -> Triples:
        return _small(self.look.campaign.pool.triples.take(rows.astype(np.intp)))

    def page(self, number: int) -> QuestionPage | None:
        """The page of a question; None where nothing of it is the person's, or there is none."""
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
        answers = known.entities.decode(known.entity[first:last]).to_pylist()
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
            tuple(sorted((_entity(campaign, label) for label in answers), key=lambda one: (one.name, one.label))),
            searches(campaign.sources, text),
            own[0] if own and not of_sides else "",  # a side's link is about one candidate
            tuple(dict.fromkeys(own + of_sides)),
            int(self.numbers[place[0] - 1]) if place[0] else None,
            self.next_question(number),
        )

    def progress(self, now: datetime) -> Progress:
        """What is done and left, and how long that takes."""
        events = self.look.judgements
        times = moments(events.time.take(arrow_of(np.flatnonzero(events.role == ROLES.index(self.role)))))
        return Progress(len(self.rows) - self.n_open, self.n_open, *pace(times, self.n_open, now.timestamp()))

    def verdicts(self, verdict: str = "", text: str = "") -> list[Verdict]:
        """The person's last verdicts, the latest first, those with an answer and words that hold a text only."""
        own = self.look.said(self.role, self.rows)
        said = {row: words[-1] for row, words in own.items()}
        rows = np.array([row for row, words in said.items() if verdict in ("", words.verdict)], np.int32)
        questions = phrased(self.look.campaign, self._triples(rows))
        wanted, of = text.casefold(), self.look.numbers
        page_of = dict(zip(self.rows.tolist(), of.question[self._question].tolist(), strict=True))
        remarks = self._remarks
        found = [
            Verdict(int(of.task[row]), question, page_of[row], said[row], remarks.get(row, ""))
            for row, question in zip(rows.tolist(), questions, strict=True)
            if wanted in f"{question}\n{said[row].source}\n{said[row].note}".casefold()
        ]
        return sorted(found, key=lambda one: (one.words.time, one.task), reverse=True)


def work_of(desk: Desk, look: Look, role: str) -> Work:
    """What somebody has to do in a role.

    An annotator what was assigned, in the order in which it was. An adjudicator what waits for a decision, with the
    sides; what the person has decided stays where it was. An expert the sample.

    Parameters
    ----------
    desk : Desk
    look : Look
        Of the person, at the same campaign.
    role : str
        One of ``ROLE_PAGES``.
    """
    if role == ROLES[ANNOTATOR]:
        return Work(look, role, look.numbers.given.get(look.person, look.numbers.theirs(np.zeros(0, np.int32))))
    if role == ROLES[EXPERT]:
        own = look.judgements.triple[look.judgements.role == EXPERT]
        return Work(look, role, look.numbers.theirs(np.union1d(desk.sample(look), own)))
    theirs = look.numbers.theirs(desk.conflicts(look))
    return Work(look, role, theirs, lambda some: told_sides(desk.sides(look, some), len(some)))


def told_sides(sides: Sides, n: int) -> list[tuple[Side, ...]]:
    """(n,) the sides of each of n triples, with letters.

    Examples
    --------
    >>> one = Sides(np.array([1, 1]), np.array([1, 2]), pa.array(["", ""]), pa.array(["as of 2020", ""]))
    >>> [(side.letter, side.answer, side.note) for side in told_sides(one, 2)[1]]
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
    said: Sequence[Sequence[Words]] | None = None,
    sides: Sequence[tuple[Side, ...]] | None = None,
    remarks: Sequence[str] | None = None,
) -> list[Candidate]:
    """Triples as candidates, in their order.

    Parameters
    ----------
    campaign : Campaign
    tasks : (n,) sequence of int
        Their numbers on the page.
    triples : Triples
    said : (n,) sequence of sequences of Words, optional
        What the person has said of each in their role, oldest first.
    sides : (n,) sequence of tuples, optional
        What an adjudicator is told of each.
    remarks : (n,) sequence of str, optional
        With which remark the person's verdict on each was sent back; empty where it was not.
    """
    labels = zip(
        triples.entities.decode(triples.head).to_pylist(),
        triples.relations.decode(triples.relation).to_pylist(),
        triples.entities.decode(triples.tail).to_pylist(),
        strict=True,
    )
    found = []
    nothing: list[tuple[()]] = [()] * len(tasks)
    each = zip(
        tasks,
        labels,
        phrased(campaign, triples),
        said or nothing,
        sides or nothing,
        remarks or [""] * len(tasks),
        strict=True,
    )
    for task, (head, relation, tail), question, words, told, remark in each:
        last = words[-1] if words else None
        own = _entity(campaign, head), readable(relation), _entity(campaign, tail)
        found.append(Candidate(task, question, *own, last, len(words) > 1, told, remark))
    return found


def phrased(campaign: Campaign, triples: Triples) -> list[str]:
    """(n,) triples as questions, which costs no more than these; no name turns the direction of what is around it."""
    triples = _small(triples)
    names = _names(campaign, triples.entities)
    for label in triples.entities:
        if _TURNS.search(names.get(label, label)):
            name = visible(names.get(label) or readable(label, is_entity=True))
            names[label] = f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    templates = {label: visible(campaign.templates.get(label, draft_template(label))) for label in triples.relations}
    texts: list[str] = phrase_triples(triples, templates, names).to_pylist()
    return texts


def in_words(text: str) -> str:
    """What a command says of Y and N, in the words of the page; what is quoted stays.

    Examples
    --------
    >>> in_words("expected a link to the source of a N, found none"), in_words("N called Y"), in_words("found 'N'")
    ('expected a link to the source of a No, found none', 'No called Yes', "found 'N'")
    """
    return _SAID.sub(lambda found: _ANSWERS.get(found[0], found[0]), text)


def searches(hosts: Sequence[str], text: str) -> tuple[Search, ...]:
    """Ready-made searches for a text in sources, one a host; on the whole web where none is named.

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
    """(n,) times as judgements hold them, in seconds since 1970, in their order.

    Examples
    --------
    >>> moments(pa.array(["1970-01-02T00:00:01Z"])).tolist()
    [86401]
    """
    seconds = pc.cast(pc.utf8_slice_codeunits(times, 0, 19), pa.timestamp("s"))
    found: NDArray[np.int64] = values_of(pc.cast(seconds, pa.int64()))
    return found


def pace(moments: NDArray[np.int64], left: int, now: float) -> tuple[int | None, bool]:
    """Minutes that so many tasks take at the pace of the last verdicts, and whether a break is due.

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
    """The time."""
    return datetime.now(UTC)


def _small(own: Triples) -> Triples:
    """Triples under vocabularies of their own, which cost no more than these."""
    return Triples.of_columns(
        own.entities.decode(own.head), own.relations.decode(own.relation), own.entities.decode(own.tail)
    )


def _names(campaign: Campaign, labels: Iterable[str] | Vocabulary) -> dict[str, str]:
    return {label: campaign.names[label] for label in labels if label in campaign.names}


def _entity(campaign: Campaign, label: str) -> Entity:
    name = campaign.names.get(label) or readable(label, is_entity=True)
    text = campaign.descriptions.get(label, "")
    return Entity(name, "" if name == label else label, text and f"{name}: {text}")

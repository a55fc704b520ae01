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
from operator import itemgetter
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.adjudicate import Sides
from kgtrec.campaign.assign import own_order
from kgtrec.campaign.tasks import phrase_triples, search_text
from kgtrec.campaign.wording import readable, template_of
from kgtrec.campaign.work_times import moments
from kgtrec.data.arrow import arrow_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import REQUIRED, Campaign
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES, VERDICTS
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.serve.rendering import visible
from kgtrec.serve.service import CampaignService, Look, TaskRows

BLANK = "\N{HORIZONTAL ELLIPSIS}"  # what a question shows instead of its candidates
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


#: what a template shows, by name
Shown = dict[str, Any]


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
        sides: Callable[[NDArray[np.int32]], list[list[Shown]]] = lambda rows: [[] for _ in rows],
    ) -> None:
        self.look, self.role, self._sides = look, role, sides
        self.pages = replace(ROLE_PAGES[role], links=look.campaign.links(role))
        events = look.judgements
        judged = events.triple[events.role == ROLES.index(role)]
        others = np.unique(judged[~np.isin(judged, assigned.row, kind="table")])
        if role != ROLES[EXPERT]:
            others = others[look.campaign.automatic.for_people[others]]
        self.rows = np.concatenate([assigned.row, others])
        self._question = np.concatenate([assigned.question, look.numbers.group[others]])
        self.questions = TaskRows(self.rows, self._question).questions
        self._remarks = {row: line.remark for (of, row), line in look.sent_back.items() if of == role}
        self.is_judged = np.isin(self.rows, judged, kind="table") & ~np.isin(self.rows, list(self._remarks))
        self.task_numbers = look.numbers.task[self.rows]
        self.numbers = look.numbers.question[self.questions]

    @property
    def n_open(self) -> int:
        """How many tasks have no verdict, or one that was sent back."""
        return int((~self.is_judged).sum())

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
        rows, _ = self._in_order(self.rows[self._is_of(number) & ~self.is_judged])
        return int(self.look.numbers.task[rows[0]]) if len(rows) else None

    def _triples(self, rows: NDArray[np.int32]) -> Triples:
        return _small(self.look.campaign.pool.triples.take(rows.astype(np.intp)))

    def _in_order(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], Triples]:
        """Rows of one question in the person's own order, and their triples."""
        triples = self._triples(rows)
        order = own_order(triples, self.look.person, seed=self.look.campaign.assignment_seed)
        return rows[order], triples.take(order)

    def page(self, number: int) -> Shown | None:
        """Fill the page of a question; None where nothing of it is the person's, or there is none.

        Returns
        -------
        dict or None
            ``title``; ``anchor``; ``candidates``, see :func:`candidates`, each with ``entity``, the one of the two that
            is asked about, ``search``, host and address, ``last``, the person's own last words on it, ``sides``, for an
            adjudicator, and ``remark``, with which a manager has sent the last words back; ``known``,
            answers known before anybody was asked; ``searches``; ``link``, which stands for the candidates without a
            link of their own until another one is given; ``links`` to choose from: what the person has given for the
            question, the latest first, and those of sides; ``previous`` and ``next``, numbers of the question before,
            and of the next one that has something to do.
        """
        place = np.flatnonzero(self.numbers == number)
        if not len(place):
            return None
        question, campaign = int(self.questions[place[0]]), self.look.campaign
        asked = campaign.pool.questions
        anchor = asked.entities[asked.anchor[question]]
        text = search_text(asked, np.array([question]), _names(campaign, [anchor]))[0].as_py()
        rows, triples = self._in_order(self.rows[self._question == question])
        asked_about = candidates(campaign, self.look.numbers.task[rows].tolist(), triples)
        said = self.look.said(self.role, rows)
        for one, row, sides in zip(asked_about, rows.tolist(), self._sides(rows), strict=True):
            last = said[row][-1] if row in said else None
            entity = one["head" if asked.is_head[question] else "tail"]
            one |= {"entity": entity, "search": searches(campaign.sources, f"{text} {entity['name']}")[0]}
            one |= {"last": last, "sides": sides, "remark": self._remarks.get(row, "")}
        known = campaign.known_answers
        first, last = np.searchsorted(known.question, [question, question + 1])
        answers = [_entity(campaign, label) for label in known.entities.decode(known.entity[first:last]).to_pylist()]
        events = self.look.judgements
        events = events.take((events.role == ROLES.index(self.role)) & np.isin(events.triple, rows)).latest()
        own = [source for source in reversed(events.source.to_pylist()) if source]
        of_sides = [side["source"] for one in asked_about for side in one["sides"] if side["source"]]
        return {
            "number": number,
            "title": titles(campaign, self.questions[place])[0],
            "anchor": _entity(campaign, anchor),
            "candidates": asked_about,
            "known": sorted(answers, key=itemgetter("name", "label")),
            "n_known": len(answers),
            "searches": searches(campaign.sources, text),
            "link": own[0] if own and not of_sides else "",  # a side's link is about one candidate
            "links": list(dict.fromkeys(own + of_sides)),
            "previous": int(self.numbers[place[0] - 1]) if place[0] else None,
            "next": self.next_question(number),
        }

    def progress(self, now: datetime) -> Shown:
        """Count tasks, and estimate how long the rest takes: ``done``, ``left``, ``total``, ``pace``, ``break``."""
        events = self.look.judgements
        times = moments(events.time.take(arrow_of(np.flatnonzero(events.role == ROLES.index(self.role)))))
        minutes, needs_break = pace(times, self.n_open, now.timestamp())
        left = {"done": len(self.rows) - self.n_open, "left": self.n_open, "total": len(self.rows)}
        return left | {"pace": pace_text(minutes) if self.n_open else "", "break": needs_break}

    def verdicts(self, verdict: str = "", text: str = "") -> list[Shown]:
        """List the person's last verdicts, the latest first, only those with an answer and a text.

        Each with ``task``, ``question``, ``number`` (of the question's page), ``statement`` and ``remark``.
        """
        said = {row: words[-1] for row, words in self.look.said(self.role, self.rows).items()}
        rows = [row for row, words in said.items() if verdict in ("", words.verdict)]
        questions = phrased(self.look.campaign, self._triples(np.array(rows, np.int32)))
        numbers = self.look.numbers
        page_of = dict(zip(self.rows.tolist(), numbers.question[self._question].tolist(), strict=True))
        found = [
            {
                "task": int(numbers.task[row]),
                "question": question,
                "number": page_of[row],
                "statement": said[row],
                "remark": self._remarks.get(row, ""),
            }
            for row, question in zip(rows, questions, strict=True)
            if text.casefold() in f"{question}\n{said[row].source}\n{said[row].note}".casefold()
        ]
        return sorted(found, key=lambda one: (one["statement"].time, one["task"]), reverse=True)


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


def lettered_sides(sides: Sides, n: int) -> list[list[Shown]]:
    """List what annotators have said of each of n triples: ``letter``, ``answer``, ``source``, ``note``.

    Examples
    --------
    >>> one = Sides(np.array([1, 1]), np.array([1, 2]), pa.array(["", ""]), pa.array(["as of 2020", ""]))
    >>> [(side["letter"], side["answer"], side["note"]) for side in lettered_sides(one, 2)[1]]
    [('A', 'Yes', 'as of 2020'), ('B', 'Unsure', '')]
    """
    found: list[list[Shown]] = [[] for _ in range(n)]
    texts = sides.source.to_pylist(), sides.note.to_pylist()
    for place, verdict, source, note in zip(sides.place.tolist(), sides.verdict.tolist(), *texts, strict=True):
        letter = ascii_uppercase[len(found[place]) % len(ascii_uppercase)]
        said = {"letter": letter, "answer": _ANSWERS[VERDICTS[verdict]], "source": source, "note": note}
        found[place].append(said)
    return found


def candidates(campaign: Campaign, tasks: Sequence[int], triples: Triples) -> list[Shown]:
    """Make candidates of triples, in their order: ``task``, ``question``, ``head``, ``relation``, ``tail``.

    Head and tail have a ``name``, a ``label``, empty where it is the name, and a ``text``, what they are, where the
    campaign has a description.

    Parameters
    ----------
    campaign : Campaign
    tasks : (n,) sequence of int
        Their numbers on the page.
    triples : Triples
    """
    labels = (triples.decoded(name).to_pylist() for name in ("head", "relation", "tail"))
    return [
        {
            "task": task,
            "question": question,
            "head": _entity(campaign, head),
            "relation": readable(relation),
            "tail": _entity(campaign, tail),
        }
        for task, question, head, relation, tail in zip(tasks, phrased(campaign, triples), *labels, strict=True)
    ]


def phrased(campaign: Campaign, triples: Triples) -> list[str]:
    """Phrase triples as questions, (n,), in time for these alone; no name turns the direction of what is around it."""
    triples = _small(triples)
    names = _names(campaign, triples.entities)
    for label in triples.entities:
        if _TURNS.search(names.get(label, label)):
            name = visible(names.get(label) or readable(label, is_entity=True))
            names[label] = f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    own = campaign.templates, campaign.names
    templates = {label: visible(template_of(own[0], label, names=own[1])) for label in triples.relations}
    return phrase_triples(triples, templates, names).to_pylist()


def titles(campaign: Campaign, rows: NDArray[np.integer]) -> list[str]:
    """Phrase questions of the pool, (q,), with a blank for the candidates."""
    asked = campaign.pool.questions
    anchor, relation = asked.entities.decode(asked.anchor[rows]), asked.relations.decode(asked.relation[rows])
    is_head, blank = pa.array(asked.is_head[rows]), pa.scalar(BLANK)
    blanks = Triples.of_columns(pc.if_else(is_head, blank, anchor), relation, pc.if_else(is_head, anchor, blank))
    return phrased(campaign, blanks)


def in_words(text: str) -> str:
    """Put what a command says of Y and N in the words of the page; what is quoted stays.

    Examples
    --------
    >>> in_words("expected a link to the source of a N, found none"), in_words("N called Y"), in_words("found 'N'")
    ('expected a link to the source of a No, found none', 'No called Yes', "found 'N'")
    """
    return _SAID.sub(lambda found: _ANSWERS.get(found[0], found[0]), text)


def searches(hosts: Sequence[str], text: str) -> list[tuple[str, str]]:
    """Make searches for a text in sources, host and address; on the whole web where no source is named.

    Examples
    --------
    >>> for host, url in searches(["wikipedia.org", "bnf.fr"], "France capital"):
    ...     print(host, url)
    wikipedia.org https://en.wikipedia.org/w/index.php?search=France+capital
    bnf.fr https://duckduckgo.com/?q=site%3Abnf.fr+France+capital
    """
    if not hosts:
        return [("the web", f"https://duckduckgo.com/?q={quote_plus(text)}")]
    found = []
    for host in hosts[:_MOST_SEARCHES]:
        if any(host == wiki or host.endswith(f".{wiki}") for wiki in _WIKIS):
            url = f"https://{_ENTRANCES.get(host, host)}/w/index.php?search={quote_plus(text)}"
        else:
            url = f"https://duckduckgo.com/?q={quote_plus(f'site:{host} {text}')}"
        found.append((host, url))
    return found


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


def pace_text(minutes: int | None) -> str:
    """Return what follows the number of tasks that are left, on the page; empty where it is unknown.

    Examples
    --------
    >>> pace_text(125), pace_text(25), pace_text(None)
    (', about 2 h 5 min at your pace', ', about 25 min at your pace', '')
    """
    if minutes is None:
        return ""
    hours, minutes = divmod(minutes, 60)
    return f", about {f'{hours} h ' if hours else ''}{minutes} min at your pace"


def now_utc() -> datetime:
    """Give the time."""
    return datetime.now(UTC)


def _small(own: Triples) -> Triples:
    """Triples under vocabularies of their own, which cost no more than these."""
    return Triples.of_columns(*map(own.decoded, ("head", "relation", "tail")))


def _names(campaign: Campaign, labels: Iterable[str] | Vocabulary) -> dict[str, str]:
    return {label: campaign.names[label] for label in labels if label in campaign.names}


def _entity(campaign: Campaign, label: str) -> dict[str, str]:
    name = campaign.names.get(label) or readable(label, is_entity=True)
    return {"name": name, "label": "" if name == label else label, "text": campaign.descriptions.get(label, "")}

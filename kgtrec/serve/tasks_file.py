"""A person's tasks as one HTML file: the annotation page without a server and without a network.

Its pages come from the templates of the server, rendered once with ``[[name]]`` wherever a text of a task stands, and
its script fills them in. So the file grows by what is asked, and not by the page around it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from string import ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
from jinja2 import ChoiceLoader, DictLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from kgtrec.campaign.assign import own_order
from kgtrec.campaign.tasks import names_of
from kgtrec.campaign.verdict_rules import link_patterns, wrong_source
from kgtrec.data.arrow import arrow_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, ROLES, VERDICTS, Tasks
from kgtrec.data.triples import Triples, check_numbers
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.files import kgtrec_version
from kgtrec.report.html import embedded, look, markup, source_hash
from kgtrec.serve.rendering import markdown, prepare
from kgtrec.serve.service import edition_of, page_numbers
from kgtrec.serve.views import PAGE, ROLE_PAGES, RolePages, in_words, phrased, searches, titles

_WORDS = "verdict", "source", "note"
_TEXTS = "head", "relation", "tail", "search", *_WORDS


def tasks_file(
    campaign: Campaign,
    tasks: Tasks,
    *,
    person: str,
    role: str = "annotator",
    guidelines: str = "",
    name: str = "campaign",
) -> str:
    """Make a page of tasks that keeps verdicts in the browser and gives them as a file that ``campaign import`` reads.

    The page cannot load, send or frame anything, and runs only its own script: its content security policy, with the
    hashes of style and script, forbids everything else.

    Parameters
    ----------
    campaign : Campaign
        From which answers known before, sources and names are taken, and nothing else.
    tasks : Tasks
        Of one person, see :func:`kgtrec.campaign.tasks.tasks_for`. The candidates of one question are shown together,
        in the person's own order (:func:`kgtrec.campaign.assign.own_order`), which shows nothing of the pool.
    person : str
    role : str
        One of ``ROLE_PAGES``.
    guidelines : str
        Markdown.
    name : str
        Name of the campaign. Verdicts are kept apart from those of campaigns on the same pool that have another name.

    Returns
    -------
    str
        The same tasks give the same text.
    """
    pages = replace(ROLE_PAGES[role], path=f"#{ROLE_PAGES[role].path}", links=campaign.links(role))
    static = files("kgtrec.serve").joinpath("static")
    style, *scripts = (static.joinpath(name).read_text("utf-8") for name in ("judge.css", "judge.js", "file.js"))
    style = look() + style
    hashes = " ".join(map(source_hash, scripts))
    values = {
        "ROOT": "#",
        "ROLE_PAGES": {role: pages},
        "STARTS": {role: (pages.path, pages.start)},
        "roles": (role,),
        "person": person,
        "here": "",  # which the script knows
        "broken": (),
    }
    edition = hashlib.sha256(f"{edition_of(campaign)} {name}".encode()).hexdigest()[:16]
    data = _data(campaign, tasks, person, role) | {
        "person": person,
        "role": role,
        "edition": edition,
        "home": pages.path,
        "answers": dict(pages.answers),
        "page": PAGE,
        "read": hashlib.sha256(guidelines.encode()).hexdigest()[:16],
    }
    page = (
        _environment()
        .get_template("file.html")
        .render(
            **values,
            version=kgtrec_version(),
            policy=f"default-src 'none'; style-src {source_hash(style)}; script-src {hashes}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=markup(style),
            scripts=[markup(script) for script in scripts],
            parts=_parts(role, pages, edition, guidelines, is_empty=len(tasks) == 0),
            data=markup(embedded(data)),
        )
    )
    return f"{page}\n"


def _parts(role: str, pages: RolePages, edition: str, guidelines: str, *, is_empty: bool) -> dict[str, Markup]:
    """Each page of the file, with the places for texts in double brackets."""
    environment = _environment({"base.html": "{% block main %}{% endblock %}"})
    environment.tests["link"] = lambda text: True  # the script takes care of what is none
    pages = replace(pages, answers=_Answers(pages.answers))
    side = _Texts("side_", letter="[[LETTER]]", answer="[[answer]]")
    candidate = _Texts(
        entity=_Texts("entity_"),
        search=("[[host]]", "[[find]]"),
        last=None,
        sides=[side] if role == ROLES[ADJUDICATOR] else [],
        remark="",
    )
    question = _Texts(
        candidates=[candidate],
        anchor=_Texts("anchor_"),
        known=[_Texts("known_")],
        n_known=_Number(2, "[[n_known]]"),
        searches=[("[[host]]", "[[url]]")],
        link="",
        links=["[[link]]"],
    )
    no_answer: dict[str, Any] = {"again": "", "typed": {}, "outcomes": {}, "relink": None}
    progress = {"done": "[[done]]", "left": "[[left]]", "total": "[[total]]", "pace": "", "break": False}
    pages_of_list = {"n_found": "[[n_found]]", "nth": _Number(2, "[[nth]]"), "n_pages": _Number(3, "[[n_pages]]")}
    verdicts = {"verdicts": [_Texts(statement=_Texts(), remark="")], "verdict": "", "text": ""}
    given: dict[str, dict[str, Any]] = {
        "file_guidelines.html": {"text": markdown(guidelines), "is_new": True},
        "question.html": {"question": question, "progress": progress, "edition": edition} | no_answer,
        "verdicts.html": verdicts | pages_of_list,
        "file_done.html": {"progress": {"done": 0 if is_empty else 1}},
    }
    no_form = dict.fromkeys(["form_token"], "")  # a file sends no forms
    return {
        name.removeprefix("file_").removesuffix(".html"): markup(
            environment.get_template(name).render(pages=pages, g=no_form, n_stored=0, n_gone=0, **values)
        )
        for name, values in given.items()
    }


class _Texts:
    """Something whose every text is a place for one, such as ``[[head_name]]``, except those that are given."""

    def __init__(self, prefix: str = "", **given: Any) -> None:
        self.__dict__ |= given
        self._prefix = prefix

    def __getattr__(self, name: str) -> str:
        return f"[[{self._prefix}{name}]]"


class _Answers(dict[str, str]):
    """The names of answers, and a place for that of one which is not known yet."""

    def __missing__(self, key: str) -> str:
        return "[[answer]]"


class _Number(int):
    """A number to a template's conditions, which shows a place for another one."""

    place: str

    def __new__(cls, number: int, place: str) -> _Number:
        made = super().__new__(cls, number)
        made.place = place
        return made

    def __str__(self) -> str:
        return self.place


def _environment(own: Mapping[str, str] | None = None) -> Environment:
    """The templates of the page, with some replaced."""
    loader = ChoiceLoader([DictLoader(own or {}), PackageLoader("kgtrec.serve")])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    prepare(environment)
    return environment


def _data(campaign: Campaign, tasks: Tasks, person: str, role: str) -> dict[str, Any]:
    """What the script fills into the pages."""
    numbers, first, place = np.unique(tasks.question_number, return_index=True, return_inverse=True)
    questions = numbers[np.argsort(first)]
    turn = np.argsort(np.argsort(first))[place]  # of each task: which question of the file it belongs to
    own = own_order(Triples.of_columns(tasks.head, tasks.relation, tasks.tail), person, seed=campaign.assignment_seed)
    order = own[np.argsort(turn[own], kind="stable")]
    start = np.searchsorted(turn[order], np.arange(len(questions)))
    of = {name: getattr(tasks, name).take(arrow_of(order)) for name in _TEXTS}
    known, n_known = _known(campaign, questions)
    entities, codes = Vocabulary.encoding(pa.concat_arrays([of["head"], of["tail"], known]))
    relations, relation = Vocabulary.encoding(of["relation"])
    head, tail, others = np.split(codes, [len(tasks), 2 * len(tasks)])
    triples = Triples(head, relation, tail, entities, relations)
    columns = {
        "task": page_numbers(triples).tolist(),
        "number": check_numbers(triples).tolist(),
        "question": phrased(campaign, triples),
        "head": head.tolist(),
        "relation": relation.tolist(),
        "tail": tail.tolist(),
    }
    cards: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    said = zip(*(of[name].to_pylist() for name in _WORDS), strict=True)
    for card, words in zip(cards, said, strict=True):
        if words[0]:
            card["before"] = dict(zip(_WORDS, words, strict=True))
    for card, sides in zip(cards, _sides(tasks, order), strict=bool(tasks.shown)):
        card["sides"] = sides
    names = names_of(entities, np.arange(len(entities), dtype=np.int32), campaign.names).to_pylist()
    about = zip(
        titles(campaign, questions),
        np.where(campaign.pool.questions.is_head[questions], "head", "tail").tolist(),
        of["search"].take(arrow_of(start)).to_pylist(),
        (own.tolist() for own in np.split(others, np.cumsum(n_known)[:-1])),
        np.split(np.arange(len(tasks)), start[1:]),
        strict=bool(len(questions)),
    )
    return {
        "missing": {verdict: in_words(wrong_source(verdict, "", str, campaign.links(role))) for verdict in VERDICTS},
        "rules": link_patterns(campaign.sources),
        "searches": searches(campaign.sources, ""),
        "entities": [
            [label, name, campaign.descriptions[label]]
            if label in campaign.descriptions
            else [label, name][: 1 + (name != label)]
            for label, name in zip(entities, names, strict=True)
        ],
        "relations": list(relations),
        "questions": [
            {"title": title, "varies": varies, "search": text, "known": known, "cards": [cards[row] for row in rows]}
            for title, varies, text, known, rows in about
        ],
    }


def _sides(tasks: Tasks, order: NDArray[np.intp]) -> Iterator[list[dict[str, str]]]:
    """What annotators have said of each task, for an adjudicator; none in other roles."""
    shown = {name: column.take(arrow_of(order)).to_pylist() for name, column in tasks.shown.items()}
    letters = list(zip(range(1, 1 + len(shown) // len(_WORDS)), ascii_uppercase, strict=False))
    answers = ROLE_PAGES[ROLES[ANNOTATOR]].answers
    for row in range(len(tasks) if shown else 0):
        yield [
            {
                "LETTER": letter,
                "letter": letter.lower(),
                "answer": answers[verdict],
                "side_source": shown[f"source_{nth}"][row],
                "side_note": shown[f"note_{nth}"][row],
            }
            for nth, letter in letters
            if (verdict := shown[f"verdict_{nth}"][row])
        ]


def _known(campaign: Campaign, rows: NDArray[np.integer]) -> tuple[pa.StringArray, NDArray[np.intp]]:
    """Labels of answers known before, those of one question after the other; and how many each question has."""
    known = campaign.known_answers
    first, last = (np.searchsorted(known.question, rows, side) for side in ("left", "right"))
    n_known = last - first
    place = np.repeat(first - np.append(0, np.cumsum(n_known)[:-1]), n_known) + np.arange(n_known.sum())
    labels = known.entities.decode(known.entity[place])
    names = names_of(known.entities, known.entity[place], campaign.names)
    of = pa.array(np.repeat(np.arange(len(rows)), n_known))
    table = pa.table({"of": of, "name": names, "label": labels})
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
    return labels.take(order), n_known

"""What those who manage a campaign ask for: how far it is, its people, its templates, and what it gives.

They see everybody's verdicts and judge nothing. Changes go through the functions of the commands, under the lock of
the campaign.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

import numpy as np
from flask import Response, g, request
from werkzeug.wsgi import wrap_file

from kgtrec.campaign.people import LONGEST_NAME, change_people, changed_people
from kgtrec.campaign.qrels import LEVELS
from kgtrec.campaign.sharing import moved_tasks, shared_out, write_shares
from kgtrec.campaign.tasks import relation_counts
from kgtrec.campaign.track import track
from kgtrec.campaign.verdict_rules import roles_of
from kgtrec.campaign.wording import draft_template, readable, relations_in
from kgtrec.data.campaign import MOST_PER_TRIPLE, PERSON_ROLES, Campaign, template_parts
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES
from kgtrec.data.table import Table
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, counted, one_of
from kgtrec.formats.campaign.folder import read_people, read_templates, write_people, write_templates
from kgtrec.formats.output.folders import EXPLORATION, PEOPLE, TEMPLATES
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.report.cells import is_number_column, table_cells
from kgtrec.serve.app import look, page, paged, refusal, site, whole
from kgtrec.serve.auth import require_active
from kgtrec.serve.manager_downloads import agreement_csv, folder_archive, qrels_archive, safe_name
from kgtrec.serve.manager_figures import DAYS, FEW, RECENT_DAYS, TOO_FAST, needs
from kgtrec.serve.training import change_gold, gold_form, training_table
from kgtrec.serve.views import in_words, phrased, work_of

PER = ("", "relation", "pair")
_RELATIONS = 100  # on a page of the list
_PREVIEWED = 5  # triples
_LONGEST_TEMPLATE = 2_000  # characters
_LONGEST_WORDS = 200
_TYPES = {".zip": "application/zip", ".csv": "text/csv"}  # of a download
#: an origin that nobody else has, so that its script has no session; which script that is, the page's own policy says
_OF_EXPLORATION = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MAKING = threading.Lock()  # of one download at a time


def grid(table: Table) -> dict[str, Any]:
    """Lay out a result's table with its numbers as a report shows them, intervals beside their values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> grid(Table("t", "", "", pa.table({"person": ["ann"], "verdicts": [1200]})))["rows"]
    [('ann', '1,200')]
    """
    wide = table.wide
    return {
        "head": [in_words((column.label or column.name).replace("_", " ").strip()) for column in wide.columns],
        "is_number": [is_number_column(wide, column) for column in wide.columns],
        "rows": [
            tuple(" ".join(filter(None, (cell.text, cell.interval))) for cell in row) for row in table_cells(table)
        ],
    }


def dashboard() -> Response:
    """Show how far the campaign is, how well and how fast people judge; and the training round."""
    done: Sequence[str] = ()
    error, typed = "", cast("Mapping[str, str]", {})
    if request.method == "POST":
        try:
            done = change_gold(site().service, request.form)
            g.look = site().service.look(g.session.person)
        except KgtrecError as refused:
            error, typed = str(refused), request.form
    overview, roles = site().figures.overview(), roles_of(look().campaign.people)
    adjudicators = [name for name, active in roles.items() if active.get(ROLES[ADJUDICATOR])]
    return page(
        "manager_dashboard.html",
        422 if error else 200,
        overview=overview,
        gold=gold_form(look(), typed),
        training=training_table(look(), site().state) if look().campaign.training else None,
        done=done,
        error=error,
        grid=grid,
        in_words=in_words,
        moment=_moment,
        needs=needs(overview, adjudicators, len(site().service.waiting())),
        constants={"days": RECENT_DAYS, "shown": DAYS, "too_fast": TOO_FAST, "few": FEW},
    )


def people() -> Response:
    """Show and change who takes part, their links, and the tasks of those who have left."""
    if request.method == "GET":
        return _people()
    form = request.form
    try:
        one_of("something to do among", action := form.get("action", ""), _PEOPLE_ACTIONS)
        done, link = _PEOPLE_ACTIONS[action]()
    except NotSureError as asked:
        return _people(asked=asked.args[0], typed=form)
    except KgtrecError as error:
        return _people(422, error=str(error), typed=form)
    return _people(done=done, link=link)


def templates() -> Response:
    """List the relations, and the sentences by which people are asked about them."""
    words = request.args.get("text", "")[:_LONGEST_WORDS].strip()
    relations = _relations(look().campaign)
    if words:
        folded = words.casefold()
        relations = [
            relation
            for relation in relations
            if folded in "{relation}\n{name}\n{template}".format(**relation).casefold()
        ]
    shown, numbers = paged(relations, _RELATIONS)
    return page("manager_templates.html", relations=shown, text=words, **numbers)


def template() -> Response:
    """Edit one relation's template, with a preview on triples of the pool."""
    campaign = look().campaign
    values = request.form if request.method == "POST" else request.args
    relation = values.get("relation", "")
    triples = _some_triples(campaign, relation)
    if not len(triples):
        return refusal(404)
    own = campaign.templates.get(relation, "")
    if request.method == "GET":
        return _template(relation, triples, typed=own or draft_template(relation), before=own)
    typed, before = values.get("template", "").strip(), values.get("before", "")
    try:
        if len(typed) > _LONGEST_TEMPLATE:
            raise KgtrecError(f"expected a template of at most {_LONGEST_TEMPLATE:,} characters, got {len(typed):,}")
        template_parts(typed)
        now = set_template(site().service.folder, relation, typed, before) if "save" in values else before
    except KgtrecError as error:
        status = 422 if "save" in values else 200
        return _template(relation, triples, status, typed=typed, before=before, error=str(error))
    if now is None:
        return _template(relation, triples, typed=typed, before=typed, done="Stored.")
    if now != before:
        return _template(relation, triples, 409, typed=typed, before=now, other=now or "no template")
    return _template(relation, triples, typed=typed, before=before)


def set_template(folder: str | os.PathLike[str], relation: str, template: str, before: str) -> str | None:
    """Store a relation's template, if it still is what somebody saw who edited it.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    relation, template : str
    before : str
        The template that they saw; empty for none.

    Returns
    -------
    str or None
        What the template is now, if it is neither of both, and nothing was stored; else None.

    Raises
    ------
    KgtrecError
        If it cannot be filled in.
    """
    template_parts(template)
    with campaign_lock(folder):
        known = read_templates(Path(folder, TEMPLATES))
        now = known.get(relation, "")
        if now not in (template, before):
            return now
        if now != template:
            write_templates(folder, known | {relation: template})
        return None


def downloads(status: int = 200, error: str = "") -> Response:
    """List what can be downloaded."""
    there = (site().service.folder / EXPLORATION).is_file()
    return page("manager_downloads.html", status, error=error, has_exploration=there)


def exploration() -> Response:
    """Show the page of ``kgtrec explore`` that stands in the folder: its script runs, and reaches nothing here."""
    path = site().service.folder / EXPLORATION
    if path.is_symlink() or not path.is_file():
        return refusal(404)
    response = Response(path.read_bytes(), mimetype="text/html")
    response.headers["Content-Security-Policy"] = _OF_EXPLORATION
    return response


def qrels() -> Response:
    """Send the qrels as an archive."""
    level: Any = request.args.get("level", LEVELS[0])
    return refusal(404) if level not in LEVELS else _download("-qrels", ".zip", partial(qrels_archive, level=level))


def campaign() -> Response:
    """Send the folder as an archive."""
    return _download("", ".zip", folder_archive)


def agreement() -> Response:
    """Send the figures of agreement as CSV."""
    per: Any = request.args.get("per", "")
    if per not in PER:
        return refusal(404)
    return _download(f"-agreement-{per}".rstrip("-"), ".csv", partial(agreement_csv, per=per or None))


def _people(status: int = 200, typed: Mapping[str, str] = MappingProxyType({}), **shown: Any) -> Response:
    """The page; ``shown``: what was done, or not (error), a person's new link, or what is asked before."""
    service = site().service
    progress = site().figures.progress()
    to_judge = progress.to_do
    linked = dict(site().state.links())
    again = Counter(name for name, role, _ in service.waiting() if role == ROLES[ANNOTATOR])
    participants = []
    for name, roles in roles_of(read_people(Path(service.folder, PEOPLE))).items():
        others = [role for role in (ROLES[ADJUDICATOR], ROLES[EXPERT]) if roles.get(role)]
        n_other = sum(work_of(service, service.look(name), role).n_open for role in others)
        participants.append(
            {
                "name": name,
                "roles": roles,
                "is_active": any(roles.values()),
                "has_link": name in linked,
                "to_do": to_judge.get(name, 0) + again[name] + n_other,  # open tasks, in all roles
                "to_judge": to_judge.get(name, 0),  # those as an annotator, which can go to others
            }
        )
    return page(
        "manager_people.html",
        status,
        participants=participants,
        person_roles=PERSON_ROLES,
        progress=progress,
        typed=typed,
        longest=LONGEST_NAME,
        most=MOST_PER_TRIPLE,
        **shown,
    )


_Done = tuple[list[str], tuple[str, str] | None]  # what was done, and a person with a new link


def _add() -> _Done:
    """Somebody comes, or is back; who has no link is given one."""
    name = request.form.get("name", "").strip()
    one_of("a role of", chosen := request.form.get("role", ""), PERSON_ROLES)
    role = PERSON_ROLES.index(chosen)
    done = change_people(site().service.folder, {role: [name]}) or [f"{name} is {chosen} already"]
    has_link = any(name == person for person, _ in site().state.links())
    if role == ANNOTATOR:
        done.append("Share out the open triples below, so that annotators who are new get tasks")
    return done, None if has_link else (name, _linked(name))


class NotSureError(Exception):
    """Whoever asks for a change is to see first what it means: its argument is what the page shows."""


def ask(question: str, changes: Sequence[str]) -> None:
    """Go on if the form says yes to exactly this; something may have happened since it was asked."""
    sure = request.form.get("sure", "")
    digest = hashlib.sha256("\n".join([question, *changes]).encode()).hexdigest()
    if sure != digest:
        raise NotSureError({"question": question, "changes": changes, "is_again": bool(sure), "digest": digest})


def _in_words(moved: Mapping[str, tuple[int, int]]) -> list[str]:
    """Who loses and who gets how many tasks."""
    return [
        *(f"{name} loses {counted(lost, 'open task')}" for name, (lost, _) in moved.items() if lost),
        *(f"{name} gets {counted(got, 'open task')}" for name, (_, got) in moved.items() if got),
    ]


def _leave() -> _Done:
    """Somebody takes part no more."""
    name = _not_oneself()
    with site().service.changing() as campaign:
        people, done = changed_people(campaign.people, {}, [name])
        if not done:
            return [f"{name} had left already"], None
        left = track(campaign).to_do.get(name, 0)
        waits = [f"nobody judges their {counted(left, 'open task')} until triples are shared out anew"] if left else []
        ask(f"Has {name} left?", [*done, f"{name} is signed out", *waits])
        write_people(site().service.folder, people)
    return done, None


def _hand_over() -> _Done:
    """Somebody takes part no more, and their open tasks go to others."""
    name = _not_oneself()
    with site().service.changing() as campaign:
        people, done = changed_people(campaign.people, {}, [name])
        changed = shared_out(campaign, people=people)
        moved = moved_tasks(campaign.assignments, changed.assignments)
        ask(f"Has {name} left, and do others get the open tasks?", [*done, *_in_words(moved)])
        write_shares(site().service.folder, campaign, changed)
    return [*done, "Open tasks of those who have left went to others"], None


def _not_oneself() -> str:
    """The name in the form, which is not that of the manager who sends it."""
    name = request.form.get("name", "")
    if name == g.session.person:
        raise KgtrecError("you cannot remove yourself; ask another manager, or run kgtrec campaign init --left")
    return name


def _share() -> _Done:
    """The open triples are shared out anew."""
    per_triple = whole(request.form.get("per_triple", "")) or 0
    if not 1 <= per_triple <= MOST_PER_TRIPLE:
        raise KgtrecError(
            f"expected 1 to {MOST_PER_TRIPLE} annotators per triple, got {request.form.get('per_triple', '')!r}"
        )
    with site().service.changing() as campaign:
        changed = shared_out(campaign, per_triple=None if per_triple == campaign.per_triple else per_triple)
        moved = moved_tasks(campaign.assignments, changed.assignments)
        if any(lost for lost, _ in moved.values()):
            ask("Share out the open triples anew?", _in_words(moved))
        write_shares(site().service.folder, campaign, changed)
    before, now = len(campaign.assignments), len(changed.assignments)
    return [f"Shared out: {counted(now, 'task')}, judged ones included; {before:,} before"], None


def _link() -> _Done:
    """Somebody gets a new link, and the former one is void."""
    name = request.form.get("name", "")
    require_active(site().service.folder, name)
    if any(name == person for person, _ in site().state.links()):
        ask(f"A new link for {name}?", [f"the former link of {name} is void at once", f"{name} is signed out"])
    return [f"{name} has a new link"], (name, _linked(name))


_PEOPLE_ACTIONS = {"add": _add, "leave": _leave, "hand_over": _hand_over, "share": _share, "link": _link}


def _linked(name: str) -> str:
    own = site()
    require_active(own.service.folder, name)
    return own.state.link(name, own.url)


def _relations(campaign: Campaign) -> list[dict[str, Any]]:
    """The relations that people are asked about, in byte order: ``name``: its words; ``is_draft``: in general words."""
    triples = campaign.pool.triples
    of_people, counts = relation_counts(triples.take(campaign.automatic.for_people)), Counter[str]()
    for relation in relation_counts(triples):
        counts.update(dict.fromkeys(relations_in(relation), of_people.get(relation, 0)))
    relations = []
    for label, count in counts.items():
        draft = draft_template(label)
        own = campaign.templates.get(label, draft)
        about = {"relation": label, "name": readable(label), "triples": count}
        relations.append(about | {"template": own, "is_draft": own == draft})
    return sorted(relations, key=lambda relation: relation["relation"].encode())


def _some_triples(campaign: Campaign, relation: str) -> Triples:
    """A few triples of a relation, from all over the pool; none if the pool has none."""
    triples = campaign.pool.triples
    used = [label for label in relation_counts(triples) if relation in relations_in(label)]
    rows = np.flatnonzero(np.isin(triples.relation, triples.relations.encode(used)))
    for_people = rows[campaign.automatic.for_people[rows]]
    rows = for_people if len(for_people) else rows
    places = np.unique(np.linspace(0, len(rows) - 1, _PREVIEWED).astype(np.intp))
    return triples.take(rows[places] if len(rows) else rows)


def _template(
    relation: str, triples: Triples, status: int = 200, *, typed: str, before: str, **result: str
) -> Response:
    """The page; ``result``: that it was stored (done), or why not (error, or the other template that is there now)."""
    tried = replace(look().campaign, templates={**look().campaign.templates, relation: typed})
    previewed = [] if "error" in result else phrased(tried, triples)
    return page(
        "manager_template.html",
        status,
        here="/manage/templates",
        relation=relation,
        is_preview="preview" in request.form,
        name=readable(relation),
        previewed=previewed,
        typed=typed,
        before=before,
        longest=_LONGEST_TEMPLATE,
        **result,
    )


def _download(what: str, suffix: str, make: Callable[[Path, str], IO[bytes]]) -> Response:
    """A file to be kept; one is made at a time, so that those who judge do not wait."""
    folder = site().service.folder
    name = f"{safe_name(folder.absolute().name)}{what}"
    if not _MAKING.acquire(blocking=False):
        return refusal(429, "Another download is being made. Wait a moment and try again.")
    try:
        made = make(folder, name)
    except KgtrecError as error:
        return downloads(422, str(error))
    finally:
        _MAKING.release()
    size = made.seek(0, os.SEEK_END)
    made.seek(0)
    contents = cast("Any", wrap_file(request.environ, made))
    response = Response(contents, mimetype=_TYPES[suffix], direct_passthrough=True)
    response.content_length = size
    response.headers["Content-Disposition"] = f'attachment; filename="{safe_name(name + suffix)}"'
    return response


def _moment(seconds: float) -> str:
    """A time for people to read, UTC; of one that lies too far ahead a far one."""
    return datetime.fromtimestamp(min(seconds, 32_503_680_000), UTC).strftime("%Y-%m-%d %H:%M")

"""What people who judge ask for: guidelines, one question at a time, and what they have said.

Annotators, adjudicators and experts have the same pages, each under the address of its
:data:`kgtrec.serve.views.ROLE_PAGES`; which questions are there: :func:`kgtrec.serve.views.work_of`.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from flask import Response, g, make_response, request

from kgtrec.data.judgements import ANNOTATOR, ROLES, VERDICTS
from kgtrec.serve.app import back, look, page, paged, refusal, site, wants_json, whole
from kgtrec.serve.rendering import markdown
from kgtrec.serve.service import Statement
from kgtrec.serve.state import View
from kgtrec.serve.submissions import CONFLICT, GONE, GOOD, REFUSED, STORED, Outcome, Submission, submit
from kgtrec.serve.training import has_open
from kgtrec.serve.views import PAGE, ROLE_PAGES, Work, now_utc, work_of

_LONGEST_VIEW = 3600.0  # seconds
_LONGEST_TEXT = 200  # characters to look for
_SECONDS = re.compile(r"[0-9]{1,16}(\.[0-9]*)?")


def guidelines() -> Response:
    """Show the guidelines; who has read them says so once."""
    text, person = site().service.guidelines(), g.session.person
    digest = _digest(text)
    if request.method == "POST":
        site().state.set_read(person, digest)
        return back("/")
    return page("guidelines.html", text=markdown(text), is_new=not site().state.has_read(person, digest))


def next_question(role: str) -> Response:
    """Redirect to the first question with an open task, after guidelines and, for annotators, training."""
    text = site().service.guidelines()
    if text.strip() and not site().state.has_read(g.session.person, _digest(text)):
        return back("/guidelines")
    if role == ROLES[ANNOTATOR] and has_open(look()):
        return back("/training")
    work = _work(role)
    number = work.next_question()
    if number is None:
        progress = work.progress(now_utc())
        numbers = {"n_stored": _counted("stored"), "n_gone": _counted("gone")}
        return page("done.html", pages=work.pages, progress=progress, **numbers)
    counts = "&".join(f"{name}={_counted(name)}" for name in ("stored", "gone") if _counted(name))
    return back(f"{work.pages.path}/{number}" + (f"?{counts}" if counts else ""))


def question(role: str, number: int) -> Response:
    """Show a question with its candidates, and store the verdicts that somebody gives."""
    work = _work(role)
    tasks = work.tasks(number)
    if request.method == "GET":
        return _question(work, number, again=_counted("again"), n_stored=_counted("stored"), n_gone=_counted("gone"))
    form = request.form
    if form.get("edition", "") != _edition():
        return refusal(409)
    name = next((name for name in ("undo", "only") if name in form), "")
    if name:
        task = whole(form[name])
        if task not in tasks:
            return _gone(work, number, task)
        return (
            _undo(role, number, task) if name == "undo" else _answer(role, number, [_submission(task, is_alone=True)])
        )
    if "relink" in form:
        former, link = form["relink"], form.get("source", "").strip()
        corrected = [
            Submission(task, last.verdict, link, last.note, form.get(f"before-{task}", ""))
            for task, last in _under(work, number, former).items()
        ]
        return _answer(role, number, corrected)
    shown = [whole(name.removeprefix("before-")) for name in form if name.startswith("before-")]
    filled_in = [
        task
        for task in dict.fromkeys([*tasks, *shown])
        if task is not None and any(form.get(f"{name}-{task}", "").strip() for name in ("verdict", "source", "note"))
    ]
    current = [_submission(task) for task in filled_in if task in tasks]
    return _answer(role, number, current, n_gone=len(filled_in) - len(current))


def _under(work: Work, number: int, link: str) -> dict[int, Statement]:
    """Task -> what was said of it, where that is Yes or No with a link."""
    question_page = work.page(number) if link else None
    said = {one["task"]: one["last"] for one in question_page["candidates"]} if question_page else {}
    return {task: last for task, last in said.items() if last and last.source == link and last.verdict in VERDICTS[:2]}


def _relink(work: Work, number: int) -> dict[str, Any] | None:
    """What to ask of answers under the former link of a question, whose link the form has corrected."""
    former, link = (request.form.get(name, "").strip() for name in ("link", "source"))
    n = len(_under(work, number, former)) if link and link != former else 0
    return {"former": former, "link": link, "n": n} if n else None


def verdicts(role: str) -> Response:
    """List the verdicts that somebody has given, to look through and to correct."""
    verdict = request.args.get("verdict", "")
    verdict = verdict if verdict in VERDICTS else ""
    text = request.args.get("text", "")[:_LONGEST_TEXT].strip()
    shown, numbers = paged(_work(role).verdicts(verdict, text), PAGE)
    return page("verdicts.html", pages=ROLE_PAGES[role], verdicts=shown, verdict=verdict, text=text, **numbers)


def seen(role: str) -> Response:
    """Store how long somebody has looked at a task, as the browser reports it."""
    task = whole(request.form.get("task", ""))
    if task is None or task not in _work(role).task_numbers:
        return refusal(404)
    seconds = request.form.get("seconds", "")
    opened = whole(request.form.get("opened", "0"))
    if not _SECONDS.fullmatch(seconds) or opened is None:
        return refusal(400)
    own, looked = site().state, min(float(seconds), _LONGEST_VIEW)
    with suppress(sqlite3.Error):  # may be lost
        own.add_view(View(g.session.person, role, task, own.clock(), looked, min(opened, 1000)))
    return make_response("", 204)


def _work(role: str) -> Work:
    """What the person who asks has to do in a role, as it is now."""
    return work_of(site().service, look(), role)


def _edition() -> str:
    """The campaign and its pool, for whose tasks a form is filled in."""
    return site().state.edition_of(look().edition)


def _question(work: Work, number: int, status: int = 200, **shown: Any) -> Response:
    """The page; ``shown``: what became of a form, or what is asked of one."""
    question_page = work.page(number)
    if question_page is None:
        return _gone(work, number)
    return page(
        "question.html",
        status,
        here=work.pages.path,
        pages=work.pages,
        question=question_page,
        progress=work.progress(now_utc()),
        edition=_edition(),
        **{"typed": {}, "outcomes": {}} | shown,
    )


def _gone(work: Work, number: int, task: int | None = None) -> Response:
    """That a task is not the person's: not any more, or it never was, or there is none of that number."""
    if wants_json() and task is not None:
        return make_response(_as_json(work, number, [Outcome(task, GONE)]), 404)
    return page("refusal.html", 404, message=work.pages.gone)


def _answer(role: str, number: int, submissions: Sequence[Submission], *, n_gone: int = 0) -> Response:
    """Store verdicts, and show a browser what became of them; ``n_gone`` others were no longer the person's."""
    outcomes, g.look = submit(site().service, look(), role, submissions)
    work = _work(role)
    n_gone += sum(outcome.kind == GONE for outcome in outcomes)
    kinds = {outcome.kind for outcome in outcomes}
    status = 409 if CONFLICT in kinds else 422 if REFUSED in kinds else 404 if GONE in kinds else 200
    if wants_json():
        return make_response(_as_json(work, number, outcomes), status)
    if kinds & {CONFLICT, REFUSED}:
        typed = {one.task: one for one, out in zip(submissions, outcomes, strict=True) if out.kind not in GOOD}
        by_task = {outcome.task: outcome for outcome in outcomes}
        return _question(work, number, status, n_gone=n_gone, outcomes=by_task, typed=typed)
    n_stored = sum(outcome.kind == STORED for outcome in outcomes)
    if relink := _relink(work, number):
        return _question(work, number, n_stored=n_stored, n_gone=n_gone, relink=relink)
    counts = f"stored={n_stored}" + (f"&gone={n_gone}" if n_gone else "")
    first = work.first_open(number)
    if first is not None:
        return back(f"{work.pages.path}/{number}?{counts}#task-{first}")
    following = work.next_question(number)
    return back(f"{work.pages.path}{f'/{following}' if following else ''}?{counts}")


def _as_json(work: Work, number: int, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    answers = []
    for outcome in outcomes:
        now = outcome.now
        answers.append(
            {
                "task": outcome.task,
                "kind": outcome.kind,
                "message": work.pages.gone if outcome.kind == GONE else outcome.message,
                "digest": now.digest if now else "",
                "answer": work.pages.answers[now.verdict] if now else "",
                **({"verdict": now.verdict, "source": now.source, "note": now.note} if now else {}),
            }
        )
    return {"outcomes": answers, "next": work.next_question(number), **work.progress(now_utc())}


def _undo(role: str, number: int, task: int) -> Response:
    """Back to what somebody has said before; a first verdict stays until another one takes its place."""
    row = look().row_of(task)
    said = [] if row is None else look().said(role, [row]).get(row, [])
    if not said:
        return refusal(404)
    if len(said) == 1:
        answer = ROLE_PAGES[role].answers[said[0].verdict]
        address = f"{ROLE_PAGES[role].path}/{number}?again={task}#task-{task}"
        return make_response({"outcomes": [], "again": task, "answer": answer}) if wants_json() else back(address)
    return _answer(role, number, [Submission(task, *said[-2].said, before=request.form.get(f"before-{task}", ""))])


def _submission(task: int, *, is_alone: bool = False) -> Submission:
    """What a form says of a task; the link of the question stands for one that is not there."""
    form = request.form
    verdict = form.get(f"verdict-{task}", "")
    source = form.get(f"source-{task}", "").strip()
    if not source and verdict in VERDICTS[:2]:
        source = form.get("source", "").strip()
    return Submission(task, verdict, source, form.get(f"note-{task}", ""), form.get(f"before-{task}", ""), is_alone)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _counted(name: str) -> int:
    """A number of the address, 0 where there is none."""
    return whole(request.args.get(name, "")) or 0

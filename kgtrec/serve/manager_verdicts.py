"""What those who manage a campaign see of single verdicts and notes: all that count, to look through and send back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flask import Response, g, request

from kgtrec.campaign.verdict_rules import roles_of, wrong_note
from kgtrec.campaign.work_times import moments
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.judgements import ANNOTATOR, ROLES, VERDICTS, Judgements
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.sent_back import SentBack
from kgtrec.serve.app import look, page, paged, site, whole
from kgtrec.serve.manager import NotSureError, ask
from kgtrec.serve.service import Statement
from kgtrec.serve.views import PAGE, ROLE_PAGES, phrased

LONGEST_REMARK = 1_000  # characters
_LONGEST_TEXT = 200
_WANTED = "person", "relation", "verdict", "source", "waiting"  # what the address may ask for


def verdicts() -> Response:
    """List all verdicts that count, the latest first, those that are looked for; one is sent back with a remark."""
    error, done, asked, form = "", "", None, request.form
    if request.method == "POST":
        try:
            done = _send_back()
        except NotSureError as unsure:
            asked = unsure.args[0]
        except KgtrecError as refused:
            error = str(refused)
    wanted = {name: request.args.get(name, "").strip()[:_LONGEST_TEXT] for name in _WANTED}
    listed, numbers = _found(**wanted)
    return page(
        "manager_verdicts.html",
        422 if error else 200,
        verdicts=listed,
        **numbers,
        wanted=wanted,
        answers=ROLE_PAGES[ROLES[ANNOTATOR]].answers,
        people=sorted(look().campaign.people.names, key=str.encode),
        error=error,
        done=[done] if done else [],
        asked=asked,
        typed=form,
        longest=LONGEST_REMARK,
    )


def _send_back() -> str:
    form = request.form
    person, role, remark = (form.get(name, "").strip() for name in ("person", "role", "remark"))
    if not remark or len(remark) > LONGEST_REMARK:
        raise KgtrecError(f"expected a remark of 1 to {LONGEST_REMARK:,} characters, got {len(remark):,}")
    if wrong := wrong_note(remark):
        raise KgtrecError(wrong)
    task = whole(form.get("task", "")) or 0
    ask(
        f"Send the verdict back to {person}?",
        [f"{person} judges it again, or keeps it as it is", f"this remark cannot be taken back: {remark}"],
    )
    site().service.send_back(g.session.person, person, role, task, form.get("before", ""), remark)
    return f"Sent back to {person}, who finds it among what is to be done, with your remark."


def _found(
    person: str, relation: str, verdict: str, source: str, waiting: str
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """A page of the list, and its numbers; what is looked for as in the address, empty: anything."""
    campaign, sent_back = site().service.campaign(), site().service.waiting()
    said, triples = campaign.judgements.latest(), campaign.pool.triples
    chosen = np.ones(len(said), np.bool_)
    if person:
        chosen &= said.annotator == said.annotators.encode([person])[0]
    if verdict in VERDICTS:
        chosen &= said.verdict == VERDICTS.index(verdict)
    if relation:
        has_words = values_of(pc.match_substring(triples.relations.labels, relation, ignore_case=True))
        chosen &= has_words[triples.relation[said.triple]]
    if source:
        chosen &= values_of(pc.match_substring(said.source, source, ignore_case=True))
    if waiting:
        chosen &= np.isin(said.triple, [row for _, _, row in sent_back])
        chosen[chosen] = [key in sent_back for key in _keys(said.take(chosen))]
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(moments(said.time)[rows], kind="stable")[::-1]]
    shown, numbers = paged(rows, PAGE)
    return _listed(said.take(shown), sent_back), numbers


def _keys(said: Judgements) -> list[tuple[str, str, int]]:
    """(n,) person, role and triple of verdicts."""
    names = said.annotators.decode(said.annotator).to_pylist()
    return list(zip(names, (ROLES[role] for role in said.role.tolist()), said.triple.tolist(), strict=True))


def _listed(said: Judgements, sent_back: Mapping[tuple[str, str, int], SentBack]) -> list[dict[str, Any]]:
    """(n,) verdicts as the page shows them; ``can_return``: whether the person still takes part."""
    numbers, roles = look().numbers, roles_of(look().campaign.people)
    triples = look().campaign.pool.triples.take(said.triple.astype(np.intp))
    relations = triples.relations.decode(triples.relation).to_pylist()
    columns = said.source.to_pylist(), said.note.to_pylist(), said.time.to_pylist()
    verdicts = (VERDICTS[verdict] for verdict in said.verdict.tolist())
    rows = zip(_keys(said), phrased(look().campaign, triples), relations, verdicts, *columns, strict=True)
    return [
        {
            "task": int(numbers.task[key[2]]),
            "question": question,
            "relation": relation,
            "person": key[0],
            "role": key[1],
            "answer": ROLE_PAGES[key[1]].answers[verdict],
            "statement": Statement(verdict, *texts),
            "sent_back": sent_back.get(key),
            "can_return": roles.get(key[0], {}).get(key[1], False),
        }
        for key, question, relation, verdict, *texts in rows
    ]

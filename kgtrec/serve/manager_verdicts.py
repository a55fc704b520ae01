"""What those who manage a campaign see of single verdicts and notes: all that count, to look through and send back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from flask import Response, g, request

from kgtrec.campaign.verdict_rules import roles_of, wrong_note
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.judgements import ANNOTATOR, ROLES, VERDICTS, Judgements
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.sent_back import SentBack
from kgtrec.serve.app import house, look, page, paged, whole
from kgtrec.serve.desk import Words
from kgtrec.serve.views import PAGE, ROLE_PAGES, moments, phrased

LONGEST_REMARK = 1_000  # characters
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict in the list."""

    task: int
    question: str
    relation: str
    person: str
    role: str
    answer: str
    words: Words
    sent_back: SentBack | None  # if it waits for its person
    can_return: bool  # whether the person still takes part


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for; empty: anything."""

    person: str
    relation: str  # words of its label
    verdict: str
    source: str  # words of the link
    waiting: str  # "yes": only what was sent back

    @classmethod
    def asked(cls) -> Wanted:
        """What the address asks for."""
        return cls(*(request.args.get(name, "").strip()[:_LONGEST_TEXT] for name in cls.__slots__))


def verdicts() -> Response:
    """All verdicts that count, the latest first, those that are looked for; one of them is sent back with a remark."""
    error, done, form = "", "", request.form
    if request.method == "POST":
        try:
            done = _send_back()
        except KgtrecError as refused:
            error = str(refused)
    wanted = Wanted.asked()
    found, numbers = _found(wanted)
    return page(
        "manager_verdicts.html",
        422 if error else 200,
        verdicts=found,
        **numbers,
        wanted=wanted,
        answers=ROLE_PAGES[ROLES[ANNOTATOR]].answers,
        people=sorted(look().campaign.people.names, key=str.encode),
        error=error,
        done=[done] if done else [],
        typed={"key": (form.get("person"), form.get("role"), form.get("task")), "remark": form.get("remark", "")},
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
    house().desk.send_back(g.session.person, person, role, task, form.get("before", ""), remark)
    return f"Sent back to {person}, who finds it among what is to be done, with your remark."


def _found(wanted: Wanted) -> tuple[list[Said], dict[str, int]]:
    """A page of the list, and its numbers."""
    campaign, waiting = house().desk.campaign(), house().desk.waiting()
    said, triples = campaign.judgements.latest(), campaign.pool.triples
    chosen = np.ones(len(said), np.bool_)
    if wanted.person:
        chosen &= said.annotator == said.annotators.encode([wanted.person])[0]
    if wanted.verdict in VERDICTS:
        chosen &= said.verdict == VERDICTS.index(wanted.verdict)
    if wanted.relation:
        has_words = values_of(pc.match_substring(triples.relations.labels, wanted.relation, ignore_case=True))
        chosen &= has_words[triples.relation[said.triple]]
    if wanted.source:
        chosen &= values_of(pc.match_substring(said.source, wanted.source, ignore_case=True))
    if wanted.waiting:
        chosen &= np.isin(said.triple, [row for _, _, row in waiting])
        chosen[chosen] = [key in waiting for key in _keys(said.take(chosen))]
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(moments(said.time)[rows], kind="stable")[::-1]]
    shown, numbers = paged(rows, PAGE)
    return _listed(said.take(shown), waiting), numbers


def _keys(said: Judgements) -> list[tuple[str, str, int]]:
    """(n,) person, role and triple of verdicts."""
    names = said.annotators.decode(said.annotator).to_pylist()
    return list(zip(names, (ROLES[role] for role in said.role.tolist()), said.triple.tolist(), strict=True))


def _listed(said: Judgements, waiting: Mapping[tuple[str, str, int], SentBack]) -> list[Said]:
    """(n,) verdicts as the page shows them."""
    numbers, roles = look().numbers, roles_of(look().campaign.people)
    triples = look().campaign.pool.triples.take(said.triple.astype(np.intp))
    texts = said.source.to_pylist(), said.note.to_pylist(), said.time.to_pylist()
    told = zip(
        _keys(said),
        phrased(look().campaign, triples),
        triples.relations.decode(triples.relation).to_pylist(),
        (VERDICTS[verdict] for verdict in said.verdict.tolist()),
        zip(*texts, strict=True),
        strict=True,
    )
    return [
        Said(
            int(numbers.task[key[2]]),
            question,
            relation,
            *key[:2],
            ROLE_PAGES[key[1]].answers[verdict],
            Words(verdict, *words),
            waiting.get(key),
            roles.get(key[0], {}).get(key[1], False),
        )
        for key, question, relation, verdict, words in told
    ]

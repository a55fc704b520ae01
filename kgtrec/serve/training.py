"""The training round: a few gold triples that annotators judge first, and are told the answer of each.

What they say is kept in :class:`kgtrec.serve.state.State` and counts nowhere. Nobody is given these triples unmarked,
and nobody is trained on one that they have judged unmarked before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flask import Response, g, request
from numpy.typing import NDArray

from kgtrec.campaign.tasks import search_text
from kgtrec.data.judgements import ANNOTATOR, ROLES, UNSURE, VERDICTS
from kgtrec.serve.app import back, house, look, page, refusal
from kgtrec.serve.desk import Look
from kgtrec.serve.views import ROLE_PAGES, Candidate, Search, candidates, searches

_PAGES = ROLE_PAGES[ROLES[ANNOTATOR]]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A triple of the training round."""

    candidate: Candidate
    searches: tuple[Search, ...]
    nth: int
    n: int
    said: str  # by the person, one of VERDICTS; empty: nothing yet
    known: str  # the answer
    explanation: str  # why

    @property
    def told(self) -> str:
        """What the person is told of their answer; empty where there is none.

        Examples
        --------
        >>> from kgtrec.serve.views import Entity
        >>> one = Candidate(1, "Is it?", Entity("a", ""), "is", Entity("b", ""))
        >>> [Lesson(one, (), 1, 2, said, "N", "").told for said in ("", "N", "unsure")]
        ['', 'Right: the answer is No.', 'The answer is No.']
        """
        if not self.said:
            return ""
        if self.said == VERDICTS[UNSURE]:
            return f"The answer is {_PAGES.answers[self.known]}."
        return f"{'Right' if self.said == self.known else 'Not right'}: the answer is {_PAGES.answers[self.known]}."


def rows_of(own: Look) -> NDArray[np.int32]:
    """(m,) what somebody is trained on, in its order; rows in the triples of the look's numbers."""
    campaign = own.numbers.of
    rows = campaign.gold.rows(own.campaign.training)
    rows = rows[rows >= 0] + len(campaign.pool)
    judged = own.judgements.triple[own.judgements.role == ANNOTATOR]
    return rows[~np.isin(rows, judged)].astype(np.int32)


def has_open(own: Look) -> bool:
    """Whether there is something that somebody was not trained on."""
    if not own.campaign.training:
        return False
    said = house().state.trained_of(own.person)
    return any(one not in said for one in own.numbers.task[rows_of(own)].tolist())


def begin() -> Response:
    """To the first triple without an answer; after the last one, how many were right."""
    own = look()
    rows, said = rows_of(own), house().state.trained_of(own.person)
    tasks = own.numbers.task[rows].tolist()
    if following := [one for one in tasks if one not in said]:
        return back(f"/training/{following[0]}")
    if not tasks:
        return refusal(404, "There is no training round.")
    n_right = sum(said[one] == _known(own, row) for one, row in zip(tasks, rows.tolist(), strict=True))
    return page("training_done.html", here=_PAGES.path, n=len(tasks), n_right=n_right)


def task(number: int) -> Response:
    """A triple, and once somebody has answered, what the answer is."""
    own = look()
    rows = rows_of(own)
    tasks = own.numbers.task[rows].tolist()
    if number not in tasks:
        return refusal(404, "This is not in the training round, or not any more.")
    verdict = request.form.get("verdict", "")
    if request.method == "POST" and verdict in VERDICTS:
        house().state.set_trained(g.session.person, number, verdict)
        return back(f"/training/{number}#answer")
    status = 422 if request.method == "POST" else 200
    nth = tasks.index(number)
    said = house().state.trained_of(own.person).get(number, "")
    lesson = _lesson(own, rows, nth, said)
    return page("training.html", status, here=_PAGES.path, lesson=lesson, answers=_PAGES.answers)


def _lesson(own: Look, rows: NDArray[np.int32], nth: int, said: str) -> Lesson:
    row, numbers, campaign = int(rows[nth]), own.numbers, own.campaign
    only = rows[nth : nth + 1]
    (candidate,) = candidates(own, only, numbers.triples.take(only.astype(np.intp)), {})
    asked, place = numbers.asked(int(numbers.group[row]))
    anchor = asked.entities[asked.anchor[place]]
    names = {anchor: campaign.names[anchor]} if anchor in campaign.names else {}
    text = search_text(asked, np.array([place]), names)[0].as_py()
    explanation = numbers.of.gold.explanation[row - len(campaign.pool)].as_py()
    hosts = searches(campaign.sources, text)
    return Lesson(candidate, hosts, nth + 1, len(rows), said, _known(own, row), explanation)


def _known(own: Look, row: int) -> str:
    gold = own.numbers.of.gold
    return VERDICTS[gold.verdict[row - len(own.campaign.pool)]]

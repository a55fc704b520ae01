"""The training round: a few gold triples that annotators judge first, and are shown the answer of each.

What they say is kept in :class:`kgtrec.serve.state.State` and counts nowhere. Nobody is asked about these triples
otherwise: they are not in the pool.
"""

from __future__ import annotations

import numpy as np
from flask import Response, g, request

from kgtrec.data.judgements import ANNOTATOR, ROLES, UNSURE, VERDICTS
from kgtrec.serve.app import back, look, page, refusal, site
from kgtrec.serve.service import Look, page_numbers
from kgtrec.serve.views import ROLE_PAGES, candidates, searches

_PAGES = ROLE_PAGES[ROLES[ANNOTATOR]]


def _tasks(own: Look) -> list[int]:
    """(t,) numbers of what somebody is trained on, in its order."""
    gold, rows = own.numbers.of.gold, own.numbers.training
    return page_numbers(gold.triples.take(rows)).tolist()


def has_open(own: Look) -> bool:
    """Say whether a triple of the training round waits for somebody."""
    if not len(own.numbers.training):
        return False
    said = site().state.trained_of(own.person)
    return any(one not in said for one in _tasks(own))


def begin() -> Response:
    """Redirect to the first triple without an answer; after the last one, show how many were right."""
    own = look()
    tasks, said = _tasks(own), site().state.trained_of(own.person)
    if following := [one for one in tasks if one not in said]:
        return back(f"/training/{following[0]}")
    if not tasks:
        return refusal(404, "There is no training round.")
    n_right = sum(said[one] == _known(own, nth) for nth, one in enumerate(tasks))
    return page("training_done.html", here=_PAGES.path, n=len(tasks), n_right=n_right)


def task(number: int) -> Response:
    """Show a triple, and once somebody has answered, what the answer is."""
    own = look()
    tasks = _tasks(own)
    if number not in tasks:
        return refusal(404, "This is not in the training round, or not any more.")
    verdict = request.form.get("verdict", "")
    if request.method == "POST" and verdict in VERDICTS:
        site().state.set_trained(g.session.person, number, verdict)
        return back(f"/training/{number}#answer")
    status = 422 if request.method == "POST" else 200
    nth, said = tasks.index(number), site().state.trained_of(own.person).get(number, "")
    gold, row = own.numbers.of.gold, own.numbers.training[tasks.index(number)]
    (candidate,) = candidates(own.campaign, [number], gold.triples.take(np.array([row])))
    return page(
        "training.html",
        status,
        here=_PAGES.path,
        nth=nth + 1,
        n=len(tasks),
        one=candidate,
        searches=searches(own.campaign.sources, f"{candidate.head.name} {candidate.relation}"),
        said=said,
        result=result_text(said, _known(own, nth)),
        explanation=gold.explanation[int(row)].as_py(),
        answers=_PAGES.answers,
    )


def result_text(said: str, known: str) -> str:
    """Say whether an answer is right; empty where there is none.

    Examples
    --------
    >>> [result_text(said, "N") for said in ("", "N", "unsure")]
    ['', 'Right: the answer is No.', 'The answer is No.']
    """
    if not said or said == VERDICTS[UNSURE]:
        return f"The answer is {_PAGES.answers[known]}." if said else ""
    return f"{'Right' if said == known else 'Not right'}: the answer is {_PAGES.answers[known]}."


def _known(own: Look, nth: int) -> str:
    gold = own.numbers.of.gold
    return VERDICTS[gold.verdict[own.numbers.training[nth]]]

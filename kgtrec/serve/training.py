"""The training round: a few gold triples that annotators judge first, and are shown the answer of each.

What they say is kept in :class:`kgtrec.serve.state.State` and counts nowhere. Nobody is asked about these triples
otherwise: they are not in the pool.
"""

from __future__ import annotations

import numpy as np
from flask import Response, request

from kgtrec.data.judgements import ANNOTATOR, ROLES, UNSURE, VERDICTS
from kgtrec.serve.app import back, look, page, refusal, site
from kgtrec.serve.service import Look
from kgtrec.serve.views import ROLE_PAGES, candidates, searches

_PAGES = ROLE_PAGES[ROLES[ANNOTATOR]]


def has_open(own: Look) -> bool:
    """Say whether a triple of the training round waits for somebody."""
    return not own.numbers.training.keys() <= site().state.trained_of(own.person).keys()


def begin() -> Response:
    """Redirect to the first triple without an answer; after the last one, show how many were right."""
    own = look()
    tasks, said = own.numbers.training, site().state.trained_of(own.person)
    if following := [one for one in tasks if one not in said]:
        return back(f"/training/{following[0]}")
    if not tasks:
        return refusal(404, "There is no training round.")
    n_right = sum(said[one] == verdict for one, (_, verdict) in tasks.items())
    return page("training_done.html", here=_PAGES.path, n=len(tasks), n_right=n_right)


def task(number: int) -> Response:
    """Show a triple, and once somebody has answered, what the answer is."""
    own = look()
    tasks = own.numbers.training
    if number not in tasks:
        return refusal(404, "This is not in the training round, or not any more.")
    answer = request.form.get("verdict", "")
    if request.method == "POST" and answer in VERDICTS:
        site().state.set_trained(own.person, number, answer)
        return back(f"/training/{number}#answer")
    status = 422 if request.method == "POST" else 200
    said, (row, verdict) = site().state.trained_of(own.person).get(number, ""), tasks[number]
    gold = own.numbers.of.gold
    (candidate,) = candidates(own.campaign, [number], gold.triples.take(np.array([row])))
    return page(
        "training.html",
        status,
        here=_PAGES.path,
        nth=list(tasks).index(number) + 1,
        n=len(tasks),
        one=candidate,
        searches=searches(own.campaign.sources, "{head[name]} {relation}".format(**candidate)),
        said=said,
        result=result_text(said, verdict),
        explanation=gold.explanation[row].as_py(),
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

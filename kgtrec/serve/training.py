"""The training round: a few gold triples that annotators judge first, and are shown the answer of each.

Its pages, and what those who manage a campaign say and see of it.

What they say is kept in :class:`kgtrec.serve.state.State` and counts nowhere. Nobody is asked about these triples
otherwise: they are not in the pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from flask import Response, request

from kgtrec.campaign.training import change_training, may_train
from kgtrec.data.campaign import MOST_TRAINING
from kgtrec.data.judgements import ANNOTATOR, ROLES, UNSURE, VERDICTS
from kgtrec.data.table import Column, Table
from kgtrec.errors import KgtrecError
from kgtrec.serve.app import back, look, page, refusal, site, whole
from kgtrec.serve.service import CampaignService, Look
from kgtrec.serve.state import State
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


def gold_form(look: Look, typed: Mapping[str, str]) -> dict[str, str | int] | None:
    """Fill the form, with what was typed if that was refused; None if the campaign has no gold."""
    gold = look.numbers.of.gold
    if not len(gold):
        return None
    campaign = look.campaign
    most = min(int(may_train(campaign.pool, gold).sum()), MOST_TRAINING)  # gold triples that a training round may have
    return {"training": typed.get("training", str(campaign.settings.get("training", 0))), "most": most}


def change_gold(service: CampaignService, form: Mapping[str, str]) -> list[str]:
    """Do what a form asks for.

    Returns
    -------
    list of str
        What is different, in words.

    Raises
    ------
    KgtrecError
        If it asks for what cannot be; nothing is changed then.
    """
    typed = form.get("training", "").strip()
    if (n := whole(typed)) is None:
        raise KgtrecError(f"expected a number of gold triples for the training round, got {typed[:20]!r}")
    with service.changing() as campaign:
        changes = change_training(service.folder, campaign, n)
    return [f"{change[0].upper()}{change[1:]}" for change in changes] or ["Nothing is different."]


def training_table(look: Look, state: State) -> Table:
    """Count for each person the triples of the training round that are answered, and those answered rightly."""
    known = look.numbers.training
    answers = [(person, verdict == known[task][1]) for person, task, verdict in state.trained() if task in known]
    answered, right = Counter(person for person, _ in answers), Counter(person for person, good in answers if good)
    names = sorted(answered, key=str.encode)
    counts = [answered[name] for name in names], [right[name] for name in names]
    schema = pa.schema([("annotator", pa.string()), ("answered", pa.int64()), ("right", pa.int64())])
    data = pa.table([names, *counts], schema=schema)
    columns = Column("annotator"), Column("answered", f"answered of {len(known)}"), Column("right")
    return Table("training", "", "", data, columns)

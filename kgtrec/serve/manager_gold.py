"""What those who manage a campaign say of its gold: how much of it annotators judge first, in training."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kgtrec.campaign.training import change_training, may_train
from kgtrec.data.campaign import MOST_TRAINING
from kgtrec.data.judgements import VERDICTS
from kgtrec.data.table import Column, Table
from kgtrec.errors import KgtrecError
from kgtrec.serve.desk import Desk, Look, page_numbers
from kgtrec.serve.state import State

_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)


def gold_form(look: Look, typed: Mapping[str, str]) -> dict[str, str | int] | None:
    """The form, with what was typed if that was refused; None if the campaign has no gold."""
    gold = look.numbers.of.gold
    if not len(gold):
        return None
    campaign = look.campaign
    most = min(int(may_train(campaign.pool, gold).sum()), MOST_TRAINING)  # gold triples that a training round may have
    return {"training": typed.get("training", str(campaign.settings.get("training", 0))), "most": most}


def change_gold(desk: Desk, form: Mapping[str, str]) -> list[str]:
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
    training = form.get("training", "").strip()
    if not _NUMBER.fullmatch(training):
        raise KgtrecError(f"expected a number of gold triples for the training round, got {training[:20]!r}")
    with desk.changing() as campaign:
        changes = change_training(desk.folder, campaign, int(training))
    return [f"{change[0].upper()}{change[1:]}" for change in changes] or ["Nothing is different."]


def training_table(look: Look, state: State) -> Table:
    """How far each person is in the training round: triples answered, and how many rightly."""
    gold, rows = look.numbers.of.gold, look.numbers.training
    tasks = page_numbers(gold.triples.take(rows)).tolist()
    known = dict(zip(tasks, (VERDICTS[verdict] for verdict in gold.verdict[rows]), strict=True))
    told = [(person, verdict == known[task]) for person, task, verdict in state.trained() if task in known]
    names = sorted({person for person, _ in told}, key=str.encode)
    place = {name: nth for nth, name in enumerate(names)}
    at = np.array([place[person] for person, _ in told], np.intp)
    right = np.array([is_right for _, is_right in told], np.bool_)
    data = {
        "annotator": pa.array(names, pa.string()),
        "answered": np.bincount(at, minlength=len(names)),
        "right": np.bincount(at[right], minlength=len(names)),
    }
    columns = Column("annotator"), Column("answered", f"answered of {len(rows)}"), Column("right")
    return Table("training", "", "", pa.table(data), columns)

"""What those who manage a campaign say of its gold: how much of it annotators are given, and in training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from kgtrec.campaign.gold_settings import change_gold_settings, gold_shortage
from kgtrec.data.campaign import GOLD_SHARE, MOST_TRAINING
from kgtrec.data.judgements import VERDICTS
from kgtrec.data.table import Column, Table
from kgtrec.errors import KgtrecError
from kgtrec.serve.desk import Desk, Look
from kgtrec.serve.state import State

_PERCENT = re.compile(r"[0-9]{1,2}(\.[0-9]{0,9})?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoldForm:
    """What the form shows."""

    percent: str  # of each annotator's tasks
    training: str  # gold triples in the training round
    most: int  # that may be
    shortage: str  # what the share comes to where there is too little gold


def gold_form(look: Look, typed: Mapping[str, str]) -> GoldForm | None:
    """The form, with what was typed if that was refused; None if the campaign has no gold."""
    campaign = replace(look.campaign, gold=look.numbers.of.gold)
    if not len(campaign.gold):
        return None
    share, training = campaign.settings.get("gold_share", GOLD_SHARE), campaign.settings.get("training", 0)
    return GoldForm(
        typed.get("percent", f"{100 * share:g}"),
        typed.get("training", str(training)),
        min(len(campaign.gold), MOST_TRAINING),
        gold_shortage(campaign),
    )


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
    percent, training = (form.get(name, "").strip() for name in ("percent", "training"))
    if not _PERCENT.fullmatch(percent):
        raise KgtrecError(f"expected a number of percent of at least 0 and less than 100, got {percent[:20]!r}")
    if not _NUMBER.fullmatch(training):
        raise KgtrecError(f"expected a number of gold triples for the training round, got {training[:20]!r}")
    with desk.changing() as campaign:
        share: float | None = float(Decimal(percent) / 100)
        if share == campaign.settings.get("gold_share", GOLD_SHARE):
            share = None
        changes = change_gold_settings(desk.folder, campaign, share=share, training=int(training))
    return [f"{change[0].upper()}{change[1:]}" for change in changes] or ["Nothing is different."]


def training_table(look: Look, state: State) -> Table:
    """How far each person is in the training round: triples answered, and how many rightly."""
    own = look.numbers.of
    rows = own.gold.rows(look.campaign.training)
    rows = rows[rows >= 0]
    tasks = look.numbers.task[rows + len(own.pool)].tolist()
    known = dict(zip(tasks, (VERDICTS[verdict] for verdict in own.gold.verdict[rows]), strict=True))
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

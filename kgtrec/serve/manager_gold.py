"""What those who manage a campaign say of its gold: how much of it annotators judge first, in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from kgtrec.campaign.training import change_training, may_train
from kgtrec.data.campaign import MOST_TRAINING
from kgtrec.data.table import Column, Table
from kgtrec.errors import KgtrecError
from kgtrec.serve.app import whole
from kgtrec.serve.service import CampaignService, Look
from kgtrec.serve.state import State


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

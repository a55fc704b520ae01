"""What those who manage a campaign say of its gold: how much of it annotators are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from kgtrec.campaign.gold_settings import gold_shortage, set_gold_share
from kgtrec.data.campaign import GOLD_SHARE
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.serve.desk import Look

_PERCENT = re.compile(r"[0-9]{1,2}(\.[0-9]{0,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoldForm:
    """What the form shows."""

    percent: str  # of each annotator's tasks
    shortage: str  # what it comes to where there is too little gold


def gold_form(look: Look, typed: Mapping[str, str]) -> GoldForm | None:
    """The form, with what was typed if that was refused; None if the campaign has no gold."""
    campaign = replace(look.campaign, gold=look.numbers.of.gold)
    if not len(campaign.gold):
        return None
    share = campaign.settings.get("gold_share", GOLD_SHARE)
    return GoldForm(typed.get("percent", f"{100 * share:g}"), gold_shortage(campaign))


def change_gold(folder: PathLike, form: Mapping[str, str]) -> list[str]:
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
    text = form.get("percent", "").strip()
    if not _PERCENT.fullmatch(text):
        raise KgtrecError(f"expected a number of percent of at least 0 and less than 100, got {text[:20]!r}")
    return set_gold_share(folder, float(Decimal(text) / 100)) or ["Nothing is different."]

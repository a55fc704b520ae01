"""How much gold annotators are given: what the settings of a campaign say of it, and what that comes to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.campaign.gold import n_gold_wanted
from kgtrec.data.campaign import Campaign
from kgtrec.errors import KgtrecError, counted, legible
from kgtrec.formats.campaign.folder import write_settings
from kgtrec.formats.campaign.pools import read_settings
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.locks import campaign_lock


def with_gold_share(settings: Mapping[str, Any], share: float) -> tuple[dict[str, Any], list[str]]:
    """The settings of a campaign with another share of gold.

    Parameters
    ----------
    settings : mapping
    share : float, in [0, 1)
        Of what each annotator is given.

    Returns
    -------
    dict
    list of str
        What is different, in words; empty if nothing is.

    Raises
    ------
    KgtrecError
        If the share is out of range.

    Examples
    --------
    >>> with_gold_share({"seed": 0}, 0.1)
    ({'seed': 0, 'gold_share': 0.1}, ["10.0% of each annotator's tasks are to be gold"])
    """
    if not 0 <= share < 1:
        raise KgtrecError(f"expected a share of gold of at least 0 and less than 1, got {share:g}")
    if share == settings.get("gold_share"):
        return dict(settings), []
    return {**settings, "gold_share": share}, [f"{share:.1%} of each annotator's tasks are to be gold"]


def set_gold_share(folder: PathLike, share: float) -> list[str]:
    """Set the share of gold of the campaign in a folder; what annotators are given next has it.

    Returns
    -------
    list of str
        What is different, in words; nothing is written where it is empty.

    Raises
    ------
    KgtrecError
        As :func:`with_gold_share`; nothing is written then.
    """
    with campaign_lock(folder):
        settings, changes = with_gold_share(read_settings(folder), share)
        if changes:
            write_settings(Path(folder), settings)
        return changes


def gold_shortage(campaign: Campaign) -> str:
    """What the share of gold comes to for who lacks most of it; empty if there is enough, or nothing is assigned.

    Parameters
    ----------
    campaign : Campaign

    Examples
    --------
    See ``kgtrec campaign status``.
    """
    own, share, n_gold = campaign.assignments, campaign.gold_share, len(campaign.gold)
    n_tasks = np.bincount(own.annotator) if len(own) else np.zeros(1, np.int64)
    most = int(n_tasks.argmax())
    wanted = n_gold_wanted(int(n_tasks[most]), share)
    if wanted <= n_gold:
        return ""
    n_given = int(n_tasks[most]) + n_gold
    return (
        f"gold.tsv has {counted(n_gold, 'triple')}, which come to {n_gold / n_given:.1%} of the {n_given:,} tasks of "
        f"{legible(own.annotators[most])}; {share:.1%} takes {wanted:,}"
    )

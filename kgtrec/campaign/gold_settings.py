"""How annotators are given gold: what the settings of a campaign say of it, and what that comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from kgtrec.campaign.gold import n_gold_wanted, unmarked_gold
from kgtrec.data.campaign import MOST_TRAINING, Campaign
from kgtrec.data.gold import Gold
from kgtrec.data.label_hashes import triple_keys
from kgtrec.errors import KgtrecError, counted, legible
from kgtrec.formats.campaign.folder import write_settings
from kgtrec.formats.files import PathLike
from kgtrec.kernels.sampling.random_order import mixed


def with_gold_settings(
    settings: Mapping[str, Any], gold: Gold, *, share: float | None = None, training: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The settings of a campaign with another share of gold, or another training round.

    Parameters
    ----------
    settings : mapping
    gold : Gold
    share : float, in [0, 1), optional
        Of what each annotator is given, unmarked. Default: as before.
    training : int, optional
        How many gold triples annotators judge first and are told the answer of; 0 for no training round. They are the
        same for everybody: those chosen before, then those with an explanation, known Y and N in turn, by a hash of
        seed and labels. Default: as before.

    Returns
    -------
    dict
        With the labels of all triples that were ever chosen, since nobody may be given these unmarked.
    list of str
        What is different, in words; empty if nothing is.

    Raises
    ------
    KgtrecError
        If the share is out of range, or there is less gold.

    Examples
    --------
    >>> gold = Gold.of([("paris", "capital_of", "france", "Y", ""), ("nice", "capital_of", "france", "N", "Paris is")])
    >>> settings, changes = with_gold_settings({"seed": 0}, gold, share=0.1, training=1)
    >>> settings["training_gold"], changes[1]
    ([['nice', 'capital_of', 'france']], 'annotators begin with a training round of 1 gold triple')
    """
    found, changes = dict(settings), []
    if share is not None:
        if not 0 <= share < 1:
            raise KgtrecError(f"expected a share of gold of at least 0 and less than 1, got {share:g}")
        if share != settings.get("gold_share"):
            found["gold_share"] = share
            changes.append(f"{share:.1%} of each annotator's tasks are to be gold")
    if training is not None and training != settings.get("training", 0):
        most = min(len(gold), MOST_TRAINING)
        if not 0 <= training <= most:
            few = "; gold.tsv has no more" if len(gold) < MOST_TRAINING else ""
            raise KgtrecError(
                f"expected 0 to {counted(most, 'gold triple')} for the training round, got {training:,}{few}"
            )
        found |= {"training": training, "training_gold": _chosen(settings, gold, training)}
        round_ = f"annotators begin with a training round of {counted(training, 'gold triple')}"
        changes.append(round_ if training else "there is no training round any more")
    return found, changes


def _chosen(settings: Mapping[str, Any], gold: Gold, n: int) -> list[list[str]]:
    """At least n that are gold, those chosen before first; at the end those that were chosen and are gold no more."""
    triples = gold.pool.triples
    columns = (
        triples.entities.decode(triples.head),
        triples.relations.decode(triples.relation),
        triples.entities.decode(triples.tail),
    )
    labels = list(map(list, zip(*(column.to_pylist() for column in columns), strict=True)))
    before = list(settings.get("training_gold", []))
    is_explained = [bool(text) for text in gold.explanation.to_pylist()]
    turn, seen = np.zeros(len(gold), np.intp), Counter[tuple[bool, int]]()
    for row in np.argsort(mixed(int(settings.get("seed", 0)), triple_keys(triples)), kind="stable").tolist():
        kind = is_explained[row], int(gold.verdict[row])
        turn[row] = seen[kind]
        seen[kind] += 1
    rows = sorted(range(len(gold)), key=lambda row: (not is_explained[row], turn[row], gold.verdict[row]))
    kept = [triple for triple in before if triple in labels]
    new = [labels[row] for row in rows if labels[row] not in kept][: max(n - len(kept), 0)]
    return kept + new + [triple for triple in before if triple not in labels]


def change_gold_settings(
    folder: PathLike, campaign: Campaign, *, share: float | None = None, training: int | None = None
) -> list[str]:
    """Change how annotators of a campaign are given gold, by :func:`with_gold_settings`; it holds from then on.

    Parameters
    ----------
    folder : path
        Of the campaign, whose lock the caller holds (:func:`kgtrec.formats.output.locks.campaign_lock`).
    campaign : Campaign
        What the folder holds now.
    share, training
        As for :func:`with_gold_settings`.

    Returns
    -------
    list of str
        What is different, in words; nothing is written where it is empty.

    Raises
    ------
    KgtrecError
        As :func:`with_gold_settings`; nothing is written then.
    """
    settings, changes = with_gold_settings(campaign.settings, campaign.gold, share=share, training=training)
    if changes:
        write_settings(folder, settings)
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
    own, share = campaign.assignments, campaign.gold_share
    n_gold = int(unmarked_gold(campaign).sum())
    n_tasks = np.bincount(own.annotator) if len(own) else np.zeros(1, np.int64)
    most = int(n_tasks.argmax())
    wanted = n_gold_wanted(int(n_tasks[most]), share)
    if wanted <= n_gold:
        return ""
    n_given = int(n_tasks[most]) + n_gold
    besides = " besides those of the training round" if n_gold < len(campaign.gold) else ""
    return (
        f"gold.tsv has {counted(n_gold, 'triple')}{besides}, which come to {n_gold / n_given:.1%} of the {n_given:,} "
        f"tasks of {legible(own.annotators[most])}; {share:.1%} takes {wanted:,}"
    )

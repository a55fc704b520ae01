"""The training round of a campaign: which gold triples annotators judge first, and then see the answer of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.gold import rows_in_pool
from kgtrec.data.campaign import MOST_TRAINING, Campaign
from kgtrec.data.judgements import NOT_YET, Gold
from kgtrec.data.pool import Pool
from kgtrec.data.triples import triple_keys
from kgtrec.errors import KgtrecError, counted
from kgtrec.formats.campaign.pools import write_settings
from kgtrec.formats.files import PathLike
from kgtrec.kernels.sampling.random_order import hashed


def training_rows(campaign: Campaign) -> NDArray[np.intp]:
    """Find what annotators are trained on, (t,) rows in gold, in their order; never a triple that they judge later."""
    rows = campaign.gold.rows(campaign.training)
    return np.asarray(rows[np.append(may_train(campaign.pool, campaign.gold), False)[rows]])


def may_train(pool: Pool, gold: Gold) -> NDArray[np.bool_]:
    """Find the gold triples, (g,), whose answer may be shown: those outside the pool whose verdict is known."""
    return np.asarray((rows_in_pool(pool, gold) < 0) & (gold.verdict != NOT_YET))


def with_training(
    settings: Mapping[str, Any], pool: Pool, gold: Gold, n: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Change the training round in the settings of a campaign.

    Parameters
    ----------
    settings : mapping
    pool : Pool
        Nobody is trained on its triples.
    gold : Gold
    n : int, optional
        How many gold triples annotators judge first, and then see the answer of each; 0 for no training round. They are
        the same for everybody: those chosen before, then those with an explanation, known Y and N in turn, by a hash of
        seed and labels. Default: as before.

    Returns
    -------
    dict
        With the labels of all triples that were ever chosen.
    list of str
        What is different, in words; empty if nothing is.

    Raises
    ------
    KgtrecError
        If there is less gold outside the pool.
    """
    if n is None or n == settings.get("training", 0):
        return dict(settings), []
    others = gold.take(may_train(pool, gold))
    most = min(len(others), MOST_TRAINING)
    if not 0 <= n <= most:
        few = "; gold.tsv has no more outside the pool" if len(others) < MOST_TRAINING else ""
        raise KgtrecError(f"expected 0 to {counted(most, 'gold triple')} for the training round, got {n:,}{few}")
    round_ = f"annotators begin with a training round of {counted(n, 'gold triple')}"
    return {**settings, "training": n, "training_gold": _chosen(settings, others, n)}, [
        round_ if n else "there is no training round any more"
    ]


def _chosen(settings: Mapping[str, Any], gold: Gold, n: int) -> list[list[str]]:
    """At least n that are gold, those chosen before first; at the end those that were chosen and are no longer gold."""
    labels = list(map(list, gold.labels))
    before = list(settings.get("training_gold", []))
    is_explained = [bool(text) for text in gold.explanation.to_pylist()]
    turn, seen = np.zeros(len(gold), np.intp), Counter[tuple[bool, int]]()
    for row in np.argsort(hashed(int(settings.get("seed", 0)), triple_keys(gold.triples)), kind="stable").tolist():
        kind = is_explained[row], int(gold.verdict[row])
        turn[row] = seen[kind]
        seen[kind] += 1
    rows = sorted(range(len(gold)), key=lambda row: (not is_explained[row], turn[row], gold.verdict[row]))
    kept = [triple for triple in before if triple in labels]
    new = [labels[row] for row in rows if labels[row] not in kept][: max(n - len(kept), 0)]
    return kept + new + [triple for triple in before if triple not in labels]


def change_training(folder: PathLike, campaign: Campaign, n: int) -> list[str]:
    """Change the training round of a campaign, by :func:`with_training`; it holds from then on.

    Parameters
    ----------
    folder : path
        Folder of the campaign, whose lock the caller holds (:func:`kgtrec.formats.output.locks.campaign_lock`).
    campaign : Campaign
        What the folder holds now.
    n : int
        As for :func:`with_training`.

    Returns
    -------
    list of str
        What is different, in words; nothing is written where it is empty.

    Raises
    ------
    KgtrecError
        As :func:`with_training`; nothing is written then.
    """
    settings, changes = with_training(campaign.settings, campaign.pool, campaign.gold, n)
    if changes:
        write_settings(folder, settings)
    return changes

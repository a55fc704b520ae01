"""Triples of a pool whose verdict is known: drawn from it, so that nothing distinguishes them from the rest.

Nothing that annotators are given depends on gold: who judges what, in which order, what a page or a file shows, where a
verdict is stored, are the same with gold.tsv and without it. So only the choice of the triples could reveal them, and
a random one does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.judgements import NOT_YET, Gold
from kgtrec.data.pool import Pool
from kgtrec.data.triples import plain, triple_keys
from kgtrec.errors import KgtrecError, counted, legible
from kgtrec.formats.output.folders import GOLD
from kgtrec.kernels.sampling.proportions import wilson_interval

_FEW = 10  # gold tasks of an annotator, below which their number is reported
_DRAWS = 999  # drawings at random that gold is held against
_MOST = 0.002  # share of these that may be guessed as well as gold is, by each of five guesses


def rows_in_pool(pool: Pool, gold: Gold) -> NDArray[np.intp]:
    """Find each gold triple in the pool's triples, (g,) rows; -1 where it is not among them."""
    own = gold.triples.recoded(entities=pool.triples.entities, relations=pool.triples.relations)
    return pool.rows(own.head, own.relation, own.tail)


def gold_tasks(pool: Pool, automatic: Automatic, settings: Mapping[str, Any], gold: Gold) -> NDArray[np.intp]:
    """Find the gold that annotators judge without knowing it, (g,) rows in the pool's triples; -1 of the others.

    The others are not in the pool, are judged by a rule, or were chosen for the training round.
    """
    row, trained = rows_in_pool(pool, gold), _trained(settings, gold)
    return np.where(trained | np.append(~automatic.for_people, False)[row], -1, row)


def _trained(settings: Mapping[str, Any], gold: Gold) -> NDArray[np.bool_]:
    """(g,) which were ever chosen for the training round."""
    chosen = {tuple(triple) for triple in settings.get("training_gold", ())}
    return np.array([labels in chosen for labels in gold.labels], np.bool_)


def draw_gold(pool: Pool, automatic: Automatic, settings: Mapping[str, Any], gold: Gold, share: float) -> Gold:
    """Add triples of the pool to gold, so that ``share`` of what people judge is gold.

    They are drawn at random, all with the same probability, and somebody is to fill in their verdicts. The campaign's
    seed, the labels and the checksums of the pool decide: annotators know the first two at most.

    Parameters
    ----------
    pool : Pool
        From which triples are drawn.
    automatic : Automatic
        Triples that need no person, and are not drawn.
    settings : mapping
        Of the campaign.
    gold : Gold
        What there is already; it stays, and counts.
    share : float, in [0, 1)
        Share of the triples that people judge, to be gold.

    Returns
    -------
    Gold
        The same where there is so much already.

    Raises
    ------
    KgtrecError
        If the share is out of range.

    Examples
    --------
    See ``kgtrec campaign init``.
    """
    if not 0 <= share < 1:
        raise KgtrecError(f"expected a share of gold of at least 0 and less than 1, got {share:g}")
    triples, may_be = pool.triples, automatic.for_people
    wanted = round(may_be.sum() * share) - int((gold_tasks(pool, automatic, settings, gold) >= 0).sum())
    listed = rows_in_pool(pool, gold)
    may_be[listed[listed >= 0]] = False
    files = json.dumps(settings.get("files"), sort_keys=True)
    secret = int.from_bytes(hashlib.sha256(f"gold {files}".encode()).digest()[:8])
    rows = np.flatnonzero(may_be)
    key = triple_keys(triples.take(rows), int(settings.get("seed", 0)), secret)
    drawn = triples.take(rows[np.argsort(key, kind="stable")[: max(wanted, 0)]])
    new = Gold(drawn, np.full(len(drawn), NOT_YET, np.int8), labels_of([""] * len(drawn)))
    return Gold.of([*gold.listed, *new.listed])


def gold_notes(campaign: Campaign) -> str:
    """Describe what keeps gold from being of use, with figures, a line each: empty where nothing does.

    That it is not among what people judge, that verdicts are not filled in, that an annotator has little of it; and by
    what gold can be guessed, better than nearly every random choice of as many triples could.

    Parameters
    ----------
    campaign : Campaign

    Examples
    --------
    See ``kgtrec campaign status``.
    """
    pool, gold, own, notes = campaign.pool, campaign.gold, campaign.assignments, []
    row = gold_tasks(pool, campaign.automatic, campaign.settings, gold)
    if n := int((is_idle := (row < 0) & ~_trained(campaign.settings, gold)).sum()):
        one = " ".join(map(legible, gold.labels[int(is_idle.argmax())]))
        notes.append(
            f"{GOLD}: {n:,} of {counted(len(gold), 'triple')}, as {one}, would stand out among what annotators judge, "
            "since the pool does not ask people for them; they can be of the training round alone, and kgtrec campaign "
            "init --gold-share 0.05 draws gold from the pool"
        )
    is_empty = (row >= 0) & (gold.verdict == NOT_YET)
    if n := int(is_empty.sum()):
        notes.append(f"{GOLD}: {n:,} of {counted(int((row >= 0).sum()), 'triple')} of the pool lack a verdict, Y or N")
    is_gold = np.zeros(len(pool), np.bool_)
    is_gold[row[(row >= 0) & ~is_empty]] = True
    if is_gold.any() and len(own):
        people, place = np.unique(own.annotator, return_inverse=True)
        n_gold = np.bincount(place[is_gold[own.triple]], minlength=len(people))
        least = int(np.argmin(n_gold))
        if (n := int(n_gold[least])) < _FEW:
            low = wilson_interval(np.array(n), np.array(n), 0.95)[0] if n else 0.0
            notes.append(
                f"{GOLD}: {n} of the {np.bincount(place)[least]:,} tasks of {legible(own.annotators[people[least]])} "
                f"are gold; even if all these are right, the 95% interval of that share begins at {low:.0%}"
            )
    notes += [
        f"{GOLD}: gold can be guessed by {what}: AUC {auc:.2f}, where 99 of 100 random draws of as "
        f"many triples have at most {limit:.2f}"
        for what, auc, limit in _guesses(campaign, is_gold)
    ]
    return "\n".join(notes)


def _guesses(campaign: Campaign, is_gold: NDArray[np.bool_]) -> list[tuple[str, float, float]]:
    """By what gold can be guessed, with the AUC of who knows its share for each value, and that of random choices."""
    pool, for_people = campaign.pool, campaign.automatic.for_people
    question = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)[for_people]
    triples, asked, is_gold = pool.triples.take(for_people), pool.questions, is_gold[for_people]
    n_gold = int(is_gold.sum())
    if n_gold in (0, len(is_gold)):
        return []
    is_head = asked.is_head[question]
    entity = np.where(is_head, triples.head, triples.tail)
    values = {
        "its relation": plain(triples).relation,
        "the side that is asked for": is_head,
        "how many candidates its question has": np.bincount(question)[question],
        "how many answers to its question are known": np.bincount(
            campaign.known_answers.question, minlength=len(asked)
        )[question],
        "how often its entity is a candidate": np.bincount(entity)[entity],
    }
    rng = np.random.default_rng(campaign.assignment_seed)
    guesses = []
    for what, value in values.items():
        _, stratum = np.unique(value, return_inverse=True)
        size = np.bincount(stratum)
        own = _auc(size, np.bincount(stratum[is_gold], minlength=len(size))[None])[0]
        others = _auc(size, rng.multivariate_hypergeometric(size, n_gold, _DRAWS, method="marginals"))
        if (1 + (others >= own).sum()) / (1 + _DRAWS) <= _MOST:
            guesses.append((what, float(own), float(np.quantile(others, 0.99))))
    return guesses


def _auc(size: NDArray[np.int64], gold: NDArray[np.int64]) -> NDArray[np.float64]:
    """(d,) area under the curve of who takes strata by their share of gold; ``gold``: (d, strata) counts of it."""
    order = np.argsort(-gold / size, axis=1, kind="stable")
    gold, rest = (np.take_along_axis(counts, order, axis=1) for counts in (gold, size - gold))
    after = rest.sum(axis=1, keepdims=True) - np.cumsum(rest, axis=1)
    return np.asarray((gold * (after + rest / 2)).sum(axis=1) / (gold.sum(axis=1) * rest.sum(axis=1)))

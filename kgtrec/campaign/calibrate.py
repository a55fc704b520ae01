"""How often each annotator is right, by triples whose verdict is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import cell_counts
from kgtrec.campaign.gold import gold_tasks
from kgtrec.data.campaign import Campaign
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import ANNOTATOR, NO, NOT_YET, UNSURE, VERDICTS, YES, Gold
from kgtrec.data.table import Column, Table, TabledResult, interval_columns
from kgtrec.errors import between_0_and_1
from kgtrec.kernels.sampling.proportions import wilson_interval


class Calibration(Framed, TabledResult):
    """Verdicts on gold in the tables ``people``, how often each is right, and ``triples``, most often wrong first.

    The last verdict of each person on each triple counts. ``false_y`` are known N that were called Y, ``false_n`` known
    Y that were called N; ``share`` is that of the right ones among Y and N, NaN where there are none, with its Wilson
    interval. The data of ``triples`` has all gold that annotators judge without knowing it.
    """

    __slots__ = ()

    def to_table(self) -> pa.Table:
        """List a row per person: annotator, judged, right, wrong, unsure, share, low, high, false_y, false_n."""
        return self["people"]


def calibration(campaign: Campaign, *, confidence: float = 0.95) -> Calibration:
    """Measure how often each annotator is right on the gold of a campaign, triples of the pool of known verdict.

    Of somebody's verdicts on a triple the last one counts. Who says unsure is neither right nor wrong.

    Parameters
    ----------
    campaign : Campaign
        With its gold and its judgements so far.
    confidence : float, between 0 and 1
        Of the intervals, Wilson's.

    Returns
    -------
    Calibration

    Raises
    ------
    KgtrecError
        If the confidence is out of range.

    See Also
    --------
    kgtrec.campaign.annotator_errors : Without gold.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    See ``kgtrec campaign agreement --gold``.
    """
    between_0_and_1("a confidence", confidence)
    row = gold_tasks(campaign.pool, campaign.automatic, campaign.settings, campaign.gold)
    is_known = (row >= 0) & (campaign.gold.verdict != NOT_YET)
    gold, row = campaign.gold.take(is_known), row[is_known]
    row_in_gold = np.full(len(campaign.pool), -1)
    row_in_gold[row] = np.arange(len(gold))
    events = campaign.judgements
    said = events.take((events.role == ANNOTATOR) & (row_in_gold[events.triple] >= 0)).latest()
    triple = row_in_gold[said.triple]
    people = np.unique(said.annotator)
    people = people[np.argsort(said.annotators.byte_order[people])]
    row_of = np.zeros(len(said.annotators), np.int64)
    row_of[people] = np.arange(len(people))
    known = row_of[said.annotator] * 2 + gold.verdict[triple]
    counts = cell_counts(known, said.verdict, (len(people) * 2, len(VERDICTS))).reshape(-1, 2, len(VERDICTS))
    votes = cell_counts(triple, said.verdict, (len(gold), len(VERDICTS)))
    return Calibration((_people(said.annotators.decode(people), counts, confidence), _triples(gold, votes)))


def _people(annotators: pa.StringArray, counts: NDArray[np.int64], confidence: float) -> Table:
    """From the triples of known verdict N and Y, (annotators, 2, 3), by what each annotator said of them."""
    right, sure = counts[:, NO, NO] + counts[:, YES, YES], counts[:, :, [NO, YES]].sum(axis=(1, 2))
    low, high = wilson_interval(right, sure, confidence)
    data = pa.table(
        {
            "annotator": annotators,
            "judged": counts.sum(axis=(1, 2)),
            "right": right,
            "wrong": sure - right,
            "unsure": counts[:, :, UNSURE].sum(axis=1),
            "share": right / np.where(sure > 0, sure, np.nan),
            "low": low,
            "high": high,
            "false_y": counts[:, NO, YES],
            "false_n": counts[:, YES, NO],
        }
    )
    share = [replace(one, form="share", digits=1) for one in (Column("share"), *interval_columns(confidence))]
    false = Column("false_y", "N called Y"), Column("false_n", "Y called N")
    return Table("people", "", "", data, (*map(Column, data.column_names[:5]), *share, *false))


def _triples(gold: Gold, votes: NDArray[np.int64]) -> Table:
    """From how many annotators say each of VERDICTS, (gold, 3)."""
    right = votes[np.arange(len(gold)), gold.verdict.astype(np.intp)]
    sure = votes[:, [NO, YES]].sum(axis=1)
    data = pa.table(
        {
            **{name: gold.triples.decoded(name) for name in ("head", "relation", "tail")},
            "verdict": pa.array([VERDICTS[verdict] for verdict in gold.verdict], pa.string()),
            "right": right,
            "wrong": sure - right,
            "unsure": votes[:, UNSURE],
            "share": right / np.where(sure > 0, sure, np.nan),
        }
    )
    judged = np.flatnonzero(votes.sum(axis=1))
    rows = judged[np.argsort((right - sure)[judged], kind="stable")]
    return Table("triples", "", "", data, tuple(map(Column, data.column_names[:-1])), rows=rows.tolist())

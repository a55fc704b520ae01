"""How often each annotator is right, by triples whose verdict is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.gold import gold_tasks
from kgtrec.data.campaign import Campaign
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import ANNOTATOR, NO, NOT_YET, UNSURE, VERDICTS, YES, Gold
from kgtrec.data.table import Column, Result, Table, interval_columns
from kgtrec.errors import between_0_and_1
from kgtrec.kernels.sampling.proportions import wilson_interval


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(Framed, Result):
    """Verdicts on gold by person and by triple; the last verdict of each person on each triple counts."""

    annotators: tuple[str, ...]  # who has judged any of it, in byte order
    said: NDArray[np.int64]  # (annotators, 2, 3) triples of known verdict N and Y, by what was said; as in VERDICTS
    gold: Gold  # what annotators judge of it without knowing it
    votes: NDArray[np.int64]  # (gold, 3) how many annotators say each of VERDICTS
    confidence: float

    def __repr__(self) -> str:
        return f"<Calibration: {self.right.sum():,} of {self.sure.sum():,} right, {len(self.annotators)} people>"

    @property
    def right(self) -> NDArray[np.int64]:
        """(annotators,) verdicts that are the known one."""
        return self.said[:, NO, NO] + self.said[:, YES, YES]

    @property
    def sure(self) -> NDArray[np.int64]:
        """(annotators,) verdicts Y and N; who is unsure is neither right nor wrong."""
        return np.asarray(self.said[:, :, [NO, YES]].sum(axis=(1, 2)))

    @property
    def share(self) -> NDArray[np.float64]:
        """(annotators,) share of those that are right, NaN of somebody who has said neither Y nor N."""
        return self.right / np.where(self.sure > 0, self.sure, np.nan)

    @property
    def interval(self) -> NDArray[np.float64]:
        """(2, annotators) Wilson interval of the share."""
        return wilson_interval(self.right, self.sure, self.confidence)

    def to_table(self) -> pa.Table:
        """List a row per person: annotator, judged, right, wrong, unsure, share, low, high, false_y, false_n.

        ``false_y``: of known N that were called Y; ``false_n``: of known Y that were called N.
        """
        low, high = self.interval
        return pa.table(
            {
                "annotator": pa.array(self.annotators, pa.string()),
                "judged": self.said.sum(axis=(1, 2)),
                "right": self.right,
                "wrong": self.sure - self.right,
                "unsure": self.said[:, :, UNSURE].sum(axis=1),
                "share": self.share,
                "low": low,
                "high": high,
                "false_y": self.said[:, NO, YES],
                "false_n": self.said[:, YES, NO],
            }
        )

    def triples_table(self) -> pa.Table:
        """List a row per gold triple: head, relation, tail, verdict, right, wrong, unsure, share."""
        triples, known = self.gold.triples, self.gold.verdict.astype(np.intp)
        right = self.votes[np.arange(len(known)), known]
        sure = self.votes[:, [NO, YES]].sum(axis=1)
        return pa.table(
            {
                **{name: triples.decoded(name) for name in ("head", "relation", "tail")},
                "verdict": pa.array([VERDICTS[verdict] for verdict in known], pa.string()),
                "right": right,
                "wrong": sure - right,
                "unsure": self.votes[:, UNSURE],
                "share": right / np.where(sure > 0, sure, np.nan),
            }
        )

    def tables(self) -> tuple[Table, ...]:
        """Make tables of ``people``, how often each is right, and ``triples``, those judged, most often wrong first."""
        people, triples = self.to_table(), self.triples_table()
        counts = (Column("annotator"), *map(Column, ("judged", "right", "wrong", "unsure")))
        share = [replace(one, form="share", digits=1) for one in (Column("share"), *interval_columns(self.confidence))]
        false = Column("false_y", "N called Y"), Column("false_n", "Y called N")
        judged = np.flatnonzero(self.votes.sum(axis=1))
        rows = judged[np.argsort(-triples.column("wrong").to_numpy()[judged], kind="stable")]
        columns = tuple(map(Column, triples.column_names[:-1]))
        return (
            Table("people", "", "", people, (*counts, *share, *false)),
            Table("triples", "", "", triples, columns, rows=rows.tolist()),
        )


def calibration(campaign: Campaign, *, confidence: float = 0.95) -> Calibration:
    """Measure how often each annotator is right on the gold of a campaign, triples of the pool of known verdict.

    Of somebody's verdicts on a triple the last one counts. Who says unsure is neither right nor wrong.

    Parameters
    ----------
    campaign : Campaign
    confidence : float, between 0 and 1
        Of the intervals, Wilson's.

    Returns
    -------
    Calibration

    Raises
    ------
    KgtrecError
        If the confidence is out of range.

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
    cell = (row_of[said.annotator] * 2 + gold.verdict[triple]) * len(VERDICTS) + said.verdict
    counts = np.bincount(cell, minlength=len(people) * 2 * len(VERDICTS))
    votes = np.bincount(triple * len(VERDICTS) + said.verdict, minlength=len(gold) * len(VERDICTS))
    return Calibration(
        tuple(said.annotators[code] for code in people),
        counts.reshape(len(people), 2, len(VERDICTS)),
        gold,
        votes.reshape(len(gold), len(VERDICTS)),
        confidence,
    )

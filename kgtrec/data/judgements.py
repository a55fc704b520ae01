"""People's judgements of pooled triples: events, as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.frames import frame_codes, frame_labels, frame_names
from kgtrec.data.pool import Pool
from kgtrec.data.rows import Rows
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("N", "Y", "unsure")  # N and Y are codes 0 and 1, which are the grades they become
NO, YES, UNSURE = range(3)
ROLES = ("annotator", "adjudicator", "expert")
ANNOTATOR, ADJUDICATOR, EXPERT = range(3)
TIME = r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"  # pattern of an event's time


_NO_TEXTS = labels_of([])
_NOBODY = Vocabulary(_NO_TEXTS)


@dataclass(frozen=True, slots=True, eq=False)
class Judgements(Rows):
    """One row per event, oldest first.

    An annotator judges blind; an adjudicator settles a conflict or a doubt; an expert judges a sample again to estimate
    how good the labels are. Of several events of one annotator on one triple the last one counts, and of those of all
    adjudicators, and of all experts: a correction is a new event, and no event is ever changed or removed.
    """

    triple: NDArray[np.int32]  # (n,) row in the pool's triples
    annotator: NDArray[np.int32]  # (n,) row in annotators
    role: NDArray[np.int8]  # (n,) row in ROLES
    verdict: NDArray[np.int8]  # (n,) row in VERDICTS
    source: pa.StringArray  # (n,) link that proves it; empty where the verdict is unsure
    note: pa.StringArray  # (n,) free text, may be empty
    time: pa.StringArray  # (n,) when, UTC, as 2026-11-21T20:00:00Z
    annotators: Vocabulary  # everyone who judged

    @classmethod
    def none(cls, annotators: Vocabulary | None = None) -> Judgements:
        """Nothing, by any of ``annotators``."""
        rows, codes = np.zeros(0, np.int32), np.zeros(0, np.int8)
        return cls(rows, rows, codes, codes, _NO_TEXTS, _NO_TEXTS, _NO_TEXTS, annotators or _NOBODY)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, pool: Pool) -> Judgements:
        """Events of a data frame, oldest first.

        Parameters
        ----------
        frame : DataFrame
            Columns ``head, relation, tail, annotator, verdict``; ``role`` (default annotator), ``source``, ``note`` and
            ``time`` (default empty) are optional.
        pool : Pool
            That contains the triples.

        Raises
        ------
        KgtrecError
            If a column is missing, a triple is not in the pool, or a verdict or role is not a known one.

        Examples
        --------
        >>> import pandas as pd
        >>> from kgtrec.data.questions import Questions
        >>> from kgtrec.data.vocabulary import Vocabulary
        >>> questions = Questions.from_frame(pd.DataFrame({
        ...     "question": ["q1"], "side": ["tail"], "relation": ["likes"], "anchor": ["ann"]
        ... }), entities=Vocabulary.of(["ann", "tea"]))
        >>> one = {"head": ["ann"], "relation": ["likes"], "tail": ["tea"]}
        >>> pool = Pool.from_frame(pd.DataFrame(one | {"question": ["q1"], "run": ["a"], "rank": [1]}), questions)
        >>> Judgements.from_frame(pd.DataFrame(one | {"annotator": ["eve"], "verdict": ["Y"]}), pool)
        <Judgements: 1 events of 1 people>
        """
        own = pool.triples
        labels = [frame_labels(frame, name) for name in ("head", "relation", "tail")]
        words = own.entities, own.relations, own.entities
        triple = pool.rows(*(known.encode(found) for known, found in zip(words, labels, strict=True)))
        if len(triple) and triple.min() < 0:
            row = int(np.argmin(triple))
            raise KgtrecError(
                f"expected triples of the pool, found ({', '.join(each[row].as_py() for each in labels)})"
            )
        annotators, annotator = frame_codes(frame, "annotator")
        roles = (
            frame_codes(frame, "role", Vocabulary.of(ROLES))[1]
            if "role" in frame_names(frame)
            else np.zeros(len(triple))
        )
        texts = {
            name: frame_labels(frame, name) if name in frame_names(frame) else pa.array([""] * len(triple), pa.string())
            for name in ("source", "note", "time")
        }
        return cls(
            triple.astype(np.int32),
            annotator,
            roles.astype(np.int8),
            frame_codes(frame, "verdict", Vocabulary.of(VERDICTS))[1].astype(np.int8),
            texts["source"],
            texts["note"],
            texts["time"],
            annotators,
        )

    def __repr__(self) -> str:
        return f"<Judgements: {len(self):,} events of {len(self.annotators)} people>"

    def joined(self, *later: Judgements) -> Judgements:
        """The events of several files, one after the other."""
        first, *others = [part for part in (self, *later) if len(part)] or [self]
        return Rows.joined(first, *others)

    def in_time(self) -> Judgements:
        """The same events, those of which only the last counts in the order of their times.

        Verdicts that are stored one after the other are in this order; those of merged copies of a campaign may not be.
        """
        if len(self) < 2 or pc.all(pc.less_equal(self.time[:-1], self.time[1:])).as_py():
            return self
        person = np.where(self.role == ANNOTATOR, self.annotator + 1, 0)
        group = (self.triple * np.int64(len(ROLES)) + self.role) * (len(self.annotators) + 1) + person
        order = np.argsort(group, kind="stable")
        is_same = group[order][1:] == group[order][:-1]
        rivals = order[np.r_[False, is_same] | np.r_[is_same, False]]  # few, so that their times cost little
        times, when = Vocabulary.encoding(self.time.take(arrow_of(rivals)))
        by_time = rivals[np.lexsort((times.byte_order[when], group[rivals]))]
        if np.array_equal(rivals, by_time):
            return self
        rows = np.arange(len(self))
        rows[rivals] = by_time
        return self.take(rows)

    def latest(self) -> Judgements:
        """The events that count: the last one of each person in each role on each triple, oldest first."""
        person = self.annotator.astype(np.int64) * len(ROLES) + self.role
        key = self.triple.astype(np.int64) * (len(self.annotators) * len(ROLES)) + person
        _, last = np.unique(key[::-1], return_index=True)
        return self.take(np.sort(len(key) - 1 - last))

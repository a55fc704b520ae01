"""What people say of pooled triples: tasks, verdicts as received and as recorded, decisions, and gold triples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.columns import Columns
from kgtrec.data.frames import Frame
from kgtrec.data.pool import Pool
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, require

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("N", "Y", "unsure")  # N and Y are codes 0 and 1, which are the grades they become
NO, YES, UNSURE = range(3)
ROLES = ("annotator", "adjudicator", "expert")
ANNOTATOR, ADJUDICATOR, EXPERT = range(3)
# pattern of an event's time
TIME = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"


_NO_TEXTS = labels_of([])
_NOBODY = Vocabulary(_NO_TEXTS)


@dataclass(frozen=True, slots=True, eq=False)
class Judgements(Columns):
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
        """Make empty judgements, by any of ``annotators``."""
        rows, codes = np.zeros(0, np.int32), np.zeros(0, np.int8)
        return cls(rows, rows, codes, codes, _NO_TEXTS, _NO_TEXTS, _NO_TEXTS, annotators or _NOBODY)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, pool: Pool) -> Judgements:
        """Make events of a data frame, oldest first.

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
        columns = Frame(frame)
        named = Triples.of_columns(*map(columns.labels, ("head", "relation", "tail")))  # the time is the verdict's
        coded = named.recoded(entities=pool.triples.entities, relations=pool.triples.relations)
        triple = pool.rows(coded.head, coded.relation, coded.tail)
        require(
            triple >= 0,
            lambda row: KgtrecError(f"expected triples of the pool, found ({', '.join(named.labels_at(row))})"),
        )
        nothing = labels_of([""] * len(triple))
        annotators, annotator = columns.codes("annotator")
        roles = columns.codes("role", Vocabulary.of(ROLES))[1] if "role" in columns.names else np.zeros(len(triple))
        texts = {
            name: columns.labels(name) if name in columns.names else nothing for name in ("source", "note", "time")
        }
        verdict = columns.codes("verdict", Vocabulary.of(VERDICTS))[1].astype(np.int8)
        return cls(triple.astype(np.int32), annotator, roles.astype(np.int8), verdict, **texts, annotators=annotators)

    def __repr__(self) -> str:
        return f"<Judgements: {len(self):,} events of {len(self.annotators)} people>"

    def joined(self, *later: Judgements) -> Judgements:
        """Return the events of several files, one after the other."""
        first, *others = [part for part in (self, *later) if len(part)] or [self]
        return Columns.joined(first, *others)

    def in_time(self) -> Judgements:
        """Return the same events, those of which only the last counts in the order of their times.

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
        """Return the events that count: the last one of each person in each role on each triple, oldest first."""
        key = (self.triple.astype(np.int64) * len(self.annotators) + self.annotator) * len(ROLES) + self.role
        _, last = np.unique(key[::-1], return_index=True)
        return self.take(np.sort(len(key) - 1 - last))


STATES = ("automatic", "open", "agreed", "conflict", "doubted", "adjudicated", "undecidable", "not drawn")
AUTOMATIC, OPEN, AGREED, CONFLICT, DOUBTED, ADJUDICATED, UNDECIDABLE, UNDRAWN = range(8)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions(Columns):
    """One row per triple of the pool.

    ``open``: too few annotators have judged it. ``conflict``: they disagree. ``doubted``: one of them was unsure.
    The last two wait for an adjudicator, who decides (``adjudicated``) or is unsure too (``undecidable``). ``not
    drawn``: nobody is asked, since the design of the sample has not drawn it.
    """

    state: NDArray[np.int8]  # (n,) row in STATES
    verdict: NDArray[np.int8]  # (n,) 0 = N, 1 = Y; -1: undecided, so that the triple stays unjudged


@dataclass(frozen=True, slots=True)
class Incoming:
    """One verdict of one person on one triple, with the texts as in the file.

    Nothing here is trusted: :func:`kgtrec.campaign.accept` checks all of it. None means that the file does not have
    the field; an empty text is "".
    """

    place: str  # how an error message begins: "ann.csv:12", or "export.json: task 3, annotation 7"
    person: str | None  # the judge
    verdict: str  # one of VERDICTS, if valid
    task: int | None = None  # 1-based row in the pool's triples; None: given by head, relation and tail
    head: str | None = None  # labels; all three, or none if the task number is given
    relation: str | None = None
    tail: str | None = None
    source: str = ""  # link that proves it
    note: str = ""  # free text
    role: str = "annotator"  # one of ROLES, if valid
    wrong: str = ""  # why the row cannot be read, such as an invalid task number
    #: verdict, source and note that the person saw as their last ones when giving this verdict: it may replace these,
    #: and no others; None: unknown
    before: tuple[str, str, str] | None = None


#: the verdict of a triple for which somebody is still to fill it in
NOT_YET = -1
_CODE_OF = {"": NOT_YET, **{verdict: code for code, verdict in enumerate(VERDICTS)}}


@dataclass(frozen=True, eq=False)
class Gold:
    """One row per triple, sorted by (relation, head, tail).

    Those of a campaign's pool are judged there like all others; the others are for the training round.
    """

    triples: Triples  # (g,)
    verdict: NDArray[np.int8]  # (g,) row in VERDICTS: N or Y; NOT_YET: not filled in yet
    explanation: pa.StringArray  # (g,) why, for whoever gets it wrong in training; may be empty

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, str, str]]) -> Gold:
        """Make gold of rows (head, relation, tail, verdict, explanation), in any order; verdicts may be empty.

        Raises
        ------
        KgtrecError
            If a triple is repeated.

        Examples
        --------
        >>> gold = Gold.of([("paris", "capital_of", "france", "Y", ""), ("nice", "capital_of", "france", "N", "Paris")])
        >>> gold, gold.verdict.tolist(), gold.explanation.to_pylist()
        (<Gold: 2 triples>, [0, 1], ['Paris', ''])
        """
        listed = sorted(rows, key=lambda row: (row[1].encode(), row[0].encode(), row[2].encode()))
        found = cls(
            Triples.of([row[:3] for row in listed]),
            np.array([_CODE_OF[row[3]] for row in listed], np.int8),
            labels_of([row[4] for row in listed]),
        )
        if len(found.row_of) < len(listed):
            raise KgtrecError(f"expected each triple once, found {len(listed) - len(found.row_of)} again")
        return found

    @classmethod
    @cache
    def none(cls) -> Gold:
        """Return an empty one; the same object each time, as a page asks for it at each request."""
        return cls.of([])

    def __len__(self) -> int:
        return len(self.verdict)

    def __repr__(self) -> str:
        return f"<Gold: {len(self):,} triples>"

    @cached_property
    def labels(self) -> list[tuple[str, str, str]]:
        """(g,) head, relation and tail."""
        return list(
            zip(*(self.triples.decoded(name).to_pylist() for name in ("head", "relation", "tail")), strict=True)
        )

    @cached_property
    def row_of(self) -> dict[tuple[str, str, str], int]:
        """Labels of a triple -> its row."""
        return {labels: row for row, labels in enumerate(self.labels)}

    def rows(self, triples: Sequence[tuple[str, str, str]]) -> NDArray[np.intp]:
        """Return the (n,) row of each triple of labels, -1 where it is not gold."""
        return np.array([self.row_of.get(labels, -1) for labels in triples], np.intp)

    @property
    def listed(self) -> list[tuple[str, str, str, str, str]]:
        """(g,) head, relation, tail, verdict and explanation, as :meth:`of` takes them."""
        rows = zip(self.labels, self.verdict, self.explanation.to_pylist(), strict=True)
        return [(*labels, (*VERDICTS, "")[verdict], explanation) for labels, verdict, explanation in rows]

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Gold:
        """Return the triples at ``rows``, ascending."""
        rows = np.arange(len(self))[rows]
        return Gold(self.triples.take(rows), self.verdict[rows], self.explanation.take(arrow_of(rows)))


TASK_COLUMNS = (
    *("task", "annotator", "question", "head", "relation", "tail", "head_name", "tail_name", "search"),
    *("verdict", "source", "note"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Tasks(Columns):
    """One row per task, in the order in which they should be done."""

    task: NDArray[np.int32]  # (n,) 1-based row in the pool's triples
    annotators: tuple[tuple[str, ...], ...]  # (n,) who is asked
    question: pa.StringArray  # (n,) the triple as a question to be answered with yes or no
    head: pa.StringArray  # (n,) label
    relation: pa.StringArray  # (n,) label
    tail: pa.StringArray  # (n,) label
    head_name: pa.StringArray  # (n,) its name in plain language; the words of the label where it has no name
    tail_name: pa.StringArray  # (n,) likewise
    search: pa.StringArray  # (n,) search text that the candidates of one question share, to be looked up once
    verdict: pa.StringArray  # (n,) what the annotator answered before; mostly empty, to be filled in
    source: pa.StringArray  # (n,) likewise
    note: pa.StringArray  # (n,) likewise
    shown: Mapping[str, pa.StringArray] = field(default_factory=dict)  # more columns to look at, before the verdict
    #: (n,) equal for candidates of one question, which one search serves; what the number is means nothing
    question_number: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    asks_link: bool = True  # whether a place for a link is offered

    def __repr__(self) -> str:
        return f"<Tasks: {len(self):,}>"


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """The answers to tasks that were handed out."""

    incoming: list[Incoming]  # one per verdict, not checked yet
    not_done: int = 0  # tasks without a verdict
    begun: tuple[str, ...] = ()  # places of those that nevertheless have a source or a note
    left_out: Mapping[str, int] = field(default_factory=dict)  # other reasons for leaving out a verdict -> how many

"""What annotators see: triples as questions, with columns to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.incoming import Incoming
from kgtrec.data.rows import Rows

COLUMNS = (
    "task",
    "annotator",
    "question",
    "head",
    "relation",
    "tail",
    "head_name",
    "tail_name",
    "search",
    "verdict",
    "source",
    "note",
)


@dataclass(frozen=True, slots=True, eq=False)
class Tasks(Rows):
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

"""A run that is larger than the memory, read part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRun:
    """Like :class:`kgtrec.data.run.Run`, with rows that are read again whenever they are needed.

    Each part is a run with the whole lists of some questions, and with the vocabularies of the whole.
    """

    name: str
    n_rows: int
    questions: Vocabulary
    entities: Vocabulary
    read: Callable[[], Iterator[Run]]  # the parts, from the first one
    collection: str = ""
    filtered_by: tuple[str, ...] | None = None

    def parts(self) -> Iterator[Run]:
        """The parts in the order of the file, under the run's name."""
        for part in self.read():
            yield part.renamed(self.name)

    def renamed(self, name: str) -> StreamedRun:
        """The same run under another name."""
        return replace(self, name=name)

    def each(self, change: Callable[[Run], Run]) -> StreamedRun:
        """With a change of every part that adds no rows and keeps its vocabularies."""
        return replace(self, read=lambda: map(change, self.read()))

    def of_questions(self, questions: Vocabulary) -> StreamedRun:
        """The rows of some questions."""
        rows = np.flatnonzero(questions.encode(self.questions.labels) >= 0)
        kept = Vocabulary(self.questions.decode(rows))

        def read() -> Iterator[Run]:
            for part in self.read():
                _, own, question = self.questions.part(rows, part.question)
                yield replace(part.take(own), question=question, questions=kept)

        return replace(self, questions=kept, read=read)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"<StreamedRun {self.name!r}: {len(self):,} rows, {len(self.questions):,} questions>"


AnyRun = Run | StreamedRun

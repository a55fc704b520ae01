"""Runs of any size and order, grouped by question in bounded memory.

Rows go to as many temporary files as are needed for each to fit into memory, by a hash of the question's label; each
file is then sorted by itself. The questions are in the order of their hashes, so that the result does not depend on how
many files there were.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.data.run import Run
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import in_file
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.output.outputs import folder_beside
from kgtrec.formats.parquet import is_parquet, iterate_named_columns, label_column, n_rows_of, parts_of
from kgtrec.formats.trec.origins import Origin
from kgtrec.formats.trec.runs import LAYOUT, PARQUET_NAMES, RunWriter, origin_beside, parquet_scores, several_tags
from kgtrec.formats.trec.streamed_runs import files_of_run
from kgtrec.formats.trec.text import iterate_blocks

_ROWS_AT_A_TIME = 1 << 20
_ROWS_SORTED = 1 << 20  # at once, about
_MOST_FILES = 128
_ROW = np.dtype([("question", np.int32), ("entity", np.int32), ("score", np.float64)])
_BYTES_OF_A_LINE = 24  # a line of text has at least about so many


def sort_run(
    source: PathLike, target: PathLike, *, name: str | None = None, parts: bool = False, rows: int = _ROWS_SORTED
) -> int:
    """Write a run with the rows of each question together, in trec_eval's order; the questions in no useful order.

    Parameters
    ----------
    source : path
        TREC text, Parquet, or a folder of Parquet files, with rows in any order. The temporary files beside the target
        take 16 bytes a row.
    target : path
        As for :class:`kgtrec.RunWriter`.
    name : str, optional
        The name of the run, instead of its own.
    parts : bool
        Whether the target becomes a folder of Parquet files.
    rows : int
        About how many rows are in memory at once.

    Returns
    -------
    int
        How many rows it has.

    Raises
    ------
    FormatError
        As :func:`kgtrec.read_run`; for several tags, if no name is given.
    """
    with ExitStack() as stack:
        scratch = stack.enter_context(folder_beside(target))
        rows_of = _Rows(source, name)
        n_files = _n_files(source, rows)
        files = [stack.enter_context((scratch / str(number)).open("wb")) for number in range(n_files)]
        shift = np.uint64(64 - int(np.log2(n_files))) if n_files > 1 else None
        hashes = np.zeros(0, np.uint64)
        n_rows = 0
        for table in rows_of:
            hashes = np.append(hashes, label_hashes(Vocabulary(rows_of.questions.labels[len(hashes) :])))
            file = np.zeros(len(table), np.intp)
            if shift is not None:
                file = (hashes[table["question"]] >> shift).astype(np.intp)
            order = np.argsort(file, kind="stable")
            bounds = np.searchsorted(file[order], np.arange(n_files + 1))
            ordered = table[order]
            for number in np.flatnonzero(np.diff(bounds)).tolist():
                files[number].write(ordered[bounds[number] : bounds[number + 1]].tobytes())
            n_rows += len(table)
        for each in files:
            each.close()
        # questions in the order of their hashes, equal ones by label
        by_hash = np.lexsort((rows_of.questions.byte_order, hashes))
        place = np.empty(len(by_hash), np.int32)
        place[by_hash] = np.arange(len(by_hash), dtype=np.int32)
        questions = Vocabulary(rows_of.questions.decode(by_hash))
        origin = rows_of.origin or Origin("", None)
        writer = RunWriter(
            target, rows_of.name, collection=origin.collection, filtered_by=origin.filtered_by, parts=parts
        )
        with writer:
            for number in range(n_files):
                own = np.fromfile(scratch / str(number), _ROW)
                (scratch / str(number)).unlink()
                if len(own):
                    columns = place[own["question"]], own["entity"].copy(), own["score"].copy()
                    with in_file(source):
                        run = Run.of(rows_of.name, *columns, questions, rows_of.entities)
                    writer.write(run)
    return n_rows


def _n_files(source: PathLike, rows: int) -> int:
    """A power of two, so that each file has about ``rows`` rows, if lists are of about the same length."""
    path = Path(source)
    if path.is_dir() or is_parquet(path):
        found = sum(map(n_rows_of, parts_of(path) if path.is_dir() else [path]))
    else:
        packed = 8 if path.suffix in (".gz", ".zst") else 1
        found = packed * path.stat().st_size // _BYTES_OF_A_LINE if path.is_file() else _MOST_FILES * rows
    return min(_MOST_FILES, 1 << max(0, int(np.ceil(np.log2(max(found / rows, 1))))))


class _Rows:
    """The rows of a run in the order of its file, with codes of labels in the order in which they appear."""

    def __init__(self, source: PathLike, name: str | None) -> None:
        self._source, self._given = source, name
        self.name = name or ""
        self.origin: Origin | None = None
        self.questions, self.entities = Vocabulary.of([]), Vocabulary.of([])

    def __iter__(self) -> Iterator[NDArray[np.void]]:
        path = Path(self._source)
        return self._of_parquet(path) if path.is_dir() or is_parquet(path) else self._of_text()

    def _of_parquet(self, path: Path) -> Iterator[NDArray[np.void]]:
        files, self.name, self.origin = files_of_run(path, self._given)
        for file in files:
            for table in iterate_named_columns(file, PARQUET_NAMES, _ROWS_AT_A_TIME):
                question, entity = (label_column(file, table, column) for column in ("question", "entity"))
                yield self._coded(question, entity, parquet_scores(file, table))

    def _of_text(self) -> Iterator[NDArray[np.void]]:
        self.origin = origin_beside(self._source)
        tags: dict[str, int] = {}
        with reading(self._source) as stream, ThreadPoolExecutor(2) as workers:
            for block in iterate_blocks(stream, str(self._source), LAYOUT, workers):
                tag = block.table.column("tag").chunk(0)
                for code in range(len(tag.dictionary)):
                    row = int(np.argmax(values_of(tag.indices) == code))
                    tags.setdefault(tag.dictionary[code].as_py(), block.line_of(row))
                if len(tags) > 1 and self._given is None:
                    raise several_tags(self._source, tags)
                self.name = self._given or next(iter(tags))
                chunks = (block.table.column(column).chunk(0) for column in ("question", "entity"))
                question, entity = ((Vocabulary(chunk.dictionary), values_of(chunk.indices)) for chunk in chunks)
                yield self._coded(question, entity, values_of(block.table.column("score").chunk(0)))

    def _coded(
        self, question: tuple[Vocabulary, Codes], entity: tuple[Vocabulary, Codes], score: NDArray[np.float64]
    ) -> NDArray[np.void]:
        self.questions = self.questions.extended(question[0].labels)
        self.entities = self.entities.extended(entity[0].labels)
        rows = np.empty(len(score), _ROW)
        rows["question"] = self.questions.encode(question[0].labels)[question[1]]
        rows["entity"] = self.entities.encode(entity[0].labels)[entity[1]]
        rows["score"] = score
        return rows

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
import pyarrow as pa

from kgtrec.data.arrow import values_of
from kgtrec.data.run import Run
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import in_file
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.output.outputs import folder_beside
from kgtrec.formats.parquet import is_parquet, iterate_named_columns, label_column, n_rows_of, parts_of
from kgtrec.formats.trec.origins import Origin
from kgtrec.formats.trec.runs import (
    LAYOUT,
    PARQUET_NAMES,
    RunWriter,
    known_of,
    origin_beside,
    parquet_scores,
    several_tags,
)
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
        origin: Origin | None
        called, tables = name or "", _tables_of_text(source, name)
        if Path(source).is_dir() or is_parquet(source):
            paths, called, origin = files_of_run(source, name)
            tables = (
                (path, part) for path in paths for part in iterate_named_columns(path, PARQUET_NAMES, _ROWS_AT_A_TIME)
            )
        else:
            origin = origin_beside(source)
        n_files = _n_files(source, rows)
        files = [stack.enter_context((scratch / str(number)).open("wb")) for number in range(n_files)]
        shift = np.uint64(64 - int(np.log2(n_files))) if n_files > 1 else None
        hashes = np.zeros(0, np.uint64)
        questions = entities = Vocabulary.of([])
        n_rows = 0
        for path, part in tables:
            labels, question = label_column(path, part, "question")
            questions = questions.extended(labels.labels)
            table = np.empty(part.num_rows, _ROW)
            table["question"] = questions.encode(labels.labels)[question]
            labels, entity = label_column(path, part, "entity")
            entities = entities.extended(labels.labels)
            table["entity"] = entities.encode(labels.labels)[entity]
            table["score"] = parquet_scores(path, part)
            called = called or part.column("tag")[0].as_py()
            hashes = np.append(hashes, label_hashes(Vocabulary(questions.labels[len(hashes) :])))
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
        by_hash = np.lexsort((questions.byte_order, hashes))
        place = np.empty(len(by_hash), np.int32)
        place[by_hash] = np.arange(len(by_hash), dtype=np.int32)
        questions = Vocabulary(questions.decode(by_hash))
        with RunWriter(target, called, **known_of(origin), parts=parts) as writer:
            for number in range(n_files):
                table = np.fromfile(scratch / str(number), _ROW)
                (scratch / str(number)).unlink()
                if len(table):
                    columns = place[table["question"]], table["entity"].copy(), table["score"].copy()
                    with in_file(source):
                        run = Run.of(called, *columns, questions, entities)
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


def _tables_of_text(source: PathLike, name: str | None) -> Iterator[tuple[PathLike, pa.Table]]:
    """The rows of a text file, some at a time; a FormatError for the first of another tag, if no name is given."""
    tags: dict[str, int] = {}
    with reading(source) as stream, ThreadPoolExecutor(2) as workers:
        for block in iterate_blocks(stream, str(source), LAYOUT, workers):
            tag = block.table.column("tag").chunk(0)
            for code in range(len(tag.dictionary)):
                row = int(np.argmax(values_of(tag.indices) == code))
                tags.setdefault(tag.dictionary[code].as_py(), block.line_of(row))
            if len(tags) > 1 and name is None:
                raise several_tags(source, tags)
            yield source, block.table

"""Large runs: Parquet files, and folders ``NAME.run`` of them, grouped by question, that are read part by part.

Runs in any order are grouped in bounded memory: rows go to as many temporary files as are needed for each to fit into
memory, by a hash of the question's label; each file is then sorted by itself. The questions are in the order of their
hashes, so that the result does not depend on how many files there were.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.data.run import AnyRun, Run, StreamedRun
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.output.outputs import folder_beside
from kgtrec.formats.parquet import is_parquet, iterate_named_columns, label_column, n_rows_of, parts_of, read_schema
from kgtrec.formats.trec.origins import Origin, require_pair
from kgtrec.formats.trec.runs import (
    LAYOUT,
    PARQUET_NAMES,
    RunWriter,
    default_name,
    known_of,
    origin_beside,
    parquet_origin,
    parquet_scores,
    read_run,
    several_tags,
)
from kgtrec.formats.trec.text import iterate_blocks

#: Parquet runs of more rows are read part by part
ROWS_IN_MEMORY = 1 << 24
_ROWS_AT_A_TIME = 1 << 20
_RunColumns = tuple[NDArray[Any], ...]  # question, entity, score
_LABELS = {name: others for name, others in PARQUET_NAMES.items() if name != "score"}


def read_any_run(path: PathLike, *, name: str | None = None) -> AnyRun:
    """Read a run: a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows, as a :class:`StreamedRun`.

    Parameters
    ----------
    path, name
        As for :func:`kgtrec.read_run`.

    Raises
    ------
    FormatError
        As :func:`kgtrec.read_run` and :func:`open_run`.
    """
    return open_run(path, name=name) if is_streamed(path) else read_run(path, name=name)


def is_streamed(path: PathLike) -> bool:
    """Return whether it is a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows."""
    return os.fspath(path) != "-" and (Path(path).is_dir() or (is_parquet(path) and n_rows_of(path) > ROWS_IN_MEMORY))


def open_run(path: PathLike, *, name: str | None = None, rows_at_a_time: int = _ROWS_AT_A_TIME) -> StreamedRun:
    """Open a Parquet run of any size: its labels are read now, its rows part by part.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder ``NAME.run`` of them, in the order of their names. The rows of a question follow
        each other; ``kgtrec convert --sort`` makes such a file of any other.
    name
        As for :func:`kgtrec.read_run`.
    rows_at_a_time : int
        About how many rows are in memory at once; a list is never divided.

    Raises
    ------
    FormatError
        If a file is damaged or not a run, rows of a question are in several places, or parts are of different runs. A
        score that is not a number and a repeated pair are errors when the part that has them is read.

    See Also
    --------
    kgtrec.read_run : For runs that fit into memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kgtrec.formats.trec.runs import write_run
    >>> questions, entities = Vocabulary.of(["tail0", "tail1"]), Vocabulary.of(["paris"])
    >>> row, entity = np.array([0, 1], np.int32), np.zeros(2, np.int32)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "transe.parquet")
    >>> write_run(path, Run.of("transe", row, entity, np.array([0.5, 0.7]), questions, entities))
    >>> run = open_run(path, rows_at_a_time=1)
    >>> run, [len(part) for part in run.parts()]
    (<StreamedRun 'transe': 2 rows, 2 questions>, [1, 1])
    """
    require_pair(path)
    files, run_name, origin = files_of_run(path, name)
    questions = entities = Vocabulary.of([])
    is_begun = np.zeros(0, np.bool_)  # by question
    n_rows, last = 0, np.int32(-1)  # the question of the row before
    for file in files:
        before = n_rows
        for table in iterate_named_columns(file, _LABELS, rows_at_a_time):
            entities = entities.extended(label_column(file, table, "entity")[0].labels)
            questions, question = _coded(file, table, "question", questions)
            starts = np.flatnonzero(np.diff(question, prepend=last))
            begun = question[starts]
            is_begun = np.append(is_begun, np.zeros(len(questions) - len(is_begun), np.bool_))
            is_again = is_begun[begun]
            is_again[np.setdiff1d(np.arange(len(begun)), np.unique(begun, return_index=True)[1])] = True
            if is_again.any():
                again = int(np.argmax(is_again))
                raise FormatError(
                    f"expected the rows of each question together, found {questions[begun[again]]!r} again in row "
                    f"{n_rows - before + starts[again]}; sort it first: kgtrec convert IN OUT --sort",
                    path=file,
                )
            is_begun[begun] = True
            n_rows, last = n_rows + table.num_rows, question[-1]
    if n_rows == 0:
        raise FormatError("expected rows, found an empty table", path)

    def read() -> Iterator[Run]:
        for file, (question, entity, score) in _whole_lists(files, questions, entities, rows_at_a_time):
            with in_file(file):
                yield Run.of(run_name, question, entity, score, questions, entities)

    return StreamedRun(run_name, n_rows, questions, entities, read, **known_of(origin))


def files_of_run(path: PathLike, name: str | None) -> tuple[list[Path], str, Origin | None]:
    """Return the Parquet files of a run in the order of their names, its name, and what they say of its collection.

    Raises
    ------
    FormatError
        If one is damaged or no run, or if they are of different runs.
    """
    files, unnamed = [Path(path)], None
    if Path(path).is_dir():
        files, unnamed = parts_of(path), default_name(path)
    first, *others = (parquet_origin(file, read_schema(file), name, unnamed=unnamed) for file in files)
    for file, other in zip(files[1:], others, strict=True):
        if other != first:
            raise FormatError(f"expected a part of the same run as {files[0].name}, found one of another", path=file)
    return files, *first


def _coded(path: PathLike, table: pa.Table, column: str, vocabulary: Vocabulary) -> tuple[Vocabulary, Codes]:
    """The vocabulary with the labels of a column too, and the codes of its rows."""
    labels, code = label_column(path, table, column)
    vocabulary = vocabulary.extended(labels.labels)
    return vocabulary, vocabulary.encode(labels.labels)[code]


def _whole_lists(
    files: list[Path], questions: Vocabulary, entities: Vocabulary, rows_at_a_time: int
) -> Iterator[tuple[Path, _RunColumns]]:
    """Questions, entities and scores of whole lists, some lists at a time, and the file that the last is of."""
    rest: list[_RunColumns] = []  # of one question
    file = files[0]
    for file in files:
        for table in iterate_named_columns(file, PARQUET_NAMES, rows_at_a_time):
            codes = []
            for column, labels in (("question", questions), ("entity", entities)):
                own, code = label_column(file, table, column)
                codes.append(labels.encode(own.labels)[code])
                if np.any(codes[-1] < 0):
                    raise FormatError("expected the labels that it had before, found others: it was changed", path=file)
            rows = codes[0], codes[1], parquet_scores(file, table)
            change = np.flatnonzero(np.diff(rows[0], prepend=rest[0][0][0] if rest else rows[0][0]))
            if len(change) == 0:
                rest.append(rows)
                continue
            yield file, _joined([*rest, tuple(column[: change[-1]] for column in rows)])
            rest = [tuple(column[change[-1] :] for column in rows)]
    yield file, _joined(rest)


def _joined(rows: Sequence[_RunColumns]) -> _RunColumns:
    return tuple(np.concatenate(column) for column in zip(*rows, strict=True))


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
            table = np.empty(part.num_rows, _ROW)
            questions, table["question"] = _coded(path, part, "question", questions)
            entities, table["entity"] = _coded(path, part, "entity", entities)
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
        n_rows = sum(map(n_rows_of, parts_of(path) if path.is_dir() else [path]))
    else:
        packed = 8 if path.suffix in (".gz", ".zst") else 1
        n_rows = packed * path.stat().st_size // _BYTES_OF_A_LINE if path.is_file() else _MOST_FILES * rows
    return min(_MOST_FILES, 1 << max(0, int(np.ceil(np.log2(max(n_rows / rows, 1))))))


def _tables_of_text(source: PathLike, name: str | None) -> Iterator[tuple[PathLike, pa.Table]]:
    """The rows of a text file, some at a time; a FormatError for the first of another tag, if no name is given."""
    tags: dict[str, int] = {}
    with reading(source) as stream, ThreadPoolExecutor(2) as workers:
        for block in iterate_blocks(stream, str(source), LAYOUT, workers):
            tag = block.table.column("tag").chunk(0)
            for code in range(len(tag.dictionary)):
                row = int(np.argmax(values_of(tag.indices) == code))
                tags.setdefault(tag.dictionary[code].as_py(), int(block.lines[row]))
            if len(tags) > 1 and name is None:
                raise several_tags(source, tags)
            yield source, block.table

"""Large runs, read part by part: Parquet files, and folders ``NAME.run`` of them, grouped by question."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.run import AnyRun, Run, StreamedRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.parquet import is_parquet, iterate_named_columns, label_column, n_rows_of, parts_of, read_schema
from kgtrec.formats.trec.origins import Origin
from kgtrec.formats.trec.pairs import require_pair
from kgtrec.formats.trec.runs import PARQUET_NAMES, default_name, known_of, parquet_origin, parquet_scores, read_run

#: Parquet runs of more rows are read part by part
ROWS_IN_MEMORY = 1 << 24
_ROWS_AT_A_TIME = 1 << 20
_Rows = tuple[NDArray[Any], ...]  # question, entity, score
_LABELS = {name: others for name, others in PARQUET_NAMES.items() if name != "score"}


def read_any_run(path: PathLike, *, name: str | None = None) -> AnyRun:
    """A run: a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows, as a :class:`StreamedRun`.

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
    """Whether it is a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows."""
    return os.fspath(path) != "-" and (Path(path).is_dir() or (is_parquet(path) and n_rows_of(path) > ROWS_IN_MEMORY))


def open_run(path: PathLike, *, name: str | None = None, rows_at_a_time: int = _ROWS_AT_A_TIME) -> StreamedRun:
    """A Parquet run of any size, whose labels are read now and whose rows are read part by part.

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
    files, own, origin = files_of_run(path, name)
    questions = entities = Vocabulary.of([])
    is_begun = np.zeros(0, np.bool_)  # by question
    n_rows, last = 0, np.int32(-1)  # the question of the row before
    for file in files:
        before = n_rows
        for table in iterate_named_columns(file, _LABELS, rows_at_a_time):
            entities = entities.extended(label_column(file, table, "entity")[0].labels)
            labels, code = label_column(file, table, "question")
            questions = questions.extended(labels.labels)
            question = questions.encode(labels.labels)[code]
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
        raise FormatError("expected rows, found an empty table", path=path)

    def read() -> Iterator[Run]:
        for file, rows in _whole_lists(files, questions, entities, rows_at_a_time):
            with in_file(file):
                yield Run.of(own, *rows, questions, entities)

    return StreamedRun(own, n_rows, questions, entities, read, **known_of(origin))


def files_of_run(path: PathLike, name: str | None) -> tuple[list[Path], str, Origin | None]:
    """The Parquet files of a run in the order of their names, its name, and what they say of its collection.

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


def _whole_lists(
    files: list[Path], questions: Vocabulary, entities: Vocabulary, rows_at_a_time: int
) -> Iterator[tuple[Path, _Rows]]:
    """Questions, entities and scores of whole lists, some lists at a time, and the file that the last is of."""
    rest: list[_Rows] = []  # of one question
    file = files[0]
    for file in files:
        for table in iterate_named_columns(file, PARQUET_NAMES, rows_at_a_time):
            codes = []
            for column, labels in (("question", questions), ("entity", entities)):
                own, code = label_column(file, table, column)
                codes.append(labels.encode(own.labels)[code])
                if np.any(codes[-1] < 0):
                    expected = "expected the labels that it had before, found others: it was changed meanwhile"
                    raise FormatError(expected, path=file)
            rows = codes[0], codes[1], parquet_scores(file, table)
            change = np.flatnonzero(np.diff(rows[0], prepend=rest[0][0][0] if rest else rows[0][0]))
            if len(change) == 0:
                rest.append(rows)
                continue
            yield file, _joined([*rest, tuple(column[: change[-1]] for column in rows)])
            rest = [tuple(column[change[-1] :] for column in rows)]
    yield file, _joined(rest)


def _joined(rows: Sequence[_Rows]) -> _Rows:
    question, entity, score = (np.concatenate(column) for column in zip(*rows, strict=True))
    return question, entity, score

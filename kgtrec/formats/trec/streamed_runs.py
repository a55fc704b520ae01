"""Large runs, read part by part: Parquet files, and folders ``NAME.run`` of them, grouped by question."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.run import AnyRun, Run, StreamedRun
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.parquet import is_parquet, iterate_named_columns, label_column, n_rows_of, parts_of, read_schema
from kgtrec.formats.trec.origins import Origin
from kgtrec.formats.trec.pairs import require_pair
from kgtrec.formats.trec.runs import PARQUET_NAMES, default_name, known_of, parquet_origin, parquet_scores, read_run

#: Parquet runs of more rows are read part by part
ROWS_IN_MEMORY = 1 << 24
_ROWS_AT_A_TIME = 1 << 20
_Rows = tuple[Codes, Codes, NDArray[np.float64]]  # question, entity, score
_LABELS = {name: others for name, others in PARQUET_NAMES.items() if name != "score"}


def read_any_run(path: PathLike, *, name: str | None = None, trust_ids: bool = False) -> AnyRun:
    """A run: a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows, as a :class:`StreamedRun`.

    Parameters
    ----------
    path, name, trust_ids
        As for :func:`kgtrec.read_run`.

    Raises
    ------
    FormatError
        As :func:`kgtrec.read_run` and :func:`open_run`.
    """
    if is_streamed(path):
        return open_run(path, name=name, trust_ids=trust_ids)
    return read_run(path, name=name, trust_ids=trust_ids)


def is_streamed(path: PathLike) -> bool:
    """Whether it is a folder, or a Parquet file of more than ``ROWS_IN_MEMORY`` rows."""
    return os.fspath(path) != "-" and (Path(path).is_dir() or (is_parquet(path) and n_rows_of(path) > ROWS_IN_MEMORY))


def open_run(
    path: PathLike, *, name: str | None = None, trust_ids: bool = False, rows_at_a_time: int = _ROWS_AT_A_TIME
) -> StreamedRun:
    """A Parquet run of any size, whose labels are read now and whose rows are read part by part.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder ``NAME.run`` of them, in the order of their names. The rows of a question follow
        each other; ``kgtrec convert --sort`` makes such a file of any other.
    name, trust_ids
        As for :func:`kgtrec.read_run`.
    rows_at_a_time : int
        About how many rows are in memory at once; a list is never divided.

    Raises
    ------
    FormatError
        If a file is damaged or not a run, rows of a question are in several places, or parts are of different runs. A
        score that is not a number and a repeated pair are told when the part that has them is read.

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
    labels = _Labels()
    n_rows = 0
    for file in files:
        before = n_rows
        for table in iterate_named_columns(file, _LABELS, rows_at_a_time):
            labels.add(file, table, n_rows - before)
            n_rows += table.num_rows
    if n_rows == 0:
        raise FormatError("expected rows, found an empty table", path=path)
    questions, entities = labels.questions, labels.entities
    known = known_of(origin, trust_ids=trust_ids)

    def read() -> Iterator[Run]:
        for file, rows in _whole_lists(files, questions, entities, rows_at_a_time):
            yield _as_run(file, rows, questions, entities, own, **known)

    return StreamedRun(own, n_rows, questions, entities, read, **known)


def first_error(path: PathLike) -> KgtrecError | None:
    """The error of a run that :func:`open_run` or a part of it refuses: the one that reading it at once would give.

    The two differ where a run has several faults, of which the other sees those of the first part first. None if no
    fault is found again.
    """
    files = parts_of(path) if Path(path).is_dir() else [Path(path)]
    try:
        for name in PARQUET_NAMES:  # missing values
            for _ in _column(files, name):
                pass
        for name in _LABELS:
            for file, table in _column(files, name):
                label_column(file, table, name)
        for file, table in _column(files, "score"):
            parquet_scores(file, table)
        files_of_run(path, None)
        _require_numbers(files)
        run = open_run(path)
        _require_each_once(files, run.questions, run.entities)
    except KgtrecError as error:
        return error
    return None


def _column(files: list[Path], name: str) -> Iterator[tuple[Path, pa.Table]]:
    for file in files:
        for table in iterate_named_columns(file, {name: PARQUET_NAMES[name]}, _ROWS_AT_A_TIME):
            yield file, table


def _require_numbers(files: list[Path]) -> None:
    for file in files:
        for table in iterate_named_columns(file, PARQUET_NAMES, _ROWS_AT_A_TIME):
            score = parquet_scores(file, table)
            wrong = np.flatnonzero(~(score < np.inf))[:1]
            if len(wrong):
                question, entity = (Vocabulary.of([table.column(name)[int(wrong[0])].as_py()]) for name in _LABELS)
                _as_run(file, (np.zeros(1, np.int32), np.zeros(1, np.int32), score[wrong]), question, entity)


def _require_each_once(files: list[Path], questions: Vocabulary, entities: Vocabulary) -> None:
    """Refuse repeated pairs, those of the question with the lowest code first, as a run is sorted by question."""
    first: tuple[int, Path, _Rows] | None = None
    for file, rows in _whole_lists(files, questions, entities, _ROWS_AT_A_TIME):
        question, entity, score = rows
        pairs = np.sort(question.astype(np.int64) << 32 | entity)
        repeated = pairs[1:][pairs[1:] == pairs[:-1]]
        if len(repeated) and (first is None or repeated[0] >> 32 < first[0]):
            own = question == repeated[0] >> 32
            first = int(repeated[0] >> 32), file, (question[own], entity[own], score[own])
    if first is not None:
        _as_run(*first[1:], questions, entities)


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


@dataclass(slots=True)
class _Labels:
    """The labels seen so far, and which question the last row was of."""

    questions: Vocabulary = field(default_factory=lambda: Vocabulary.of([]))
    entities: Vocabulary = field(default_factory=lambda: Vocabulary.of([]))
    _is_listed: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # by question
    _last: int = -1

    def add(self, file: Path, table: pa.Table, before: int) -> None:
        """Refuse rows of a question that has rows further up already."""
        self.entities = self.entities.extended(label_column(file, table, "entity")[0].labels)
        own, code = label_column(file, table, "question")
        self.questions = self.questions.extended(own.labels)
        self._is_listed = np.append(self._is_listed, np.zeros(len(self.questions) - len(self._is_listed), np.bool_))
        starts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
        question = self.questions.encode(own.labels)[code[starts]]
        is_new = question != self._last  # the first may go on with the last list
        is_new[1:] = True
        starts, begun = starts[is_new], question[is_new]
        again = self._is_listed[begun]
        again[np.setdiff1d(np.arange(len(begun)), np.unique(begun, return_index=True)[1])] = True
        if again.any():
            place = int(np.argmax(again))
            raise FormatError(
                f"expected the rows of each question together, found {self.questions[int(begun[place])]!r} again in "
                f"row {before + int(starts[place])}; sort it first: kgtrec convert IN OUT --sort",
                path=file,
            )
        self._is_listed[begun] = True
        self._last = int(question[-1])


def _whole_lists(
    files: list[Path], questions: Vocabulary, entities: Vocabulary, rows_at_a_time: int
) -> Iterator[tuple[Path, _Rows]]:
    """Questions, entities and scores of whole lists, some lists at a time, and the file that the last is of."""
    rest: list[_Rows] = []  # of one question
    file = files[0]
    for file in files:
        for table in iterate_named_columns(file, PARQUET_NAMES, rows_at_a_time):
            codes = [_codes_in(file, table, *pair) for pair in (("question", questions), ("entity", entities))]
            rows = codes[0], codes[1], parquet_scores(file, table)
            change = np.flatnonzero(np.diff(rows[0], prepend=rest[0][0][0] if rest else rows[0][0]))
            if len(change) == 0:
                rest.append(rows)
                continue
            last = int(change[-1])
            yield file, _joined([*rest, _between(rows, 0, last)])
            rest = [_between(rows, last, len(rows[0]))]
    yield file, _joined(rest)


def _as_run(file: Path, rows: _Rows, questions: Vocabulary, entities: Vocabulary, name: str = "", **known: Any) -> Run:
    with in_file(file):
        return Run.of(name, *rows, questions, entities, **known)


def _codes_in(file: Path, table: pa.Table, column: str, labels: Vocabulary) -> Codes:
    own, code = label_column(file, table, column)
    codes = labels.encode(own.labels)[code]
    if np.any(codes < 0):
        raise FormatError("expected the labels that it had before, found others: it was changed meanwhile", path=file)
    return codes


def _between(rows: _Rows, first: int, last: int) -> _Rows:
    question, entity, score = rows
    return question[first:last], entity[first:last], score[first:last]


def _joined(rows: list[_Rows]) -> _Rows:
    question, entity, score = (np.concatenate(column) for column in zip(*rows, strict=True))
    return question, entity, score

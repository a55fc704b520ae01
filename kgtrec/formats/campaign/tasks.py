"""Tasks for annotators: CSV and workbooks for spreadsheets, and JSON Lines for a program."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import TASK_COLUMNS, Tasks
from kgtrec.errors import FormatError, KgtrecError, warn
from kgtrec.formats.campaign.filled_tasks import CSV, form_by_suffix, holds_verdicts, rows_filled_in
from kgtrec.formats.campaign.workbooks import Column, require_openpyxl, write_workbook
from kgtrec.formats.contents import WORKBOOK
from kgtrec.formats.csv_text import guarded
from kgtrec.formats.files import PathLike, suffixes
from kgtrec.formats.output.outputs import keep_aside, require_file, updating, writing

#: columns of a spreadsheet: what is to be filled in beside what is asked; more to look at comes behind the question
_FIRST, _LAST = (
    ("verdict", "question"),
    (*("source", "note", "search", "head_name", "tail_name"), *("task", "annotator", "head", "relation", "tail")),
)
_WIDTHS = {"verdict": 10, "question": 60, "source": 40, "note": 40, "search": 30, "task": 12}
_WIDTH, _WIDTH_OF_SHOWN = 18, 30
_KINDS = {"xlsx": WORKBOOK}


def write_tasks(
    path: PathLike, tasks: Tasks, *, form: str | None = None, merge: bool = False, force: bool = False
) -> int:
    """Write tasks as CSV, a workbook or JSON Lines, atomically; compressed by suffix.

    A file with filled-in rows is never replaced. Equal tasks give equal bytes.

    Parameters
    ----------
    path : path
        The file to write; its suffix says the form.
    tasks : Tasks
        What to write, in this order.
    form : {"csv", "xlsx", "jsonl"}, optional
        Default: by suffix.
    merge : bool
        Whether to copy what is filled in in the existing file, which is kept under another name.
    force : bool
        Whether an existing file in which nothing is filled in is replaced.

    Returns
    -------
    int
        How many rows of that file have a verdict, a source or a note and are not among ``tasks``.

    Raises
    ------
    FormatError
        If the existing file has filled-in rows, or is not a file of tasks, see :func:`kgtrec.campaign.read_tasks`; with
        ``merge``, if it was filled in by other people than ``tasks`` are for.
    KgtrecError
        If the suffix is of no form, a label cannot be written in such a file, a workbook would have more rows or longer
        texts than it can hold, or openpyxl is missing for it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from kgtrec.data.arrow import labels_of
    >>> texts = ["Is Ann the capital of =B?", "ann", "capital", "=B", "Ann", "=B", "Ann capital", "", "", ""]
    >>> tasks = Tasks(np.array([7]), (("eve",),), *(labels_of([text]) for text in texts))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "eve.csv"
    >>> write_tasks(path, tasks)
    0
    >>> print(path.read_text(encoding="utf-8-sig"), end="")
    verdict,question,source,note,search,head_name,tail_name,task,annotator,head,relation,tail
    ,Is Ann the capital of =B?,,,Ann capital,Ann,'=B,7,eve,ann,capital,'=B
    """
    form = form or form_of_tasks(path)
    left, aside = 0, None
    if merge and str(path) != "-" and Path(path).exists():
        typed = rows_filled_in(path, form, {", ".join(people) for people in tasks.annotators})
        tasks, left = _filled_in(tasks, typed)
        opened, aside = updating(path), keep_aside(path) if typed else None
    else:
        opened = writing(path, kind=_KINDS.get(form, ""), force=force)
    with opened as stream:
        _WRITERS[form](stream, path, tasks)
    if aside is not None and aside.read_bytes() == Path(path).read_bytes():
        aside.unlink()
    elif aside is not None:
        warn(f"{path}: the file that was filled in is kept as {aside.name}")
    return left


def form_of_tasks(path: PathLike, *, others: Sequence[str] = ()) -> str:
    """Find the form, csv, xlsx or jsonl, that a file's name means; ``others``: suffixes that a caller writes itself.

    Raises
    ------
    KgtrecError
        If it is none of them, or a workbook, and openpyxl is not installed.
    """
    form = form_by_suffix(path)
    if form is None or suffixes(path)[0] in CSV[1:]:
        *names, last = (".csv", ".xlsx", ".jsonl", *others)
        raise KgtrecError(f"{path}: expected a name that ends in {', '.join(names)} or {last}; nothing is written")
    if form == "xlsx":
        require_openpyxl(path)
    return form


def require_tasks_file(path: PathLike, form: str, *, merge: bool | None) -> None:
    """Raise FormatError if :func:`write_tasks` would refuse a file; ``merge`` is None where there is no such option."""
    require_file(path, kind=None, force=True)
    if merge and Path(path).exists():
        return  # what is filled in there is read first
    try:
        require_file(path, kind=_KINDS.get(form, ""))
    except FormatError as error:
        if merge is None or not Path(path).is_file() or not holds_verdicts(path):
            raise
        raise FormatError(f"{error}, or bring along what is filled in there with --merge") from None


def _filled_in(tasks: Tasks, typed: Mapping[tuple[str, str, str], tuple[str, str, str]]) -> tuple[Tasks, int]:
    """The tasks with what was typed, and how many typed rows are about other tasks."""
    triples = list(zip(*(column.to_pylist() for column in (tasks.head, tasks.relation, tasks.tail)), strict=True))
    columns = zip(*(column.to_pylist() for column in (tasks.verdict, tasks.source, tasks.note)), strict=True)
    filled = [typed.get(triple, before) for triple, before in zip(triples, columns, strict=True)]
    verdict, source, note = (labels_of([row[place] for row in filled]) for place in range(3))
    return replace(tasks, verdict=verdict, source=source, note=note), len(typed.keys() - set(triples))


def _write_csv(stream: BinaryIO, path: PathLike, tasks: Tasks) -> None:
    """UTF-8 with a byte-order mark, CRLF, without formulas."""
    names, safe = _sheet_columns(tasks), partial(guarded, is_returned=True)
    number = names.index("task")
    writer = csv.writer(codecs.getwriter("utf-8-sig")(stream))
    writer.writerow(map(safe, names))
    for row in _rows(tasks, names):
        if nul := next((cell for cell in row if "\0" in cell), None):
            raise KgtrecError(f"{path}: expected text without NUL, found {nul!r}; write .jsonl instead")
        writer.writerow([*map(safe, row[:number]), row[number], *map(safe, row[number + 1 :])])


def _write_jsonl(stream: BinaryIO, _: PathLike, tasks: Tasks) -> None:
    """One object each; the keys are the CSV's columns, `task` is a number."""
    names = _columns(tasks)
    for row in _rows(tasks, names):
        record: dict[str, Any] = dict(zip(names, row, strict=True))
        record["task"] = int(record["task"])
        stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _columns(tasks: Tasks) -> list[str]:
    first = TASK_COLUMNS.index("verdict")
    if taken := [name for name in tasks.shown if name in TASK_COLUMNS]:
        raise KgtrecError(f"expected more columns under names of their own, found {taken[0]!r}")
    return [*TASK_COLUMNS[:first], *tasks.shown, *TASK_COLUMNS[first:]]


def _sheet_columns(tasks: Tasks) -> list[str]:
    """The columns of a spreadsheet; without a place for links where none is asked for, unless there are some."""
    names = [*_FIRST, *(name for name in _columns(tasks) if name in tasks.shown), *_LAST]
    if not tasks.asks_link and not any(tasks.source.to_pylist()):
        names.remove("source")
    return names


def _rows(tasks: Tasks, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    made = {"task": map(str, tasks.task.tolist()), "annotator": map(", ".join, tasks.annotators)}
    columns = (
        made[name] if name in made else (tasks.shown[name] if name in tasks.shown else getattr(tasks, name)).to_pylist()
        for name in names
    )
    return zip(*columns, strict=True)


def _write_xlsx(stream: BinaryIO, path: PathLike, tasks: Tasks) -> None:
    """A list of verdicts to choose from, links that open, and no formula: every cell is a text.

    So nothing that is typed becomes a number or a date. A line stands above the first candidate of each question.
    """
    names = _sheet_columns(tasks)
    columns = [
        Column(
            name,
            _WIDTH_OF_SHOWN if name in tasks.shown else _WIDTHS.get(name, _WIDTH),
            ("Y", "N", "unsure") if name == "verdict" else (),
            name == "source" or name.startswith("source_"),
        )
        for name in names
    ]
    number = tasks.question_number
    begins = np.r_[True, number[1:] != number[:-1]] if len(number) == len(tasks) else np.zeros(len(tasks))
    write_workbook(stream, path, columns, list(_rows(tasks, names)), begins[: len(tasks)].tolist())


_WRITERS = {"csv": _write_csv, "xlsx": _write_xlsx, "jsonl": _write_jsonl}

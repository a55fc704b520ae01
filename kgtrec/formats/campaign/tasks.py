"""Tasks for annotators, out and back: CSV for a spreadsheet, and JSON Lines for a program."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from kgtrec.data.arrow import labels_of
from kgtrec.data.incoming import Incoming
from kgtrec.data.tasks import COLUMNS, Returned, Tasks
from kgtrec.errors import FormatError, KgtrecError, nearest
from kgtrec.formats.files import PathLike, reading, suffixes
from kgtrec.formats.output.outputs import FILE, OccupiedError, require_file, updating, writing
from kgtrec.formats.trec.text import shown

Opened = Callable[[PathLike], AbstractContextManager[BinaryIO]]

CSV, JSONL = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
REQUIRED = ("task", "head", "relation", "tail", "verdict")
_UTF8_MARK, _UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_SPREADSHEET = "in a spreadsheet, save as CSV UTF-8"

# A cell is a formula to a spreadsheet by its first sign, full-width forms and blanks in front included; and where the
# list separator is another than the file's, a cell may begin behind a semicolon, a tab or a line break too.
_FORMULA = r"[ \u00a0\u3000]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# What a spreadsheet takes for a number, a date, a time or a truth value, and would not give back to the letter.
_MANGLED = rf"(?:[0-9.][0-9.,:/eE% \-]*|{_MONTH}[ ./\-]?[0-9]+|[0-9]+[ ./\-]?{_MONTH}(?:[ ./\-]?[0-9]+)?|true|false)\Z"
_GUARD = re.compile(rf"(?<=[;\t\r\n])(?={_FORMULA})|\A(?={_FORMULA}|(?i:{_MANGLED}))")
_GUARDED = re.compile(rf"(?<=[;\t\r\n])'(?={_FORMULA})|\A'(?={_FORMULA}|(?i:{_MANGLED}))")

# a number as it was exported, or as a spreadsheet that took the column for measurements writes it: 72088.0 or 72088,0
_NUMBER = re.compile(r"([0-9]{1,10})(?:[.,]0)?", re.ASCII)

# what people write for the three verdicts; anything else goes on as it is, to be refused
_WRITTEN = {"y": "Y", "yes": "Y", "n": "N", "no": "N", "unsure": "unsure"}


def guarded(cell: str) -> str:
    """``cell`` with an apostrophe wherever a spreadsheet would take what follows for a formula, a number or a date.

    :func:`unguarded` gives the cell back to the letter: an apostrophe that stands in such a place itself gets another.

    References
    ----------
    OWASP Foundation. CSV Injection.

    Examples
    --------
    >>> guarded("=1+1"), guarded("'n Droom"), guarded("007"), guarded("Paris; =x"), guarded("e-mail")
    ("'=1+1", "''n Droom", "'007", "Paris;' =x", 'e-mail')
    """
    if any(sign in cell for sign in ";\t\r\n"):
        return _GUARD.sub("'", cell)
    return f"'{cell}" if _GUARD.match(cell) else cell  # the same, and much sooner


def unguarded(cell: str) -> str:
    """What :func:`guarded` was given; a cell that somebody typed without guarding it stays as it is.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("''n Droom"), unguarded("'tis so"), unguarded("=1+1")
    ('=1+1', "'n Droom", "'tis so", '=1+1')
    """
    return _GUARDED.sub("", cell) if "'" in cell else cell


def write_tasks(path: PathLike, tasks: Tasks, *, form: str | None = None, merge: bool = False) -> int:
    """Write tasks as CSV or JSON Lines; compressed by suffix.

    A file in which somebody has worked is never replaced.

    Parameters
    ----------
    path : path
    tasks : Tasks
    form : {"csv", "jsonl"}, optional
        Default: by suffix.
    merge : bool
        Whether to bring along what is filled in in the file that is there, which stays under another name.

    Returns
    -------
    int
        How many rows of that file have a verdict, a source or a note and are not among ``tasks``.

    Raises
    ------
    FormatError
        If somebody has worked in the file that is there, or it is not one of tasks, see :func:`read_tasks`; with
        ``merge``, if somebody else has filled it in than ``tasks`` are for.
    KgtrecError
        If the suffix is of neither, or a label cannot stand in such a file.
    """
    form = form or form_of_tasks(path)
    left, opened = 0, writing
    if merge and str(path) != "-" and Path(path).exists():
        typed = _rows_filled_in(path, form, {", ".join(people) for people in tasks.annotators})
        tasks, left = _filled_in(tasks, typed)
        opened = partial(updating, by=FILE, is_recorded=not typed)
    {"csv": write_tasks_csv, "jsonl": write_tasks_jsonl}[form](path, tasks, opened=opened)
    return left


def form_of_tasks(path: PathLike) -> str:
    """Which of csv and jsonl a file's name stands for.

    Raises
    ------
    KgtrecError
        If it is neither.
    """
    kind = suffixes(path)[0]
    if kind in JSONL:
        return "jsonl"
    if kind == CSV[0] or str(path) == "-":
        return "csv"
    raise KgtrecError(f"{path}: expected a name that ends in .csv or .jsonl; nothing is written")


def require_tasks_file(path: PathLike, *, merge: bool) -> None:
    """Raise FormatError if :func:`write_tasks` would refuse a file."""
    try:
        require_file(path, aside=merge)
    except OccupiedError as error:
        raise FormatError(f"{error}, or bring along what is filled in there with --merge") from None


def _rows_filled_in(
    path: PathLike, form: str, people: Collection[str]
) -> dict[tuple[str, str, str], tuple[str, str, str]]:
    """Verdict, source and note of each triple for which a file of ``people`` has any of them, as they were typed."""
    back = _Typed(str(path), people)
    {"csv": _read_csv, "jsonl": _read_jsonl}[form](path, back)
    return back.typed


def _filled_in(tasks: Tasks, typed: Mapping[tuple[str, str, str], tuple[str, str, str]]) -> tuple[Tasks, int]:
    """The tasks with what was typed, and how much of that is about others."""
    triples = list(zip(*(column.to_pylist() for column in (tasks.head, tasks.relation, tasks.tail)), strict=True))
    columns = zip(*(column.to_pylist() for column in (tasks.verdict, tasks.source, tasks.note)), strict=True)
    filled = [typed.get(triple, before) for triple, before in zip(triples, columns, strict=True)]
    verdict, source, note = (labels_of([row[place] for row in filled]) for place in range(3))
    return replace(tasks, verdict=verdict, source=source, note=note), len(typed.keys() - set(triples))


def write_tasks_csv(path: PathLike, tasks: Tasks, *, opened: Opened = writing) -> None:
    r"""Write tasks for a spreadsheet, atomically: UTF-8 with a byte-order mark, CRLF, nothing that it would calculate.

    Raises
    ------
    KgtrecError
        If a text holds NUL, which no spreadsheet keeps.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from kgtrec.data.arrow import labels_of
    >>> texts = ["Is Ann the capital of =B?", "ann", "capital", "=B", "Ann", "=B", "Ann capital", "", "", ""]
    >>> tasks = Tasks(np.array([7]), (("eve",),), *(labels_of([text]) for text in texts))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "eve.csv"
    >>> write_tasks_csv(path, tasks)
    >>> print(path.read_text(encoding="utf-8-sig"), end="")
    task,annotator,question,head,relation,tail,head_name,tail_name,search,verdict,source,note
    7,eve,Is Ann the capital of =B?,ann,capital,'=B,Ann,'=B,Ann capital,,,
    """
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        try:
            text.write("\ufeff")
            writer = csv.writer(text)
            writer.writerow(map(guarded, _columns(tasks)))
            for row in _rows(tasks):
                if "\0" in "".join(row):
                    cell = next(cell for cell in row if "\0" in cell)
                    raise KgtrecError(f"{path}: expected text without NUL, found {cell!r}; write .jsonl instead")
                writer.writerow([row[0], *map(guarded, row[1:])])
            text.flush()
        finally:
            with suppress(OSError, ValueError):
                text.detach()


def write_tasks_jsonl(path: PathLike, tasks: Tasks, *, opened: Opened = writing) -> None:
    """Write tasks as JSON Lines, one object a task, atomically; the keys are the CSV's columns, `task` is a number."""
    names = _columns(tasks)
    with opened(path) as stream:
        for row in _rows(tasks):
            record: dict[str, Any] = dict(zip(names, row, strict=True))
            record["task"] = int(record["task"])
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _columns(tasks: Tasks) -> list[str]:
    first = COLUMNS.index("verdict")
    if taken := [name for name in tasks.shown if name in COLUMNS]:
        raise KgtrecError(f"expected more columns under names of their own, found {taken[0]!r}")
    return [*COLUMNS[:first], *tasks.shown, *COLUMNS[first:]]


def _rows(tasks: Tasks) -> Iterator[tuple[str, ...]]:
    columns = [
        tasks.question,
        tasks.head,
        tasks.relation,
        tasks.tail,
        tasks.head_name,
        tasks.tail_name,
        tasks.search,
        *tasks.shown.values(),
        tasks.verdict,
        tasks.source,
        tasks.note,
    ]
    first = map(str, tasks.task.tolist()), map(", ".join, tasks.annotators)
    return zip(*first, *(column.to_pylist() for column in columns), strict=True)


def read_tasks(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    """What was filled in, in CSV or JSON Lines by suffix.

    Parameters
    ----------
    path : path
    person : str, optional
        Who filled it in. Default: whom each row names as annotator, if it does.
    role : str
        As what.

    Raises
    ------
    FormatError
        For the first row that is wrong as a row, or is another person's; what it says is left to
        :func:`kgtrec.campaign.accept`.
    """
    kind = suffixes(path)[0]
    if kind in JSONL:
        return read_tasks_jsonl(path, person=person, role=role)
    if kind in CSV or str(path) == "-":
        return read_tasks_csv(path, person=person, role=role)
    raise FormatError(
        f"expected a name that ends in {', '.join(CSV + JSONL)}, so that its form is known", path=str(path)
    )


def read_tasks_csv(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    r"""What was filled in, in a table as spreadsheets save it, columns in any order.

    Separated by commas, semicolons or tabs, whichever the header line is; with or without byte-order mark; any line
    ends. Columns that no task has are skipped, and so are rows without a verdict. A task number may end in ``.0``, as
    spreadsheets write it; what is no number at all is left to :func:`kgtrec.campaign.accept` to refuse.

    Raises
    ------
    FormatError
        See :func:`read_tasks`; the line is the one that the row begins on.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ann.csv"
    >>> _ = path.write_text("task;head;relation;tail;verdict;source\n7;a;r;'=b;Yes;https://x.org/a\n8;a;r;c;;\n")
    >>> returned = read_tasks_csv(path, person="ann")
    >>> returned.incoming[0].tail, returned.incoming[0].verdict, returned.not_done
    ('=b', 'Y', 1)
    """
    back = _Back(str(path), person, role)
    _read_csv(path, back)
    return back.returned()


def _read_csv(path: PathLike, back: _Back) -> None:
    text = _text(path)
    rows, may_hold_nul = _table(str(path), text), "\0" in text
    line, header = next(rows, (1, []))
    names = [unguarded(name.strip()) for name in header]
    _check_columns(str(path), line, names)
    for line, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) < len(names) or any(cells[len(names) :]):
            raise FormatError(
                f"expected {len(names)} columns as in the header, got {len(cells)}: {_excerpt(cells)}",
                path=back.path,
                line=line,
            )
        row = {name: unguarded(cell) for name, cell in zip(names, cells, strict=False) if name}
        if may_hold_nul and any("\0" in cell for cell in row.values()):
            raise FormatError(f"expected text, found NUL: {_excerpt(cells)}", path=back.path, line=line)
        number = _NUMBER.fullmatch(row["task"].strip())
        back.add(line, int(number[1]) if number else None, row)


def read_tasks_jsonl(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    r"""What was filled in, in JSON Lines: one object a task, with task, head, relation, tail and verdict at least.

    Other keys than a task's are skipped, and so are objects with no verdict: absent, null or "".

    Raises
    ------
    FormatError
        See :func:`read_tasks`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ann.jsonl"
    >>> _ = path.write_text('{"task": 7, "head": "a", "relation": "r", "tail": "b", "verdict": "unsure"}\n')
    >>> read_tasks_jsonl(path).incoming[0].verdict
    'unsure'
    """
    back = _Back(str(path), person, role)
    _read_jsonl(path, back)
    return back.returned()


def _read_jsonl(path: PathLike, back: _Back) -> None:
    with reading(path) as stream:
        data = stream.read()
    for line, text in enumerate(data.removeprefix(_UTF8_MARK).split(b"\n"), 1):
        if not text.strip():
            continue
        record = _object(back.path, line, text)
        if missing := [name for name in REQUIRED[:-1] if name not in record]:
            raise FormatError(f"expected {missing[0]!r} in every object, found none", path=back.path, line=line)
        number = record["task"]
        is_number = type(number) in (int, float) and 0 < number < 10**10 and number == int(number)
        row = {"task": str(number)}
        for name in COLUMNS[1:]:
            value = record.get(name)
            if name in REQUIRED[1:-1] and value is None:
                value = False  # a label must be there
            elif value is None:
                value = ""
            if not isinstance(value, str):
                raise FormatError(
                    f"expected text as {name!r}, got {str(record[name])[:40]!r}", path=back.path, line=line
                )
            row[name] = value
        back.add(line, int(number) if is_number else None, row)


class _Back:
    """Collects what the rows of a file say."""

    def __init__(self, path: str, person: str | None, role: str) -> None:
        self.path, self.person, self.role = path, person, role
        self.incoming: list[Incoming] = []
        self.not_done = 0
        self.begun: list[str] = []

    def add(self, line: int, task: int | None, row: Mapping[str, str]) -> None:
        """Take a row; a task of None stands for a cell that holds no number, which is refused with the other rows."""
        named = row.get("annotator", "").strip()
        if named and self.person is not None and named != self.person:
            raise FormatError(
                f"expected a task of {self.person!r}, found one of {named!r}; import each person's file as theirs",
                path=self.path,
                line=line,
            )
        place, verdict = f"{self.path}:{line}", row["verdict"].strip()
        source, note = row.get("source", "").strip(), row.get("note", "")
        if not verdict:
            self.not_done += 1
            if source or note.strip():
                self.begun.append(place)
            return
        self.incoming.append(
            Incoming(
                place,
                self.person or named or None,
                _WRITTEN.get(verdict.casefold(), verdict),
                task,
                row["head"],
                row["relation"],
                row["tail"],
                source,
                note,
                self.role,
                ""
                if task is not None
                else f"expected a task's number, found {row['task'].strip()[:40]!r}; do not edit it",
            )
        )

    def returned(self) -> Returned:
        return Returned(self.incoming, self.not_done, tuple(self.begun))


class _Typed(_Back):
    """Collects what ``people`` have typed, whatever it is; without any, whoever has."""

    def __init__(self, path: str, people: Collection[str]) -> None:
        super().__init__(path, None, "annotator")
        self.people = people
        self.typed: dict[tuple[str, str, str], tuple[str, str, str]] = {}

    def add(self, line: int, task: int | None, row: Mapping[str, str]) -> None:
        """Take a row."""
        typed = row["verdict"], row.get("source", ""), row.get("note", "")
        if any(text.strip() for text in typed):
            named = row.get("annotator", "").strip()
            if named and self.people and named not in self.people:
                wanted = " or ".join(sorted(filter(None, self.people)))
                raise FormatError(
                    f"expected tasks {f'of {wanted}' if wanted else 'that name nobody'}, found one that {named} has "
                    "filled in; write these tasks under another name",
                    path=self.path,
                    line=line,
                )
            triple = row["head"], row["relation"], row["tail"]
            if self.typed.setdefault(triple, typed) != typed:
                raise FormatError(
                    f"expected one row for each triple, found another one for {' '.join(triple)[:100]!r} that says "
                    "something else; remove one of them",
                    path=self.path,
                    line=line,
                )


def _check_columns(path: str, line: int, names: list[str]) -> None:
    if missing := [name for name in REQUIRED if name not in names]:
        raise FormatError(
            f"expected a header line with the columns {', '.join(REQUIRED)}, separated by "
            f"{', '.join(DELIMITERS.values())}, found no {missing[0]!r}{nearest(missing[0], names)}: {_excerpt(names)}",
            path=path,
            line=line,
        )
    for name in COLUMNS:
        if names.count(name) > 1:
            raise FormatError(
                f"expected each column once, found {name!r} {names.count(name)} times", path=path, line=line
            )


def _excerpt(cells: list[str]) -> str:
    return shown(" | ".join(cells).encode("utf-8", "replace"))


def _text(path: PathLike) -> str:
    """The text of a file that a spreadsheet saved: UTF-8 with or without mark, or UTF-16 with one."""
    with reading(path) as stream:
        data = stream.read()
    try:
        if data.startswith(_UTF16_MARKS):
            return data.decode("utf-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        begin = before.rfind(b"\n") + 1
        end = data.find(b"\n", error.start)
        wrong = data[begin : end if end >= 0 else len(data)]
        raise FormatError(
            f"expected UTF-8 text, got {shown(wrong)}; {_SPREADSHEET}", path=str(path), line=line
        ) from None


def _table(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, header first, each with the line of the file that it begins on."""
    if not text.strip():
        raise FormatError(f"expected a table with the columns {', '.join(REQUIRED)}, found an empty file", path=path)
    lines = io.StringIO(text, newline="")
    skipped = 0
    delimiter = ""
    first = lines.readline()
    if stated := re.fullmatch(r"sep=([,;\t])[\r\n]*", first):  # a line by which some programs tell their separator
        delimiter, skipped = stated[1], 1
    else:
        lines.seek(0)
        # the one that splits the header into most of the columns that a task has
        delimiter = max(DELIMITERS, key=lambda mark: _n_columns(first, mark))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = skipped + rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise FormatError(
                f"expected cells separated by {DELIMITERS[delimiter]}, with quotes doubled inside quotes, found a row "
                f"that breaks off ({error}); {_SPREADSHEET}",
                path=path,
                line=line,
            ) from None
        if row is None:
            return
        yield line, row


def _n_columns(header: str, mark: str) -> int:
    """How many of a task's columns a header line holds when it is split at ``mark``."""
    return len({cell.strip().strip('"') for cell in header.strip().split(mark)}.intersection(COLUMNS))


def _object(path: str, line: int, data: bytes) -> dict[str, Any]:
    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise KgtrecError(f"expected each key once, found {twice!r} again")
        return found

    try:
        record = json.loads(data.decode(), object_pairs_hook=each_once)
        json.dumps(record, ensure_ascii=False).encode()  # an escape may stand for half a character
    except KgtrecError as error:
        raise FormatError(str(error), path=path, line=line) from None
    except (ValueError, RecursionError):
        raise FormatError(
            f"expected one JSON object a line in UTF-8, got {shown(data)}", path=path, line=line
        ) from None
    if not isinstance(record, dict):
        raise FormatError(f"expected a JSON object, got {shown(data)}", path=path, line=line)
    return record

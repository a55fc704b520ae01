"""Tasks for annotators, out and back: CSV and workbooks for spreadsheets, and JSON Lines for a program."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import TASK_COLUMNS, Incoming, Returned, Tasks
from kgtrec.errors import FormatError, KgtrecError, nearest, warn
from kgtrec.formats.campaign.workbooks import Cell, Column, require_openpyxl, rows_of_workbook, write_workbook
from kgtrec.formats.csv_text import guarded, unguarded
from kgtrec.formats.files import PathLike, reading, suffixes
from kgtrec.formats.output.outputs import WORKBOOK, keep_aside, require_file, updating, writing
from kgtrec.formats.trec.text import shown, text_of

Opened = Callable[[PathLike], AbstractContextManager[BinaryIO]]

CSV, JSONL, XLSX = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson"), (".xlsx",)
#: columns of a spreadsheet: what is to be filled in beside what is asked; more to look at comes behind the question
_FIRST, _LAST = (
    ("verdict", "question"),
    (*("source", "note", "search", "head_name", "tail_name"), *("task", "annotator", "head", "relation", "tail")),
)
_WIDTHS = {"verdict": 10, "question": 60, "source": 40, "note": 40, "search": 30, "task": 12}
_WIDTH, _WIDTH_OF_SHOWN = 18, 30
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
REQUIRED = ("task", "head", "relation", "tail", "verdict")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_KINDS = {"xlsx": WORKBOOK}
_HEAD, _ZIP = 1 << 16, b"PK\x03\x04"
_SPREADSHEET = "in a spreadsheet, save as CSV UTF-8"

# a number as exported, or as written by a spreadsheet that reads the column as decimals: 72088.0 or 72088,0
_NUMBER = re.compile(r"([0-9]{1,10})(?:[.,]0)?", re.ASCII)

# spellings of the three verdicts; anything else is passed on unchanged, to be refused
_WRITTEN = {"y": "Y", "yes": "Y", "n": "N", "no": "N", "unsure": "unsure"}


def write_tasks(
    path: PathLike, tasks: Tasks, *, form: str | None = None, merge: bool = False, force: bool = False
) -> int:
    """Write tasks as CSV, a workbook or JSON Lines; compressed by suffix.

    A file with filled-in rows is never replaced.

    Parameters
    ----------
    path : path
    tasks : Tasks
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
        If the existing file has filled-in rows, or is not a file of tasks, see :func:`read_tasks`; with ``merge``, if
        it was filled in by other people than ``tasks`` are for.
    KgtrecError
        If the suffix is of no form, a label cannot be written in such a file, or openpyxl is missing for a workbook.
    """
    form = form or form_of_tasks(path)
    left, aside = 0, None
    opened: Opened = partial(writing, kind=_KINDS.get(form, ""), force=force)
    if merge and str(path) != "-" and Path(path).exists():
        typed = _rows_filled_in(path, form, {", ".join(people) for people in tasks.annotators})
        tasks, left = _filled_in(tasks, typed)
        opened, aside = updating, keep_aside(path) if typed else None
    {"csv": write_tasks_csv, "xlsx": write_tasks_xlsx, "jsonl": write_tasks_jsonl}[form](path, tasks, opened=opened)
    if aside is not None and aside.read_bytes() == Path(path).read_bytes():
        aside.unlink()
    elif aside is not None:
        warn(f"{path}: the file that was filled in is kept as {aside.name}")
    return left


def form_of_tasks(path: PathLike, *, others: Sequence[str] = ()) -> str:
    """The form, csv, xlsx or jsonl, that a file's name means; ``others``: suffixes that a caller writes itself.

    Raises
    ------
    KgtrecError
        If it is none of them, or a workbook, and openpyxl is not installed.
    """
    kind = suffixes(path)[0]
    if kind in XLSX:
        require_openpyxl(path)
        return "xlsx"
    if kind in JSONL:
        return "jsonl"
    if kind == CSV[0] or str(path) == "-":
        return "csv"
    *names, last = (".csv", ".xlsx", ".jsonl", *others)
    raise KgtrecError(f"{path}: expected a name that ends in {', '.join(names)} or {last}; nothing is written")


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


def holds_verdicts(path: PathLike) -> bool:
    """Whether a file has verdicts, sources or notes that people gave, or may have some, if it cannot be read."""
    with reading(path) as stream:
        head = stream.read(_HEAD).replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")  # zeros: as in UTF-16
    first = b"".join(head.lstrip().splitlines()[:2])  # a spreadsheet may put its delimiter above the header
    form = "xlsx" if head.startswith(_ZIP) else "jsonl" if first.startswith(b"{") else "csv"
    if form != "xlsx" and not all(name.encode() in first.lower() for name in REQUIRED[1:]):
        return head.lstrip().startswith(b"[") and b"verdict" in head and b'"annotations"' in head  # Label Studio's
    if form == "jsonl" and b'"task"' not in first:
        return True  # lines of a campaign's judgements
    try:
        return bool(_rows_filled_in(path, form, ()))
    except KgtrecError:
        return True


def _rows_filled_in(
    path: PathLike, form: str, people: Collection[str]
) -> dict[tuple[str, str, str], tuple[str, str, str]]:
    """Verdict, source and note of each triple for which a file for ``people`` has any of them, as typed."""
    back = _Typed(str(path), people)
    {"csv": _read_csv, "xlsx": _read_xlsx, "jsonl": _read_jsonl}[form](path, back)
    return back.typed


def _filled_in(tasks: Tasks, typed: Mapping[tuple[str, str, str], tuple[str, str, str]]) -> tuple[Tasks, int]:
    """The tasks with what was typed, and how many typed rows are about other tasks."""
    triples = list(zip(*(column.to_pylist() for column in (tasks.head, tasks.relation, tasks.tail)), strict=True))
    columns = zip(*(column.to_pylist() for column in (tasks.verdict, tasks.source, tasks.note)), strict=True)
    filled = [typed.get(triple, before) for triple, before in zip(triples, columns, strict=True)]
    verdict, source, note = (labels_of([row[place] for row in filled]) for place in range(3))
    return replace(tasks, verdict=verdict, source=source, note=note), len(typed.keys() - set(triples))


def write_tasks_csv(path: PathLike, tasks: Tasks, *, opened: Opened = writing) -> None:
    r"""Write tasks for a spreadsheet, atomically: UTF-8 with a byte-order mark, CRLF, without formulas.

    Raises
    ------
    KgtrecError
        If a text contains NUL, which no spreadsheet keeps.

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
    verdict,question,source,note,search,head_name,tail_name,task,annotator,head,relation,tail
    ,Is Ann the capital of =B?,,,Ann capital,Ann,'=B,7,eve,ann,capital,'=B
    """
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        try:
            text.write("\ufeff")
            writer = csv.writer(text)
            names = _sheet_columns(tasks)
            safe = partial(guarded, is_returned=True)
            writer.writerow(map(safe, names))
            number = names.index("task")
            for row in _rows(tasks, names):
                if "\0" in "".join(row):
                    cell = next(cell for cell in row if "\0" in cell)
                    raise KgtrecError(f"{path}: expected text without NUL, found {cell!r}; write .jsonl instead")
                writer.writerow([*map(safe, row[:number]), row[number], *map(safe, row[number + 1 :])])
            text.flush()
        finally:
            with suppress(OSError, ValueError):
                text.detach()


def write_tasks_jsonl(path: PathLike, tasks: Tasks, *, opened: Opened = writing) -> None:
    """Write tasks as JSON Lines, one object each, atomically; the keys are the CSV's columns, `task` is a number."""
    names = _columns(tasks)
    with opened(path) as stream:
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


def write_tasks_xlsx(path: PathLike, tasks: Tasks, *, opened: Opened = writing) -> None:
    """Write tasks as a workbook, atomically: a list of verdicts to choose from, links that open, and no formula.

    Every cell is a text, and is formatted as one, so that nothing that is typed becomes a number or a date. A line
    stands above the first candidate of each question. Equal tasks give equal bytes.

    Raises
    ------
    KgtrecError
        If openpyxl is not installed, a text is longer than a cell can hold, or there are more tasks than rows.
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
    with opened(path) as stream:
        write_workbook(stream, path, columns, list(_rows(tasks, names)), begins[: len(tasks)].tolist())


def read_tasks(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    """What was filled in, from CSV, a workbook or JSON Lines by suffix.

    Parameters
    ----------
    path : path
    person : str, optional
        Who filled it in. Default: the annotator that each row names, if any.
    role : str
        In which role.

    Raises
    ------
    FormatError
        For the first malformed row, or one of another person; its values are checked by
        :func:`kgtrec.campaign.accept`.
    """
    kind = suffixes(path)[0]
    if kind in JSONL:
        return read_tasks_jsonl(path, person=person, role=role)
    if kind in XLSX:
        return read_tasks_xlsx(path, person=person, role=role)
    if kind in CSV or str(path) == "-":
        return read_tasks_csv(path, person=person, role=role)
    raise FormatError(
        f"expected a name that ends in {', '.join(CSV + XLSX + JSONL)}, so that its form is known", path=str(path)
    )


def read_tasks_csv(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    r"""What was filled in, from a table as spreadsheets save it, with columns in any order.

    Separated by commas, semicolons or tabs, as the header line is; with or without byte-order mark; any line
    ends. Unknown columns are skipped, and so are rows without a verdict. A task number may end in ``.0``, as
    spreadsheets write it; what is not a number is refused by :func:`kgtrec.campaign.accept`.

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
    names = _names_of_columns(str(path), line, [unguarded(name) for name in header])
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


def read_tasks_xlsx(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    """What was filled in, in the sheet ``tasks`` of a workbook, or in its only sheet, columns in any order.

    Numbers and truth values are taken as the program shows them; columns that no task has are skipped, and so are rows
    without a verdict.

    Raises
    ------
    FormatError
        See :func:`read_tasks` and :func:`kgtrec.formats.campaign.workbooks.rows_of_workbook`. A row in which a cell of
        a task's column holds a formula, an error, or a date, which a program has made of what was typed, is refused by
        :func:`kgtrec.campaign.accept`, and the others are not.
    """
    back = _Back(str(path), person, role)
    _read_xlsx(path, back)
    return back.returned()


def _read_xlsx(path: PathLike, back: _Back) -> None:
    rows = iter(rows_of_workbook(path))
    heading = next(rows, None)
    if heading is None:
        raise FormatError(
            f"expected a table with the columns {', '.join(REQUIRED)}, found an empty sheet", path=str(path)
        )
    names = _names_of_columns(str(path), heading.number, [cell.text for cell in heading.cells.values()])
    own = {column: name for column, name in zip(heading.cells, names, strict=True) if name in TASK_COLUMNS}
    for line, cells in rows:
        held = {name: cells[column] for column, name in own.items() if column in cells}
        row = dict.fromkeys(own.values(), "") | {name: cell.text or cell.kind for name, cell in held.items()}
        wrong = next(filter(None, (_not_typed(name, cell) for name, cell in held.items())), "")
        if not any(text.strip() for text in row.values()):
            continue
        if (nul := next((text for text in row.values() if "\0" in text), None)) is not None:
            raise FormatError(f"expected text, found NUL: {_excerpt([nul])}", path=back.path, line=line)
        number = _NUMBER.fullmatch(row["task"].strip())
        back.add(line, int(number[1]) if number else None, row, wrong)


def _not_typed(name: str, cell: Cell) -> str:
    """What is wrong with a cell that does not hold what somebody typed, or the empty string."""
    if cell.kind in ("text", "number", "boolean"):
        return ""
    what, way_out = {
        "formula": ("a formula", "type the text itself"),
        "date": ("a date that the program made of it", "format the cell as text and type it again"),
        "error": (f"the error {cell.text[:20]}", "type the text itself"),
    }[cell.kind]
    return f"expected text as {name}, found {what}; {way_out}"


def read_tasks_jsonl(path: PathLike, *, person: str | None = None, role: str = "annotator") -> Returned:
    r"""What was filled in, from JSON Lines: one object per task, with task, head, relation, tail and verdict at least.

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
        data = text_of(stream, path)
    for line, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        record = _object(back.path, line, text)
        if missing := [name for name in REQUIRED[:-1] if name not in record]:
            raise FormatError(f"expected {missing[0]!r} in every object, found none", path=back.path, line=line)
        number = record["task"]
        is_number = type(number) in (int, float) and 0 < number < 10**10 and number == int(number)
        row = {"task": str(number)}
        for name in TASK_COLUMNS[1:]:
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
    """Collects the rows of a file."""

    def __init__(self, path: str, person: str | None, role: str) -> None:
        self.path, self.person, self.role = path, person, role
        self.incoming: list[Incoming] = []
        self.not_done = 0
        self.begun: list[str] = []

    def add(self, line: int, task: int | None, row: Mapping[str, str], wrong: str = "") -> None:
        """Take a row; what is wrong with it is refused later, and so is a task of None: its cell is not a number."""
        named = "" if wrong else row.get("annotator", "").strip()
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
                wrong
                or (
                    ""
                    if task is not None
                    else f"expected a task's number, found {row['task'].strip()[:40]!r}; do not edit it"
                ),
            )
        )

    def returned(self) -> Returned:
        return Returned(self.incoming, self.not_done, tuple(self.begun))


class _Typed(_Back):
    """Collects what ``people`` have typed; without any, what anybody has typed."""

    def __init__(self, path: str, people: Collection[str]) -> None:
        super().__init__(path, None, "annotator")
        self.people = people
        self.typed: dict[tuple[str, str, str], tuple[str, str, str]] = {}

    def add(self, line: int, task: int | None, row: Mapping[str, str], wrong: str = "") -> None:
        """Take a row; one that cannot be read as it was typed cannot be kept either."""
        if wrong:
            raise FormatError(wrong, path=self.path, line=line)
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


def _names_of_columns(path: str, line: int, headings: Sequence[str]) -> list[str]:
    """The name of each column of a header line; those of a task in lower case, however they are typed."""
    folded = [heading.strip().lower() for heading in headings]
    names = [own if own in TASK_COLUMNS else heading.strip() for own, heading in zip(folded, headings, strict=True)]
    if missing := [name for name in REQUIRED if name not in names]:
        raise FormatError(
            f"expected a header line with the columns {', '.join(REQUIRED)}, separated by "
            f"{', '.join(DELIMITERS.values())}, found no {missing[0]!r}{nearest(missing[0], names)}: {_excerpt(names)}",
            path=path,
            line=line,
        )
    for name in TASK_COLUMNS:
        if names.count(name) > 1:
            raise FormatError(
                f"expected each column once, found {name!r} {names.count(name)} times", path=path, line=line
            )
    return names


def _excerpt(cells: list[str]) -> str:
    return shown(" | ".join(cells).encode("utf-8", "replace"))


def _text(path: PathLike) -> str:
    """The text of a file that a spreadsheet saved: UTF-8 with or without byte-order mark, or UTF-16 with one."""
    with reading(path) as stream:
        data = text_of(stream, path)
    try:
        return data.decode("utf-16" if data.startswith(_UTF16_MARKS) else "utf-8")
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
    if stated := re.fullmatch(r"sep=([,;\t])[\r\n]*", first):  # a line in which some programs give their separator
        delimiter, skipped = stated[1], 1
    else:
        lines.seek(0)
        # the one that splits the header into the most known columns
        delimiter = max(DELIMITERS, key=lambda mark: _n_columns(first, mark))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = skipped + rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise FormatError(
                f"expected cells separated by {DELIMITERS[delimiter]}, with quotes doubled inside quotes, found a row "
                f"that ends too early ({error}); {_SPREADSHEET}",
                path=path,
                line=line,
            ) from None
        if row is None:
            return
        yield line, row


def _n_columns(header: str, mark: str) -> int:
    """How many of a task's columns a header line has when it is split at ``mark``."""
    return len({cell.strip().strip('"').lower() for cell in header.strip().split(mark)}.intersection(TASK_COLUMNS))


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
        json.dumps(record, ensure_ascii=False).encode()  # an escape may encode half a character
    except KgtrecError as error:
        raise FormatError(str(error), path=path, line=line) from None
    except (ValueError, RecursionError):
        raise FormatError(
            f"expected one JSON object a line in UTF-8, got {shown(data)}", path=path, line=line
        ) from None
    if not isinstance(record, dict):
        raise FormatError(f"expected a JSON object, got {shown(data)}", path=path, line=line)
    return record

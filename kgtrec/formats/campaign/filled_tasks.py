"""Tasks that come back: CSV and workbooks of spreadsheets, JSON Lines of a program, and what is filled in there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kgtrec.data.judgements import TASK_COLUMNS, Incoming, Returned
from kgtrec.errors import FormatError, KgtrecError, nearest
from kgtrec.formats.campaign.workbooks import Cell, rows_of_workbook
from kgtrec.formats.csv_text import DELIMITERS, CsvRow, csv_rows, unguarded
from kgtrec.formats.files import PathLike, reading, suffixes
from kgtrec.formats.json_text import json_value
from kgtrec.formats.lines import Line, Lines
from kgtrec.formats.trec.text import decoded, shown, text_of

CSV, JSONL, XLSX = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson"), (".xlsx",)
_SUFFIXES = {"csv": CSV, "xlsx": XLSX, "jsonl": JSONL}
REQUIRED = ("task", "head", "relation", "tail", "verdict")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEAD, _ZIP = 1 << 16, b"PK\x03\x04"
_SPREADSHEET = "in a spreadsheet, save as CSV UTF-8"

# a number as exported, or as written by a spreadsheet that reads the column as decimals: 72088.0 or 72088,0
_NUMBER = re.compile(r"([0-9]{1,10})(?:[.,]0)?", re.ASCII)

# spellings of the three verdicts; anything else is passed on unchanged, to be refused
_WRITTEN = {"y": "Y", "yes": "Y", "n": "N", "no": "N", "unsure": "unsure"}


def read_tasks(
    path: PathLike, *, person: str | None = None, role: str = "annotator", form: str | None = None
) -> Returned:
    r"""Read what was filled in, from CSV, a workbook or JSON Lines.

    Columns are in any order; those that no task has are skipped, and so are rows without a verdict. A table is
    separated by commas, semicolons or tabs, as its header line is, with or without byte-order mark, with any line ends.
    A task number may end in ``.0``, as spreadsheets write it. Of a workbook the sheet ``tasks`` is read, or the only
    one; numbers and truth values are taken as the program shows them. A line of JSON Lines is an object with task,
    head, relation and tail at least; a verdict that is absent, null or "" is none.

    Parameters
    ----------
    path : path
        The file that was filled in.
    person : str, optional
        Who filled it in. Default: the annotator that each row names, if any.
    role : str
        In which role.
    form : {"csv", "xlsx", "jsonl"}, optional
        Default: by suffix.

    Raises
    ------
    FormatError
        For the first malformed row, with the line that it begins on, or one of another person. Its values are checked
        by :func:`kgtrec.campaign.accept`, which refuses what is not a number as a task, and a row in which a cell of a
        task's column holds a formula, an error, or a date, which a program has made of what was typed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ann.csv"
    >>> _ = path.write_text("task;head;relation;tail;verdict;source\n7;a;r;'=b;Yes;https://x.org/a\n8;a;r;c;;\n")
    >>> returned = read_tasks(path, person="ann")
    >>> returned.incoming[0].tail, returned.incoming[0].verdict, returned.not_done
    ('=b', 'Y', 1)
    """
    form = form or form_by_suffix(path)
    if form is None:
        raise FormatError(
            f"expected a name that ends in {', '.join(CSV + XLSX + JSONL)}, so that its form is known", path=str(path)
        )
    incoming: list[Incoming] = []
    not_done, begun = 0, []
    for line, task, row, wrong in _READERS[form](path):
        named = "" if wrong else row.get("annotator", "").strip()
        if named and person is not None and named != person:
            raise line.error(
                f"expected a task of {person!r}, found one of {named!r}; import each person's file as theirs"
            )
        place, verdict = f"{line.path}:{line.number}", row["verdict"].strip()
        source, note = row.get("source", "").strip(), row.get("note", "")
        if not verdict:
            not_done += 1
            if source or note.strip():
                begun.append(place)
            continue
        if task is None and not wrong:
            wrong = f"expected a task's number, found {row['task'].strip()[:40]!r}; do not edit it"
        triple = row["head"], row["relation"], row["tail"]
        verdict = _WRITTEN.get(verdict.casefold(), verdict)
        incoming.append(Incoming(place, person or named or None, verdict, task, *triple, source, note, role, wrong))
    return Returned(incoming, not_done, tuple(begun))


class _TaskRow(NamedTuple):
    """A row of a file of tasks; what is wrong with it is refused where its verdict is stored."""

    line: Line
    task: int | None  # None: the cell holds no number
    cells: Mapping[str, str]
    wrong: str = ""


def _read_csv(path: PathLike) -> Iterator[_TaskRow]:
    text = _text(path)
    rows, may_hold_nul = _table(str(path), text), "\0" in text
    header = next(rows, CsvRow(str(path), 1, [], seen={}))
    names = _names_of_columns(header, [unguarded(name) for name in header.cells])
    for line in rows:
        cells = line.cells
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) < len(names) or any(cells[len(names) :]):
            raise line.error(f"expected {len(names)} columns as in the header, got {len(cells)}: {_excerpt(cells)}")
        row = {name: unguarded(cell) for name, cell in zip(names, cells, strict=False) if name}
        if may_hold_nul and any("\0" in cell for cell in row.values()):
            raise line.error(f"expected text, found NUL: {_excerpt(cells)}")
        yield _TaskRow(line, _number_in(row), row)


def _read_xlsx(path: PathLike) -> Iterator[_TaskRow]:
    rows = rows_of_workbook(path)
    if not rows:
        raise FormatError(
            f"expected a table with the columns {', '.join(REQUIRED)}, found an empty sheet", path=str(path)
        )
    first, headings = rows[0]
    names = _names_of_columns(Line(str(path), first, seen={}), [cell.text for cell in headings.values()])
    own = {column: name for column, name in zip(headings, names, strict=True) if name in TASK_COLUMNS}
    for number, cells in rows[1:]:
        line = Line(str(path), number, seen={})
        held = {name: cells[column] for column, name in own.items() if column in cells}
        row = dict.fromkeys(own.values(), "") | {name: cell.text or cell.kind for name, cell in held.items()}
        wrong = next(filter(None, (_not_typed(name, cell) for name, cell in held.items())), "")
        if not any(text.strip() for text in row.values()):
            continue
        if (nul := next((text for text in row.values() if "\0" in text), None)) is not None:
            raise line.error(f"expected text, found NUL: {_excerpt([nul])}")
        yield _TaskRow(line, _number_in(row), row, wrong)


def _number_in(row: Mapping[str, str]) -> int | None:
    number = _NUMBER.fullmatch(row["task"].strip())
    return int(number[1]) if number else None


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


def _read_jsonl(path: PathLike) -> Iterator[_TaskRow]:
    for line in Lines.read(path).every():
        if not line.data.strip():
            continue
        record = json_value(line.data, line.path, first_line=line.number, way_out="write one JSON object a line")
        if not isinstance(record, dict):
            raise line.error(f"expected a JSON object, got {shown(line.data)}")
        if missing := [name for name in REQUIRED[:-1] if name not in record]:
            raise line.error(f"expected {missing[0]!r} in every object, found none")
        number = record["task"]
        is_number = type(number) in (int, float) and 0 < number < 10**10 and number == int(number)
        row = {"task": str(number)}
        for name in TASK_COLUMNS[1:]:
            value = record.get(name)
            if value is None and name not in REQUIRED[1:-1]:  # a label must be there
                value = ""
            if not isinstance(value, str):
                raise line.error(f"expected text as {name!r}, got {str(record[name])[:40]!r}")
            row[name] = value
        yield _TaskRow(line, int(number) if is_number else None, row)


_READERS = {"csv": _read_csv, "xlsx": _read_xlsx, "jsonl": _read_jsonl}


def _names_of_columns(line: Line, headings: Sequence[str]) -> list[str]:
    """The name of each column of a header line; those of a task in lower case, however they are typed."""
    folded = [heading.strip().lower() for heading in headings]
    names = [own if own in TASK_COLUMNS else heading.strip() for own, heading in zip(folded, headings, strict=True)]
    if missing := [name for name in REQUIRED if name not in names]:
        raise line.error(
            f"expected a header line with the columns {', '.join(REQUIRED)}, separated by "
            f"{', '.join(DELIMITERS.values())}, found no {missing[0]!r}{nearest(missing[0], names)}: {_excerpt(names)}"
        )
    for name in TASK_COLUMNS:
        if names.count(name) > 1:
            raise line.error(f"expected each column once, found {name!r} {names.count(name)} times")
    return names


def _excerpt(cells: list[str]) -> str:
    return shown(" | ".join(cells).encode("utf-8", "replace"))


def _text(path: PathLike) -> str:
    """The text of a file that a spreadsheet saved: UTF-8 with or without byte-order mark, or UTF-16 with one."""
    with reading(path) as stream:
        data = text_of(stream, path)
    if data.startswith(_UTF16_MARKS):
        with suppress(UnicodeDecodeError):
            return data.decode("utf-16")
    return decoded(data, path, way_out=_SPREADSHEET)


def _table(path: str, text: str) -> Iterator[CsvRow]:
    """The rows of a table, header first."""
    header = re.search(r"[^\r\n]*[^\r\n\s][^\r\n]*", text)
    if header is None:
        raise FormatError(f"expected a table with the columns {', '.join(REQUIRED)}, found an empty file", path)
    if stated := re.match(r"sep=([,;\t])(?:\r\n|\r|\n)", text):  # a line in which some programs give their separator
        return csv_rows(path, text[stated.end() :], stated[1], first=2, way_out=_SPREADSHEET)

    cells = {delimiter: header[0].strip().split(delimiter) for delimiter in DELIMITERS}
    names = {delimiter: {cell.strip().strip('"').lower() for cell in own} for delimiter, own in cells.items()}
    delimiter = max(DELIMITERS, key=lambda delimiter: len(names[delimiter].intersection(TASK_COLUMNS)))
    return csv_rows(path, text, delimiter, way_out=_SPREADSHEET)


def holds_verdicts(path: PathLike) -> bool:
    """Check whether a file has verdicts, sources or notes that people gave, or may have some, if it cannot be read."""
    with reading(path) as stream:
        head = stream.read(_HEAD).replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")  # zeros: as in UTF-16
    first = b"".join(head.lstrip().splitlines()[:2])  # a spreadsheet may put its delimiter above the header
    form = "xlsx" if head.startswith(_ZIP) else "jsonl" if first.startswith(b"{") else "csv"
    if form != "xlsx" and not all(name.encode() in first.lower() for name in REQUIRED[1:]):
        return head.lstrip().startswith(b"[") and b"verdict" in head and b'"annotations"' in head  # Label Studio's
    if form == "jsonl" and b'"task"' not in first:
        return True  # lines of a campaign's judgements
    try:
        return bool(rows_filled_in(path, form, ()))
    except KgtrecError:
        return True


def rows_filled_in(
    path: PathLike, form: str, people: Collection[str]
) -> dict[tuple[str, str, str], tuple[str, str, str]]:
    """Verdict, source and note of each triple for which a file for ``people`` has any of them, as typed.

    Without people, what anybody has typed.
    """
    typed: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    for line, _, row, wrong in _READERS[form](path):
        if wrong:  # what cannot be read as it was typed cannot be kept either
            raise line.error(wrong)
        texts = row["verdict"], row.get("source", ""), row.get("note", "")
        if not any(text.strip() for text in texts):
            continue
        named = row.get("annotator", "").strip()
        if named and people and named not in people:
            wanted = " or ".join(sorted(filter(None, people)))
            raise line.error(
                f"expected tasks {f'of {wanted}' if wanted else 'that name nobody'}, found one that {named} has "
                "filled in; write these tasks under another name"
            )
        triple = row["head"], row["relation"], row["tail"]
        if typed.setdefault(triple, texts) != texts:
            raise line.error(
                f"expected one row for each triple, found another one for {' '.join(triple)[:100]!r} that says "
                "something else; remove one of them"
            )
    return typed


def form_by_suffix(path: PathLike) -> str | None:
    """Return the form of a file of tasks, csv, xlsx or jsonl, that its name means, if any."""
    suffix = CSV[0] if str(path) == "-" else suffixes(path)[0]
    return next((form for form, own in _SUFFIXES.items() if suffix in own), None)

"""Workbooks of spreadsheet programs (.xlsx), as far as a table needs: one sheet of texts, out and back.

What comes back may have been made by anybody. It is read with no more than a ZIP archive and an XML parser: parts are
unpacked up to a limit, document types are refused, and a cell is taken for what it says only if it holds a text, a
number or a truth value; formulas, dates and errors are refused where a task's column holds them.

References
----------
ECMA-376, Office Open XML File Formats, part 1: sections 18.2 to 18.4 (workbooks, sheets, shared strings), 18.8.30
(number formats), and 22.9.2.19 (``_xHHHH_`` in texts).
"""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple
from xml.parsers import expat

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import PathLike, reading

SHEET = "tasks"
LONGEST_CELL = 32_767  # characters
MOST_ROWS = 1_048_576
MOST_LINKS = 65_530  # of a sheet
_MOST_BYTES = 1 << 27  # of a file
_MOST_UNPACKED = 1 << 28  # bytes of all its parts
_MOST_PARTS = 2_000
_DEEPEST = 64  # levels of elements
_OLE = b"\xd0\xcf\x11\xe0"  # how older workbooks and protected ones begin
_SAVE = "save it as an Excel workbook (.xlsx) with nothing but cells, or as CSV UTF-8"
#: what reading a damaged archive raises
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, NotImplementedError, RuntimeError, ValueError, OverflowError),
)
_OTHERS = "write .csv or .jsonl instead"
_UNWANTED = {  # part of a name -> what it is
    "vbaproject": "macros",
    "macrosheets/": "macros",
    "dialogsheets/": "macros",
    "activex/": "controls",
    "ctrlprops/": "controls",
    "embeddings/": "embedded files",
    "externallinks/": "links to other workbooks",
    "connections.xml": "connections to data elsewhere",
    "querytables/": "connections to data elsewhere",
}
_DATE_FORMATS = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_DATE_CODE = re.compile(r"[dmyhs]", re.IGNORECASE)
_NO_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)  # what is shown as it stands
_REFERENCE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_LINK = re.compile(r"https://(?!.*_x[0-9A-Fa-f]{4}_)[!-~]{1,2071}")  # a program opens no longer ones
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_TO_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f\ufffe\uffff]")


_WRITTEN = (2000, 1, 1, 0, 0, 0)  # when everything was, so that the same tasks are the same bytes


class Column(NamedTuple):
    """A column of a sheet that is written."""

    name: str
    width: float  # characters
    choices: tuple[str, ...] = ()  # what may be entered; none: anything
    holds_links: bool = False  # whether https texts open what they name


class Cell(NamedTuple):
    """What a cell holds."""

    kind: str  # text, number, boolean; or formula, date, error
    text: str


class Row(NamedTuple):
    """The cells of a row that hold anything."""

    number: int  # from 1
    cells: Mapping[int, Cell]  # column, from 1 -> cell


def escaped(text: str) -> str:
    r"""A text as a part of a workbook holds it: what XML cannot hold becomes ``_xHHHH_``.

    Examples
    --------
    >>> escaped("a\rb"), escaped("_x0041_"), unescaped(escaped("_x0041_"))
    ('a_x000D_b', '_x005F_x0041_', '_x0041_')
    """
    return _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def unescaped(text: str) -> str:
    """What :func:`escaped` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def rows_of_workbook(path: PathLike) -> list[Row]:
    """The rows of the sheet ``tasks`` of a workbook, or of its only sheet, that hold anything, in their order.

    Raises
    ------
    FormatError
        If it is no such workbook; if it holds macros, controls, embedded files or links to other workbooks, more than a
        workbook of tasks can, or a document type; if any cells of the sheet are merged.
    """
    with reading(path) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise FormatError(f"expected a workbook of at most {_MOST_BYTES >> 20} MiB; {_SAVE}", path=path)
    if data.startswith(_OLE):
        raise FormatError(
            "expected an Excel workbook (.xlsx), found an older one or one with a password; save it as .xlsx without",
            path=path,
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _Workbook(str(path), archive).rows()
    except FormatError:
        raise
    except (*_DAMAGED, expat.ExpatError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else "it breaks off"
        raise FormatError(
            f"expected an Excel workbook (.xlsx), found another file or a damaged one ({reason})", path=path
        ) from None


class _Workbook:
    """The parts of a workbook, each read when it is needed."""

    def __init__(self, path: str, archive: zipfile.ZipFile) -> None:
        self.path, self.archive = path, archive
        parts = archive.infolist()
        self.names = {part.filename for part in parts}
        if len(parts) > _MOST_PARTS or len(self.names) < len(parts):
            raise self.wrong(f"at most {_MOST_PARTS:,} parts of different names", f"{len(parts):,}")
        size = sum(part.file_size for part in parts)
        if size > _MOST_UNPACKED:
            raise self.wrong(f"at most {_MOST_UNPACKED >> 20} MiB when unpacked", f"{size >> 20:,} MiB")
        for name in sorted(self.names):
            for mark, what in _UNWANTED.items():
                if mark in name.lower():
                    raise self.wrong("cells alone", f"{what} ({name[:60]!r})")

    def wrong(self, expected: str, found: str) -> FormatError:
        return FormatError(f"expected a workbook with {expected}, found {found}; {_SAVE}", path=self.path)

    def part(self, name: str) -> bytes:
        if name not in self.names:
            raise self.wrong(f"the part {name[:60]!r}", "none")
        return self.archive.read(name)

    def related(self, part: str) -> dict[str, tuple[str, str]]:
        """Id of each relation of a part -> kind and name of the other part."""
        folder, name = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
                found[attributes.get("Id", "")] = attributes.get("Type", "").rpartition("/")[2], target.lstrip("/")

        self.parse(posixpath.join(folder, "_rels", f"{name}.rels"), start)
        return found

    def parse(
        self,
        name: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] = lambda _: None,
        text: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Tell the elements of a part, by names without their namespaces."""
        parser = expat.ParserCreate()
        parser.buffer_text = True

        def refuse(*_: Any) -> None:
            raise self.wrong("XML without document types", f"one in {name[:60]!r}")

        depth = 0

        def begin(tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                raise self.wrong(f"XML of at most {_DEEPEST} levels", f"more in {name[:60]!r}")
            start(tag.rpartition(":")[2], attributes)

        def finish(tag: str) -> None:
            nonlocal depth
            depth -= 1
            end(tag.rpartition(":")[2])

        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler, parser.EndElementHandler = begin, finish
        parser.CharacterDataHandler = text
        parser.Parse(self.part(name), True)

    def rows(self) -> list[Row]:
        """The rows of the sheet of tasks."""
        kinds = dict(self.related("").values())
        if "officeDocument" not in kinds:
            raise self.wrong("a list of sheets", "none")
        book = kinds["officeDocument"]
        related = self.related(book)
        kinds = dict(related.values())
        sheets: dict[str, str] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "sheet":
                number = next((value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), "")
                kind, name = related.get(number, ("", ""))
                if kind == "worksheet":
                    sheets[attributes.get("name", "")] = name

        self.parse(book, start)
        if SHEET not in sheets and len(sheets) != 1:
            named = ", ".join(map(repr, list(sheets)[:5])) or "none"
            raise self.wrong(f"a sheet called {SHEET!r}", named)
        sheet = _Sheet(
            self,
            self.texts(kinds["sharedStrings"]) if "sharedStrings" in kinds else [],
            self.are_dates(kinds["styles"]) if "styles" in kinds else [],
        )
        return sheet.rows(sheets.get(SHEET) or next(iter(sheets.values())))

    def texts(self, name: str) -> list[str]:
        """The texts that cells share."""
        found: list[str] = []
        collected = _Text()

        def start(tag: str, _: dict[str, str]) -> None:
            if tag == "si":
                collected.clear()
            collected.start(tag)

        def end(tag: str) -> None:
            collected.end(tag)
            if tag == "si":
                found.append(collected.text)

        self.parse(name, start, end, collected.add)
        return found

    def are_dates(self, name: str) -> list[bool]:
        """Of each style of cells whether it shows a number as a date or a time."""
        codes: dict[str, str] = {}
        styles: list[bool] = []
        within: list[str] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif tag == "xf" and within and within[-1] == "cellXfs":
                styles.append(_is_date(attributes.get("numFmtId", "0"), codes))
            within.append(tag)

        def end(_: str) -> None:
            within.pop()

        self.parse(name, start, end)
        return styles


def _is_date(number: str, codes: Mapping[str, str]) -> bool:
    if number in codes:
        return _DATE_CODE.search(_NO_CODE.sub("", codes[number].replace("General", ""))) is not None
    return number.isdecimal() and len(number) < 4 and int(number) in _DATE_FORMATS


class _Text:
    """Collects the text of a string of a workbook: that of ``t``, but for what tells how to pronounce it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._pieces: list[str] = []
        self._within: list[str] = []

    def start(self, tag: str) -> None:
        self._within.append(tag)

    def end(self, tag: str) -> None:
        if self._within:
            self._within.pop()

    def add(self, data: str) -> None:
        if self._within and self._within[-1] == "t" and "rPh" not in self._within:
            self._pieces.append(data)

    @property
    def text(self) -> str:
        return unescaped("".join(self._pieces))


class _Sheet:
    """Reads a sheet."""

    def __init__(self, book: _Workbook, texts: Sequence[str], are_dates: Sequence[bool]) -> None:
        self.book, self.texts, self.are_dates = book, texts, are_dates
        self.found: list[Row] = []
        self.merged = ""
        self.row = 0
        self.cells: dict[int, Cell] = {}
        self.column = 0
        self.kind = self.value = ""
        self.style = 0
        self.is_formula = False
        self.within: list[str] = []
        self.inline = _Text()

    def rows(self, name: str) -> list[Row]:
        self.book.parse(name, self.start, self.end, self.add)
        if self.merged:
            raise self.book.wrong("no merged cells", self.merged[:40])
        return self.found

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.within.append(tag)
        if tag == "row":
            number = attributes.get("r", str(self.row + 1))
            if not (number.isascii() and number.isdecimal() and self.row < int(number[:9]) <= MOST_ROWS):
                raise self.book.wrong("rows in their order", f"row {number[:20]!r} after row {self.row}")
            self.row, self.column, self.cells = int(number), 0, {}
        elif tag == "c":
            self.column = self.column_of(attributes.get("r"))
            self.kind, self.value, self.is_formula = attributes.get("t", "n"), "", False
            style = attributes.get("s", "0")
            self.style = int(style) if style.isascii() and style.isdecimal() and len(style) < 7 else 0
            self.inline.clear()
        elif tag == "f":
            self.is_formula = True
        elif tag == "mergeCell":
            self.merged = self.merged or attributes.get("ref", "some")
        elif "is" in self.within:
            self.inline.start(tag)

    def column_of(self, reference: str | None) -> int:
        if reference is None:
            return self.column + 1
        parts = _REFERENCE.fullmatch(reference)
        if parts is None or int(parts[2]) != self.row:
            raise self.book.wrong(f"cells of row {self.row}", repr(reference[:20]))
        column = 0
        for letter in parts[1]:
            column = column * 26 + ord(letter) - ord("A") + 1
        if column <= self.column:
            raise self.book.wrong("cells in their order", repr(reference))
        return column

    def add(self, data: str) -> None:
        if "is" in self.within:
            self.inline.add(data)
        elif self.within and self.within[-1] == "v":
            self.value += data

    def end(self, tag: str) -> None:
        self.within.pop()
        if "is" in self.within:
            self.inline.end(tag)
        if tag == "c":
            cell = self.cell()
            if cell.text or cell.kind != "text":
                self.cells[self.column] = cell
        elif tag == "row" and self.cells:
            self.found.append(Row(self.row, self.cells))

    def cell(self) -> Cell:
        if self.is_formula:
            return Cell("formula", "")
        if self.kind == "inlineStr":
            return Cell("text", self.inline.text)
        if not self.value or self.kind == "str":
            return Cell("text", unescaped(self.value))
        if self.kind == "s":
            place = self.value.strip()
            if not (place.isascii() and place.isdecimal() and len(place) < 10 and int(place) < len(self.texts)):
                raise self.book.wrong("texts that are there", f"text {place[:20]!r} in row {self.row}")
            return Cell("text", self.texts[int(place)])
        if self.kind == "b":
            return Cell("boolean", "TRUE" if self.value.strip() == "1" else "FALSE")
        if self.kind in ("d", "e"):
            return Cell({"d": "date", "e": "error"}[self.kind], self.value)
        is_date = self.style < len(self.are_dates) and self.are_dates[self.style]
        return Cell("date" if is_date else "number", self.value.strip())


def require_openpyxl(path: PathLike) -> None:
    """Raise KgtrecError if workbooks cannot be written, since openpyxl is not installed."""
    try:
        import openpyxl  # noqa: F401  # only to see whether it is there
    except ImportError:
        raise KgtrecError(f'{path}: expected openpyxl to write workbooks with; pip install "kgtrec[xlsx]"') from None


def write_workbook(
    stream: BinaryIO, path: PathLike, columns: Sequence[Column], rows: Sequence[Sequence[str]], begins: Sequence[bool]
) -> None:
    """Write a workbook with one sheet, ``tasks``: a heading that stays, and every cell a text, whatever it looks like.

    Parameters
    ----------
    stream : binary stream
    path : path
        For errors.
    columns : sequence of Column
    rows : (n,) sequence of (columns,) sequence of str
    begins : (n,) sequence of bool
        Whether a row begins a group, above which a line is drawn.

    Raises
    ------
    KgtrecError
        If openpyxl is not installed, there are more rows than a sheet has, or a text is longer than a cell holds.
    """
    require_openpyxl(path)
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment, Border, Font, NamedStyle, PatternFill, Side
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    if len(rows) >= MOST_ROWS:
        raise KgtrecError(
            f"{path}: expected at most {MOST_ROWS - 1:,} tasks in a workbook, got {len(rows):,}; {_OTHERS}"
        )
    kept = [[escaped(content) for content in row] for row in rows]
    longest = max((content for row in kept for content in row), key=len, default="")
    if len(longest) > LONGEST_CELL:
        most = f"texts of at most {LONGEST_CELL:,} characters"
        raise KgtrecError(f"{path}: expected {most}, got one of {len(longest):,}: {longest[:40]!r}; {_OTHERS}")
    book = Workbook(write_only=True)
    book.properties.creator = "kgtrec"
    sheet = book.create_sheet(SHEET)
    text, wrapped = "@", Alignment(wrap_text=True, vertical="top")
    line = Border(top=Side(style="thin", color="808080"))
    link = Font(color="0563C1", underline="single")
    styles: dict[tuple[bool, bool], NamedStyle] = {}
    for is_first in (False, True):
        for is_link in (False, True):
            style = NamedStyle(f"task{' first' * is_first}{' link' * is_link}", number_format=text, alignment=wrapped)
            if is_first:
                style.border = line
            if is_link:
                style.font = link
            styles[is_first, is_link] = style
    heading = NamedStyle(
        "task heading", font=Font(bold=True), fill=PatternFill("solid", fgColor="E7E6E6"), number_format=text
    )
    for style in (heading, *styles.values()):
        book.add_named_style(style)
    sheet.freeze_panes = "B2"
    for place, column in enumerate(columns, 1):
        sheet.column_dimensions[get_column_letter(place)].width = column.width
        if column.choices and rows:
            shown = ", ".join(column.choices)
            choice = DataValidation(
                type="list",
                formula1=f'"{",".join(column.choices)}"',
                allow_blank=True,
                showErrorMessage=True,
                errorTitle=column.name,
                error=f"One of {shown}, or nothing.",
            )
            choice.add(f"{get_column_letter(place)}2:{get_column_letter(place)}{len(rows) + 1}")
            sheet.data_validations.append(choice)

    def cell(content: str, style: NamedStyle) -> Any:
        made = WriteOnlyCell(sheet, content or None)
        if content:
            made.data_type = "s"  # whatever openpyxl takes it for: a formula, an error
        made.style = style.name
        return made

    n_links = 0
    sheet.append([cell(column.name, heading) for column in columns])
    for row, is_first in zip(kept, begins, strict=True):
        made = []
        for column, content in zip(columns, row, strict=True):
            is_link = column.holds_links and _LINK.fullmatch(content) is not None and n_links < MOST_LINKS
            made.append(cell(content, styles[bool(is_first), is_link]))
            if is_link:
                made[-1].hyperlink = content
                n_links += 1
        sheet.append(made)
    if rows:
        sheet.auto_filter.ref = f"A1:{get_column_letter(len(columns))}{len(rows) + 1}"
    saved = io.BytesIO()
    book.save(saved)
    stream.write(_undated(saved.getvalue()))


def _undated(data: bytes) -> bytes:
    """A workbook as if it had been written at the same time as all others."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "docProps/core.xml":
                part = re.sub(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", b"2000-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(name, _WRITTEN), part, zipfile.ZIP_DEFLATED)
    return out.getvalue()

"""Workbooks of spreadsheet programs (.xlsx), as far as a table needs: one sheet of texts, out and back.

What comes back may have been made by anybody. openpyxl reads it, with defusedxml, which refuses entities; parts are
unpacked up to a limit, and a cell is taken for what it says only if it holds a text, a number or a truth value:
formulas, dates and errors are refused where a task's column holds them.

References
----------
ECMA-376, Office Open XML File Formats, part 1: sections 18.2 to 18.4 (workbooks, sheets, shared strings), 18.8.30
(number formats), and 22.9.2.19 (``_xHHHH_`` in texts).
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, BinaryIO, NamedTuple

from kgtrec.errors import FormatError, KgtrecError, extra_text
from kgtrec.formats.files import PathLike, reading

SHEET = "tasks"
LONGEST_CELL = 32_767  # characters
MOST_ROWS = 1_048_576
MOST_LINKS = 65_530  # of a sheet
_MOST_BYTES = 1 << 27  # of a file
_MOST_UNPACKED = 1 << 28  # bytes of all its parts
_MOST_PARTS = 2_000
_LONGEST_ROW = 1 << 23  # bytes of XML
_ROW, _END_OF_ROWS = re.compile(rb"<(?:\w+:)?row\b"), re.compile(rb"</(?:\w+:)?sheetData")
_OLE = b"\xd0\xcf\x11\xe0"  # how older workbooks and protected ones begin
_SAVE = "save it as an Excel workbook (.xlsx) with nothing but cells, or as CSV UTF-8"
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
#: formats of Chinese and Japanese dates, which openpyxl does not know
_EASTERN_DATES = frozenset((*range(27, 37), *range(50, 59)))
_KINDS = {"n": "number", "f": "formula", "d": "date", "e": "error"}
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


def escaped(text: str) -> str:
    r"""Escape a text for a part of a workbook: what XML cannot hold becomes ``_xHHHH_``.

    Examples
    --------
    >>> escaped("a\rb"), escaped("_x0041_"), unescaped(escaped("_x0041_"))
    ('a_x000D_b', '_x005F_x0041_', '_x0041_')
    """
    return _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def unescaped(text: str) -> str:
    """Undo :func:`escaped`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def rows_of_workbook(path: PathLike) -> list[tuple[int, Mapping[int, Cell]]]:
    """Read the rows of the sheet ``tasks`` of a workbook, or of its only sheet, that hold anything, in their order.

    Each row with its number and the cells that hold anything, by their column; both are from 1.

    Raises
    ------
    FormatError
        If it is no such workbook; if it holds macros, controls, embedded files or links to other workbooks, more than a
        workbook of tasks can, or an entity of XML; if any cells of the sheet are merged.
    KgtrecError
        If openpyxl or defusedxml is not installed.
    """
    require_openpyxl(path)
    with reading(path) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise FormatError(f"expected a workbook of at most {_MOST_BYTES >> 20} MiB; {_SAVE}", path)
    expected = "expected an Excel workbook (.xlsx), found"
    if data.startswith(_OLE):
        raise FormatError(f"{expected} an older one or one with a password; save it as .xlsx without", path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, warnings.catch_warnings():
            _require_cells_alone(path, archive.infolist())
            warnings.simplefilter("ignore")  # of styles and extensions, which no text needs
            return _rows(path, io.BytesIO(data))
    except FormatError:
        raise
    except Exception as error:  # whatever openpyxl meets in a damaged file
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise FormatError(f"{expected} another file or a damaged one ({reason}); {_SAVE}", path) from None


def _wrong(path: PathLike, expected: str, found: str) -> FormatError:
    return FormatError(f"expected a workbook with {expected}, found {found}; {_SAVE}", path)


def _require_cells_alone(path: PathLike, parts: Sequence[zipfile.ZipInfo]) -> None:
    names = {part.filename for part in parts}
    if len(parts) > _MOST_PARTS or len(names) < len(parts):
        raise _wrong(path, f"at most {_MOST_PARTS:,} parts of different names", f"{len(parts):,}")
    size = sum(part.file_size for part in parts)
    if size > _MOST_UNPACKED:
        raise _wrong(path, f"at most {_MOST_UNPACKED >> 20} MiB when unpacked", f"{size >> 20:,} MiB")
    for name in sorted(names):
        for mark, what in _UNWANTED.items():
            if mark in name.lower():
                raise _wrong(path, "cells alone", f"{what} ({name[:60]!r})")


def _rows(path: PathLike, data: BinaryIO) -> list[tuple[int, Mapping[int, Cell]]]:
    """The rows, from openpyxl's parser of sheets: ``iter_rows`` fills every gap, and does not know of merged cells."""
    from openpyxl.cell import text
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.styles.stylesheet import apply_stylesheet
    from openpyxl.worksheet._reader import WorkSheetParser
    from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    reader: Any = ExcelReader(data, read_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_workbook()
    book, shared = reader.wb, reader.package.find(SHARED_STRINGS)
    apply_stylesheet(reader.archive, book)
    texts: dict[int, str] = {}
    text_of: Any = text.Text.from_tree
    if shared is not None:  # not by its own read_strings, which drops every "x005F_"
        with reader.archive.open(shared.PartName[1:]) as stream:
            items = (node for _, node in iterparse(stream) if node.tag == f"{{{SHEET_MAIN_NS}}}si")
            texts = {place: text_of(item).content for place, item in enumerate(items)}
    parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}
    if SHEET not in parts and len(parts) != 1:
        raise _wrong(path, f"a sheet called {SHEET!r}", ", ".join(map(repr, list(parts)[:5])) or "none")
    dates = {style for style, kept in enumerate(book._cell_styles) if kept.numFmtId in _EASTERN_DATES}
    with reader.archive.open(parts.get(SHEET) or next(iter(parts.values()))) as stream:
        content = stream.read()
        before, *rows_of_xml = _ROW.split(content)
        last = _END_OF_ROWS.split(rows_of_xml.pop() if rows_of_xml else before)[0]
        longest = max(map(len, (*rows_of_xml, last)))
        if longest > _LONGEST_ROW:  # the parser holds all cells of a row
            raise _wrong(path, f"rows of at most {_LONGEST_ROW >> 20} MiB", f"one of {longest >> 20:,} MiB")
        sheet = WorkSheetParser(
            io.BytesIO(content),
            texts,
            epoch=book.epoch,
            date_formats=book._date_formats | dates,
            timedelta_formats=book._timedelta_formats,
        )
        rows = [
            (number, {cell["column"]: _cell(**cell) for cell in cells if cell["value"] is not None})
            for number, cells in sheet.parse()
        ]
    if sheet.merged_cells:
        raise _wrong(path, "no merged cells", str(sheet.merged_cells.mergeCell[0].ref)[:40])
    return [(number, cells) for number, cells in rows if cells]


def _cell(data_type: str, value: Any, **_: Any) -> Cell:
    """A cell, by openpyxl's letter for what it holds."""
    if data_type == "b":
        return Cell("boolean", str(value).upper())
    return Cell(_KINDS.get(data_type, "text"), unescaped(str(value)))


def require_openpyxl(path: PathLike) -> None:
    """Raise KgtrecError unless openpyxl is installed, and defusedxml, with which it refuses entities of XML."""
    try:
        import openpyxl

        is_safe = openpyxl.DEFUSEDXML
    except ImportError:
        is_safe = False
    if not is_safe:
        raise KgtrecError(f"{path}: expected openpyxl and defusedxml for workbooks; {extra_text('xlsx')}")


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
        most = f"at most {MOST_ROWS - 1:,} tasks in a workbook"
        raise KgtrecError(f"{path}: expected {most}, got {len(rows):,}; {_OTHERS}")
    kept = [[escaped(content) for content in row] for row in rows]
    longest = max((content for row in kept for content in row), key=len, default="")
    if len(longest) > LONGEST_CELL:
        most = f"texts of at most {LONGEST_CELL:,} characters"
        raise KgtrecError(f"{path}: expected {most}, got one of {len(longest):,}: {longest[:40]!r}; {_OTHERS}")
    book = Workbook(write_only=True)
    book.properties.creator = "kgtrec"
    sheet = book.create_sheet(SHEET)
    text, wrapped = "@", Alignment(wrap_text=True, vertical="top")
    line = {False: None, True: Border(top=Side(style="thin", color="808080"))}
    link = {False: None, True: Font(color="0563C1", underline="single")}
    styles = {}
    for first, linked in product((False, True), repeat=2):
        name = f"task{' first' * first}{' link' * linked}"
        look = NamedStyle(name, font=link[linked], border=line[first], number_format=text, alignment=wrapped)
        styles[first, linked] = look
    heading = NamedStyle(
        "task heading", font=Font(bold=True), fill=PatternFill("solid", fgColor="E7E6E6"), number_format=text
    )
    for style in (heading, *styles.values()):
        book.add_named_style(style)
    sheet.freeze_panes = "B2"
    for place, column in enumerate(columns, 1):
        sheet.column_dimensions[get_column_letter(place)].width = column.width
        if column.choices and rows:
            formula, error = f'"{",".join(column.choices)}"', f"One of {', '.join(column.choices)}, or nothing."
            choice = DataValidation(
                type="list",
                formula1=formula,
                allow_blank=True,
                showErrorMessage=True,
                errorTitle=column.name,
                error=error,
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
        cells = []
        for column, content in zip(columns, row, strict=True):
            is_link = column.holds_links and _LINK.fullmatch(content) is not None and n_links < MOST_LINKS
            cells.append(cell(content, styles[bool(is_first), is_link]))
            if is_link:
                cells[-1].hyperlink = content
                n_links += 1
        sheet.append(cells)
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

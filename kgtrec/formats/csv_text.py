"""CSV as plain text: decoded strictly, its rows with the lines on which they begin, and no cell a formula.

Every CSV file that people may open has its texts from :func:`guarded`; what kgtrec reads again goes through
:func:`unguarded`, so that labels come back as they were. Numbers, JSON, Parquet and TREC files are never guarded.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.lines import Line
from kgtrec.formats.trec.text import decoded, shown, text_of

# A spreadsheet recognises a formula by its first character, also in full-width form or after blanks; and if the list
# separator differs from the file's, a cell may also begin after a semicolon, a tab or a line break.
_FORMULA = "[ \u00a0\u3000]*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20']"
MAY_BE_FORMULA = f"(?:^|[;\\t\\r\\n]){_FORMULA}"  #: of Arrow too: finds every text that :func:`guarded` changes
#: of the tables that are read
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# What a spreadsheet reads as a number, a date, a time or a truth value, and would not write back unchanged.
_MANGLED = rf"(?:[0-9.][0-9.,:/eE% \-]*|{_MONTH}[ ./\-]?[0-9]+|[0-9]+[ ./\-]?{_MONTH}(?:[ ./\-]?[0-9]+)?|true|false)\Z"
_GUARD = re.compile(rf"(?:(?<=[;\t\r\n])|\A)(?={_FORMULA})")
_GUARD_ALL = re.compile(rf"(?<=[;\t\r\n])(?={_FORMULA})|\A(?={_FORMULA}|(?i:{_MANGLED}))")
_GUARDED = re.compile(rf"(?<=[;\t\r\n])'(?={_FORMULA})|\A'(?={_FORMULA}|(?i:{_MANGLED}))")


def guarded(cell: str, *, is_returned: bool = False) -> str:
    """Return ``cell`` with an apostrophe wherever a spreadsheet would read a formula.

    ``is_returned``: and where it would read a number or a date, which it would not write back as it was.
    :func:`unguarded` gives back exactly the cell: an apostrophe in such a place gets another one.

    References
    ----------
    OWASP Foundation. CSV Injection.

    Examples
    --------
    >>> guarded("=1+1"), guarded("'n Droom"), guarded("Paris; =x"), guarded("e-mail"), guarded("007")
    ("'=1+1", "''n Droom", "Paris;' =x", 'e-mail', '007')
    >>> guarded("007", is_returned=True)
    "'007"
    """
    guard = _GUARD_ALL if is_returned else _GUARD
    if any(sign in cell for sign in ";\t\r\n"):
        return guard.sub("'", cell)
    return f"'{cell}" if guard.match(cell) else cell  # the same, and much faster


def unguarded(cell: str) -> str:
    """Return the cell that :func:`guarded` was given; a cell that was typed without an apostrophe is unchanged.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("''n Droom"), unguarded("'tis so"), unguarded("=1+1")
    ('=1+1', "'n Droom", "'tis so", '=1+1')
    """
    return _GUARDED.sub("", cell) if "'" in cell else cell


def csv_text(path: PathLike, what: str) -> str:
    """Return the text of a file, which is UTF-8 without zero bytes; ``what`` names its contents: "a table of scores".

    Raises
    ------
    FormatError
        With the line.
    """
    with reading(path) as stream:
        text = decoded(text_of(stream, path), path)
    before, zero, _ = text.partition("\0")
    if zero:
        message = f"expected text, found a zero byte; {what} is plain text"
        raise FormatError(message, path=str(path), line=before.count("\n") + 1)
    return text


def finite(cell: str) -> float | None:
    """Return the decimal number in a cell; None for another text, and for a number beyond the largest.

    Examples
    --------
    >>> finite("-.5e1"), finite("1e999"), finite("nan"), finite("1_0")
    (-5.0, None, None, None)
    """
    number = float(cell) if _NUMBER.fullmatch(cell) else math.inf
    return number if math.isfinite(number) else None


@dataclass(slots=True)
class CsvRow(Line):
    """The cells of a row, which begins on the line."""

    cells: list[str]

    @property
    def excerpt(self) -> str:
        """The cells as an error quotes them."""
        return excerpt(*self.cells)


def excerpt(*cells: str) -> str:
    """Return cells as an error quotes them."""
    return shown(",".join(cells).encode("utf-8", "replace"))


def csv_table(path: str, text: str) -> tuple[CsvRow, Iterator[CsvRow]]:
    """Return the header, without cells if there is none, and the rows that are not blank; no cell is guarded any more.

    Separated by tabs if the first line has more tabs than commas.

    Raises
    ------
    FormatError
        For the first row with more or fewer cells than the header.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    rows = csv_rows(path, text, "\t" if first.count("\t") > first.count(",") else ",")
    header = next(rows, CsvRow(path, 1, [], seen={}))
    header.cells = [unguarded(cell) for cell in header.cells]

    def below() -> Iterator[CsvRow]:
        for row in rows:
            if any(cell.strip() for cell in row.cells):
                row.cells = [unguarded(cell) for cell in row.cells]
                if (n := len(row.cells)) != len(header.cells):
                    raise row.error(f"expected {len(header.cells)} cells, as in the header, found {n}: {row.excerpt}")
                yield row

    return header, below()


def csv_rows(path: str, text: str, delimiter: str = ",", *, first: int = 1, way_out: str = "") -> Iterator[CsvRow]:
    """Return the rows, from the first that is not blank; ``first``: the line that the text begins on.

    Raises
    ------
    FormatError
        For the first row that ends too early, with ``way_out`` at its end.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun, seen = False, dict[Hashable, int]()
    while True:
        row = CsvRow(path, first + rows.line_num, [], seen=seen)
        try:
            row.cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise row.error(
                f"expected cells separated by {DELIMITERS[delimiter]}, with quotes doubled inside quotes, found a row "
                f"that ends too early ({error}){way_out and f'; {way_out}'}"
            ) from None
        if begun or any(cell.strip() for cell in row.cells):
            begun = True
            yield row

"""CSV as plain text: decoded strictly, and its rows with the lines on which they begin."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import shown, text_of


def csv_text(path: PathLike, what: str) -> str:
    """The text of a file, which is UTF-8 without zero bytes; ``what`` names its contents: "a table of scores".

    Raises
    ------
    FormatError
        With the line.
    """
    with reading(path) as stream:
        data = text_of(stream, path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        begin = data.rfind(b"\n", 0, error.start) + 1
        end = data.find(b"\n", error.start)
        wrong = shown(data[begin : end if end >= 0 else len(data)])
        raise FormatError(f"expected UTF-8 text, found {wrong}", path=str(path), line=line) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise FormatError(f"expected text, found a zero byte; {what} is plain text", path=str(path), line=line)
    return text


def csv_rows(path: str, text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows, from the first that is not blank, each with the line on which it begins.

    Raises
    ------
    FormatError
        For the first row that ends too early.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = False
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise FormatError(
                f"expected cells with quotes doubled inside quotes, found a row that ends too early ({error})",
                path=path,
                line=line,
            ) from None
        if row is None:
            return
        if begun or any(cell.strip() for cell in row):
            begun = True
            yield line, row

"""Text files with a fixed number of columns, for triples and their dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import decoded, shown, text_of

WHITESPACE = "whitespace"
_TO_TAB = bytes.maketrans(b" \v\f", b"\t\t\t")
_BLANK = b" \v\f\r"


@dataclass(frozen=True)
class Lines:
    """The bytes of a text file, or of the rest of it after its first line."""

    path: str
    data: bytes
    first: int = 1  # number of the first line of data

    @classmethod
    def read(cls, path: PathLike) -> Lines:
        """The whole file, decompressed, without a byte-order mark."""
        with reading(path) as stream:
            return cls(str(path), text_of(stream, path))

    @cached_property
    def numbered(self) -> list[tuple[int, bytes]]:
        """Number and bytes of every line that is not blank, without line ends."""
        return list(self._numbered())

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        for number, line in enumerate(self.data.split(b"\n"), start=self.first):
            if line.strip(_BLANK):
                yield number, line.removesuffix(b"\r")

    def without_first(self) -> tuple[bytes, Lines]:
        """The first line, and the others."""
        line, _, rest = self.data.partition(b"\n")
        return line.removesuffix(b"\r"), Lines(self.path, rest, self.first + 1)

    def below_header(self, columns: Sequence[str]) -> Lines:
        """The lines below the first one, which must name the columns.

        Raises
        ------
        FormatError
            If the first line is different.
        """
        header, rest = self.without_first()
        if header != "\t".join(columns).encode():
            found = shown(header) if header.strip() else "an empty line" if self.data else "an empty file"
            raise FormatError(
                f"expected the header line {' '.join(columns)}, separated by tabs, found {found}",
                path=self.path,
                line=self.first,
            )
        return rest

    def separated(self) -> Lines:
        """The same with one TAB instead of every run of white space, and none at the ends of lines."""
        data = self.data.translate(_TO_TAB)
        runs = any(pair in data for pair in (b"\t\t", b"\t\n", b"\n\t", b"\t\r"))
        if runs or data.startswith(b"\t") or data.endswith(b"\t"):
            data = re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"\t+", b"\t", data))
        return Lines(self.path, data, self.first)

    def error(self, row: int, message: str) -> FormatError:
        """The error about a row, with its line number."""
        number, line = self.numbered[row]
        return FormatError(f"{message}: {shown(line)}", path=self.path, line=number)


def read_fields(lines: Lines, n_columns: int, expected: str, *, delimiter: str = "\t") -> list[pa.StringArray]:
    """The columns of lines, as opaque labels: no quoting, no comments, no missing values.

    Parameters
    ----------
    lines : Lines
    n_columns : int
    expected : str
        The expected contents of a line, for messages.
    delimiter : str
        One ASCII character.

    Returns
    -------
    list of ``n_columns`` (n_rows,) string arrays
        One row per line that is not blank.

    Raises
    ------
    FormatError
        For the first line with another number of columns, an empty column or bytes that are not UTF-8.
    """
    data = lines.data
    regular = data and data.count(b"\r") == data.count(b"\r\n")
    columns = _parsed(data, n_columns, delimiter) if regular else None
    # a line that Arrow cannot read, or one with an empty label, is read again to report its number
    if columns is None or any(pc.min(pc.binary_length(column)).as_py() == 0 for column in columns):
        columns = _scrutinised(lines, n_columns, expected, delimiter)
    return columns


def read_codes(lines: Lines, column: pa.StringArray, bound: int | None, what: str) -> NDArray[np.int64]:
    """A column of whole numbers from 0, below ``bound``.

    Raises
    ------
    FormatError
        For the first row with any other value.
    """
    digits = values_of(pc.match_substring_regex(column, "^[0-9]{1,18}$"))
    if not digits.all():
        row = int(np.argmin(digits))
        raise lines.error(row, f"expected a whole number as {what}, found {column[row].as_py()!r}")
    codes: NDArray[np.int64] = values_of(pc.cast(column, pa.int64()))
    if bound is not None and len(codes) and codes.max() >= bound:
        row = int(np.argmax(codes >= bound))
        raise lines.error(row, f"expected {what} in 0 to {bound - 1}, found {codes[row]}")
    return codes


def _parsed(data: bytes, n_columns: int, delimiter: str) -> list[pa.StringArray] | None:
    names = [str(i) for i in range(n_columns)]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(column_names=names),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return [column.combine_chunks() for column in table.columns]


def _scrutinised(lines: Lines, n_columns: int, expected: str, delimiter: str) -> list[pa.StringArray]:
    rows = []
    for row, (number, line) in enumerate(lines.numbered):
        fields = decoded(line, lines.path, number).split(delimiter)
        if len(fields) != n_columns:
            raise lines.error(row, f"expected {expected}, found {len(fields)}{_way_out(fields, n_columns, delimiter)}")
        if not all(fields):
            raise lines.error(row, f"expected {expected}, found an empty one")
        rows.append(fields)
    return [pa.array([fields[i] for fields in rows], pa.string()) for i in range(n_columns)]


def _way_out(fields: list[str], n_columns: int, delimiter: str) -> str:
    if delimiter != "\t" or len(fields) > 1:
        return ""
    for name, parts in ((WHITESPACE, fields[0].split()), (",", fields[0].split(","))):
        if len(parts) == n_columns:
            return f" and no TAB (--delimiter {name} would find {n_columns})"
    return " and no TAB (another separator is named with --delimiter)"

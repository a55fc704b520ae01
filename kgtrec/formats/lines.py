"""Text files with a fixed number of columns: triples and their dictionaries, and the files of a campaign."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from kgtrec.data.arrow import labels_of, values_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, require
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import decoded, shown, text_of

WHITESPACE = "whitespace"
_TO_TAB = bytes.maketrans(b" \v\f", b"\t\t\t")
_BLANK = b" \v\f\r"
LEAST_PROBABILITY = 1e-12


@dataclass(slots=True)
class Line:
    """A line of a text file."""

    path: str
    number: int
    seen: dict[Hashable, int] = field(kw_only=True)  # key -> its first line; of the whole file

    def once(self, key: Hashable, found: str, what: str = "each", *, way_out: str = "remove one of them") -> None:
        """Note on which line a key is; a FormatError, which calls it ``found``, if it is on an earlier one too."""
        if (first := self.seen.setdefault(key, self.number)) != self.number:
            raise self.error(f"expected {what} once, found {found} here and on line {first}; {way_out}")

    def error(self, message: str) -> FormatError:
        """Return the error about this line."""
        return FormatError(message, path=self.path, line=self.number)


@dataclass(slots=True)
class TextLine(Line):
    """Its bytes, without the line end."""

    data: bytes

    @property
    def text(self) -> str:
        """The text; a FormatError if it is not UTF-8."""
        return decoded(self.data, self.path, self.number)

    def fields(self, columns: Sequence[str], n_filled: int | None = None) -> list[str]:
        """Return the texts between tabs, one per column, the first ``n_filled`` (default: all) not empty.

        Raises
        ------
        FormatError
            If there are more or fewer, or an empty one.
        """
        fields = self.text.split("\t")
        if len(fields) != len(columns) or not all(fields[:n_filled]):
            found = len(fields) if len(fields) != len(columns) else "an empty one"
            raise self.error(
                f"expected {len(columns)} columns ({' '.join(columns)}) separated by tabs, got {found}: "
                f"{shown(self.data)}"
            )
        return fields


@dataclass(frozen=True)
class Lines:
    """The bytes of a text file, or of the rest of it after its first line."""

    path: str
    data: bytes
    first: int = 1  # number of the first line of data

    @classmethod
    def read(cls, path: PathLike, *, stream: BinaryIO | None = None) -> Lines:
        """Read the whole file, decompressed, without a byte-order mark; ``stream`` may hold its bytes, already open."""
        with reading(path) if stream is None else nullcontext(stream) as source:
            return cls(str(path), text_of(source, path))

    @cached_property
    def rows(self) -> list[TextLine]:
        """Every line that is not blank."""
        return [line for line in self.every() if line.data.strip(_BLANK)]

    def every(self) -> Iterator[TextLine]:
        """Return every line, blank ones too."""
        seen: dict[Hashable, int] = {}
        for number, part in enumerate(self.data.removesuffix(b"\n").split(b"\n") if self.data else (), self.first):
            yield TextLine(self.path, number, part.removesuffix(b"\r"), seen=seen)

    def without_nul(self) -> Lines:
        """Return the same lines.

        Raises
        ------
        FormatError
            For the first line with a NUL byte, which no text has.
        """
        if (place := self.data.find(b"\0")) >= 0:
            raise FormatError(
                "expected UTF-8 text, found a NUL byte; is it another kind of file, or UTF-16?",
                path=self.path,
                line=self.first + self.data.count(b"\n", 0, place),
            )
        return self

    def without_first(self) -> tuple[bytes, Lines]:
        """Return the first line, and the others."""
        line, _, rest = self.data.partition(b"\n")
        return line.removesuffix(b"\r"), Lines(self.path, rest, self.first + 1)

    def below_header(self, columns: Sequence[str], optional: str = "") -> Lines:
        """Return the lines below the first one, which must name the columns, and may name an optional one after them.

        Raises
        ------
        FormatError
            If the first line is different.
        """
        header, rest = self.without_first()
        if header.decode(errors="replace").removesuffix(optional and f"\t{optional}") != "\t".join(columns):
            found = shown(header) if header.strip() else "an empty line" if self.data else "an empty file"
            or_more = optional and f", with {optional} or without"
            raise FormatError(
                f"expected the header line {' '.join(columns)}{or_more}, separated by tabs, found {found}",
                path=self.path,
                line=self.first,
            )
        return rest

    def separated(self) -> Lines:
        """Return the same with one TAB instead of every run of white space, and none at the ends of lines."""
        data = self.data.translate(_TO_TAB)
        runs = any(pair in data for pair in (b"\t\t", b"\t\n", b"\n\t", b"\t\r"))
        if runs or data.startswith(b"\t") or data.endswith(b"\t"):
            data = re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"\t+", b"\t", data))
        return Lines(self.path, data, self.first)

    def error(self, row: int, message: str) -> FormatError:
        """Return the error about a row, with its line number."""
        return self.rows[row].error(f"{message}: {shown(self.rows[row].data)}")

    def require(self, is_right: NDArray[np.bool_], message: Callable[[int], str]) -> None:
        """Raise the error about the first row that is not right."""
        require(is_right, lambda row: self.error(row, message(row)))

    def require_distinct(
        self, keys: NDArray[Any], found: Callable[[int], str], what: str = "each", among: NDArray[np.intp] | None = None
    ) -> None:
        """Refuse the first row whose key is that of an earlier one, which its error calls ``found``.

        ``among``: the rows that are compared, in order; by default all.
        """
        order = np.argsort(keys, kind="stable") if among is None else among[np.argsort(keys[among], kind="stable")]
        if (same := np.flatnonzero(keys[order][1:] == keys[order][:-1])).size:
            place = same[np.argmin(order[same + 1])]
            first, again = (self.rows[order[place + step]] for step in (0, 1))
            again.seen[0] = first.number
            again.once(0, found(int(order[place + 1])), what)


def read_fields(lines: Lines, n_columns: int, expected: str, *, delimiter: str = "\t") -> list[pa.StringArray]:
    """Read the columns of lines, as opaque labels: no quoting, no comments, no missing values.

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
    is_regular = data and data.count(b"\r") == data.count(b"\r\n")
    columns = _parsed(data, n_columns, delimiter) if is_regular else None
    # a line that Arrow cannot read, or one with an empty label, is read again to report its number
    if columns is None or any(pc.min(pc.binary_length(column)).as_py() == 0 for column in columns):
        columns = _scrutinised(lines, n_columns, expected, delimiter)
    return columns


def read_codes(lines: Lines, column: pa.StringArray, bound: int | None, what: str) -> NDArray[np.int64]:
    """Read a column of whole numbers from 0, below ``bound``.

    Raises
    ------
    FormatError
        For the first row with any other value.
    """
    digits = values_of(pc.match_substring_regex(column, "^[0-9]{1,18}$"))
    lines.require(digits, lambda row: f"expected a whole number as {what}, found {column[row].as_py()!r}")
    codes: NDArray[np.int64] = values_of(pc.cast(column, pa.int64()))
    if bound is not None:
        lines.require(codes < bound, lambda row: f"expected {what} in 0 to {bound - 1}, found {codes[row]}")
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
    for row, line in enumerate(lines.rows):
        fields = line.text.split(delimiter)
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


def read_columns(lines: Lines, columns: Sequence[str]) -> list[pa.StringArray]:
    """Read the fields of every line by columns, for files that may be long; none may be empty.

    Raises
    ------
    FormatError
        For the first malformed line.
    """
    if not lines.data.strip(b" \v\f\r\n"):
        return [labels_of([])] * len(columns)
    try:
        return read_fields(lines, len(columns), " ".join(columns))
    except FormatError:
        for line in lines.rows:
            line.fields(columns)  # raises the error in the words of tables
        raise


def probabilities(lines: Lines, column: pa.StringArray) -> NDArray[np.float64]:
    """Read probabilities, up to 1, and not so near 0 that its inverse would be of no use.

    Raises
    ------
    FormatError
        For the first one that is malformed or out of this range.
    """
    distinct, codes = Vocabulary.encoding(column)  # few, so each is read once
    values = np.full(len(distinct), np.nan)
    number = r"^(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(e-?[0-9]{1,3})?$"
    good = np.flatnonzero(values_of(pc.match_substring_regex(distinct.labels, number)))
    values[good] = [float(distinct[code]) for code in good.tolist()]
    probability = values[codes]
    lines.require(
        (probability >= LEAST_PROBABILITY) & (probability <= 1),
        lambda row: f"expected a probability from {LEAST_PROBABILITY:g} to 1, got {distinct[codes[row]]!r}",
    )
    return probability

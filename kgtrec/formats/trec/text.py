"""TREC's line formats: columns split at white space, read block by block into integer codes.

Runs and qrels allow what trec_eval allows: any ASCII white space, repeated, leading and trailing; lines that begin
with ``#``; blank lines; CRLF; a byte-order mark; a missing final newline. A block of lines without any of these
is parsed by Arrow's CSV parser directly; any other block is first normalised, by array operations on its bytes,
and then parsed in the same way. So both give the same columns, and standard input is read only once.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from kgtrec.data.arrays import Growing
from kgtrec.data.arrow import unified, values_of
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading

BLOCK_SIZE = 1 << 22  # bytes; large enough to hide the cost per block, small enough for a few to be in memory
_BLOCKS_AHEAD = 4
_BYTES_AT_A_TIME = 1 << 16  # looked at together, so that what is computed of them stays in the cache
_MARGIN = 1.02  # of the number of rows that is foreseen by the first block
_LONGEST_LINE = 1 << 24  # bytes; a ranking of half a million entities as JSON, or as AnyBURL writes it
_BOM = b"\xef\xbb\xbf"
_TO_SPACE = bytes.maketrans(b"\t\v\f\r", b"    ")
_SHOWN = 100  # characters of an offending line
#: columns that are expected, and found
_OTHER_FORMATS = {
    (4, 6): "It looks like a line of a run; give the file of the qrels here.",
    (6, 4): "It looks like a line of qrels; give the file of a run here.",
}

NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?)", re.IGNORECASE)
"""A score as C's strtod and Python's float both read it; NaN, hexadecimal and digits grouped by ``_`` are excluded.

+inf is read, and then refused: scores beyond the largest number tie, in whatever order they were.
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a line format."""

    columns: tuple[str, ...]  # all of them, in order
    labels: tuple[str, ...]  # those read as opaque labels; the others, except the number, are ignored
    number: str = ""  # the one read as float64, if any

    @property
    def expected(self) -> str:
        return f"{len(self.columns)} columns ({' '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class TextColumns:
    """The columns of a file, one row per line that is neither blank nor a comment, in file order."""

    vocabularies: dict[str, Vocabulary]  # label column -> its labels in order of first appearance
    codes: dict[str, Codes]  # label column -> (n,) row in that vocabulary
    number: NDArray[np.float64]  # (n,), or (0,) where the layout has no number
    first_rows: list[int]  # per block: its first row
    lines: list[range | NDArray[np.int64]]  # per block: the line of each row

    def line(self, row: int) -> int:
        """Return the 1-based line of the file that ``row`` was read from."""
        block = int(np.searchsorted(self.first_rows, row, side="right")) - 1
        return int(self.lines[block][row - self.first_rows[block]])

    def first_row(self, column: str, label: str) -> int:
        """Return the first row whose ``column`` is ``label``, which must be in its vocabulary."""
        return int(np.flatnonzero(self.codes[column] == self.vocabularies[column].encode([label])[0])[0])


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Some lines of a file."""

    table: pa.Table  # the layout's labels, each as one dictionary-encoded chunk, and its number
    lines: range | NDArray[np.int64]  # of each row


def read_columns(stream: BinaryIO, path: str, layout: Layout) -> TextColumns:
    """Read the columns that ``layout`` names, from the lines of ``stream``.

    Parameters
    ----------
    stream : binary stream
        Read once, to its end.
    path : str
        Name of the file in errors.
    layout : Layout

    Raises
    ------
    FormatError
        For the first line with a wrong number of columns, a label that is not UTF-8, or an invalid number; for a file
        without lines.
    """
    number = Growing(np.float64)
    codes = {name: Growing(np.int32) for name in layout.labels}
    dictionaries: dict[str, list[pa.StringArray]] = {name: [] for name in layout.labels}
    first_rows: list[int] = []
    lines: list[range | NDArray[np.int64]] = []
    rows, size = 0, _size_of(stream)
    with ThreadPoolExecutor(2) as workers:
        for block in iterate_blocks(stream, path, layout, workers):
            if rows == 0:
                for column in (number, *codes.values()):
                    column.reserve(math.ceil(_MARGIN * block.table.num_rows * size / BLOCK_SIZE))
            for name, own in codes.items():
                chunk = block.table.column(name).chunk(0)
                dictionaries[name].append(chunk.dictionary)
                own.append(values_of(chunk.indices))
            if layout.number:
                number.append(values_of(block.table.column(layout.number).chunk(0)))
            first_rows.append(rows)
            lines.append(block.lines)
            rows += block.table.num_rows
            del block  # its memory is used for the next ones
        pa.system_memory_pool().release_unused()  # else the memory of the blocks is added to that of later steps
        joined = workers.map(
            lambda name: _of_one_vocabulary(dictionaries[name], codes[name].values, first_rows), layout.labels
        )
        vocabularies = dict(zip(layout.labels, joined, strict=True))
    return TextColumns(
        vocabularies, {name: own.values for name, own in codes.items()}, number.values, first_rows, lines
    )


def iterate_blocks(stream: BinaryIO, path: str, layout: Layout, workers: ThreadPoolExecutor) -> Iterator[TextBlock]:
    """Read the columns block by block, in bounded memory; ``workers`` parse some ahead.

    Raises
    ------
    FormatError
        As :func:`read_columns`, when the block that has the line is read.
    """
    parse = partial(_parse_block, layout=layout)
    rows = n_blocks = 0
    line = 1
    for parsed in _in_turn(workers, parse, whole_lines(stream, path, BLOCK_SIZE)):
        n_blocks += 1
        table = _scrutinised(parsed.refused, line, path, layout) if parsed.table is None else parsed.table
        rows += table.num_rows
        if table.num_rows:
            yield TextBlock(table, range(line, line + parsed.n_lines) if parsed.kept is None else line + parsed.kept)
        line += parsed.n_lines
    if not rows:
        raise FormatError(
            f"expected lines of {layout.expected}, found "
            f"{'only comments and blank lines' if n_blocks else 'an empty file'}",
            path,
        )


def joined_codes(chunks: Sequence[pa.DictionaryArray]) -> tuple[Vocabulary, Codes]:
    """Return one vocabulary, in order of first appearance, and the codes of several dictionary-encoded chunks."""
    codes = np.concatenate([np.empty(0, np.int32), *(values_of(chunk.indices) for chunk in chunks)])
    first_rows = np.cumsum([0, *map(len, chunks)])[:-1].tolist()
    return _of_one_vocabulary([chunk.dictionary for chunk in chunks], codes, first_rows), codes


def _of_one_vocabulary(dictionaries: Sequence[pa.StringArray], codes: Codes, first_rows: Sequence[int]) -> Vocabulary:
    """One vocabulary, in order of first appearance, for several dictionaries; their codes are replaced by its own."""
    vocabulary, places = unified(dictionaries)
    for place, (first, last) in zip(places, pairwise([*first_rows, len(codes)]), strict=True):
        part = codes[first:last]
        part[:] = place[part]
    return Vocabulary(vocabulary)


def repeated_lines(path: str, columns: TextColumns) -> FormatError:
    """Return the error for the first line whose (question, entity) is on an earlier line too."""
    question, entity = columns.codes["question"], columns.codes["entity"]
    order = np.lexsort((entity, question))  # stable: equal pairs stay in file order
    same = np.flatnonzero((np.diff(question[order]) == 0) & (np.diff(entity[order]) == 0))
    place = same[np.argmin(order[same + 1])]
    earlier, later = int(order[place]), int(order[place + 1])
    pair = columns.vocabularies["question"][question[later]], columns.vocabularies["entity"][entity[later]]
    return FormatError(
        f"expected each (question, entity) once, found {pair[0]!r} {pair[1]!r} here and on line "
        f"{columns.line(earlier)}; remove one of the two",
        path,
        line=columns.line(later),
    )


@dataclass(frozen=True, slots=True)
class _Parsed:
    """Some lines of a file, of which it is not known yet where they are."""

    table: pa.Table | None  # None: Arrow refuses them
    n_lines: int
    kept: NDArray[np.intp] | None = None  # which of the lines are rows; None: all
    refused: bytes = b""


def _in_turn(
    workers: ThreadPoolExecutor, parse: Callable[[bytes], _Parsed], blocks: Iterator[bytes]
) -> Iterator[_Parsed]:
    """``parse(block)`` of each block, in order, with few blocks in memory."""
    waiting: deque[Future[_Parsed]] = deque()
    broken: Exception | None = None
    while True:
        try:
            block = next(blocks, None)
        except Exception as error:  # the stream failed, but a malformed line before that is reported first
            block, broken = None, error
        if block is None:
            break
        waiting.append(workers.submit(parse, block))
        if len(waiting) == _BLOCKS_AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
    if broken is not None:
        raise broken


def _size_of(stream: BinaryIO) -> int:
    """Bytes of the stream's file as it is stored; 0 where it is not a file."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, AttributeError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


class Readable(Protocol):
    """What bytes are read of."""

    def read(self, size: int, /) -> bytes: ...


def whole_lines(stream: BinaryIO, path: str, size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """Return the bytes of a stream in blocks of whole lines, without byte-order mark, a newline at the end of each.

    Raises
    ------
    FormatError
        If a line is longer than that of any real file.
    """
    for block in blocks_of_lines(stream, path, size):
        yield block if block.endswith(b"\n") else block + b"\n"


def numbered_blocks(path: PathLike, size: int = BLOCK_SIZE) -> Iterator[tuple[int, bytes]]:
    """Return the blocks of :func:`whole_lines` of a file, each with the number of its first line."""
    line = 1
    with reading(path) as stream:
        for data in whole_lines(stream, str(path), size):
            yield line, data
            line += data.count(b"\n")


def blocks_of_lines(stream: Readable, path: str | os.PathLike[str], size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """Return the bytes of a stream in blocks of whole lines, the last line as it is."""
    rest = stream.read(len(_BOM))
    before = len(rest) if rest == _BOM else 0  # bytes of the file before the rest
    rest = rest[before:]
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if cut:
            before += len(rest) + cut
            yield b"".join((rest, memoryview(data)[:cut]))
            rest = data[cut:]
        else:
            rest += data
        if len(rest) > _LONGEST_LINE:
            raise FormatError(
                f"expected lines of at most {_LONGEST_LINE >> 20} MiB, found a longer one: {shown(rest[: 2 * _SHOWN])}",
                path,
                line=_line_after(path, before),
            )
    if cut := rest.rfind(b"\n") + 1:  # a file shorter than a byte-order mark
        yield rest[:cut]
        rest = rest[cut:]
    if rest:
        yield rest


def text_of(stream: Readable, path: str | os.PathLike[str]) -> bytes:
    """Return all bytes of a text file, without byte-order mark.

    Raises
    ------
    FormatError
        As :func:`whole_lines`.
    """
    sink = io.BytesIO()
    for block in blocks_of_lines(stream, path):
        sink.write(block)
    return sink.getvalue()


def decoded(data: bytes, path: PathLike, line: int = 1, *, way_out: str = "") -> str:
    """Return the text of bytes that begin on a line of a file; ``way_out``: the end of an error.

    Raises
    ------
    FormatError
        For the first line that is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        wrong = data[data.rfind(b"\n", 0, error.start) + 1 :].partition(b"\n")[0]
        line += data.count(b"\n", 0, error.start)
        way_out = way_out and f"; {way_out}"
        raise FormatError(f"expected UTF-8 text, found {shown(wrong)}{way_out}", path, line=line) from None


def _line_after(path: str | os.PathLike[str], n_bytes: int) -> int | None:
    """The number of the line that begins after some bytes; None where they cannot be read again."""
    if not Path(path).is_file():
        return None
    line = 1
    with reading(path) as stream:
        while data := stream.read(min(n_bytes, BLOCK_SIZE)):
            line += data.count(b"\n")
            n_bytes -= len(data)
    return line


def _parse_block(data: bytes, layout: Layout) -> _Parsed:
    if n_blanks := _blanks_of_regular(data):
        table = _parsed(data, layout)
        # Arrow has used one delimiter or newline per column and row; any other white space is in the labels
        if table is not None and table.num_rows * len(layout.columns) == n_blanks:
            return _Parsed(table, table.num_rows)
    n_lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
    text, kept = _normalised(data)
    if not text:
        return _Parsed(_schema(layout).empty_table(), n_lines)
    table = None if 0 in text else _parsed(text, layout)
    return _Parsed(table, n_lines, kept, data if table is None else b"")


def _blanks_of_regular(data: bytes) -> int:
    """How many bytes are white space (or control characters); 0 where Arrow would read a line unlike trec_eval.

    Except for the number of columns, which Arrow checks.
    """
    if b"\r" in data or data.startswith(b"#") or (b"#" in data and b"\n#" in data):
        return 0
    text, n_blanks, after_blank = np.frombuffer(data, np.uint8), 0, True
    blank, adjacent = np.empty((2, _BYTES_AT_A_TIME), np.bool_)
    for first in range(0, len(text), _BYTES_AT_A_TIME):
        n = min(_BYTES_AT_A_TIME, len(text) - first)
        np.less_equal(text[first : first + n], 32, out=blank[:n])
        if (after_blank and blank[0]) or np.logical_and(blank[1:n], blank[: n - 1], out=adjacent[: n - 1]).any():
            return 0
        n_blanks, after_blank = n_blanks + int(np.count_nonzero(blank[:n])), bool(blank[n - 1])
    return n_blanks


def _normalised(data: bytes) -> tuple[bytes, NDArray[np.intp] | None]:
    """The same lines with one space between columns, without blank and comment lines; and the lines that remain.

    The second is None where all do.
    """
    text = np.frombuffer(data.translate(_TO_SPACE), np.uint8)
    space, newline = text == 32, text == 10
    # a space is removed if the byte before it is blank too or it begins the line ...
    text = text[~(space & np.r_[True, (space | newline)[:-1]])]
    # ... and if the line ends after it, where only one is left by now
    text = text[~((text == 32) & np.r_[text[1:] == 10, False])]
    ends = np.flatnonzero(text == 10)
    starts = np.r_[0, ends[:-1] + 1]
    keep = (text[starts] != 10) & (text[starts] != ord("#"))
    if keep.all():
        return text.tobytes(), None
    return text[np.repeat(keep, ends + 1 - starts)].tobytes(), np.flatnonzero(keep)


def _schema(layout: Layout) -> pa.Schema:
    kinds = dict.fromkeys(layout.labels, pa.dictionary(pa.int32(), pa.string()))
    return pa.schema(kinds | ({layout.number: pa.float64()} if layout.number else {}))


def _parsed(data: bytes, layout: Layout) -> pa.Table | None:
    """The columns of regular lines; None where Arrow refuses them or finds NaN or +inf."""
    schema = _schema(layout)
    tab = data.find(b"\t", 0, data.find(b"\n")) >= 0
    # Arrow would drop a byte-order mark, but in the middle of a file it belongs to a label
    source = _BOM + data if data.startswith(_BOM) else data
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(source),
            pa_csv.ReadOptions(column_names=layout.columns, block_size=len(source) + 1, use_threads=False),
            pa_csv.ParseOptions(
                delimiter="\t" if tab else " ",
                quote_char=False,
                double_quote=False,
                escape_char=False,
                ignore_empty_lines=False,
            ),
            pa_csv.ConvertOptions(
                column_types=schema, include_columns=schema.names, null_values=[], strings_can_be_null=False
            ),
            memory_pool=pa.system_memory_pool(),  # other pools keep several times what a block needs
        )
    except pa.ArrowInvalid:
        return None
    if layout.number and not np.max(values_of(table.column(layout.number)), initial=-np.inf) < np.inf:
        return None
    return table


def _scrutinised(data: bytes, line: int, path: str, layout: Layout) -> pa.Table:
    """The columns of lines that Arrow refuses, read one by one: either numbers that it cannot read, or an error.

    Raises
    ------
    FormatError
        For the first malformed line.
    """
    columns: dict[str, list[Any]] = {name: [] for name in (*layout.labels, *filter(None, [layout.number]))}
    for number, text in enumerate(data.split(b"\n")[:-1], line):
        fields = text.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        fail = partial(_fail, path=path, line=number, text=text)
        if b"\0" in text:
            sampled = "These look like scores of sampled candidates: see kgtrec meta sampled."
            other = "Is it another kind of file, or UTF-16?"
            fail("expected UTF-8 text, found a NUL byte", sampled if b"y_pred_" in data else other)
        if len(fields) != len(layout.columns):
            otherwise = "An entity label may not contain spaces: see kgtrec questions --ids."
            if text.count(b",") > len(fields):
                otherwise = "A CSV file of ranks is read by kgtrec rank COLLECTION FILE --from ranks-csv."
            way_out = _OTHER_FORMATS.get((len(layout.columns), len(fields)), otherwise)
            fail(f"expected {layout.expected}, got {len(fields)}", way_out)
        for name, field in zip(layout.columns, fields, strict=True):
            if name == layout.number:
                if not NUMBER.fullmatch(field) or float(field) == np.inf:
                    is_nan = field.lower().lstrip(b"+-") == b"nan"
                    numbers = "Write a decimal number such as 0.71, 1e-5 or -inf."
                    no_score = "Leave out an entity that has no score, or give it -inf, which ranks it last."
                    fail(f"expected a number as {name}, got {shown(field)}", no_score if is_nan else numbers)
                columns[name].append(float(field))
            elif name in columns:
                try:
                    columns[name].append(field.decode())
                except UnicodeDecodeError:
                    fail(f"expected UTF-8 text as {name}, got {shown(field)}", "Save the file as UTF-8.")
    schema = _schema(layout)
    return pa.table([pa.array(columns[name]).cast(schema.field(name).type) for name in schema.names], schema)


def _fail(wrong: str, way_out: str, *, path: str, line: int, text: bytes) -> NoReturn:
    raise FormatError(f"{wrong}: {shown(text)}. {way_out}", path, line=line)


def shown(text: bytes) -> str:
    r"""Return a line or column as quoted in an error: on one line, shortened, and with readable escapes.

    Examples
    --------
    >>> shown(b"q1 Q0 Paris\r"), shown(b"caf\xe9"), len(shown(b"x" * 5000))
    ("'q1 Q0 Paris'", "'caf\\xe9'", 105)
    """
    decoded = text.strip().decode(errors="backslashreplace")
    quoted = repr(decoded[:_SHOWN]).replace("\\\\x", "\\x")
    return quoted if len(decoded) <= _SHOWN else f"{quoted[:-1]}...{quoted[-1]}"

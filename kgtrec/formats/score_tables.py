"""Tables of systems' scores: wide CSV as in papers, long CSV as kgtrec writes it, leaderboards."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgtrec.data.scores import ScoreTable
from kgtrec.errors import FormatError, nearest
from kgtrec.formats.csv_text import CsvRow, csv_table, csv_text, excerpt, finite
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import shown
from kgtrec.measures.names import over_answers, warn_of_bare

SYSTEM = "system"
#: columns that distinguish several rows of one system, in upper or lower case; others are named by the caller
KEYS = ("depth", "questiontype", "relationtype", "side", "relation", "category", "question", "key")
_LONG = ("measure", "value")
_OF_INTERVALS = ("low", "high", "effective", "drawn")  # which are not read
_UNDEFINED = ("", "nan")
_LONGEST_HEADER = 1 << 20
_OF_LEADERBOARD = ("run", "measure", "topic", "value")
_TOTALS = ("all",)  # the topic of totals
_MANY_CELLS, _CELLS_PER_VALUE = 1 << 24, 1_000
_MEASURE = re.compile(r"[^\W\d]\S*")


def read_score_table(path: PathLike, *, keys: Sequence[str] = (), name: str | None = None) -> ScoreTable:
    r"""Read a table of systems' scores.

    Parameters
    ----------
    path : path
        UTF-8 text, cells separated by commas (or by tabs), with a header. *Wide*: a column ``System``, optional key
        columns, and a column for each measure. *Long*: the columns ``system``, ``measure``, ``value``, and optionally
        ``low``, ``high``, ``effective`` and ``drawn``, which are not read; all others are keys. An empty cell is an
        undefined value. A bare name, such as ``MRR``, is a measure over answers. Or a *leaderboard* of TREC AutoJudge:
        rows ``run measure topic value``, separated by blanks, of which those of the topic ``all`` count, or if there
        are none, every topic as a key ``question``.
    keys : sequence of str
        Key columns of a wide table besides Depth, QuestionType, RelationType, side, relation, category, question, key.
    name : str, optional
        Name of the table's labels; by default the file's name without suffix.

    Raises
    ------
    FormatError
        With the line, if the file is empty, is not UTF-8, has no column of systems or none of measures, a repeated
        column, a row of another length, a cell that is not a number, a system without name, or a repeated value.

    Warns
    -----
    KgtrecWarning
        Of bare names.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "published.csv"
    >>> _ = path.write_text("System,Depth,micro_mrr,map\ntranse,0,0.3,0.4\ntranse,1,0.2,0.5\n")
    >>> table = read_score_table(path)
    >>> table, table.values[0, 0].tolist()
    (<ScoreTable: published: 1 systems x 2 measures per Depth (2)>, [0.3, 0.2])
    """
    place = str(path)
    text = csv_text(path, "a table of scores")
    own_name = Path(place).name.split(".")[0] if name is None else name
    is_board = _is_leaderboard(next((line for line in text.splitlines() if line.strip()), ""))
    header, rows = _leaderboard(place, text) if is_board else csv_table(place, text)
    if not header.cells:
        raise FormatError("expected a table with a column System and columns of measures, found none", path=place)
    columns = _columns(header, () if is_board else keys)
    scored: list[tuple[str, str, tuple[str, ...], float]] = []
    way_out = "remove one of them"
    if columns.measure is None and not columns.keys:
        column = header.cells[columns.values[0]]
        way_out += f", or, if a column such as {column} distinguishes them, name it with --key"
    for row in rows:
        system, key = row.cells[columns.system], tuple(row.cells[column] for column in columns.keys)
        if not system.strip():
            raise row.error("expected the name of a system, found an empty cell")
        measures = header.cells if columns.measure is None else [row.cells[columns.measure]] * len(header.cells)
        if not measures[columns.values[0]].strip():
            raise row.error("expected the name of a measure, found an empty cell")
        identity = (system, *key) if columns.measure is None else (system, measures[0], *key)
        row.once(identity, ", ".join(identity), "each row", way_out=way_out)
        scored += (
            (system, measures[column], key, _value(row, header.cells[column], row.cells[column], columns))
            for column in columns.values
        )
    if not scored:
        raise header.error("expected rows of systems' scores, found only a header")
    keys = [header.cells[column] for column in columns.keys]
    if is_board and (totals := [row for row in scored if row[2] == _TOTALS]):
        scored, keys = totals, []
    return _table(place, scored, keys, own_name)


def _table(
    place: str, found: Sequence[tuple[str, str, tuple[str, ...], float]], keys: Sequence[str], name: str
) -> ScoreTable:
    """The table of distinct systems, measures and keys; keys that are all whole numbers are sorted."""
    *columns, values = zip(*found, strict=True)
    systems, measures, rows = labels = [list(dict.fromkeys(column)) for column in columns]
    if keys and all(label.isascii() and label.isdigit() for row in rows for label in row):
        # by size, as Python converts at most 4,300 digits
        rows.sort(key=lambda row: [(len(label.lstrip("0")), label.lstrip("0")) for label in row])
    if len(systems) * len(measures) * len(rows) > max(_MANY_CELLS, _CELLS_PER_VALUE * len(values)):
        raise FormatError(
            f"expected a table in which systems have measures and keys in common, found {len(values):,} values of "
            f"{len(systems):,} systems, {len(measures):,} measures and {len(rows):,} keys",
            path=place,
        )
    table = np.full([len(systems), len(measures), len(rows)], np.nan)
    place_of = [{label: number for number, label in enumerate(own)} for own in labels]
    cells = tuple([own[label] for label in column] for own, column in zip(place_of, columns, strict=True))
    table[cells] = values
    names: dict[str, str] = {}  # bare ones, such as MRR, are those of measures over answers
    for written in measures:
        first = names.setdefault(over_answers(written), written)
        if first != written:
            raise FormatError(
                f"expected each measure once, found both {first!r} and {written!r}, which is over answers", path=place
            )
    warn_of_bare(measures, place)
    of_key = {key: tuple(row[number] for row in rows) for number, key in enumerate(keys)}
    return ScoreTable(tuple(systems), tuple(names), table, of_key, name)


def looks_like_table(path: PathLike) -> bool:
    r"""Return whether a file is a table of scores: its first line has a column ``System``, or is of a leaderboard.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.csv"
    >>> _ = path.write_text("System,micro_mrr\ntranse,0.3\n")
    >>> looks_like_table(path)
    True
    """
    with reading(path) as stream:
        line = next((line for line in iter(lambda: stream.readline(_LONGEST_HEADER), b"") if line.strip()), b"")
    text = line.decode("utf-8-sig", "replace").casefold()
    return _is_leaderboard(text) or SYSTEM in (cell.strip().strip('"') for mark in ",\t" for cell in text.split(mark))


def _is_leaderboard(line: str) -> bool:
    """Whether a file that begins with this line has rows ``run measure topic value``, separated by blanks.

    The second column is a name, while in qrels, which have four columns too, it is a number or ``Q0``.
    """
    cells = line.split()
    if len(cells) != len(_OF_LEADERBOARD) or "," in line:
        return False
    is_measure = _MEASURE.fullmatch(cells[1]) is not None and cells[1].casefold() != "q0"
    is_value = cells[3].casefold() in _UNDEFINED or finite(cells[3]) is not None
    return (is_measure and is_value) or _names_columns(cells)


def _names_columns(cells: Sequence[str]) -> bool:
    return tuple(cell.casefold().removesuffix("_id") for cell in cells) == _OF_LEADERBOARD


def _leaderboard(place: str, text: str) -> tuple[CsvRow, Iterator[CsvRow]]:
    """The rows of a leaderboard of TREC AutoJudge as those of a long table, whose key is the topic."""
    seen: dict[Hashable, int] = {}
    lines = (CsvRow(place, number, line.split(), seen=seen) for number, line in enumerate(text.splitlines(), 1))

    def below() -> Iterator[CsvRow]:
        for row in dropwhile(lambda row: not row.cells or _names_columns(row.cells), lines):
            if row.cells and len(row.cells) != len(_OF_LEADERBOARD):
                expected = f"expected 4 columns ({' '.join(_OF_LEADERBOARD)})"
                raise row.error(f"{expected}, found {len(row.cells)}: {shown(' '.join(row.cells).encode())}")
            if row.cells:
                yield row

    return CsvRow(place, 1, [SYSTEM, _LONG[0], "question", _LONG[1]], seen={}), below()


class _Columns(NamedTuple):
    """The roles of the columns of the header."""

    system: int
    keys: list[int]
    measure: int | None  # of a long table
    values: list[int]


def _columns(header: CsvRow, keys: Sequence[str]) -> _Columns:
    folded = [cell.strip().casefold() for cell in header.cells]
    for place, cell in enumerate(folded):
        if cell in folded[:place]:
            raise header.error(f"expected each column once, found {header.cells[place]!r} again")
    if SYSTEM not in folded:
        way_out = "; cells are separated by commas or tabs, not by semicolons" if ";" in header.cells[0] else ""
        raise header.error(f"expected a header with a column System, found {header.excerpt}{way_out}")
    for name in keys:
        if name.casefold() not in folded:
            raise header.error(f"expected a key column {name!r}, found {header.excerpt}{nearest(name, header.cells)}")
    system = folded.index(SYSTEM)
    if all(name in folded for name in _LONG):
        measure, value = (folded.index(name) for name in _LONG)
        keys_of_file = [place for place, cell in enumerate(folded) if cell not in (SYSTEM, *_LONG, *_OF_INTERVALS)]
        return _Columns(system, keys_of_file, measure, [value])
    named = {*KEYS, *(name.casefold() for name in keys)}
    own_keys = [place for place, cell in enumerate(folded) if cell in named]
    values = [place for place in range(len(folded)) if place != system and place not in own_keys]
    if not values:
        raise header.error(f"expected a column for each measure besides the systems, found {header.excerpt}")
    nameless = [place for place in values if not folded[place]]
    if nameless:
        index = "; leave out the row numbers (in pandas: to_csv(..., index=False))" if nameless[0] == 0 else ""
        raise header.error(f"expected the name of a measure over column {nameless[0] + 1}, found an empty cell{index}")
    return _Columns(system, own_keys, None, values)


def _value(row: CsvRow, column: str, cell: str, columns: _Columns) -> float:
    text = cell.strip()
    if text.casefold() in _UNDEFINED:
        return float("nan")
    number = finite(text)
    if number is None:
        is_number = columns.measure is not None or re.match(r"[+-]?\.?(\d|inf)", text, re.ASCII | re.IGNORECASE)
        way_out = "" if is_number else "; if the column distinguishes rows of one system, name it with --key"
        raise row.error(f"expected a number under {column!r}, found {excerpt(cell)}{way_out}")
    return number

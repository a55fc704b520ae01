"""Tables of systems' scores: wide CSV as in papers, long CSV as kgtrec writes it, leaderboards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgtrec.data.scores import ScoreTable
from kgtrec.errors import FormatError, in_file, nearest
from kgtrec.formats.csv_text import CsvRow, csv_table, csv_text, excerpt, finite
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.leaderboards import is_leaderboard, read_rows
from kgtrec.measures.names import over_answers, warn_of_bare

SYSTEM = "system"
#: columns that distinguish several rows of one system, in upper or lower case; others are named by the caller
KEYS = ("depth", "questiontype", "relationtype", "side", "relation", "category", "question", "key")
_LONG = ("measure", "value")
_OF_INTERVALS = ("low", "high", "effective", "drawn")  # which are not read
_UNDEFINED = ("", "nan")
_LONGEST_HEADER = 1 << 20


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
    called = Path(place).name.split(".")[0] if name is None else name
    if is_leaderboard(next((line for line in text.splitlines() if line.strip()), "")):
        return _named(read_rows(place, text, called), place)
    header, rows = csv_table(place, text)
    if not header.cells:
        raise FormatError("expected a table with a column System and columns of measures, found none", path=place)
    columns = _columns(header, keys)
    found: list[tuple[str, str, list[str], float]] = []
    lines: dict[tuple[str, ...], int] = {}
    way_out = "remove one of them"
    if columns.measure is None and not columns.keys:
        column = header.cells[columns.values[0]]
        way_out += f", or, if a column such as {column} distinguishes them, name it with --key"
    for row in rows:
        system, key = row.cells[columns.system], [row.cells[column] for column in columns.keys]
        if not system.strip():
            raise row.error("expected the name of a system, found an empty cell")
        measures = header.cells if columns.measure is None else [row.cells[columns.measure]] * len(header.cells)
        if not measures[columns.values[0]].strip():
            raise row.error("expected the name of a measure, found an empty cell")
        identity = (system, *key) if columns.measure is None else (system, measures[0], *key)
        row.once(lines, identity, ", ".join(identity), "each row", way_out=way_out)
        found += (
            (system, measures[column], key, _value(row, header.cells[column], row.cells[column], columns))
            for column in columns.values
        )
    if not found:
        raise header.error("expected rows of systems' scores, found only a header")
    named, measured, key_cells, values = zip(*found, strict=True)
    labels = dict(zip((header.cells[column] for column in columns.keys), zip(*key_cells, strict=True), strict=True))
    with in_file(place):
        table = ScoreTable.of_rows(named, measured, labels, np.array(values), called)
    return _named(table, place)


def _named(table: ScoreTable, place: str) -> ScoreTable:
    """The table with bare names of measures, such as MRR, as those of measures over answers."""
    names: dict[str, str] = {}
    for written in table.measures:
        first = names.setdefault(over_answers(written), written)
        if first != written:
            raise FormatError(
                f"expected each measure once, found both {first!r} and {written!r}, which is over answers", path=place
            )
    warn_of_bare(table.measures, place)
    return replace(table, measures=tuple(names))


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
    text = line.decode("utf-8-sig", "replace")
    if is_leaderboard(text):
        return True
    text = text.casefold()
    return SYSTEM in (cell.strip().strip('"') for mark in ",\t" for cell in text.split(mark))


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
            near = nearest(name, header.cells)
            raise header.error(f"expected a key column {name!r}, found {header.excerpt}{near}")
    system = folded.index(SYSTEM)
    if all(name in folded for name in _LONG):
        measure, value = (folded.index(name) for name in _LONG)
        known = {SYSTEM, *_LONG, *_OF_INTERVALS}
        return _Columns(system, [place for place, cell in enumerate(folded) if cell not in known], measure, [value])
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

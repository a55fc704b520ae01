"""Tables of systems' scores: wide CSV as in papers, long CSV as kgtrec writes it, leaderboards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgtrec.data.scores import ScoreTable
from kgtrec.errors import FormatError, KgtrecError, nearest
from kgtrec.formats.csv_text import csv_rows, csv_text, finite, unguarded
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.leaderboards import is_leaderboard, read_rows
from kgtrec.formats.trec.text import shown
from kgtrec.measures.names import over_answers, warn_of_bare

SYSTEM = "system"
#: columns that distinguish several rows of one system, in upper or lower case; others are named by the caller
KEYS = ("depth", "questiontype", "relationtype", "side", "relation", "category", "question", "key")
_LONG = ("measure", "value")
_OF_INTERVALS = ("low", "high", "effective", "drawn")  # which are not read
_UNDEFINED = ("", "nan")
_LONGEST_HEADER = 1 << 20


def read_score_table(path: PathLike, *, keys: Sequence[str] = (), name: str | None = None) -> ScoreTable:
    r"""A table of systems' scores.

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
    if is_leaderboard(_first_line(text)):
        return _named(read_rows(place, text, called), place)
    rows = _rows(place, text)
    header_line, header = next(rows, (0, []))
    if not header:
        raise FormatError("expected a table with a column System and columns of measures, found none", path=place)
    columns = _columns(place, header_line, header, keys)
    systems: list[str] = []
    measures: list[str] = []
    key_cells: list[list[str]] = [[] for _ in columns.keys]
    values: list[float] = []
    lines: dict[tuple[str, ...], int] = {}
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise FormatError(
                f"expected {len(header)} cells, as in the header, found {len(row)}: {_excerpt(row)}",
                path=place,
                line=line,
            )
        system = row[columns.system]
        if not system.strip():
            raise FormatError("expected the name of a system, found an empty cell", path=place, line=line)
        key = [row[column] for column in columns.keys]
        own_measures = header if columns.measure is None else [row[columns.measure]] * len(header)
        if not own_measures[columns.values[0]].strip():
            raise FormatError("expected the name of a measure, found an empty cell", path=place, line=line)
        identity = (system, *key) if columns.measure is None else (system, own_measures[0], *key)
        if lines.setdefault(identity, line) != line:
            raise FormatError(
                f"expected one row of {', '.join(identity)}, found another (the first is line {lines[identity]})"
                f"{columns.hint(header)}",
                path=place,
                line=line,
            )
        for column in columns.values:
            systems.append(system)
            measures.append(own_measures[column])
            for cells, label in zip(key_cells, key, strict=True):
                cells.append(label)
            values.append(_value(place, line, header[column], row[column], wide=columns.measure is None))
    if not values:
        raise FormatError("expected rows of systems' scores, found only a header", path=place, line=header_line)
    labelled = {header[column]: cells for column, cells in zip(columns.keys, key_cells, strict=True)}
    try:
        table = ScoreTable.of_rows(systems, measures, labelled, np.array(values), called)
    except KgtrecError as error:
        raise FormatError(str(error), path=place) from None
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
    r"""Whether a file's first line has a column ``System``, or is one of a leaderboard: then it is a table of scores.

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


class _Columns:
    """The roles of the columns of the header."""

    def __init__(self, system: int, keys: list[int], measure: int | None, values: list[int]) -> None:
        self.system, self.keys, self.measure, self.values = system, keys, measure, values

    def hint(self, header: Sequence[str]) -> str:
        if self.measure is not None or self.keys:
            return ""
        return f"; if a column such as {header[self.values[0]]} distinguishes them, name it with --key"


def _columns(path: str, line: int, header: Sequence[str], keys: Sequence[str]) -> _Columns:
    folded = [cell.strip().casefold() for cell in header]
    for place, cell in enumerate(folded):
        if cell in folded[:place]:
            raise FormatError(f"expected each column once, found {header[place]!r} again", path=path, line=line)
    if SYSTEM not in folded:
        way_out = "; cells are separated by commas or tabs, not by semicolons" if ";" in header[0] else ""
        raise FormatError(
            f"expected a header with a column System, found {_excerpt(header)}{way_out}", path=path, line=line
        )
    for name in keys:
        if name.casefold() not in folded:
            raise FormatError(
                f"expected a key column {name!r}, found {_excerpt(header)}{nearest(name, header)}", path=path, line=line
            )
    system = folded.index(SYSTEM)
    if all(name in folded for name in _LONG):
        measure, value = (folded.index(name) for name in _LONG)
        known = {SYSTEM, *_LONG, *_OF_INTERVALS}
        return _Columns(system, [place for place, cell in enumerate(folded) if cell not in known], measure, [value])
    named = {*KEYS, *(name.casefold() for name in keys)}
    own_keys = [place for place, cell in enumerate(folded) if cell in named]
    values = [place for place in range(len(header)) if place != system and place not in own_keys]
    if not values:
        raise FormatError(
            f"expected a column for each measure besides the systems, found {_excerpt(header)}", path=path, line=line
        )
    nameless = [place for place in values if not folded[place]]
    if nameless:
        index = "; leave out the row numbers (in pandas: to_csv(..., index=False))" if nameless[0] == 0 else ""
        raise FormatError(
            f"expected the name of a measure over column {nameless[0] + 1}, found an empty cell{index}",
            path=path,
            line=line,
        )
    return _Columns(system, own_keys, None, values)


def _value(path: str, line: int, column: str, cell: str, *, wide: bool) -> float:
    text = cell.strip()
    if text.casefold() in _UNDEFINED:
        return float("nan")
    number = finite(text)
    if number is None:
        is_label = wide and not re.match(r"[+-]?\.?(\d|inf)", text, re.ASCII | re.IGNORECASE)
        way_out = "; if the column distinguishes rows of one system, name it with --key" if is_label else ""
        raise FormatError(
            f"expected a number under {column!r}, found {_excerpt([cell])}{way_out}", path=path, line=line
        )
    return number


def _excerpt(cells: Sequence[str]) -> str:
    return shown(",".join(cells).encode("utf-8", "replace"))


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _rows(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows, header first, each with the line on which it begins."""
    first = _first_line(text)
    rows = csv_rows(path, text, "\t" if first.count("\t") > first.count(",") else ",")
    return ((line, [unguarded(cell) for cell in row]) for line, row in rows)

"""Leaderboards as TREC AutoJudge has them: rows ``run measure topic value``, separated by blanks, without a header."""

from __future__ import annotations

import re

import numpy as np

from kgtrec.data.scores import ScoreTable
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.csv_text import finite
from kgtrec.formats.lines import Line
from kgtrec.formats.trec.text import shown

_HEADER = ("run", "measure", "topic", "value")
_ALL = "all"  # the topic of totals
_TOPIC = "question"  # the key that topics become, as in tables of kgtrec evaluate --per question
_MEASURE = re.compile(r"[^\W\d]\S*")


def is_leaderboard(line: str) -> bool:
    """Return whether a file that begins with this line is a leaderboard.

    The second column is a name, while in qrels, which have four columns too, it is a number or ``Q0``.

    Examples
    --------
    >>> [is_leaderboard(line) for line in ("mine map all 0.25", "run measure topic value", "q1 0 paris 1", "q1 Q0 a 1")]
    [True, True, False, False]
    """
    cells = line.split()
    if len(cells) != len(_HEADER) or "," in line:
        return False
    is_row = _MEASURE.fullmatch(cells[1]) is not None and cells[1] != "Q0" and _value(cells[3]) is not None
    return is_row or _is_header(cells)


def read_rows(place: str, text: str, name: str) -> ScoreTable:
    """Read the table of a leaderboard's text: its rows of the topic ``all``, or of every topic if there is none.

    Raises
    ------
    FormatError
        With the line, if a row has not four columns, a value is not a number, or a value is repeated.
    """
    rows: list[tuple[str, str, str]] = []
    values: list[float] = []
    lines: dict[tuple[str, str, str], int] = {}
    for number, text_of_line in enumerate(text.splitlines(), 1):
        line, cells = Line(place, number), text_of_line.split()
        if not cells or (not rows and _is_header(cells)):
            continue
        if len(cells) != len(_HEADER):
            expected = f"expected 4 columns ({' '.join(_HEADER)})"
            raise line.error(f"{expected}, found {len(cells)}: {shown(text_of_line.encode())}")
        value, row = _value(cells[3]), (cells[0], cells[1], cells[2])
        if value is None:
            raise line.error(f"expected a number as value, found {cells[3]!r}")
        line.once(lines, row, ", ".join(row), "each run, measure and topic")
        rows.append(row)
        values.append(value)
    if not rows:
        raise FormatError("expected rows of systems' scores, found only a header", path=place)
    totals = [row[2] == _ALL for row in rows]
    kept = [place for place, is_total in enumerate(totals) if is_total or not any(totals)]
    systems, measures, topics = zip(*(rows[place] for place in kept), strict=True)
    keys = {} if any(totals) else {_TOPIC: topics}
    with in_file(place):
        return ScoreTable.of_rows(systems, measures, keys, np.array([values[place] for place in kept]), name)


def _is_header(cells: list[str]) -> bool:
    named = [cell.casefold().removesuffix("_id") for cell in cells]
    return tuple(named) == _HEADER


def _value(cell: str) -> float | None:
    """The number in a cell, NaN included; None if it is another text."""
    return float("nan") if cell.casefold() == "nan" else finite(cell)

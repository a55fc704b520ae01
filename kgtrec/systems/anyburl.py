"""AnyBURL, PyClause and SAFRAN: ranking files, with ranked heads and tails for each test triple.

AnyBURL's apply step, PyClause's ``RankingHandler.write_ranking`` and SAFRAN write the same three lines for each triple:
``head relation tail``, ``Heads: entity score entity score ...``, and ``Tails: ...``; a tab follows each entity and each
score. PyClause reads the two lists in either order, and so does this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.run import repeated_row
from kgtrec.errors import FormatError, counted
from kgtrec.formats.files import reading
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.text import BLOCK_SIZE, NUMBER, joined_codes, shown, whole_lines
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.first_lines import first_lines
from kgtrec.systems.kinds import RankedLists

_HEADS, _TAILS = b"Heads:", b"Tails:"
_PREFIX = len(_HEADS)
_TAB, _LINE, _RETURN, _SPACE = b"\t\n\r "
_BLOCK_SIZE = BLOCK_SIZE
_GROUP = 3  # lines of a triple
_WAY_OUT = "labels with spaces need tabs between the columns of every line"


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The content of some lines; entities and relations in the order of the file."""

    line: NDArray[np.int64]  # (lines,) number of each line that is not blank
    is_head: NDArray[np.bool_]  # (lines,) True: a list of heads; undefined for triples
    count: NDArray[np.int64]  # (lines,) listed entities; 2 for triples
    entities: pa.DictionaryArray  # heads and tails of triples, and listed entities
    relations: pa.DictionaryArray


def _read(path: Path, given: Given) -> RankedLists:
    blocks: list[_Lines] = []
    line, phase = 1, 0
    with reading(path) as stream:
        for data in whole_lines(stream, str(path), _BLOCK_SIZE):
            block = _parsed(data, line, phase, path)
            blocks.append(block)
            line += data.count(b"\n")
            phase = (phase + len(block.line)) % _GROUP
    lines = np.concatenate([np.zeros(0, np.int64), *(block.line for block in blocks)])
    if len(lines) == 0:
        raise FormatError("expected triples with ranked heads and tails, found an empty file", path=path)
    if phase:
        raise FormatError(
            "expected a list of heads and one of tails below each triple, found the end of the file; was it cut off?",
            path=path,
            line=int(lines[-1]),
        )
    entities, code = joined_codes([block.entities for block in blocks])
    relations, relation = joined_codes([block.relations for block in blocks])
    count = np.concatenate([block.count for block in blocks])
    is_head = np.concatenate([block.is_head for block in blocks]).reshape(-1, _GROUP)[:, 1:].ravel()
    is_triple = np.arange(len(count)) % _GROUP == 0
    of_line = np.repeat(is_triple, count)
    triple = np.repeat(code[of_line].reshape(-1, 2), 2, axis=0)  # once for each of its lists
    head, tail = triple[:, 0], triple[:, 1]
    length, line_of = count[~is_triple], lines[~is_triple]
    if (same := np.flatnonzero(is_head[::2] == is_head[1::2])).size:
        raise FormatError(
            "expected one list of heads and one of tails for each triple, found two of "
            + ("heads" if is_head[2 * same[0]] else "tails"),
            path=path,
            line=int(line_of[2 * same[0] + 1]),
        )
    entity, start = code[~of_line], np.concatenate([[0], np.cumsum(length)])
    of_list = np.repeat(np.arange(len(length), dtype=np.int32), length)
    if (row := repeated_row(of_list, entity, len(entities))) is not None:
        raise FormatError(
            f"expected each entity once in a list, found {entities[entity[row]]!r} more than once",
            path=path,
            line=int(line_of[of_list[row]]),
        )
    anchor, answer, level = *np.where(is_head, [tail, head], [head, tail]), np.arange(len(entity)) - start[of_list]
    columns = entities, relations, is_head, anchor, np.repeat(relation, 2), answer
    kind = f"ranked heads and tails of {len(lines) // _GROUP:,} triples, as AnyBURL, PyClause and SAFRAN write them"
    return RankedLists(default_name(path), *columns, start, entity, level, kind)


def _parsed(data: bytes, first_line: int, phase: int, path: Path) -> _Lines:
    """Parse a block; its first line that is not blank is line ``phase`` of its triple."""
    text = np.frombuffer(data, np.uint8)
    _require_text(data, first_line, path)
    end = np.flatnonzero(text == _LINE)
    start = np.r_[0, end[:-1] + 1][: len(end)]
    end = end - ((end > start) & (text[end - 1] == _RETURN))
    line = np.flatnonzero(end > start)
    start, end, line = start[line], end[line], line + first_line
    number = (np.arange(len(line)) + phase) % _GROUP
    is_list = number > 0

    begins = text[np.minimum(start[:, None] + np.arange(_PREFIX), len(text) - 1)]
    is_head, is_tail = ((begins == np.frombuffer(prefix, np.uint8)).all(axis=1) for prefix in (_HEADS, _TAILS))
    wrong: list[tuple[int, str]] = []  # row, message; the first is raised
    if (other := np.flatnonzero(is_list & ~is_head & ~is_tail)).size:
        wrong.append((int(other[0]), "expected a line of 'Heads: ...' or 'Tails: ...' below a triple"))

    begin = np.minimum(np.where(is_list, start + _PREFIX, start), end)
    begin += is_list & (begin < end) & np.isin(text[np.minimum(begin, len(text) - 1)], (_SPACE, _TAB))
    token_start, token_end, row, gap = _tokens(text, begin, end)
    if len(gap):
        wrong.append((int(gap[0]), "expected a label or a score between two tabs, found none"))
    count = np.bincount(row, minlength=len(line))
    for is_wrong, what in (
        (is_list & (count % 2 == 1), "a score for each entity"),
        (~is_list & (count != _GROUP), "head, relation and tail"),
    ):
        if (rows := np.flatnonzero(is_wrong)).size:
            columns = count[rows[0]]
            way_out = _WAY_OUT if is_list[rows[0]] or columns > _GROUP else "the file may be cut off"
            wrong.append((int(rows[0]), f"expected {what}, found {counted(columns, 'column')}; {way_out}"))
    if wrong:
        first, message = min(wrong)
        found = data[start[first] : end[first]]
        raise FormatError(f"{message}: {shown(found)}", path=path, line=int(line[first]))

    # every second piece is a column, and the others separate them; so take() makes the only copy
    bounds = np.stack([token_start, token_end], axis=1).ravel().astype(np.int32)
    pieces = pa.StringArray.from_buffers(max(len(bounds) - 1, 0), pa.py_buffer(bounds), pa.py_buffer(data))
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    is_relation = ~is_list[row] & (place == 1)
    is_score = is_list[row] & (place % 2 == 1)
    _require_numbers(_taken(pieces, is_score), line[row[is_score]], path)
    return _Lines(
        line,
        is_head,
        np.where(is_list, count // 2, 2),
        _taken(pieces, ~is_relation & ~is_score).dictionary_encode(),
        _taken(pieces, is_relation).dictionary_encode(),
    )


def _tokens(
    text: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Begin, end and row of each column, split at tabs, or at spaces where there are none; and rows with gaps."""
    tab = np.flatnonzero(text == _TAB)
    row = np.searchsorted(end, tab, side="right")
    inside = row < len(end)
    inside[inside] = tab[inside] >= begin[row[inside]]
    tab, row = tab[inside], row[inside]
    has_tab = np.zeros(len(end), np.bool_)
    has_tab[row] = True
    between = tab
    if not has_tab.all():
        space = np.flatnonzero(text == _SPACE)
        row = np.searchsorted(end, space, side="right")
        inside = row < len(end)
        inside[inside] = (space[inside] >= begin[row[inside]]) & ~has_tab[row[inside]]
        between = np.sort(np.concatenate([tab, space[inside]]), kind="stable")
    token_start = np.sort(np.concatenate([begin, between + 1]), kind="stable")
    token_end = np.sort(np.concatenate([between, end]), kind="stable")
    row = np.searchsorted(end, token_end)
    full = token_end > token_start
    last = np.full(len(end), -1)
    last[row[full]] = np.flatnonzero(full)  # of several assignments the last one holds
    gap = row[~full & has_tab[row] & (np.arange(len(row)) < last[row])]
    return token_start[full], token_end[full], row[full], gap


def _taken(pieces: pa.StringArray, which: NDArray[np.bool_]) -> pa.StringArray:
    return pieces.take(arrow_of(2 * np.flatnonzero(which)))


def _require_text(data: bytes, first_line: int, path: Path) -> None:
    try:
        data.decode()
        place, found = data.find(b"\0"), "a zero byte"
    except UnicodeDecodeError as error:
        place, found = error.start, "other bytes"
    if place >= 0:
        raise FormatError(
            f"expected text in UTF-8, found {found}", path=path, line=first_line + data.count(b"\n", 0, place)
        )


def _require_numbers(scores: pa.StringArray, line: NDArray[np.int64], path: Path) -> None:
    try:
        pc.cast(scores, pa.float64())
    except pa.ArrowInvalid:
        for row, score in enumerate(scores.to_pylist()):
            # NaN is accepted, since only the order is used
            if not NUMBER.fullmatch(score.encode()) and score.lower().lstrip("+-") != "nan":
                raise FormatError(
                    f"expected a number behind each entity, found {shown(score.encode())}; {_WAY_OUT}",
                    path=path,
                    line=int(line[row]),
                ) from None


def _recognises(path: Path) -> bool:
    lines = first_lines(path, 2)
    return len(lines) == 2 and lines[1].startswith((_HEADS, _TAILS))


ADAPTERS = (
    Adapter(
        "anyburl",
        "AnyBURL, PyClause, SAFRAN",
        "a ranking file: lines 'head relation tail', 'Heads: entity score ...' and 'Tails: ...'",
        "ranked lists",
        "",
        _recognises,
        _read,
    ),
)

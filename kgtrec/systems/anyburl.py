"""AnyBURL, PyClause and SAFRAN: ranking files, with ranked heads and tails for each test triple.

AnyBURL's apply step, PyClause's ``RankingHandler.write_ranking`` and SAFRAN write the same three lines for each triple:
``head relation tail``, ``Heads: entity score entity score ...``, and ``Tails: ...``; a tab follows each entity and each
score. PyClause reads the two lists in either order, and so does this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.errors import FormatError, counted, require
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.text import BLOCK_SIZE, NUMBER, decoded, joined_codes, numbered_blocks, shown
from kgtrec.kernels.integer_keys import ranges
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.first_lines import first_lines
from kgtrec.systems.kinds import RankedLists

_HEADS, _TAILS = "Heads:", "Tails:"
_BLOCK_SIZE = BLOCK_SIZE
_GROUP = 3  # lines of a triple
_WAY_OUT = "labels with spaces need tabs between the columns of every line"


@dataclass(slots=True)
class _Lines:
    """The content of the lines read so far; entities and relations in the order of the file."""

    path: Path
    line: list[int] = field(default_factory=list)  # number of each line that is not blank
    is_head: list[bool] = field(default_factory=list)  # of each; of triples undefined
    count: list[int] = field(default_factory=list)  # listed entities; 2 for triples
    entities: list[pa.DictionaryArray] = field(default_factory=list)  # heads and tails of triples, and listed entities
    relations: list[pa.DictionaryArray] = field(default_factory=list)

    def error(self, message: str, line: int) -> FormatError:
        return FormatError(message, path=self.path, line=line)

    def add(self, data: bytes, first_line: int) -> None:
        """Add the lines of a block."""
        lines = decoded(data, self.path, first_line).split("\n")
        if (zero := data.find(b"\0")) >= 0:
            raise self.error("expected text in UTF-8, found a zero byte", first_line + data.count(b"\n", 0, zero))
        begun, columns = len(self.line), []
        for number, line in enumerate(lines, first_line):
            if text := line.removesuffix("\r"):
                columns.append(self._columns(text, number))
        listed = np.array(self.count[begun:], np.int64)
        is_list = (np.arange(len(listed)) + begun) % _GROUP > 0
        count = np.where(is_list, 2 * listed, _GROUP)
        texts = pc.split_pattern(pa.array(["\t".join(filter(None, columns))]), "\t").values[: count.sum()]
        row, place = ranges(np.zeros_like(count), count)
        is_second, is_list = place % 2 == 1, is_list[row]
        self.entities.append(texts.filter(pa.array(~is_second)).dictionary_encode())
        self.relations.append(texts.filter(pa.array(is_second & ~is_list)).dictionary_encode())
        is_score = is_second & is_list
        self._require_numbers(texts.filter(pa.array(is_score)), begun + row[is_score])

    def _columns(self, text: str, number: int) -> str:
        """Note a line, and return its columns between tabs."""
        is_list = len(self.line) % _GROUP > 0
        if is_list and not text.startswith((_HEADS, _TAILS)):
            raise self.error(
                f"expected a line of 'Heads: ...' or 'Tails: ...' below a triple: {shown(text.encode())}", number
            )
        body = text[len(_HEADS) :] if is_list else text
        if is_list and body[:1] in (" ", "\t"):
            body = body[1:]
        columns = body.rstrip("\t") if "\t" in body else "\t".join(filter(None, body.split(" ")))
        count = columns.count("\t") + 1 if columns else 0
        if columns.startswith("\t") or "\t\t" in columns:
            raise self.error(
                f"expected a label or a score between two tabs, found none: {shown(text.encode())}", number
            )
        if count % 2 == 1 if is_list else count != _GROUP:
            what = "a score for each entity" if is_list else "head, relation and tail"
            way_out = _WAY_OUT if is_list or count > _GROUP else "the file may be cut off"
            raise self.error(
                f"expected {what}, found {counted(count, 'column')}; {way_out}: {shown(text.encode())}", number
            )
        self.line.append(number)
        self.is_head.append(text.startswith(_HEADS))
        self.count.append(count // 2 if is_list else 2)
        return columns

    def _require_numbers(self, scores: pa.StringArray, row: NDArray[np.intp]) -> None:
        try:
            pc.cast(scores, pa.float64())
        except pa.ArrowInvalid:
            for place, score in enumerate(scores.to_pylist()):
                # NaN is accepted, since only the order is used
                if not NUMBER.fullmatch(score.encode()) and score.lower().lstrip("+-") != "nan":
                    message = f"expected a number behind each entity, found {shown(score.encode())}; {_WAY_OUT}"
                    raise self.error(message, self.line[row[place]]) from None


def _recognises(path: Path) -> bool:
    lines = first_lines(path, 2)
    return len(lines) == 2 and lines[1].startswith((_HEADS.encode(), _TAILS.encode()))


@Adapter.of(
    "anyburl",
    "AnyBURL, PyClause, SAFRAN",
    "a ranking file: lines 'head relation tail', 'Heads: entity score ...' and 'Tails: ...'",
    "ranked lists",
    "",
    _recognises,
)
def _read(path: Path, options: ReadOptions) -> RankedLists:
    lines = _Lines(path)
    for first_line, data in numbered_blocks(path, _BLOCK_SIZE):
        lines.add(data, first_line)
    if not lines.line:
        raise FormatError("expected triples with ranked heads and tails, found an empty file", path)
    if len(lines.line) % _GROUP:
        raise lines.error(
            "expected a list of heads and one of tails below each triple, found the end of the file; was it cut off?",
            lines.line[-1],
        )
    (entities, code), (relations, relation) = joined_codes(lines.entities), joined_codes(lines.relations)
    count, line_of = (np.array(column).reshape(-1, _GROUP) for column in (lines.count, lines.line))
    is_head, length = np.array(lines.is_head).reshape(-1, _GROUP)[:, 1:], count[:, 1:].ravel()
    of_triple = np.repeat(np.arange(count.size) % _GROUP == 0, count.ravel())
    head, tail = np.repeat(code[of_triple].reshape(-1, 2), 2, axis=0).T  # once for each of a triple's lists
    require(
        is_head[:, 0] != is_head[:, 1],
        lambda triple: lines.error(
            "expected one list of heads and one of tails for each triple, found two of "
            + ("heads" if is_head[triple, 0] else "tails"),
            line_of[triple, 2],
        ),
    )
    is_head, entity = is_head.ravel(), code[~of_triple]
    anchor, answer = np.where(is_head, [tail, head], [head, tail])
    columns = entities, relations, is_head, anchor, np.repeat(relation, 2), answer
    lists = np.concatenate([[0], np.cumsum(length)]), entity, np.arange(len(entity))
    kind = f"ranked heads and tails of {len(count):,} triples, as AnyBURL, PyClause and SAFRAN write them"
    return RankedLists(default_name(path), *columns, *lists, kind).require_once(
        lambda label, row: lines.error(
            f"expected each entity once in a list, found {label!r} more than once", line_of[:, 1:].ravel()[row]
        )
    )

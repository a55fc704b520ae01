"""Ranked lists as JSON Lines, which any text model can write."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.run import repeated_row
from kgtrec.errors import FormatError, kind_of
from kgtrec.formats.json_text import json_value
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.text import joined_codes, numbered_blocks, shown
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.first_lines import first_bytes
from kgtrec.systems.kinds import RankedLists
from kgtrec.systems.names import with_labels

_EXAMPLE = '{"head": "paris", "relation": "capital of", "tail": null, "candidates": [["france", 0.9], ["italy", 0.2]]}'


@dataclass(slots=True)
class _Lists:
    """The columns of the lines read so far."""

    line: list[int] = field(default_factory=list)
    is_head: list[bool] = field(default_factory=list)
    anchor: list[str] = field(default_factory=list)
    relation: list[str] = field(default_factory=list)
    answer: list[str | None] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    entities: list[pa.DictionaryArray] = field(default_factory=list)
    levels: list[NDArray[np.bool_]] = field(default_factory=list)  # whether each entity begins a level


def _read(path: Path, options: ReadOptions) -> RankedLists:
    found = _Lists()
    for first_line, data in numbered_blocks(path):
        _add(found, data, first_line, path)
    n = len(found.line)
    if n == 0:
        raise FormatError(f"expected lines such as {_EXAMPLE}, found an empty file", path=path)
    named = [answer for answer in found.answer if answer is not None]
    asked = pa.array([*found.anchor, *named], pa.string()).dictionary_encode()
    entities, code = joined_codes([asked, *found.entities])
    relations, relation = joined_codes([pa.array(found.relation, pa.string()).dictionary_encode()])
    answer = np.full(n, -1, np.int32)
    answer[[each is not None for each in found.answer]] = code[n : n + len(named)]
    start = np.concatenate([[0], np.cumsum(found.length)])
    lists = with_labels(
        RankedLists(
            default_name(path),
            entities,
            relations,
            np.array(found.is_head, np.bool_),
            code[:n],
            relation,
            answer,
            start,
            code[len(asked) :],
            np.cumsum(np.concatenate([np.zeros(0, np.bool_), *found.levels])),
            f"{n:,} ranked lists as JSON Lines",
        ),
        options.entities,
        options.relations,
    )
    of_list = np.repeat(np.arange(n, dtype=np.int32), found.length)
    if (row := repeated_row(of_list, lists.entity, len(lists.entities))) is not None:
        raise FormatError(
            f"expected each entity once among the candidates, found {lists.entities[lists.entity[row]]!r} more than "
            "once" + ("" if options.entities is None else ", perhaps under two names") + "; keep the first",
            path=path,
            line=found.line[of_list[row]],
        )
    return lists


def _add(found: _Lists, data: bytes, first_line: int, path: Path) -> None:
    """Add the lines of a block."""
    labels: list[str] = []
    for line, text in enumerate(data.split(b"\n")[:-1], first_line):
        if not text.strip():
            continue
        value = json_value(text, path, first_line=line, way_out=f"a line is such as {_EXAMPLE}")
        try:
            is_head, anchor, relation, answer = _question(value)
            own, levels = _candidates(value)
        except _WrongError as error:
            raise FormatError(f"{error}: {shown(text)}", path=path, line=line) from None
        found.line.append(line)
        found.is_head.append(is_head)
        found.anchor.append(anchor)
        found.relation.append(relation)
        found.answer.append(answer)
        found.length.append(len(own))
        found.levels.append(levels)
        labels += own
    found.entities.append(pa.array(labels, pa.string()).dictionary_encode())


class _WrongError(Exception):
    """The fault of a line."""


def _question(value: Any) -> tuple[bool, str, str, str | None]:
    """Whether the head is asked for, the anchor, the relation, and the answer that the list was made for."""
    if not isinstance(value, dict):
        raise _WrongError(f"expected an object such as {_EXAMPLE}, found another value")
    head, relation, tail = (value.get(key) for key in ("head", "relation", "tail"))
    if (head is None) == (tail is None):
        raise _WrongError(
            "expected the side that is asked for to be null, head or tail, found "
            + ("both" if head is None else "neither; the answer that a list was made for has the key 'answer'")
        )
    key, anchor, answer = "tail" if head is None else "head", tail if head is None else head, value.get("answer")
    if not isinstance(anchor, str) or not isinstance(relation, str):
        wrong, found = (key, anchor) if not isinstance(anchor, str) else ("relation", relation)
        raise _WrongError(f"expected a text as {wrong}, found {'nothing' if found is None else kind_of(found)}")
    if answer is not None and not isinstance(answer, str):
        raise _WrongError(f"expected a text as answer, or null, found {kind_of(answer)}")
    return head is None, anchor, relation, answer


def _candidates(value: dict[str, Any]) -> tuple[list[str], NDArray[np.bool_]]:
    """The labels of the candidates, and whether each stands below the one before it."""
    found = value.get("candidates")
    if not isinstance(found, list):
        raise _WrongError("expected a list as candidates, found " + ("none" if found is None else kind_of(found)))
    kinds = set(map(type, found))
    if kinds <= {str}:
        return found, np.ones(len(found), np.bool_)
    if kinds != {list} or set(map(len, found)) != {2}:
        raise _WrongError("expected candidates that are all [label, score], or all labels, found others")
    labels, scores = map(list, zip(*found, strict=True))
    if set(map(type, labels)) != {str} or not set(map(type, scores)) <= {int, float}:
        raise _WrongError("expected [label, score] as candidates, a text and a number, found others")
    try:
        score = np.array(scores, np.float64)
    except OverflowError:
        raise _WrongError("expected scores that a float can hold, found a larger number") from None
    if not np.max(score, initial=-np.inf) < np.inf:
        raise _WrongError("expected numbers as scores, found NaN or +inf")
    rises = score[1:] > score[:-1]
    if rises.any():
        place = int(np.argmax(rises))
        raise _WrongError(
            f"expected candidates from the best to the worst, the highest score first, found {scores[place + 1]!r} "
            f"below {scores[place]!r}; sort them, change the sign of distances, or leave the scores out"
        )
    return labels, np.r_[True, score[1:] < score[:-1]]


ADAPTERS = (
    Adapter(
        "jsonl",
        "KGT5 and any other text model",
        f"ranked lists as JSON Lines: {_EXAMPLE}",
        "ranked lists",
        "--entities and --relations with lines 'label TAB name' if it predicts names",
        lambda path: first_bytes(path).lstrip().startswith(b"{") and b'"candidates"' in first_bytes(path),
        _read,
    ),
)

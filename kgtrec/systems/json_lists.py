"""Ranked lists as JSON Lines, which any text model can write; ``"time": "2014-03-02"`` where facts have one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.triples import BETWEEN
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError, counted, kind_of
from kgtrec.formats.json_text import json_value
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.text import joined_codes, numbered_blocks, shown
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.first_lines import first_bytes
from kgtrec.systems.kinds import RankedLists

_EXAMPLE = '{"head": "paris", "relation": "capital of", "tail": null, "candidates": [["france", 0.9], ["italy", 0.2]]}'


@Adapter.of(
    "jsonl",
    "KGT5 and any other text model",
    f"ranked lists as JSON Lines: {_EXAMPLE}",
    "ranked lists",
    "--entities and --relations with lines 'label TAB name' if it predicts names",
    lambda path: first_bytes(path).lstrip().startswith(b"{") and b'"candidates"' in first_bytes(path),
)
def _read(path: Path, options: ReadOptions) -> RankedLists:
    rows: list[tuple[Any, ...]] = []  # line, question, answer, number of candidates, which of them begin a level
    listed: list[pa.DictionaryArray] = []
    for first_line, data in numbered_blocks(path):
        labels: list[str] = []
        for number, text in enumerate(data.split(b"\n")[:-1], first_line):
            if text.strip():
                value = json_value(text, path, first_line=number, way_out=f"a line is such as {_EXAMPLE}")
                try:
                    question, (candidates, begins_level) = _question(value), _candidates(value)
                except _WrongError as error:
                    raise FormatError(f"{error}: {shown(text)}", path, line=number) from None
                rows.append((number, *question, len(candidates), begins_level))
                labels += candidates
        listed.append(pa.array(labels, pa.string()).dictionary_encode())
    if not rows:
        raise FormatError(f"expected lines such as {_EXAMPLE}, found an empty file", path)
    line, is_head, anchor, relation, answers, length, levels = zip(*rows, strict=True)
    n, made_for = len(rows), [answer for answer in answers if answer is not None]
    asked = pa.array([*anchor, *made_for], pa.string()).dictionary_encode()
    entities, code = joined_codes([asked, *listed])
    relations, relation_code = joined_codes([pa.array(relation, pa.string()).dictionary_encode()])
    answer = np.full(n, -1, np.int32)
    answer[[each is not None for each in answers]] = code[n : len(asked)]
    return _with_labels(
        RankedLists(
            default_name(path),
            entities,
            relations,
            np.array(is_head, np.bool_),
            code[:n],
            relation_code,
            answer,
            np.concatenate([[0], np.cumsum(length)]),
            code[len(asked) :],
            np.cumsum(np.concatenate(levels)),
            f"{n:,} ranked lists as JSON Lines",
        ),
        options.entities,
        options.relations,
    ).require_once(
        lambda label, row: FormatError(
            f"expected each entity once among the candidates, found {label!r} more than once"
            + ("" if options.entities is None else ", perhaps under two names")
            + "; keep the first",
            path,
            line=line[row],
        )
    )


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
    if (time := value.get("time")) not in (None, ""):
        if type(time) not in (str, int):
            raise _WrongError(f"expected a text or a whole number as time, or null, found {kind_of(time)}")
        relation = f"{relation}{BETWEEN}{time}"
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


def _labelled(names: Vocabulary, path: Path, noun: str) -> tuple[Vocabulary, Codes]:
    """The labels of some names, and the row of each name's label; a name that is not in the file is taken as a label.

    The file has a label, a tab and its name on each line; further columns are ignored.
    """
    lines = Lines.read(path)
    n_columns = max(lines.data.partition(b"\n")[0].count(b"\t") + 1, 2)
    label, name = read_fields(lines, n_columns, "a label, a tab and a name")[:2]
    if len(label) == 0:
        raise FormatError("expected lines of a label, a tab and a name, found an empty file", path)
    labels, label_code = Vocabulary.encoding(label)
    known, name_code = Vocabulary.encoding(name)
    # of each name the first label that has it, and another one that has it too; -1: none
    first, other = np.zeros(len(known), np.int64), np.full(len(known), -1)
    first[name_code[::-1]] = label_code[::-1]  # in reverse, so that the first line of the file wins
    differs = label_code != first[name_code]
    other[name_code[differs]] = label_code[differs]
    code = known.encode(names.labels)
    rows = np.flatnonzero(code >= 0)
    several = rows[other[code[rows]] >= 0]
    if len(several):
        one = code[several[0]]
        raise FormatError(
            f"expected each name to belong to one {noun}, found {names[several[0]]!r} for {labels[first[one]]} and "
            f"{labels[other[one]]} ({counted(len(several), 'such name')} in the lists); put labels there in place of "
            "these names",
            path,
        )
    texts = names.labels.to_pylist()
    for row, text in zip(rows.tolist(), labels.decode(first[code[rows]]).to_pylist(), strict=True):
        texts[row] = text
    return Vocabulary.encoding(texts)


def _with_labels(lists: RankedLists, entities: Path | None, relations: Path | None) -> RankedLists:
    """Ranked lists of names as ranked lists of labels; None: labels already."""
    if entities is not None:
        vocabulary, code = _labelled(lists.entities, entities, "entity")
        lists = replace(
            lists,
            entities=vocabulary,
            anchor=code[lists.anchor],
            answer=np.where(lists.answer >= 0, code[lists.answer], np.int32(-1)),
            entity=code[lists.entity],
        )
    if relations is not None:
        vocabulary, code = _labelled(lists.relations, relations, "relation")
        lists = replace(lists, relations=vocabulary, relation=code[lists.relation])
    return lists

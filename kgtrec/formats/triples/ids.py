"""Triples as numbers, with dictionaries beside them: the folders of OpenKE and of LibKGE.

The dictionaries' numbering is kept, including labels without triples: a collection's entity codes are then the
folder's own, and score matrices of its models need no reordering.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_codes, read_fields

OPENKE_DICTIONARIES = ("entity2id.txt", "relation2id.txt")
LIBKGE_DICTIONARIES = ("entity_ids.del", "relation_ids.del")


def beside(path: PathLike, name: str) -> Path:
    """Return the file ``name``, plain or compressed, in the folder of ``path``.

    Raises
    ------
    FormatError
        If there is none.
    """
    for suffix in ("", ".gz", ".zst"):
        if (found := Path(path).parent / f"{name}{suffix}").is_file():
            return found
    raise FormatError(f"expected {name} beside it, which has the labels of the numbers, found none", path)


def read_openke(path: PathLike) -> Triples:
    """Read an OpenKE file such as ``train2id.txt``: a line with the number of triples, ``head tail relation`` lines."""
    labels = [_openke_dictionary(beside(path, name)) for name in OPENKE_DICTIONARIES]
    count, lines = _counted(Lines.read(path), "triples")
    return _triples(lines, "htr", "3 numbers (head tail relation)", labels, count)


def read_openke_lists(path: PathLike) -> tuple[pa.StringArray, NDArray[np.bool_], pa.StringArray]:
    """Read OpenKE's ``type_constrain.txt``: the relation, whether it is of heads, and the entity of each row, (n,)."""
    entities, relations = (_openke_dictionary(beside(path, name)) for name in OPENKE_DICTIONARIES)
    count, lines = _counted(Lines.read(path), "relations")
    _require_count(lines, 2 * count, len(lines.rows), "lines, two for each relation")
    rows = [[int(text) if text.isdigit() else -1 for text in line.data.split()] for line in lines.rows]
    for row, line in zip(rows, lines.rows, strict=True):
        of, n, *own = row if len(row) > 1 else [-1, 0]
        if n != len(own) or not (0 <= of < len(relations) and all(0 <= code < len(entities) for code in own)):
            raise line.error("expected the number of a relation, how many entities follow, and their numbers")
    place = np.repeat(np.arange(len(rows)), [len(row) - 2 for row in rows])
    codes = np.array([code for row in rows for code in row[2:]], np.int32)
    return relations.decode(np.array([row[0] for row in rows])[place]), place % 2 == 0, entities.decode(codes)


def read_libkge(path: PathLike) -> Triples:
    """Read the triples of a LibKGE file such as ``train.del``: ``head TAB relation TAB tail`` as numbers."""
    labels = [read_numbered_labels(beside(path, name)) for name in LIBKGE_DICTIONARIES]
    return _triples(Lines.read(path), "hrt", "3 numbers (head, relation, tail) separated by TAB", labels)


def _triples(lines: Lines, order: str, expected: str, labels: list[Vocabulary], count: int | None = None) -> Triples:
    """The triples of lines of numbers; ``order``: of their columns."""
    column = dict(zip(order, read_fields(lines, 3, expected), strict=True))
    if count is not None:
        _require_count(lines, count, len(column["h"]), "triples")
    entities, relations = labels
    numbered = ("h", entities, "a head"), ("r", relations, "a relation"), ("t", entities, "a tail")
    codes = [read_codes(lines, column[letter], len(own), what).astype(np.int32) for letter, own, what in numbered]
    return Triples(codes[0], codes[1], codes[2], entities, relations)


def _openke_dictionary(path: Path) -> Vocabulary:
    count, lines = _counted(Lines.read(path), "labels")
    # the number follows the last white space, so that labels may contain some
    lines = replace(lines, data=re.sub(rb"(?m)[ \t]+([0-9]+)[ \t]*(?=\r?$)", rb"\t\1", lines.data))
    labels, numbers = read_fields(lines, 2, "a label and its number")
    _require_count(lines, count, len(labels), "labels")
    return _in_order(lines, labels, read_codes(lines, numbers, len(labels), "a number"))


def read_numbered_labels(path: PathLike) -> Vocabulary:
    """Read labels of lines ``number TAB label``, in any order, with each number from 0 on once.

    Raises
    ------
    FormatError
        For the first line that is none, a number that is repeated or too large, or a repeated label.
    """
    lines = Lines.read(path)
    numbers, labels = read_fields(lines, 2, "a number and its label, separated by TAB")
    return _in_order(lines, labels, read_codes(lines, numbers, len(labels), "a number"))


def _in_order(lines: Lines, labels: pa.StringArray, numbers: NDArray[np.int64]) -> Vocabulary:
    first = np.unique(numbers, return_index=True)[1]
    lines.require(
        np.bincount(first, minlength=len(numbers)) > 0,
        lambda row: f"expected each number once, found {numbers[row]} again",
    )
    with in_file(lines.path):
        return Vocabulary.of(pc.take(labels, pa.array(first)))


def _counted(lines: Lines, what: str) -> tuple[int, Lines]:
    text, rest = lines.without_first()
    if not re.fullmatch(rb"\s*[0-9]{1,18}\s*", text):
        raise FormatError(
            f"expected the number of {what} alone in the first line, as OpenKE writes it, found "
            f"{text[:100].decode(errors='replace')!r}",
            path=lines.path,
            line=1,
        )
    return int(text), rest if what == "labels" else rest.separated()


def _require_count(lines: Lines, count: int, found: int, what: str) -> None:
    if count != found:
        raise FormatError(
            f"expected {count:,} {what}, as the first line says, found {found:,}; the file was cut or edited",
            path=lines.path,
            line=1,
        )

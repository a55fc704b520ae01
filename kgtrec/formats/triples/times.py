"""Facts with a time, from the files of the frameworks for temporal graphs, by the look of their first line.

===================================  ===============================================================================
RE-Net, CyGNet, CENET, RE-GCN, xERTE  ``head TAB relation TAB tail TAB time TAB 0``, numbers, perhaps padded with
                                     blanks; labels in ``entity2id.txt`` and ``relation2id.txt`` (label TAB number)
TLogic, tkbc                         ``head TAB relation TAB tail TAB time``
TGB                                  ``time,head,tail,relation_type``, with a header; one file of all facts
===================================  ===============================================================================
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgtrec.data.arrow import arrow_of
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_codes, read_fields
from kgtrec.formats.triples.ids import OPENKE_DICTIONARIES, beside
from kgtrec.kernels.integer_keys import first_places

_NUMBER = re.compile(rb"\s*-?[0-9]+\s*")
_TIME = re.compile(rb"\s*(-?[0-9]+|-?[0-9]{4,}-[0-9#]{2}(-[0-9#]{2})?([T ][0-9:.]+Z?)?)\s*")
_TGB_HEADER = re.compile(rb"(timestamp|ts|date),(head|src),(tail|dst),relation_type((,\w+)*)")
#: shares of the facts, by time, before valid and before test; where TGB's differ, by the beginning of the file's name
TGB_SHARES = {"tkgl-yago": (0.8, 0.9), "": (0.7, 0.85)}
EDGE_LIST = "_edgelist.csv"
_MOST = 1 << 27  # entities or relations that numbers may stand for


def layout_of(lines: Lines) -> tuple[str, str, Lines] | None:
    r"""Recognise facts with a time: their columns as for ``read_triples``, the delimiter, the lines without header.

    Examples
    --------
    >>> for line in (b"0\t1\t2\t7\t0", b"ann\tin\trome\t2014-11-11", b"ts,head,tail,relation_type"):
    ...     layout_of(Lines("train.txt", line))[:2]
    ('hrtq-', '\t')
    ('hrtq', '\t')
    ('qhtr', ',')
    >>> layout_of(Lines("train.txt", b"a\tr\tb\t0.9\n")) is None
    True
    """
    first, rest = lines.without_first()
    if header := _TGB_HEADER.fullmatch(first.replace(b" ", b"")):
        return "qhtr" + "-" * header[4].count(b","), ",", rest
    fields = first.split(b"\t")
    if len(fields) not in (4, 5) or not _TIME.fullmatch(fields[3]):
        return None
    if len(fields) == 5 and not _NUMBER.fullmatch(fields[4]):
        return None
    return "hrtq-"[: len(fields)], "\t", lines


def read_timed(path: PathLike, layout: tuple[str, str, Lines]) -> Triples:
    """Read facts of a layout that :func:`layout_of` recognised; their relations have the time as qualifier.

    Where the heads, relations and tails are numbers and dictionaries are beside the file, labels are read from them,
    and each number below the greatest is an entity, also where no fact has it.

    Raises
    ------
    FormatError
        For the first malformed line of the file or of a dictionary.
    """
    columns, delimiter, lines = layout
    names = {"h": "head", "r": "relation", "t": "tail", "q": "time", "-": "not read"}
    expected = f"{len(columns)} columns ({', '.join(names[letter] for letter in columns)})"
    fields = read_fields(lines, len(columns), expected, delimiter=delimiter)
    column_of = dict(zip(columns, map(pc.utf8_trim_whitespace, fields), strict=True))
    if not dictionaries_beside(path) or not all(_is_number(column_of[letter][0].as_py()) for letter in "hrt"):
        with in_file(path):
            return Triples.of_columns(*(column_of[letter] for letter in "hrtq"))
    code = {letter: read_codes(lines, column_of[letter], _MOST, names[letter]) for letter in "hrt"}
    labels = [
        _labels(beside(path, name), max(code[letter].max() for letter in letters))
        for name, letters in zip(OPENKE_DICTIONARIES, ("ht", "r"), strict=True)
    ]
    head, tail = (labels[0].decode(code[letter]) for letter in "ht")
    with in_file(path):
        triples = Triples.of_columns(head, labels[1].decode(code["r"]), tail, column_of["q"])
    return triples.recoded(entities=labels[0])


def dictionaries_beside(path: PathLike) -> list[Path]:
    """List the dictionaries of entities and relations beside a file; none where one is missing."""
    try:
        return [beside(path, name) for name in OPENKE_DICTIONARIES]
    except FormatError:
        return []


def shares_of(path: PathLike) -> tuple[float, float]:
    """Return where TGB cuts the facts of a file, see ``TGB_SHARES``."""
    return next(shares for name, shares in TGB_SHARES.items() if Path(path).name.startswith(name))


def _is_number(label: str) -> bool:
    return _NUMBER.fullmatch(label.encode()) is not None


def _labels(path: Path, greatest: int) -> Vocabulary:
    """The label of each number from 0 on; the number itself where the dictionary has none, or one that was before."""
    lines = Lines.read(path)
    width = lines.without_first()[0].count(b"\t") + 1
    label, number, *_ = read_fields(lines, max(width, 2), "a label and its number, separated by TAB")
    codes = read_codes(lines, number, _MOST, "a number")
    lines.require_distinct(codes, lambda row: f"the number {codes[row]}", "each number")
    places = np.full(max(greatest, int(codes.max(initial=-1))) + 1, -1)
    once = first_places(Vocabulary.encoding(label)[1].astype(np.int64))
    places[codes[once]] = once
    own = np.arange(len(places))
    either = pa.concat_arrays([label, pc.cast(arrow_of(own), pa.string())])
    with in_file(path):
        return Vocabulary.of(either.take(arrow_of(np.where(places < 0, len(label) + own, places))))

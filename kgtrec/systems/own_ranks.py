"""Ranks of test triples in a table that any program can write: head, relation, tail, side, rank, and time if any."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from kgtrec.data.frames import Frame
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import qualified
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, require
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.kinds import TripleRanks

_IN_ROW = re.compile(r" in row (\d+)")


def triple_ranks(frame: Any, name: str = "ranks") -> TripleRanks:
    """Take the ranks of test triples from a data frame, for :func:`kgtrec.rank_system`.

    Parameters
    ----------
    frame : DataFrame of pandas, polars or pyarrow
        Columns ``head, relation, tail, side`` (the one that was asked for, "head" or "tail") and ``rank``, from 1 on
        and with the other answers removed; or ``optimistic`` and ``pessimistic`` in place of ``rank``, for ties. And
        ``time``, as text, where facts have one.
    name : str
        Name of the system.

    Raises
    ------
    KgtrecError
        If a column is missing or one too many, a side is unknown, or a rank is no whole number from 1 on.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"head": ["ann"], "relation": ["likes"], "tail": ["tea"], "side": ["tail"], "rank": [3]}
    >>> triple_ranks(pd.DataFrame(row), "mine").above.tolist()
    [2]
    """
    columns = Frame(frame)
    ties = [name for name in ("optimistic", "pessimistic") if name in columns.names]
    if ties and "rank" in columns.names:
        raise KgtrecError(
            f"expected a column rank, or optimistic and pessimistic in its place, found rank and {' and '.join(ties)}; "
            "leave out one or the other"
        )
    hint = "" if ties else "; for ranks of ties give columns optimistic and pessimistic"
    best, worst = (
        columns.counts(name, 1, 2**31 - 1, hint=hint)
        for name in (("optimistic", "pessimistic") if ties else ("rank", "rank"))
    )
    require(
        best <= worst,
        lambda row: KgtrecError(
            f"expected optimistic ranks up to the pessimistic ones, found {best[row]:g} and {worst[row]:g} in row {row}"
        ),
    )
    sides, side = columns.codes("side")
    require(
        np.array([label in SIDES for label in sides], np.bool_)[side],
        lambda row: KgtrecError(f"expected {' or '.join(SIDES)} as side, found {sides[side[row]]!r} in row {row}"),
    )
    entities, code = Vocabulary.encoding(pa.concat_arrays([columns.labels("head"), columns.labels("tail")]))
    label = columns.labels("relation")
    if "time" in columns.names:
        label = qualified(label.cast(pa.string()), columns.labels("time").cast(pa.string()))
    relations, relation = Vocabulary.encoding(label)
    is_head = np.array([label == "head" for label in sides], np.bool_)[side]
    above, tied = (best - 1).astype(np.int64), (worst - best).astype(np.int64)
    return TripleRanks(name, entities, relations, is_head, code[: len(side)], relation, code[len(side) :], above, tied)


@Adapter.of(
    "ranks-csv",
    "any program",
    "NAME.ranks.csv with columns head, relation, tail, side, and rank or optimistic and pessimistic; and time",
    "ranks",
    "",
    lambda path: path.name.endswith(".ranks.csv"),
)
def _read(path: Path, options: ReadOptions) -> TripleRanks:
    texts = csv.ConvertOptions(column_types=dict.fromkeys(("head", "relation", "tail", "side", "time"), pa.string()))
    try:
        table = csv.read_csv(path, convert_options=texts)
    except pa.ArrowInvalid as error:
        raise FormatError(f"expected a CSV file of head, relation, tail, side, rank: {error}", path) from None
    heading = table.column_names[0]
    if signs := [sign for mark, sign in (("\t", "tabs"), (";", "semicolons")) if mark in heading]:
        raise FormatError(f"expected commas between columns, found {signs[0]}: {heading!r}", path, line=1)
    try:
        return triple_ranks(table, path.stem.removesuffix(".ranks"))
    except KgtrecError as error:  # by line, as in other files, and of no data frame
        row = _IN_ROW.search(str(error))
        message = _IN_ROW.sub("", str(error)).replace(" in the data frame", "")
        raise FormatError(message, path, line=_line(path, int(row[1])) if row else None) from None


def _line(path: Path, row: int) -> int:
    """The line of a row; the reader of CSV files leaves out empty ones."""
    lines = pa.input_stream(path).read().splitlines()
    return [number for number, line in enumerate(lines, 1) if line][row + 1]

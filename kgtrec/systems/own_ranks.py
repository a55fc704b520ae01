"""Ranks of test triples in a table that any program can write: head, relation, tail, side, rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from kgtrec.data.frames import frame_labels, frame_names, frame_values
from kgtrec.data.questions import SIDES
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file, one_of, require
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.kinds import TripleRanks


def triple_ranks(frame: Any, name: str = "ranks") -> TripleRanks:
    """Take the ranks of test triples from a data frame, for :func:`kgtrec.rank_system`.

    Parameters
    ----------
    frame : DataFrame of pandas, polars or pyarrow
        Columns ``head, relation, tail, side`` (the one that was asked for, "head" or "tail") and ``rank``, from 1 on
        and with the other answers removed; or ``optimistic`` and ``pessimistic`` in place of ``rank``, for ties.
    name : str
        Name of the system.

    Raises
    ------
    KgtrecError
        If a column is missing, a side is unknown, or a rank is no whole number from 1 on.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"head": ["ann"], "relation": ["likes"], "tail": ["tea"], "side": ["tail"], "rank": [3]}
    >>> triple_ranks(pd.DataFrame(row), "mine").above.tolist()
    [2]
    """
    ends = ("optimistic", "pessimistic") if "optimistic" in frame_names(frame) else ("rank", "rank")
    best, worst = (frame_values(frame, column) for column in ends)
    require(
        (best >= 1) & (worst >= best) & (best % 1 == 0) & (worst % 1 == 0),
        lambda row: KgtrecError(
            f"expected whole numbers from 1 on as ranks, found {best[row]:g} to {worst[row]:g} in row {row}; for ranks "
            "of ties give columns optimistic and pessimistic"
        ),
    )
    sides, side = Vocabulary.encoding(frame_labels(frame, "side"))
    for label in sides:
        one_of("a side of", label, SIDES)
    labels = [frame_labels(frame, column) for column in ("head", "tail")]
    entities, code = Vocabulary.encoding(pa.concat_arrays(labels))
    relations, relation = Vocabulary.encoding(frame_labels(frame, "relation"))
    is_head = np.array([label == "head" for label in sides], np.bool_)[side]
    above, tied = (best - 1).astype(np.int64), (worst - best).astype(np.int64)
    return TripleRanks(name, entities, relations, is_head, code[: len(side)], relation, code[len(side) :], above, tied)


def _read(path: Path, given: Given) -> TripleRanks:
    texts = csv.ConvertOptions(column_types=dict.fromkeys(("head", "relation", "tail", "side"), pa.string()))
    try:
        table = csv.read_csv(path, convert_options=texts)
    except pa.ArrowInvalid as error:
        raise FormatError(f"expected a CSV file of head, relation, tail, side, rank: {error}", path=path) from None
    with in_file(path):
        return triple_ranks(table, path.name.removesuffix(".ranks.csv"))


ADAPTERS = (
    Adapter(
        "ranks-csv",
        "any program",
        "NAME.ranks.csv with columns head, relation, tail, side, and rank or optimistic and pessimistic",
        "ranks",
        "",
        lambda path: path.name.endswith(".ranks.csv"),
        _read,
    ),
)

"""Which labels a TREC text file can hold, and vectorised writing of its lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import bytes_and_offsets, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.vocabulary import WHITE_SPACE, Vocabulary
from kgtrec.errors import KgtrecError

ROWS_AT_A_TIME = 1 << 18  # lines formatted at once, to bound a writer's memory

# at the beginning of a line these make a comment, or are dropped
_BAD_FIRST = r"^[#\x{feff}]"
_NAMED = 3


def unwritable_labels(labels: pa.StringArray, *, first: bool = False) -> NDArray[np.intp]:
    """(m,) indices of the labels that cannot be written in a TREC text file.

    Those are empty labels and labels with white space or a NUL character; with ``first``, for the column that begins
    a line, also those that begin with ``#`` or a byte-order mark.

    Examples
    --------
    >>> unwritable_labels(pa.array(["a b", "", "x#1", "#1"])).tolist()
    [0, 1]
    >>> unwritable_labels(pa.array(["a b", "", "x#1", "#1"]), first=True).tolist()
    [0, 1, 3]
    """
    pattern = f"{WHITE_SPACE}|^$" + (f"|{_BAD_FIRST}" if first else "")
    places: NDArray[np.intp] = np.flatnonzero(values_of(pc.match_substring_regex(labels, pattern)))
    return places


class LabelGuard:
    """Refuses, before a line is written, rows whose labels cannot be written in a TREC text file.

    Scans a vocabulary once, for any number of parts of a run.
    """

    def __init__(self, path: str, column: str, *, first: bool = False) -> None:
        self._path, self._column, self._first = path, column, first
        self._vocabulary: Vocabulary | None = None
        self._bad: NDArray[np.bool_] | None = None  # per code, where any label is bad

    def check(self, codes: NDArray[Any], vocabulary: Vocabulary) -> None:
        """Raise KgtrecError if one of ``codes`` belongs to a label that cannot be written."""
        if vocabulary is not self._vocabulary:
            places = unwritable_labels(vocabulary.labels, first=self._first)
            self._vocabulary, self._bad = vocabulary, None
            if len(places):
                self._bad = np.zeros(len(vocabulary), np.bool_)
                self._bad[places] = True
        if self._bad is not None and (wrong := codes[self._bad[codes]]).size:
            # in order of first appearance
            distinct, first = np.unique(wrong, return_index=True)
            named = [vocabulary[code] for code in distinct[np.argsort(first)][:_NAMED]]
            raise KgtrecError(refusal(self._path, self._column, named, more=len(distinct) - len(named)))


def refusal(path: str, column: str, labels: list[str], more: int = 0) -> str:
    """The message about labels that cannot be written."""
    found = ", ".join(map(repr, labels)) + (f" and {more} more" if more else "")
    kind = "without white space, not empty"
    if any(label[:1] in ("#", "\ufeff") for label in labels):
        kind += ", not beginning with '#' or a byte-order mark"
    way_out = "a run's name may not have any" if column == "tag" else "see kgtrec questions --ids, or write .parquet"
    return f"{path}: expected {column} labels {kind}, found {found}; {way_out}"


def lines_of(*columns: pa.StringArray | str, between: str = " ") -> memoryview:
    """The bytes of text lines: the columns, string arrays or one string for all lines, with ``between`` them."""
    *first, last = (labels_of([column])[0] if isinstance(column, str) else column for column in columns)
    separator, newline, nothing = labels_of([between, "\n", ""])
    last = pc.binary_join_element_wise(last, newline, nothing)
    lines = pc.binary_join_element_wise(*first, last, separator)
    data, bounds = bytes_and_offsets(lines)
    return data[bounds[0] : bounds[-1]].data

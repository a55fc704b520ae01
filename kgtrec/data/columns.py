"""What all types of rows have in common: columns of one length, and vocabularies that some of them are codes of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.vocabulary import Vocabulary

#: columns of codes, and the fields with their labels
_LABELS = {
    "question": "questions",
    "entity": "entities",
    "anchor": "entities",
    "person": "names",
    "head": "entities",
    "tail": "entities",
    "relation": "relations",
    "type": "types",
    "annotator": "annotators",
}


_COLUMNS = "NDArray", "pa.StringArray"


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The base of types whose fields of arrays, numpy's or Arrow's, are columns of one length."""

    def __len__(self) -> int:
        return len(getattr(self, _declared(self, "NDArray")[0]))

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Self:
        """Return the rows at ``rows`` (row numbers, or a mask), with the same vocabularies."""
        return replace(self, **{name: _taken(getattr(self, name), rows) for name in _declared(self, *_COLUMNS)})

    def joined(self, *others: Self) -> Self:
        """Append the rows of others; labels keep their codes, then come those that the others add."""
        whole = {name: getattr(self, name) for name in _declared(self, "Vocabulary")}
        parts = [self]
        for part in others:
            new = {name: getattr(part, name) for name in whole if getattr(part, name) is not getattr(self, name)}
            whole |= {name: whole[name].extended(own.labels) for name, own in new.items()}
            parts.append(part.recoded(**{name: whole[name] for name in new}))
        columns = {
            name: _concatenated([getattr(part, name) for part in parts], parts) for name in _declared(self, *_COLUMNS)
        }
        return replace(self, **whole, **columns)

    def recoded(self, **vocabularies: Vocabulary) -> Self:
        """Return the same rows under other vocabularies, by their fields; the code is -1 for a label that one lacks."""
        code_of = {name: own.encode(getattr(self, name).labels) for name, own in vocabularies.items()}
        codes = [name for name in _declared(self, *_COLUMNS) if _LABELS.get(name) in code_of]
        return replace(self, **vocabularies, **{name: code_of[_LABELS[name]][getattr(self, name)] for name in codes})

    def decoded(self, column: str) -> pa.StringArray:
        """Return the (n,) labels of a column of codes."""
        return getattr(self, _LABELS[column]).decode(getattr(self, column))


def _declared(rows: Any, *types: str) -> list[str]:
    """The fields that are declared to be of one of some types."""
    return [field.name for field in fields(rows) if str(field.type).startswith(types)]


def _taken(column: Any, rows: NDArray[Any]) -> Any:
    if column is None or isinstance(column, np.ndarray):
        return None if column is None else column[rows]
    rows = np.asarray(rows)
    return column.take(arrow_of(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows))


def _concatenated(columns: Sequence[Any], parts: Sequence[Columns]) -> Any:
    """The columns one after the other; one that is left out in some parts only, a mask, is False there."""
    if all(isinstance(column, pa.Array) for column in columns):
        return pa.concat_arrays(columns)
    if all(column is None for column in columns):
        return None
    pairs = zip(columns, parts, strict=True)
    return np.concatenate([np.zeros(len(part), np.bool_) if column is None else column for column, part in pairs])

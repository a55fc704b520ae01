"""Data frames with ir-measures' column names, in and out; pandas is imported only when one is used."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, kind_of, require

if TYPE_CHECKING:
    import pandas as pd

_NOTE = "kgtrec"
_PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}  # PyTerrier's names of columns


def is_frame(thing: Any) -> bool:
    """Return whether ``thing`` is a pandas DataFrame, without importing pandas to find out."""
    return type(thing).__module__.partition(".")[0] == "pandas" and hasattr(thing, "columns")


def has_columns(thing: Any) -> bool:
    """Return whether ``thing`` is a pandas DataFrame or a table that Arrow can read: of polars, pyarrow or DuckDB."""
    return is_frame(thing) or (hasattr(thing, "__arrow_c_stream__") and hasattr(thing, "columns"))


def holds_answer_ranks(frame: Any) -> bool:
    """Return whether the columns of a frame are those of answer ranks, which have a score too, and not of a run."""
    return has_columns(frame) and {"above", "n_other"} <= set(Frame(frame).names)


class Frame:
    """A data frame of pandas, polars or pyarrow; each column is taken by its name, as what it has to hold."""

    __slots__ = ("_table", "names", "note")

    def __init__(self, frame: Any) -> None:
        """Take a frame; a KgtrecError if it is none.

        ``note`` holds what :func:`with_note` or our Parquet noted of the rows; it is empty for other frames.
        """
        if not has_columns(frame):
            raise KgtrecError(f"expected a data frame of pandas, polars or pyarrow, found {kind_of(frame)}")
        self._table = frame if is_frame(frame) else pa.table(frame)
        self.names: list[Any] = list(frame.columns) if is_frame(frame) else self._table.column_names
        stored = getattr(getattr(frame, "schema", None), "metadata", None) or {}
        note: Any = None
        with suppress(ValueError):
            note = getattr(frame, "attrs", {}).get(_NOTE) or json.loads(stored.get(_NOTE.encode(), b"{}"))
        self.note: dict[str, Any] = note if isinstance(note, dict) else {}

    def column(self, name: str) -> Any:
        """Return a column as a pandas Series; an error lists the columns of the frame."""
        if name not in self.names and _PYTERRIER.get(name) in self.names:
            name = _PYTERRIER[name]
        if name not in self.names:
            wanted = f"{name!r} or {_PYTERRIER[name]!r}" if name in _PYTERRIER else repr(name)
            raise KgtrecError(
                f"expected a column {wanted} in the data frame, found {', '.join(map(str, self.names)) or 'none'}"
            )
        if (n := self.names.count(name)) > 1:
            raise KgtrecError(f"expected one column {name!r} in the data frame, found {n}")
        return self._table[name] if is_frame(self._table) else self._table.column(name).to_pandas().rename(name)

    def labels(self, name: str) -> pa.StringArray:
        """Return a label column; numbers are refused, since 7 and 007 would become one label."""
        column = self.column(name)
        name = column.name  # its own, such as PyTerrier's
        require(
            column.notna().to_numpy(),
            lambda row: KgtrecError(f"expected a label in every row of column {name!r}, found none in row {row}"),
        )
        try:
            labels = pa.array(column, from_pandas=True)
            if pa.types.is_dictionary(labels.type):
                labels = labels.dictionary_decode()
            if not (pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)):
                raise KgtrecError(
                    f"expected text in column {name!r}, found {labels.type}; convert it with .astype(str)"
                )
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise KgtrecError(f"expected text in column {name!r}: {error}; convert it with .astype(str)") from None
        except UnicodeEncodeError as error:
            raise KgtrecError(f"expected text in column {name!r} that UTF-8 can hold, found {error.object!r}") from None
        return labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels

    def codes(self, name: str, vocabulary: Vocabulary | None = None) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return a label column as codes of a vocabulary; without one, of the labels in order of first appearance."""
        labels = self.labels(name)
        if vocabulary is None:
            return Vocabulary.encoding(labels)
        codes = vocabulary.encode(labels)
        require(
            codes >= 0,
            lambda row: KgtrecError(f"expected a known label in column {name!r}, found {labels[row].as_py()!r}"),
        )
        return vocabulary, codes

    def values(self, name: str) -> NDArray[np.float64]:
        """Return a numeric column as float64, without NaN."""
        column = self.column(name)
        name = column.name
        if (
            getattr(column.dtype, "kind", "O") in "cmM"
        ):  # complex numbers and dates would convert to meaningless numbers
            raise KgtrecError(f"expected numbers in column {name!r}, found {column.dtype}")
        try:
            values: NDArray[np.float64] = column.to_numpy(np.float64)
        except (TypeError, ValueError):
            raise KgtrecError(f"expected numbers in column {name!r}, found {column.dtype}") from None
        require(
            ~np.isnan(values),
            lambda row: KgtrecError(f"expected a number in every row of column {name!r}, found NaN in row {row}"),
        )
        return values

    def counts(self, name: str, least: int, most: int, *, hint: str = "") -> NDArray[np.float64]:
        """Return a column of whole numbers as float64; a ``hint`` follows what is wrong."""
        values = self.values(name)
        require(
            (values >= least) & (values <= most) & (np.floor(values) == values),
            lambda row: KgtrecError(
                f"expected whole numbers from {least} to {most:,} in column {name!r}, found {values[row]:g} in row "
                f"{row}{hint}"
            ),
        )
        return values


def frame_of(**columns: Any) -> pd.DataFrame:
    """Return a data frame of Arrow label columns and numpy value columns; labels become Python strings."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array | pa.ChunkedArray) else column
            for name, column in columns.items()
        }
    )


def nested(questions: pa.StringArray, entities: pa.StringArray, values: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """Nest values by question and entity, as pytrec_eval and ranx take them, in the order of the rows."""
    found: dict[str, dict[str, Any]] = {}
    for question, entity, value in zip(questions.to_pylist(), entities.to_pylist(), values.tolist(), strict=True):
        found.setdefault(question, {})[entity] = value
    return found


def with_note(frame: pd.DataFrame, **note: Any) -> pd.DataFrame:
    """Return the frame with notes about its rows in ``attrs``, which pandas passes on; no entry for an empty note."""
    known = {key: value for key, value in note.items() if value is not None and value != ""}
    if known:
        frame.attrs[_NOTE] = known
    return frame


class Framed:
    """What has a table in its long form has a data frame too."""

    __slots__ = ()

    def to_table(self) -> pa.Table:
        """Return the long form."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return :meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())


def frame_of_table(table: pa.Table) -> pd.DataFrame:
    """Return a data frame of an Arrow table, as :func:`frame_of` makes it."""
    return frame_of(**{name: table.column(name) for name in table.column_names})

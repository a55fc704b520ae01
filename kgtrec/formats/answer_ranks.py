"""Answer-rank tables as Parquet files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks, joined_answer_ranks
from kgtrec.data.arrow import arrow_of, values_of
from kgtrec.data.triples import are_splits
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.outputs import writing
from kgtrec.formats.parquet import (
    OF_RANKS,
    label_column,
    metadata_of,
    parts_of,
    read_named_columns,
    read_schema,
    with_metadata,
)
from kgtrec.formats.trec.origins import require_pair
from kgtrec.formats.versions import require_version

FORMAT = "answer ranks"
_VALUES = {"answer": pa.bool_(), "above": pa.int32(), "tied": pa.int32(), "n_other": pa.int32(), "score": pa.float64()}
_LABELS = ("question", "entity")
_WITH_CUT = 2  # the version of tables with a column `cut`


def write_answer_ranks(path: PathLike, ranks: AnswerRanks, *, force: bool = False) -> str:
    """Write a table of answer ranks; equal tables give equal bytes, and no partial file is left behind.

    Only labels that the table uses are stored, in the order of their codes. Returns the digest of the table, by which
    its run is recognised, see :mod:`kgtrec.formats.trec.origins`.

    Parameters
    ----------
    path : path
        The Parquet file to write.
    ranks : AnswerRanks
        The table to write.
    force : bool
        Replace a file that exists already. Default: refuse.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> one, none = np.array([1], np.int32), np.array([0], np.int32)
    >>> ranks = AnswerRanks("transe", none, none, one == 1, none, none, one, np.array([0.5]), Vocabulary.of(["tail0"]),
    ...                     Vocabulary.of(["paris"]), ("train",), "")
    >>> path = pathlib.Path(tempfile.mkdtemp(), "transe.ranks.parquet")
    >>> _ = write_answer_ranks(path, ranks)
    >>> read_answer_ranks(path).score.tolist()
    [0.5]
    """
    import pyarrow.parquet as pq

    columns = {
        "question": _used_labels(ranks.questions, ranks.question),
        "entity": _used_labels(ranks.entities, ranks.entity),
        **{name: arrow_of(getattr(ranks, name)).cast(kind) for name, kind in _VALUES.items()},
    }
    cut = ranks.cut if ranks.cut is not None and ranks.cut.any() else None
    if cut is not None:
        columns["cut"] = arrow_of(cut)
    schema = pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    about = {"format": FORMAT, "name": ranks.name, "filtered_by": list(ranks.filtered_by)}
    # a reader that knows no cut lists would take what is below their ends for ties
    version = 1 if cut is None else _WITH_CUT
    digest = ranks.digest()
    schema = with_metadata(schema, {**about, "collection": ranks.collection, "version": version})
    schema = schema.with_metadata({**schema.metadata, OF_RANKS: digest})
    with writing(path, kind=FORMAT, force=force) as stream:
        pq.write_table(pa.table(columns, schema=schema), stream, compression="zstd", row_group_size=max(len(ranks), 1))
    return digest


def read_answer_ranks(path: PathLike) -> AnswerRanks:
    """Read the answer ranks in a file that :func:`write_answer_ranks` wrote.

    Its vocabularies have the labels in the file.

    Parameters
    ----------
    path : path
        Or a folder ``NAME.ranks`` of such files.

    Raises
    ------
    FormatError
        If the file is damaged, is not a table of answer ranks, or its numbers contradict each other.
    """
    if Path(path).is_dir():
        first, *others = parts = [read_answer_ranks(file) for file in parts_of(path)]
        for part in others:
            if (part.name, part.filtered_by, part.collection) != (first.name, first.filtered_by, first.collection):
                raise FormatError(
                    f"expected a part of the same answer ranks as {Path(first.source).name}, found one of others",
                    path=part.source,
                )
        ranks = replace(joined_answer_ranks(parts), source=os.fspath(path))
        with in_file(path):
            ranks.require_possible()
        return ranks
    require_pair(path)
    metadata = metadata_of(path, read_schema(path))
    if metadata.get("format") != FORMAT:
        found = metadata.get("format", "a Parquet file of another tool")
        raise FormatError(f"expected answer ranks, as kgtrec rank writes them, found {found}", path)
    require_version(metadata.get("version"), FORMAT, path, "read them with the kgtrec that wrote them")
    name, collection, filtered_by = (metadata.get(key) for key in ("name", "collection", "filtered_by"))
    if not isinstance(name, str) or not isinstance(collection, str) or not are_splits(filtered_by):
        raise FormatError("expected a name, a collection and splits in the file's metadata, found others", path)
    kinds = _VALUES | ({"cut": pa.bool_()} if metadata["version"] == _WITH_CUT else {})
    table = read_named_columns(path, dict.fromkeys((*_LABELS, *kinds), ()))
    for column, kind in kinds.items():
        if table.column(column).type != kind:
            raise FormatError(f"expected {kind} in column {column}, found {table.column(column).type}", path)
    questions, question = label_column(path, table, "question")
    entities, entity = label_column(path, table, "entity")
    counts = {column: values_of(table.column(column)) for column in kinds}
    about = {"questions": questions, "entities": entities, "collection": collection, "source": os.fspath(path)}
    with in_file(path):
        return AnswerRanks.of_rows(name, question, entity, counts, filtered_by=filtered_by, **about)


def _used_labels(vocabulary: Vocabulary, codes: NDArray[np.int32]) -> pa.DictionaryArray:
    used, codes_used = np.unique(codes, return_inverse=True)
    return pa.DictionaryArray.from_arrays(arrow_of(codes_used.astype(np.int32)), vocabulary.decode(used))

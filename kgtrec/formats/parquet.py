"""Parquet files of kgtrec: what they share, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec_text import joined_codes

MAGIC = b"PAR1"
_KEY = b"kgtrec"


def is_parquet(path: PathLike) -> bool:
    """Whether a file's name ends in ``.parquet``; for what it holds see :mod:`kgtrec.formats.sniff`."""
    return Path(path).suffix.lower() == ".parquet"


def metadata_of(schema: pa.Schema) -> dict[str, Any]:
    """What kgtrec wrote about the file; empty for a file of another tool."""
    try:
        found = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def with_metadata(schema: pa.Schema, metadata: Mapping[str, Any]) -> pa.Schema:
    """``schema`` with kgtrec's metadata, the format version among them."""
    return schema.with_metadata({_KEY: json.dumps({"version": 1, **metadata}).encode()})


def read_schema(path: PathLike) -> pa.Schema:
    """The columns and metadata of a Parquet file."""
    import pyarrow.parquet as pq

    with reading(path) as stream:
        try:
            return pq.read_schema(stream)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from None


def read_named_columns(path: PathLike, names: Mapping[str, tuple[str, ...]]) -> pa.Table:
    """The columns of a Parquet file under our names, given under which others they may be found.

    Raises
    ------
    FormatError
        If the file is damaged, a column is missing, or a value is.
    """
    import pyarrow.parquet as pq

    schema = read_schema(path)
    found = {}
    for ours, others in names.items():
        present = [name for name in (ours, *others) if name in schema.names]
        if not present:
            wanted = " or ".join((ours, *others))
            raise FormatError(f"expected a column {wanted}, found {', '.join(schema.names) or 'no columns'}", path=path)
        found[present[0]] = ours
    texts = [name for name in found if pa.types.is_string(schema.field(name).type)]
    with reading(path) as stream:
        try:
            # not read_table, which imports pandas by way of pyarrow.dataset
            table = pq.ParquetFile(stream, read_dictionary=texts).read(columns=list(found))
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from None
    table = table.select(list(found)).rename_columns(list(found.values())).replace_schema_metadata(schema.metadata)
    for name in table.column_names:
        if table.column(name).null_count:
            row = table.column(name).is_null().index(True).as_py()
            raise FormatError(f"expected a value in every row of column {name}, found none in row {row}", path=path)
    if table.num_rows == 0:
        raise FormatError("expected rows, found an empty table", path=path)
    return table


def value_type(table: pa.Table, name: str) -> pa.DataType:
    """The type of a column's values, dictionary-encoded or not."""
    kind = table.column(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def label_column(path: PathLike, table: pa.Table, name: str) -> tuple[Vocabulary, Codes]:
    """A label column as codes; numbers are refused, since 7 and 007 would become one label."""
    column, kind = table.column(name), value_type(table, name)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise FormatError(f"expected text in column {name}, found {kind}; store labels as strings", path=path)
    if column.type != pa.dictionary(pa.int32(), pa.string()):
        column = column.cast(pa.string()).dictionary_encode()
    return joined_codes(column.chunks)


def _damaged(path: PathLike, error: Exception) -> FormatError:
    return FormatError(f"expected a whole Parquet file, found damaged or other data ({error})", path=path)

"""The common parts of all Parquet files of kgtrec."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.json_text import json_value
from kgtrec.formats.trec.text import joined_codes
from kgtrec.formats.versions import FORMATS, require_version

MAGIC = b"PAR1"
RANK_COLUMNS = frozenset(("above", "tied", "n_other"))
_KEY = b"kgtrec"
OF_RANKS = "kgtrec.ranks"  # the digest of a system's answer ranks, in their file and in that of the run
FIRST_PART = "part-00000.parquet"  # of a run that RunWriter writes as a folder
_PART = re.compile(r"part-[0-9]{5}\.parquet")
_OF_FRAME = b"PANDAS_ATTRS"  # where pandas keeps the attrs of a frame
_FEW_ROWS = 1 << 24  # are read quickly, from any number of bytes
_ROWS_PER_BYTE = 8  # a row with information takes at least a bit


def is_parquet(path: PathLike) -> bool:
    """Return whether a file's name ends in ``.parquet``; for its contents see :mod:`kgtrec.formats.contents`."""
    return Path(path).suffix.lower() == ".parquet"


def is_in_parts(path: PathLike) -> bool:
    """Return whether it is a run or a table of answer ranks as a folder of Parquet files, by its name."""
    return Path(path).suffix in (".run", ".ranks") and Path(path).is_dir()


def holds_ranks(path: PathLike) -> bool:
    """Return whether a Parquet file, or a folder of them, holds answer ranks by its columns; others are not opened."""
    if Path(path).is_dir():
        path = parts_of(path)[0]
    if not is_parquet(path):
        return False
    schema = read_schema(path)
    return set(schema.names) >= RANK_COLUMNS and metadata_of(path, schema).get("format") not in ("run", "qrels")


def metadata_of(path: PathLike, schema: pa.Schema) -> dict[str, Any]:
    """Return the metadata that kgtrec wrote, or its notes in a frame of pandas; empty for a file of another tool.

    Raises
    ------
    FormatError
        If it is not a JSON object.
    """
    stored = schema.metadata or {}
    metadata = json_value(stored.get(_KEY, b"{}"), path, where="in the file's metadata")
    if _KEY not in stored and _OF_FRAME in stored:
        attrs = json_value(stored[_OF_FRAME], path, where="in the file's metadata")
        metadata = attrs.get(_KEY.decode(), {}) if isinstance(attrs, dict) else {}
    if not isinstance(metadata, dict):
        raise FormatError("expected a JSON object in the file's metadata, found another value", path)
    return metadata


def require_known(path: PathLike, metadata: Mapping[str, Any]) -> None:
    """Raise FormatError if the metadata are of a version of kgtrec's formats that this kgtrec does not read."""
    if "version" in metadata and (what := str(metadata.get("format"))) in FORMATS:
        require_version(metadata["version"], what, path)


def is_run_of_ours(path: PathLike) -> bool:
    """Return whether a Parquet file is a run that kgtrec has written."""
    with suppress(FormatError, OSError):
        return metadata_of(path, read_schema(path)).get("format") == "run"
    return False


def with_metadata(schema: pa.Schema, metadata: Mapping[str, Any]) -> pa.Schema:
    """Return ``schema`` with kgtrec's metadata, including the format version."""
    return schema.with_metadata({_KEY: json.dumps({"version": FORMATS[metadata["format"]][-1], **metadata}).encode()})


def read_schema(path: PathLike) -> pa.Schema:
    """Read the columns and metadata of a Parquet file.

    Raises
    ------
    FormatError
        If the file is damaged, or its columns have names that are not text, or the same name twice.
    """
    with reading(path) as stream:
        return _opened(path, stream).schema_arrow


def digest_in(path: PathLike) -> str:
    """Return the digest of answer ranks that their Parquet file, or the run beside them, records; ``""`` if none."""
    with reading(path) as stream:
        digest: bytes = (_opened(path, stream).metadata.metadata or {}).get(OF_RANKS.encode(), b"")
    return digest.decode()


def read_named_columns(path: PathLike, names: Mapping[str, tuple[str, ...]]) -> pa.Table:
    """Read the columns of a Parquet file under our names, given the other names that they may have.

    Raises
    ------
    FormatError
        If the file is damaged, a column is missing or repeated, or a value is missing; or if it has more rows than its
        bytes can encode, before such rows are read.
    """
    with _named(path, names) as (file, our_name), _refusing_damage(path):
        table = file.read(columns=list(our_name)).select(list(our_name)).rename_columns(list(our_name.values()))
    table = table.replace_schema_metadata(file.schema_arrow.metadata)
    _require_values(path, table, 0)
    if table.num_rows == 0:
        raise FormatError("expected rows, found an empty table", path)
    return table


def iterate_named_columns(
    path: PathLike, names: Mapping[str, tuple[str, ...]], rows_at_a_time: int
) -> Iterator[pa.Table]:
    """Read the columns of :func:`read_named_columns`, some rows at a time; a part is checked when it is read."""
    before = 0
    with _named(path, names) as (file, our_name):
        # a reader keeps the bytes of all row groups that it was asked for, so each has one of its own
        batches = (
            batch
            for group in range(file.metadata.num_row_groups)
            for batch in file.iter_batches(rows_at_a_time, row_groups=[group], columns=list(our_name))
        )
        while True:
            with _refusing_damage(path):
                batch = next(batches, None)
                if batch is None:
                    return
                table = pa.Table.from_batches([batch]).select(list(our_name)).rename_columns(list(our_name.values()))
            _require_values(path, table, before)
            before += table.num_rows
            yield table


def parts_of(folder: PathLike) -> list[Path]:
    """List the Parquet files of a data set in parts, by name; names that begin with . or _ are other tools' notes.

    Raises
    ------
    FormatError
        If there is none, or something else is in the folder.
    """
    files = sorted(path for path in Path(folder).iterdir() if not path.name.startswith((".", "_")))
    for path in files:
        if not is_parquet(path) or not path.is_file():
            raise FormatError(f"expected Parquet files and nothing else, found {path.name}", path=folder)
    if not files:
        raise FormatError("expected a folder of Parquet files, found none in it", path=folder)
    if files[0].name != FIRST_PART and any(_PART.fullmatch(path.name) and is_run_of_ours(path) for path in files):
        raise FormatError(
            f"expected {FIRST_PART}, which takes its place last, found none: a program was stopped while it wrote "
            "this folder; give its command again with --force",
            path=folder,
        )
    return files


def n_rows_of(path: PathLike) -> int:
    """Return the number of rows of a Parquet file, as its footer says.

    Raises
    ------
    FormatError
        As :func:`read_schema`.
    """
    with reading(path) as stream:
        return int(_opened(path, stream).metadata.num_rows)


@contextmanager
def _named(path: PathLike, names: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Any, dict[str, str]]]:
    """An open file, whose labels are read as codes, and the name of each of its columns -> ours."""
    schema = read_schema(path)
    require_known(path, metadata_of(path, schema))
    our_name = _columns_named(path, schema, names)
    with reading(path) as stream:
        file = _opened(path, stream, [name for name in our_name if pa.types.is_string(schema.field(name).type)])
        _require_bits(path, file)
        yield file, our_name


def _columns_named(path: PathLike, schema: pa.Schema, names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The name of each column in the file -> ours."""
    our_name = {}
    for ours, others in names.items():
        present = [name for name in (ours, *others) if name in schema.names]
        if not present:
            raise FormatError(
                f"expected a column {' or '.join((ours, *others))}, found {', '.join(schema.names) or 'no columns'}",
                path,
            )
        our_name[present[0]] = ours
    return our_name


def _require_values(path: PathLike, table: pa.Table, before: int) -> None:
    """Refuse missing values; ``before``: how many rows of the file precede the table."""
    for name in table.column_names:
        if table.column(name).null_count:
            row = before + table.column(name).is_null().index(True).as_py()
            raise FormatError(f"expected a value in every row of column {name}, found none in row {row}", path)


def read_whole_table(path: PathLike) -> pa.Table:
    """Read all columns of a Parquet file whose rows are not pairs of labels.

    Raises
    ------
    FormatError
        If the file is damaged, has a column twice, or more rows than its bytes can encode.
    """
    with reading(path) as stream, _refusing_damage(path):
        file = _opened(path, stream)
        _require_bits(path, file)
        table = file.read()
        table.validate(full=True)
    return table


def _opened(path: PathLike, stream: BinaryIO, dictionaries: Sequence[str] = ()) -> Any:
    """The file, of which only the footer has been read; ``dictionaries``: the columns to read as codes of labels."""
    import pyarrow.parquet as pq  # not its read_table, which imports pandas by way of pyarrow.dataset

    with _refusing_damage(path):
        file = pq.ParquetFile(stream, read_dictionary=list(dictionaries))
        counts = Counter(file.schema_arrow.names)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise FormatError(f"expected each column once, found {twice[0]!r} {counts[twice[0]]} times", path)
    return file


@contextmanager
def _refusing_damage(path: PathLike) -> Iterator[None]:
    """Turn Arrow's errors about damaged data into ours."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OverflowError, OSError) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
            raise  # the memory or the disk failed
        raise FormatError(f"expected a whole Parquet file, found damaged or other data ({error})", path) from None


def _require_bits(path: PathLike, file: Any) -> None:
    """Refuse many rows of less than a bit each, which must be repetitions and may be more than the memory holds."""
    n_rows, size = file.metadata.num_rows, Path(path).stat().st_size
    if n_rows > _FEW_ROWS and n_rows > _ROWS_PER_BYTE * size:
        raise FormatError(
            f"expected at least one bit per row, found {n_rows:,} rows in {size:,} bytes, which can only be "
            "repetitions; create the file again",
            path,
        )


def value_type(table: pa.Table, name: str) -> pa.DataType:
    """Return the type of a column's values, dictionary-encoded or not."""
    kind = table.column(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def label_column(path: PathLike, table: pa.Table, name: str) -> tuple[Vocabulary, Codes]:
    """Return a label column as codes; numbers are refused, since 7 and 007 would become one label."""
    column, kind = table.column(name), value_type(table, name)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise FormatError(f"expected text in column {name}, found {kind}; store labels as strings", path)
    with _refusing_damage(path):
        if column.type != pa.dictionary(pa.int32(), pa.string()):
            column = column.cast(pa.string()).dictionary_encode()
        for chunk in column.chunks:
            chunk.validate(full=True)  # codes without a label, and labels that are not UTF-8
    return joined_codes(column.chunks)

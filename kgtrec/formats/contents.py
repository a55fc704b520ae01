"""What a file holds, by its contents: readers choose a format by it, and writers replace only files of their own."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal, cast

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.parquet import MAGIC, RANK_COLUMNS, metadata_of, read_schema
from kgtrec.formats.trec.text import NUMBER

Kind = Literal["run", "qrels", "topics", "answer ranks"]
TABLE, WORKBOOK, PNG, PDF = "a table in Parquet", "a workbook", "a PNG", "a PDF"
ORIGIN = "the origin of a run or of scores"
VERDICTS = "verdicts, or what people have typed"
_HEAD = 1 << 16
_ARRAYS = (b"\x93NUMPY", b"\x89HDF\r\n")
_ORIGIN = re.compile(rb'\s*\{\s*"origin"')
_ZIP = b"PK\x03\x04"
_FIGURES = {b"\x89PNG": PNG, b"%PDF": PDF}
_WORKBOOK = (b"xl/", b"docProps/", b"_rels/", b"[Content_Types]")  # how names of the files in .xlsx begin


def data_in(path: PathLike) -> str:
    r"""Name the data in a file, by its content: answer ranks, a run, its origin, qrels, ...; ``""`` for text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.csv"
    >>> _ = path.write_text("tail0 Q0 paris 1 0.7 transe\n")
    >>> data_in(path)
    'a run'
    """
    with suppress(FormatError, OSError), reading(path) as stream:
        head = stream.read(_HEAD)
        if head.startswith(MAGIC):
            with suppress(FormatError):
                kind = kind_of_parquet(path)
                return "a run" if kind == "run" else kind
            return TABLE
        is_workbook = head.startswith(_ZIP) and head[30:].startswith(_WORKBOOK)
        if head.startswith((*_ARRAYS, _ZIP)) and not is_workbook:
            return "arrays"
        from kgtrec.formats.campaign.filled_tasks import holds_verdicts  # for outputs that exist, not for every start

        if holds_verdicts(path):
            return VERDICTS
        if is_workbook:
            return WORKBOOK
        if found := next((name for magic, name in _FIGURES.items() if head.startswith(magic)), ""):
            return found
        if b"\0" in head:
            return "binary data"
        if _ORIGIN.match(head):
            return ORIGIN
        first = next((line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
        columns = [NUMBER.fullmatch(field) is not None for field in first.split()]
        if len(columns) == 6 and columns[3] and columns[4]:  # the first line of a table names its columns
            return "a run"
        if len(columns) == 4 and columns[3]:
            return "qrels"
    return ""


def kind_of_parquet(path: PathLike) -> Kind:
    """Return what a Parquet file holds, as its metadata or its columns say."""
    schema = read_schema(path)
    names, recorded = set(schema.names), metadata_of(path, schema).get("format")
    if recorded in ("run", "qrels"):
        return cast(Kind, recorded)
    if names >= RANK_COLUMNS:
        return "answer ranks"
    if "score" in names:
        return "run"
    if names & {"grade", "relevance"}:
        return "qrels"
    raise FormatError(
        f"expected a run (question, entity, score), qrels (question, entity, grade) or answer ranks, found the columns "
        f"{', '.join(schema.names) or 'of an empty table'}",
        path,
    )

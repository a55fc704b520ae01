"""Qrels: TREC text (``question 0 entity grade``) and Parquet (question, entity, grade)."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.qrels import Qrels
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.folders import MANIFEST
from kgtrec.formats.output.outputs import writing
from kgtrec.formats.parquet import is_parquet, label_column, read_named_columns, value_type, with_metadata
from kgtrec.formats.trec.text import Layout, TextColumns, read_columns, repeated_lines
from kgtrec.formats.tsv import require_writable, write_lines
from kgtrec.formats.versions import require_version

LAYOUT = Layout(("question", "iter", "entity", "grade"), labels=("question", "entity", "grade"))
_PARQUET_NAMES = {"question": ("query_id",), "entity": ("doc_id",), "grade": ("relevance",)}
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT32 = np.iinfo(np.int32)
FROM_CAMPAIGN = "report.json"  # in a folder of qrels from a campaign
_OF_COLLECTION = re.compile(r"qrels\.(?:depth\d+\.)?txt")


@dataclass(frozen=True, slots=True)
class QrelsFile:
    """Qrels, and the rows of their file in file order, for line numbers; None for Parquet."""

    qrels: Qrels
    columns: TextColumns | None


def read_qrels(path: PathLike) -> Qrels:
    r"""Read qrels from a TREC text file (plain, ``.gz``, ``.zst``, or ``-`` for standard input) or ``.parquet``.

    The second column is ignored. A grade is a whole number; trec_eval would read 0.7 as 0 and ``foo`` as 0. The
    stamp of a collection's own qrels is read from its manifest.

    Parameters
    ----------
    path : path
        The file; its suffix says the format.

    Raises
    ------
    FormatError
        For the first malformed line, a repeated (question, entity), an empty or damaged file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("tail0 0 paris 1\ntail0 0 rome 0\n")
    >>> read_qrels(path).grade.tolist()
    [1, 0]
    """
    return read_qrels_file(path).qrels


def read_qrels_file(path: PathLike, *, stream: BinaryIO | None = None) -> QrelsFile:
    """Read qrels with the line numbers of the file; ``stream`` may hold the bytes of ``path``, already open."""
    collection = "" if os.fspath(path) == "-" else collection_beside(path)
    if is_parquet(path):
        return QrelsFile(replace(_read_parquet(path), collection=collection), None)
    with reading(path) if stream is None else nullcontext(stream) as source:
        columns = read_columns(source, str(path), LAYOUT)
    codes, vocabularies = columns.codes, columns.vocabularies
    rows = codes["question"], codes["entity"], _grades(str(path), columns)
    try:
        qrels = Qrels.of(*rows, vocabularies["question"], vocabularies["entity"], collection=collection)
    except KgtrecError:
        raise repeated_lines(str(path), columns) from None
    return QrelsFile(qrels, columns)


def collection_beside(path: PathLike) -> str:
    """Return the stamp of the collection whose folder contains a file of qrels; "" if there is none."""
    for name, keys in ((MANIFEST, ("fingerprint", "numbering")), (FROM_CAMPAIGN, ("collection",))):
        beside = Path(path).with_name(name)
        if beside.is_file() and _OF_COLLECTION.match(Path(path).name):
            try:
                manifest = read_json(beside)
            except FormatError:
                continue  # damaged, which reading the collection reports
            if not isinstance(manifest, dict):
                continue  # of another kind
            require_version(manifest.get("qrels_format", 1), "qrels of a campaign", beside)
            stamp = [part for key in keys if isinstance(part := manifest.get(key), str)]
            if len(stamp) == len(keys):
                return "_".join(stamp)
    return ""


def _grades(path: str, columns: TextColumns) -> NDArray[np.int32]:
    # there are few distinct grades, so each is read once, exactly
    texts = list(columns.vocabularies["grade"])
    for text in texts:
        if not _WHOLE.fullmatch(text) or len(text) > 20 or not _INT32.min <= int(text) <= _INT32.max:
            raise FormatError(
                f"expected a whole number of 32 bits as grade, got {text[:100]!r}; "
                "1 = answer, 0 = judged wrong, negative = unjudged",
                path,
                line=columns.line(columns.first_row("grade", text)),
            )
    return np.array([int(text) for text in texts], np.int32)[columns.codes["grade"]]


def _read_parquet(path: PathLike) -> Qrels:
    table = read_named_columns(path, _PARQUET_NAMES)
    questions, question = label_column(path, table, "question")
    entities, entity = label_column(path, table, "entity")
    kind = value_type(table, "grade")
    try:
        # safe: refuses 0.7, NaN and numbers that do not fit
        grade = values_of(table.column("grade").cast(pa.int32()))
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise pa.ArrowInvalid(str(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FormatError(f"expected whole numbers of 32 bits in column grade, found {kind} ({error})", path) from None
    with in_file(path):
        return Qrels.of(question, entity, grade, questions, entities)


def write_qrels(path: PathLike, qrels: Qrels, *, force: bool = False, marked: tuple[str, Qrels] | None = None) -> None:
    r"""Write qrels as TREC text (plain, ``.gz``, ``.zst``, or ``-`` for standard output) or ``.parquet``, atomically.

    Questions keep their order; within a question, rows are sorted by the bytes of the entity's label, so that reading
    and writing again gives the same file. ``marked``: a word without white space that the second column of text has
    instead of 0, which readers ignore, and qrels with the pairs that it marks.

    Parameters
    ----------
    path : path
        The file to write; its suffix says the format.
    qrels : Qrels
        The judgements to write.
    force : bool
        Replace a file that exists already. Default: refuse.
    marked : (str, Qrels), optional
        A word without white space, and the pairs whose second column of text is this word instead of 0. Readers
        ignore it.

    Raises
    ------
    KgtrecError
        If there is no row, or a label cannot be written in a TREC file (white space, empty).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> one = np.zeros(1, np.int32)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> write_qrels(path, Qrels.of(one, one, one + 1, Vocabulary.of(["tail0"]), Vocabulary.of(["paris"])))
    >>> path.read_text()
    'tail0 0 paris 1\n'
    """
    if len(qrels) == 0:
        raise KgtrecError(f"{path}: expected qrels of at least one row, found empty ones")
    order = np.lexsort((qrels.entities.byte_order[qrels.entity], qrels.question))
    question, entity, grade = qrels.question[order], qrels.entity[order], qrels.grade[order]
    if is_parquet(path):
        import pyarrow.parquet as pq

        codes = {"question": qrels.questions.columns(question), "entity": qrels.entities.columns(entity)}
        table = pa.table(codes | {"grade": arrow_of(grade)})
        with writing(path, kind="qrels", force=force) as stream:
            pq.write_table(table.cast(with_metadata(table.schema, {"format": "qrels"})), stream, compression="zstd")
        return
    require_writable(path, "question", qrels.questions, question, is_first=True)
    require_writable(path, "entity", qrels.entities, entity)

    second: Any = None
    if marked is not None:
        own, n = marked[1].recoded(questions=qrels.questions, entities=qrels.entities), len(qrels.entities)
        keys = (own.question * np.int64(n) + own.entity)[(own.question >= 0) & (own.entity >= 0)]
        second = pc.if_else(arrow_of(np.isin(question * np.int64(n) + entity, keys)), marked[0], "0")

    def columns(rows: slice) -> tuple[pa.StringArray | str, ...]:
        grades = pc.cast(arrow_of(grade[rows]), pa.string())
        return (
            qrels.questions.decode(question[rows]),
            "0" if second is None else second[rows],
            qrels.entities.decode(entity[rows]),
            grades,
        )

    with writing(path, kind="qrels", force=force) as stream:
        write_lines(stream, len(order), columns)

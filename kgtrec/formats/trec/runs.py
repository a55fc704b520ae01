"""Runs: TREC text (``question Q0 entity rank score tag``) and Parquet (question, entity, score)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.collection import Collection
from kgtrec.data.run import AnyRun, Run
from kgtrec.data.triples import are_splits
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, FormatError, KgtrecError, in_file, warn
from kgtrec.formats.files import PathLike, name_as_text, reading
from kgtrec.formats.output.outputs import is_device, replacing, together, writing, writing_folder
from kgtrec.formats.parquet import (
    FIRST_PART,
    OF_RANKS,
    is_parquet,
    is_run_of_ours,
    label_column,
    metadata_of,
    read_named_columns,
    value_type,
    with_metadata,
)
from kgtrec.formats.trec.origins import Origin, read_origin, require_origin_place, require_pair, write_origin
from kgtrec.formats.trec.text import Layout, TextColumns, read_columns, repeated_lines
from kgtrec.formats.tsv import require_writable, write_lines
from kgtrec.kernels.integer_keys import begins

LAYOUT = Layout(
    ("question", "Q0", "entity", "rank", "score", "tag"), labels=("question", "entity", "tag"), number="score"
)
_WITH_RANK = replace(LAYOUT, labels=("question", "entity", "rank", "tag"))
_WITHOUT_TAG = replace(LAYOUT, labels=("question", "entity"))
PARQUET_NAMES = {"question": ("query_id",), "entity": ("doc_id",), "score": ()}
_SUFFIXES = {".gz", ".zst", ".parquet", ".run", ".ranks", ".txt", ".trec", ".jsonl"}  # suffixes that name the format
_ROW_GROUP = 1 << 20
_PART_ROWS = 1 << 24  # of a run in parts


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run, and what else its file contains."""

    run: Run
    tags: dict[str, int]  # run tag -> the first line that has it; a file of one system has one tag
    columns: TextColumns | None  # the rows in file order, for line numbers; None for Parquet


def read_run(path: PathLike, *, name: str | None = None) -> Run:
    r"""Read a run from a TREC text file (plain, ``.gz``, ``.zst``, or ``-`` for standard input) or ``.parquet``.

    The rank column is ignored, as in trec_eval: the order is by score, then by label. Labels are opaque. The
    collection of the run is read from the file beside it, see :mod:`kgtrec.formats.trec.origins`, or from a Parquet
    file's metadata.

    Parameters
    ----------
    path : path
        The file; its suffix says the format.
    name : str, optional
        The name of the run, instead of its tag.

    Raises
    ------
    FormatError
        For the first malformed line, a repeated (question, entity), an empty or damaged file; or if the origin beside
        the run is that of another file.

    Warns
    -----
    KgtrecWarning
        If the file has several tags; the last one becomes the name, as in trec_eval.

    See Also
    --------
    kgtrec.open_run : For runs that do not fit into memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "transe.run"
    >>> _ = path.write_text("tail0 Q0 paris 1 0.7 transe\ntail0 Q0 rome 2 0.9 transe\n")
    >>> run = read_run(path)
    >>> run.name, run.entities.decode(run.entity).to_pylist(), run.score.tolist()
    ('transe', ['rome', 'paris'], [0.9, 0.7])
    """
    file = read_run_file(path, name=name)
    if len(file.tags) > 1 and name is None:
        tags = list(file.tags)
        warn(
            f"{path}: expected one run tag, found {len(tags)} ({', '.join(map(repr, tags[:3]))}, ...); "
            f"the run is named {file.run.name!r} after the last line"
        )
    return file.run


def read_run_file(
    path: PathLike, *, name: str | None = None, stream: BinaryIO | None = None, ranks: bool = False
) -> RunFile:
    """Read a run with the tags and lines of its file; ``stream`` may hold the bytes of ``path``, already open.

    With ``ranks``, the columns include the rank column, as labels; not for a file that is given a ``name``.
    """
    if is_parquet(path):
        require_pair(path)
        run = _read_parquet(path, name)
        return RunFile(run, {run.name: 1}, None)
    origin = origin_beside(path)
    require_pair(path, "" if origin is None else origin.ranks)
    return _read_text(path, origin, name=name, stream=stream, ranks=ranks)


def _read_text(
    path: PathLike,
    origin: Origin | None,
    *,
    name: str | None = None,
    stream: BinaryIO | None = None,
    ranks: bool = False,
) -> RunFile:
    with reading(path) if stream is None else nullcontext(stream) as source:
        layout = _WITHOUT_TAG if name is not None else _WITH_RANK if ranks else LAYOUT
        columns = read_columns(source, str(path), layout)
    tags = {name: 1} if name is not None else {}
    if name is None:
        code_of_row, tag_labels = columns.codes["tag"], columns.vocabularies["tag"]
        tags = {tag: columns.line(int(np.argmax(code_of_row == code))) for code, tag in enumerate(tag_labels)}
        name = tag_labels[code_of_row[-1]]
    rows = columns.codes["question"], columns.codes["entity"], columns.number
    try:
        run = Run.of(name, *rows, columns.vocabularies["question"], columns.vocabularies["entity"], **known_of(origin))
    except KgtrecError:
        raise repeated_lines(str(path), columns) from None
    return RunFile(run, tags, columns)


def several_tags(path: PathLike, tags: Mapping[str, int]) -> FormatError:
    """Return the error for a run of several tags, given the first line of each, where no name is given."""
    (one, first), (other, line) = list(tags.items())[:2]
    return FormatError(
        f"expected one run tag, found {len(tags)}: {other!r} here, {one!r} on line {first}; give one with --name, or "
        "split the file by system",
        path,
        line=line,
    )


def origin_beside(path: PathLike) -> Origin | None:
    """Return what the file beside a run in text says of its collection; None for standard input."""
    return None if os.fspath(path) == "-" else read_origin(path, "run")


def known_of(origin: Origin | None) -> dict[str, Any]:
    """Return the fields of a run that its origin gives."""
    return {} if origin is None else {"collection": origin.collection, "filtered_by": origin.filtered_by}


def _read_parquet(path: PathLike, name: str | None) -> Run:
    table = read_named_columns(path, PARQUET_NAMES)
    questions, question = label_column(path, table, "question")
    entities, entity = label_column(path, table, "entity")
    score = parquet_scores(path, table)
    name, origin = parquet_origin(path, table.schema, name)
    with in_file(path):
        return Run.of(name, question, entity, score, questions, entities, **known_of(origin))


def parquet_scores(path: PathLike, table: pa.Table) -> NDArray[np.float64]:
    """Return the column of scores."""
    kind = value_type(table, "score")
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise FormatError(f"expected numbers in column score, found {kind}", path)
    return values_of(table.column("score").cast(pa.float64(), safe=False))


def parquet_origin(
    path: PathLike, schema: pa.Schema, name: str | None, *, unnamed: str | None = None
) -> tuple[str, Origin | None]:
    """Return the name of a run in a Parquet file, unless one is given, and what its metadata say of its collection.

    ``unnamed``: the name if the metadata have none; by default the file's.
    """
    metadata = metadata_of(path, schema)
    if metadata.get("format") == "answer ranks":
        raise FormatError(
            "expected a run, found answer ranks, which have the answers only; give the NAME.run beside it, or read it "
            "with kgtrec.read_answer_ranks",
            path,
        )
    name = name or metadata.get("name") or unnamed or Path(path).with_suffix("").stem
    if not isinstance(name, str):
        raise FormatError(f"expected a text as the run's name in the file's metadata, found {name!r}", path)
    collection, splits = metadata.get("collection"), metadata.get("filtered_by")
    if collection is None:
        return name, None
    if not isinstance(collection, str) or not (splits is None or are_splits(splits)):
        raise FormatError("expected a collection and splits in the file's metadata, found others", path)
    return name, Origin(collection, None if splits is None else tuple(splits))


class RunWriter:
    """Writes a run part by part, in bounded memory; the file appears complete when the block succeeds, or not at all.

    Text unless ``path`` ends in ``.parquet``, or ``parts`` asks for a folder of such files; text is compressed by
    suffix. The rank column is the 1-based position in
    the question's list; a score is the shortest text that reads back to the same float64.

    Parameters
    ----------
    path : path
        ``-`` is standard output.
    name : str
        The system's name: the tag of each line.
    collection : str
        The stamp of the collection of the question ids; it is written beside the run, or into a Parquet file's
        metadata.
    filtered_by : tuple of {"train", "valid", "test"}, optional
        Splits whose triples were filtered out.
    parts : bool
        Whether ``path`` becomes a folder of Parquet files, each with whole lists.
    force : bool
        Whether an existing run is replaced.

    Raises
    ------
    KgtrecError
        If the name or a label cannot be written in a TREC file (white space, empty), a question is repeated, or no row
        was written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> questions, entities = Vocabulary.of(["tail0"]), Vocabulary.of(["paris", "rome"])
    >>> question, entity = np.array([0, 0], np.int32), np.array([0, 1], np.int32)
    >>> part = Run.of("", question, entity, np.array([0.7, 0.9]), questions, entities)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "transe.run"
    >>> with RunWriter(path, "transe") as out:
    ...     out.write(part)
    >>> print(path.read_text(), end="")
    tail0 Q0 rome 1 0.9 transe
    tail0 Q0 paris 2 0.7 transe
    """

    def __init__(
        self,
        path: PathLike,
        name: str,
        *,
        collection: str = "",
        filtered_by: tuple[str, ...] | None = None,
        parts: bool = False,
        force: bool = False,
    ) -> None:
        self._path, self._origin, self._force = path, Origin(collection, filtered_by), force
        is_text = not parts and not is_parquet(path)
        self._sink = _TextSink(path, name) if is_text else _ParquetSink(path, name, self._origin, parts=parts)
        self._has_origin_beside = is_text and os.fspath(path) != "-" and not is_device(path)
        self._written: set[str] = set()

    def __enter__(self) -> Self:
        self._block = self._writing()
        self._block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._has_origin_beside and self._origin.collection:
            require_origin_place(self._path)
        with together():
            with ExitStack() as filling:
                with replacing(self._force):
                    filling.enter_context(self._sink.opened())
                yield
                if not self._written:
                    raise KgtrecError(f"{self._path}: expected a run of at least one row, found an empty one")
            if self._has_origin_beside:
                write_origin(self._path, "run", self._origin)

    def write(self, part: Run) -> None:
        """Append the lists of further questions, each list whole in one part; the part's name is not used."""
        if len(part) == 0:
            return
        starts = np.flatnonzero(begins(part.question))
        labels = part.questions.decode(part.question[starts]).to_pylist()
        before = len(self._written)
        self._written.update(labels)
        if len(self._written) != before + len(labels):
            raise KgtrecError(f"{self._path}: expected the whole list of a question at once, found a question again")
        before_list = np.repeat(starts, np.diff(np.r_[starts, len(part)]))
        self._sink.write(part, np.arange(1, len(part) + 1) - before_list)

    def of_ranks(self, digest: str) -> None:
        """Note the digest of the system's answer ranks, before the block ends."""
        self._origin = replace(self._origin, ranks=digest)
        self._sink.of_ranks(digest)


class _TextSink:
    def __init__(self, path: PathLike, name: str) -> None:
        require_writable(path, "tag", Vocabulary.of([name]))
        self._path, self._name = path, name

    @contextmanager
    def opened(self) -> Iterator[None]:
        with writing(self._path, kind="a run") as self._stream:
            yield

    def write(self, part: Run, rank: NDArray[np.int64]) -> None:
        require_writable(self._path, "question", part.questions, part.question, is_first=True)
        require_writable(self._path, "entity", part.entities, part.entity)

        def columns(rows: slice) -> tuple[pa.StringArray | str, ...]:
            question, entity = part.questions.decode(part.question[rows]), part.entities.decode(part.entity[rows])
            numbers = (pc.cast(arrow_of(column[rows]), pa.string()) for column in (rank, part.score))
            return question, "Q0", entity, *numbers, self._name

        write_lines(self._stream, len(part), columns)

    def of_ranks(self, digest: str) -> None:
        """Do nothing: it is written beside the run."""


class _ParquetSink:
    """One file, or a folder of parts with whole lists."""

    def __init__(self, path: PathLike, name: str, origin: Origin, *, parts: bool) -> None:
        label = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([("question", label), ("entity", label), ("score", pa.float64())])
        self._path, self._parts, self._n_parts = path, parts, 0
        about: dict[str, Any] = {"format": "run", "name": name}
        if origin.collection:
            about |= {"collection": origin.collection, "filtered_by": origin.filtered_by}
        self._schema = with_metadata(schema, about)
        self._waiting: list[pa.Table] = []

    @contextmanager
    def opened(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self._parts:
                self._folder = stack.enter_context(writing_folder(self._path, FIRST_PART, owned=files_of_run))
            with ExitStack() as self._one:
                self._begin()
                yield
                self._flush()

    def _begin(self) -> None:
        import pyarrow.parquet as pq

        path = self._folder / f"part-{self._n_parts:05}.parquet" if self._parts else self._path
        stream = self._one.enter_context(writing(path, kind="a run"))
        self._writer = self._one.enter_context(pq.ParquetWriter(stream, self._schema, compression="zstd"))
        self._n_parts, self._n_rows, self._n_waiting = self._n_parts + 1, 0, 0

    def write(self, part: Run, rank: NDArray[np.int64]) -> None:
        if self._parts and self._n_rows >= _PART_ROWS:
            self._flush()
            self._one.close()
            self._begin()
        columns: list[Any] = [part.questions.columns(part.question), part.entities.columns(part.entity)]
        self._waiting.append(pa.table([*columns, arrow_of(part.score)], schema=self._schema))
        self._n_rows, self._n_waiting = self._n_rows + len(part), self._n_waiting + len(part)
        if self._n_waiting >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting).unify_dictionaries(), row_group_size=_ROW_GROUP)
        self._waiting, self._n_waiting = [], 0

    def of_ranks(self, digest: str) -> None:
        self._writer.add_key_value_metadata({OF_RANKS: digest})


def files_of_run(folder: Path) -> list[str]:
    """Return the pattern of the files of a run that :class:`RunWriter` wrote in parts; none if it is another."""
    return ["part-[0-9]*.parquet"] if any(map(is_run_of_ours, folder.glob("part-[0-9]*.parquet"))) else []


def write_run(
    path: PathLike, run: AnyRun, *, name: str | None = None, parts: bool = False, force: bool = False
) -> None:
    """Write a run as TREC text (plain, ``.gz``, ``.zst``, or ``-`` for standard output) or ``.parquet``, atomically.

    Its collection, if it has one, is written to ``NAME.json`` beside the text, or to the Parquet file's metadata.

    Parameters
    ----------
    path : path
        The file to write; its suffix says the format.
    run : Run or StreamedRun
        What to write.
    name : str, optional
        The tag of each line, instead of the run's name.
    parts : bool
        As for :class:`RunWriter`.
    force : bool
        Replace a file that exists already. Default: refuse.

    Raises
    ------
    KgtrecError
        As :class:`RunWriter`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> one = np.zeros(1, np.int32)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "transe.run"
    >>> write_run(path, Run.of("transe", one, one, np.array([0.7]), Vocabulary.of(["tail0"]), Vocabulary.of(["paris"])))
    >>> print(path.read_text(), end="")
    tail0 Q0 paris 1 0.7 transe
    """
    origin = Origin(run.collection, run.filtered_by)
    with RunWriter(path, name or run.name, **known_of(origin), parts=parts, force=force) as out:
        for part in run.parts():
            out.write(part)


def stamp_run(
    path: PathLike, collection: Collection, filtered_by: tuple[str, ...] | None = None, *, force: bool = False
) -> None:
    """Note beside a run of another tool, in ``NAME.json``, that its question ids are those of a collection.

    Parameters
    ----------
    path : path
        TREC text.
    collection : Collection
    filtered_by : tuple of {"train", "valid", "test"}, optional
        Splits whose triples were filtered out; None: unknown.
    force : bool
        Whether what another collection has noted there is replaced.

    Raises
    ------
    FormatError
        If the file is not a run, or is a Parquet file, whose metadata names its collection.
    CollectionError
        If it has a question or an entity that the collection lacks.
    """
    if is_parquet(path):
        raise FormatError(
            "expected a run as text, found a Parquet file, whose metadata names its collection; convert it first "
            "(kgtrec convert IN.parquet OUT.run.gz)",
            path,
        )
    require_origin_place(path, force=force)
    run = _read_text(path, None).run  # whatever is noted beside it
    for what, own, known in (
        ("question", run.questions, collection.questions.ids),
        ("entity", run.entities, collection.entities),
    ):
        if (unknown := np.flatnonzero(known.encode(own.labels) < 0)).size:
            raise CollectionError(
                f"{os.fspath(path)}: expected a run of the collection, found the {what} {own[int(unknown[0])]!r} "
                f"({len(unknown):,} of {len(own):,}), which it lacks"
            )
    write_origin(path, "run", Origin(collection.stamp, filtered_by))


def default_name(path: PathLike) -> str:
    """Return a system's name from its file's: ``ranks/transe.run.gz`` -> ``transe``.

    Examples
    --------
    >>> default_name("ranks/transe.run.gz"), default_name("a.b.ranks.parquet"), default_name("run")
    ('transe', 'a.b', 'run')
    """
    stem = name_as_text(Path(path).name)
    while (suffix := Path(stem).suffix.lower()) in _SUFFIXES:
        stem = stem[: -len(suffix)]
    return stem

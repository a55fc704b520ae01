"""Topics: ``id <TAB> anchor <TAB> relation`` lines, without header; and lists of entity labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from kgtrec.data.arrow import labels_of
from kgtrec.data.questions import Topics
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.output.folders import ENTITY_IDS
from kgtrec.formats.output.outputs import writing
from kgtrec.formats.trec.labels import refusal, unwritable_labels
from kgtrec.formats.trec.text import decoded, shown, whole_lines

COLUMNS = ("id", "anchor", "relation")


def read_topics(path: PathLike, *, stream: BinaryIO | None = None) -> Topics:
    r"""The topics in a file; ``stream`` may hold its bytes, already open.

    Columns are split at tabs only, so anchors and relations may contain spaces; ids may not. Blank lines and lines that
    begin with ``#`` are skipped.

    Raises
    ------
    FormatError
        For the first malformed line, a repeated id, an empty or damaged file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "topics.tsv"
    >>> _ = path.write_text("tail0\tfrance\tcapital\n")
    >>> topics = read_topics(path)
    >>> list(topics.ids), topics.anchor.to_pylist(), topics.relation.to_pylist()
    (['tail0'], ['france'], ['capital'])
    """
    rows: list[list[str]] = []
    lines: dict[str, int] = {}
    for line, text in _text_lines(path, stream):
        if not text.strip() or text.startswith("#"):
            continue
        fields = text.split("\t")
        if len(fields) != len(COLUMNS) or not all(fields):
            found = len(fields) if all(fields) else "an empty one"
            raise FormatError(
                f"expected 3 columns ({' '.join(COLUMNS)}) separated by tabs, got {found}: {shown(text.encode())}",
                path=path,
                line=line,
            )
        if len(fields[0].encode().split()) != 1 or fields[0] != fields[0].strip():
            raise FormatError(
                f"expected a question id without white space, got {fields[0]!r}; runs and qrels could not name it",
                path=path,
                line=line,
            )
        if fields[0] in lines:
            raise FormatError(
                f"expected each id once, found {fields[0]!r} here and on line {lines[fields[0]]}; remove one of them",
                path=path,
                line=line,
            )
        lines[fields[0]] = line
        rows.append(fields)
    if not rows:
        raise FormatError("expected lines of 3 columns (id anchor relation), found none", path=path)
    columns = [labels_of(column) for column in zip(*rows, strict=True)]
    return Topics(Vocabulary.of(columns[0]), columns[1], columns[2])


def _text_lines(path: PathLike, stream: BinaryIO | None) -> Iterator[tuple[int, str]]:
    line = 0
    with ExitStack() as stack:
        source = stream if stream is not None else stack.enter_context(reading(path))
        for block in whole_lines(source, str(path)):
            for data in block.split(b"\n")[:-1]:
                line += 1
                yield line, decoded(data.removesuffix(b"\r"), path, line)


def write_topics(path: PathLike, topics: Topics, *, force: bool = False) -> None:
    r"""Write topics, compressed by suffix, atomically.

    Raises
    ------
    KgtrecError
        If an id contains white space, or an anchor or relation a tab or a line break.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "topics.tsv"
    >>> write_topics(path, Topics(Vocabulary.of(["tail0"]), labels_of(["france"]), labels_of(["capital"])))
    >>> path.read_text()
    'tail0\tfrance\tcapital\n'
    """
    if len(topics) == 0:
        raise KgtrecError(f"{path}: expected at least one topic, found none")
    if (wrong := unwritable_labels(topics.ids.labels, first=True)).size:
        raise KgtrecError(refusal(str(path), "question", [topics.ids[code] for code in wrong[:3]]))
    columns = [list(topics.ids), topics.anchor.to_pylist(), topics.relation.to_pylist()]
    for name, column in zip(COLUMNS[1:], columns[1:], strict=True):
        if wrong_label := next((label for label in column if set("\t\n\r") & set(label)), None):
            raise KgtrecError(
                f"{path}: expected {name} labels without tabs and line breaks, found {wrong_label!r}; "
                "see kgtrec questions --ids"
            )
        if "" in column:
            raise KgtrecError(f"{path}: expected {name} labels, found an empty one; see kgtrec questions --ids")
    with writing(path, force=force) as stream:
        stream.writelines("\t".join(row).encode() + b"\n" for row in zip(*columns, strict=True))


def lists_ids(path: PathLike) -> bool:
    """Whether a list of entities has ids in a first column, by its name: ``entities.tsv``, compressed or not."""
    return Path(path).name.startswith(ENTITY_IDS)


def read_entity_labels(path: PathLike) -> Vocabulary:
    r"""The entities that a collection's ``entities.txt`` (one label per line) or ``entities.tsv`` (id first) lists.

    Raises
    ------
    FormatError
        For a repeated label, an empty or damaged file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "entities.txt"
    >>> _ = path.write_text("france\nparis\n")
    >>> list(read_entity_labels(path))
    ['france', 'paris']
    """
    by_ids = lists_ids(path)
    labels = [text.split("\t")[0] if by_ids else text for _, text in _text_lines(path, None)]
    if not labels:
        raise FormatError("expected one entity per line, found an empty file", path=path)
    try:
        return Vocabulary.of(labels)
    except KgtrecError as error:
        raise FormatError(str(error), path=path) from None

"""Topics: ``id <TAB> anchor <TAB> relation`` lines without header, with a fourth column for qualifiers such as times.

And lists of entity labels.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of
from kgtrec.data.questions import Topics
from kgtrec.data.triples import BETWEEN, qualified, refuse_qualified
from kgtrec.data.vocabulary import WHITE_SPACE, Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.output.folders import ENTITY_IDS
from kgtrec.formats.output.outputs import writing
from kgtrec.formats.trec.text import decoded, shown
from kgtrec.formats.tsv import lines_of, require_writable, require_writable_labels

COLUMNS = ("id", "anchor", "relation")
_WITH_QUALIFIER = (*COLUMNS, "qualifier")
_BLANK_IN_ID = re.compile(r"[\t\n\v\f\r ]|\A\s|\s\Z")


def read_topics(path: PathLike, *, stream: BinaryIO | None = None) -> Topics:
    r"""Read the topics in a file; ``stream`` may hold its bytes, already open.

    Columns are split at tabs only, so anchors and relations may contain spaces; ids may not. Blank lines and lines that
    begin with ``#`` are skipped. Where a relation has a qualifier, such as a time, it is the fourth column.

    Parameters
    ----------
    path : path
        The file, ``.gz`` or ``.zst`` or neither. It names the file in errors.
    stream : binary file, optional
        The bytes of the file, already open. Default: ``path`` is opened.

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
    text = Lines.read(path, stream=stream)
    if (columns := _regular(text)) is not None:
        ids, anchor, relation, *qualifier = columns
        with in_file(path):
            refuse_qualified(relation)
            return Topics(Vocabulary(ids), anchor, qualified(relation, *qualifier) if qualifier else relation)
    rows: list[list[str]] = []
    for line in text.every():
        if not line.text.strip() or line.text.startswith("#"):
            continue
        fields = line.fields(_WITH_QUALIFIER if line.data.count(b"\t") == len(COLUMNS) else COLUMNS)
        if _BLANK_IN_ID.search(fields[0]):
            raise line.error(
                f"expected a question id without white space, got {fields[0]!r}; runs and qrels could not name it"
            )
        line.once(fields[0], repr(fields[0]), "each id")
        rows.append([*fields, ""][: len(_WITH_QUALIFIER)])
    if not rows:
        raise FormatError("expected lines of 3 columns (id anchor relation), found none", path)
    ids, anchor, relation, qualifier = (labels_of(column) for column in zip(*rows, strict=True))
    with in_file(path):
        return Topics(Vocabulary.of(ids), anchor, qualified(relation, qualifier))


def _regular(lines: Lines) -> list[pa.StringArray] | None:
    """The columns of topics that all have as many, and ids without fault; None for others, which are read by line."""
    width = lines.data.partition(b"\n")[0].count(b"\t") + 1
    if lines.data.startswith(b"#") or b"\n#" in lines.data or width not in (len(COLUMNS), len(_WITH_QUALIFIER)):
        return None
    try:
        columns = read_fields(lines, width, "")
    except FormatError:
        return None
    ids = columns[0]
    is_wrong = pc.match_substring_regex(ids, WHITE_SPACE)
    return None if pc.any(is_wrong).as_py() or pc.count_distinct(ids).as_py() < len(ids) else columns


def write_topics(path: PathLike, topics: Topics, *, force: bool = False) -> None:
    r"""Write topics, compressed by suffix, atomically.

    Parameters
    ----------
    path : path
        The file to write; ``.gz`` and ``.zst`` are compressed, ``-`` is standard output.
    topics : Topics
        Questions with their ids, in this order.
    force : bool
        Replace a file that exists already. Default: refuse.

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
    require_writable(path, "question", topics.ids, is_first=True)
    for name, labels in zip(COLUMNS[1:], (topics.anchor, topics.relation), strict=True):
        require_writable_labels(path, labels, name, "see kgtrec questions --ids", refused=r"[\t\n\r]|^$")
    with writing(path, force=force) as stream:
        relation = pc.replace_substring(topics.relation, BETWEEN, "\t", max_replacements=1)  # a column each
        stream.write(lines_of(topics.ids.labels, topics.anchor, relation, between="\t"))


def lists_ids(path: PathLike) -> bool:
    """Return whether a list of entities has ids in a first column, by its name: ``entities.tsv``, compressed or not."""
    return Path(path).name.startswith(ENTITY_IDS)


def read_entity_labels(path: PathLike) -> Vocabulary:
    r"""Read the entities of a collection's ``entities.txt`` (one label per line) or ``entities.tsv`` (id first).

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
    labels = read_label_lines(path, column=0 if lists_ids(path) else None)
    if not len(labels):
        raise FormatError("expected one entity per line, found an empty file", path)
    return labels


def read_label_lines(path: PathLike, *, column: int | None = None) -> Vocabulary:
    """Read one label per line, or a column of several tab-separated ones, counted from 0."""
    lines = Lines.read(path)
    labels = decoded(lines.data.replace(b"\r\n", b"\n").removesuffix(b"\r"), path).split("\n")
    if labels[-1] == "":
        labels.pop()
    if column is not None:
        fields = [label.split("\t", column + 1) for label in labels]
        if (short := next((row for row, each in enumerate(fields) if len(each) <= column), None)) is not None:
            line = list(lines.every())[short]
            expected = f"expected at least {column + 1} columns separated by tabs"
            raise line.error(f"{expected}, found {len(fields[short])}: {shown(line.data)}")
        labels = [each[column] for each in fields]
    if len(set(labels)) < len(labels):
        for line, label in zip(lines.every(), labels, strict=True):
            line.once(label, repr(label), "each label")
    return Vocabulary.of(labels)

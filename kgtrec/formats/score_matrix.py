"""Score matrices as ``.npy`` files, read without loading them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.formats.topics import lists_ids

Block = tuple[NDArray[np.intp], NDArray[Any]]
BLOCK_BYTES = 64 << 20  # scores in a block, unless the caller asks for a number of questions


def read_score_matrix(
    path: PathLike,
    collection: Collection,
    *,
    topics: PathLike | None = None,
    entities: PathLike | None = None,
    block: int | None = None,
) -> Iterator[Block]:
    """Blocks of (question rows, scores) of a ``.npy`` matrix questions x entities, in question order.

    Only one block of the file is mapped at a time, so that memory is bounded by the block.

    Parameters
    ----------
    path : path
        The matrix: rows as in the collection's ``topics.tsv``, columns as in its entities, unless the next two differ.
    collection : Collection
        What the scores are for.
    topics : path, optional
        Question ids in the order of the matrix's rows: the first column of a tab-separated file.
    entities : path, optional
        Entity labels in the order of the matrix's columns, one per line; or ids, as in a collection's ``entities.tsv``.
    block : int, optional
        Questions per block; by default as many as fit 64 MiB.

    Raises
    ------
    FormatError
        At once, if the file is no whole matrix of the collection's questions and entities.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> path = Path(tempfile.mkdtemp(), "transe.npy")
    >>> np.save(path, np.zeros((len(collection.questions), len(collection.entities)), np.float32))
    >>> [(rows.tolist(), scores.shape) for rows, scores in read_score_matrix(path, collection, block=1)]
    [([0], (1, 4)), ([1], (1, 4))]
    """
    matrix = mapped_matrix(path)
    row_of = None if topics is None else _aligned(topics, collection.questions.ids, "question", first_column=True)
    column_of = None if entities is None else entity_places(entities, collection)
    n_rows = len(collection.questions) if row_of is None else row_of[1]
    n_columns = len(collection.entities) if column_of is None else column_of[1]
    if matrix.shape != (n_rows, n_columns):
        found = " x ".join(map(str, matrix.shape)) or "a single number"
        raise FormatError(
            f"expected a matrix of {n_rows} questions x {n_columns} entities, found {found}; rows follow the "
            "collection's topics.tsv and columns its entities, or the files named as --topics and --entities",
            path=path,
        )
    return _blocks(
        path, matrix, None if row_of is None else row_of[0], None if column_of is None else column_of[0],
        len(collection.questions), block,
    )  # fmt: skip


def questions_per_block(width: int, itemsize: int, block: int | None) -> int:
    """How many questions a block holds."""
    return max(1, BLOCK_BYTES // max(width * itemsize, 1)) if block is None else max(1, block)


def read_label_lines(path: PathLike, *, first_column: bool = False) -> Vocabulary:
    """One label per line, or the first of several tab-separated columns."""
    with reading(path) as stream:
        data = stream.read()
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FormatError("expected text in UTF-8, found other bytes", path=path, line=line) from None
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    labels = [line.partition("\t")[0] for line in lines] if first_column else lines
    first: dict[str, int] = {}
    for number, label in enumerate(labels, 1):
        if first.setdefault(label, number) != number:
            raise FormatError(
                f"expected each label once, found {label!r} here and in line {first[label]}", path=path, line=number
            )
    return Vocabulary.of(labels)


def entity_places(path: PathLike, collection: Collection) -> tuple[NDArray[np.int32], int]:
    """Where each entity of the collection stands in a file of entities, and how many the file has.

    A file ``entities.tsv`` tells ids in its first column; any other has one label per line.

    Raises
    ------
    FormatError
        If an entity of the collection is missing or a line is repeated.
    """
    if lists_ids(path):
        return _aligned(path, collection.entities, "entity", first_column=True)
    return _aligned(path, collection.labels or collection.entities, "entity", first_column=False)


def _aligned(path: PathLike, wanted: Vocabulary, what: str, *, first_column: bool) -> tuple[NDArray[np.int32], int]:
    """Where each wanted label stands in the file, and how many labels that has."""
    own = read_label_lines(path, first_column=first_column)
    place = own.encode(wanted.labels)
    missing = np.flatnonzero(place < 0)
    if len(missing):
        raise FormatError(
            f"expected every {what} of the collection, {len(missing)} are missing, "
            f"the first being {wanted[missing[0]]!r}",
            path=path,
        )
    return place, len(own)


def _blocks(
    path: PathLike,
    matrix: NDArray[Any],
    row_of: NDArray[np.int32] | None,
    column_of: NDArray[np.int32] | None,
    n_questions: int,
    block: int | None,
) -> Iterator[Block]:
    step = questions_per_block(matrix.shape[1], matrix.dtype.itemsize, block)
    for first in range(0, n_questions, step):
        rows = np.arange(first, min(first + step, n_questions))
        scores = _rows_of(path, matrix, first, len(rows)) if row_of is None else matrix[row_of[rows]]
        yield rows, scores if column_of is None else scores[:, column_of]


def _rows_of(path: PathLike, matrix: NDArray[Any], first: int, count: int) -> NDArray[Any]:
    if not isinstance(matrix, np.memmap) or not matrix.flags.c_contiguous:
        return matrix[first : first + count]
    # a map of its own, which is closed with the block: pages of one map over the whole file would stay resident
    offset = matrix.offset + first * matrix.shape[1] * matrix.dtype.itemsize
    return np.memmap(Path(path), matrix.dtype, "r", offset, (count, matrix.shape[1]))

"""Score matrices as ``.npy`` files, read without loading them, and the order of their rows and columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_places, question_places, warn_of_extra
from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file, require, whole_number
from kgtrec.formats.files import PathLike
from kgtrec.formats.hdf5 import Hdf5Matrix
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.formats.output.folders import ENTITY_IDS, ENTITY_LABELS, TOPICS
from kgtrec.formats.output.outputs import together, writing
from kgtrec.formats.trec.origins import Origin, origin_path, read_origin, require_origin_place, write_origin
from kgtrec.formats.trec.topics import lists_ids, read_label_lines, read_topics

ScoreBlock = tuple[NDArray[np.intp], NDArray[Any]]
HDF5_SUFFIXES = (".h5", ".hdf5")
_DATA_SET = "scores"  # of an HDF5 file
BLOCK_BYTES = 64 << 20  # scores in a block, unless the caller asks for a number of questions


def read_score_matrix(
    path: PathLike,
    collection: Collection,
    *,
    topics: PathLike | None = None,
    entities: PathLike | None = None,
    made_for: Collection | None = None,
    block: int | None = None,
) -> Iterator[ScoreBlock]:
    """Read blocks of (question rows, scores) of a matrix questions x entities, in the collection's order.

    The matrix is a ``.npy`` file, or the data set ``scores`` of an HDF5 file (``.h5``, with h5py installed).

    The question of each row and the entity of each column are given by files, named or beside the matrix, and are never
    guessed from its shape. Only one block of the file is mapped at a time, so that memory is bounded.

    Parameters
    ----------
    path : path
        The matrix.
    collection : Collection
        Whose questions are scored. Rows and columns of questions and entities that it lacks are left out, with a
        warning.
    topics : path, optional
        The questions in the order of the rows, ``id TAB anchor TAB relation``; only the beginning of an id is used,
        for the side that is asked for. Anchors are ids if there is ``entities.tsv`` beside the file. Default: the order
        in ``NAME.json``, see :func:`write_score_matrix`; else ``topics.tsv`` beside the matrix.
    entities : path, optional
        The entities in the order of the columns: one label per line, or ``id TAB label`` in a file ``entities.tsv``.
        Default: the order in ``NAME.json``; else ``entities.txt`` or ``entities.tsv`` beside the matrix.
    made_for : Collection, optional
        A collection that ``NAME.json`` may name instead: that of all test triples, where ``collection`` is a sample.
    block : int, optional
        Questions per block; by default as many as fit 64 MiB.

    Raises
    ------
    FormatError
        At once, if the order is unknown, or the matrix has another shape.
    CollectionError
        At once, if a question or an entity of the collection is missing.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> path = Path(tempfile.mkdtemp(), "transe.npy")
    >>> write_score_matrix(path, np.zeros((len(collection.questions), len(collection.entities))), collection)
    >>> [(rows.tolist(), scores.shape) for rows, scores in read_score_matrix(path, collection, block=1)]
    [([0], (1, 4)), ([1], (1, 4))]
    """
    block = block if block is None else whole_number("block", block, 1)
    matrix = _opened(path)
    known = _stamped(path, collection, made_for) if topics is None or entities is None else None
    if known is None:
        beside = order_beside(path)
        topics = beside[0] if topics is None else topics
        entities = beside[1] if entities is None else entities
        lacking = [("which question each row is about", "--topics FILE", TOPICS)] * (topics is None)
        lacking += [("which entity each column is about", "--entities FILE", ENTITY_LABELS)] * (entities is None)
        if lacking:
            what, options, files = zip(*lacking, strict=True)
            raise FormatError(
                f"expected files that say {' and '.join(what)}, found none: name them in their order "
                f"({' '.join(options)}), put {' and '.join(files)} beside the matrix, or, if it was made in the "
                f"collection's own order, say so once "
                f"(kgtrec convert --stamp COLLECTION {os.fspath(path)}; in Python kgtrec.write_score_matrix)",
                path,
            )
    questions = known if topics is None else read_questions_in_order(topics)
    rows = question_places(collection, questions, where=os.fspath(topics or path))
    names = known if entities is None else read_entity_names(entities)
    columns = entity_places(collection, names, where=os.fspath(entities or path))
    _require_shape(path, matrix.shape, (rows.size, columns.size), ", as in the files of its order,")
    warn_of_extra(rows, "questions", where=os.fspath(path))
    warn_of_extra(columns, "entities", where=os.fspath(path))
    row_of, column_of = (None if places.is_same else places.place for places in (rows, columns))
    return _blocks(path, matrix, row_of, column_of, len(collection.questions), block)


def write_score_matrix(path: PathLike, scores: Any, collection: Collection, *, force: bool = False) -> None:
    """Write a whole score matrix as ``.npy``, and beside it, in ``NAME.json``, the collection whose order it has.

    Parameters
    ----------
    path : path
        Ends in ``.npy``.
    scores : (n_questions, n_entities) array
        Rows as in ``collection.questions``, columns as in ``collection.entities``.
    collection : Collection
        Its stamp is noted beside the matrix; rows and columns have the order of its questions and entities.
    force : bool
        Replace a file that exists already. Default: refuse.

    Raises
    ------
    KgtrecError
        If the array has another shape.
    """
    if Path(path).suffix.lower() != ".npy":
        raise KgtrecError(f"{os.fspath(path)}: expected a name that ends in .npy, found another")
    matrix = np.asarray(scores)
    _require_shape(path, matrix.shape, (len(collection.questions), len(collection.entities)))
    require_origin_place(path)
    with together():
        with writing(path, kind="arrays", force=force) as stream:
            np.lib.format.write_array(stream, matrix, allow_pickle=False)
        write_origin(path, "scores", Origin(collection.matrix_stamp))


def stamp_score_matrix(path: PathLike, collection: Collection, *, force: bool = False) -> None:
    """Note beside a matrix of another tool that its rows and columns are in a collection's order.

    Raises
    ------
    FormatError
        If the file is not a matrix of the collection's shape, or files beside it give another order.
    CollectionError
        If files beside it lack a question or an entity of the collection.
    """
    _require_shape(path, _opened(path).shape, (len(collection.questions), len(collection.entities)))
    require_origin_place(path, force=force)
    readers = (read_questions_in_order, question_places), (read_entity_names, entity_places)
    for beside, (read, places_of) in zip(order_beside(path), readers, strict=True):
        if beside is not None and not places_of(collection, read(beside), where=str(beside)).is_same:
            raise FormatError(
                f"expected the order of the collection, found another one in {beside}, which gives that of this "
                "matrix; rank it without a stamp, or move that file away",
                path,
            )
    write_origin(path, "scores", Origin(collection.matrix_stamp))


def _require_shape(path: PathLike, found: tuple[int, ...], expected: tuple[int, int], why: str = ",") -> None:
    if found != expected:
        matrix = f"a matrix of {expected[0]} questions x {expected[1]} entities{why}"
        shape = " x ".join(map(str, found)) or "a single number"
        raise FormatError(f"expected {matrix} found {shape}", path)


def _stamped(path: PathLike, collection: Collection, made_for: Collection | None) -> Collection | None:
    """The collection that the matrix is known to belong to."""
    origin = read_origin(path, "scores")
    if origin is None:
        return None
    whole = [each for each in (collection, made_for) if each is not None]
    found = next((each for each in whole if each.matrix_stamp == origin.collection), None)
    if found is None:
        raise FormatError(
            f"expected scores of collection {' or '.join(each.matrix_stamp for each in whole)}, found those of "
            f"{origin.collection}, according to {origin_path(path).name}; name the questions and the entities in their "
            "order, both (--topics FILE --entities FILE), such as topics.tsv and entities.txt of that collection",
            path,
        )
    return found


def order_beside(path: PathLike) -> tuple[Path | None, Path | None]:
    """Return the files beside a matrix that list its questions, and its entities, in their order."""
    topics, *entities = (Path(path).with_name(name) for name in (TOPICS, ENTITY_LABELS, ENTITY_IDS))
    return topics if topics.is_file() else None, next((file for file in entities if file.is_file()), None)


def read_questions_in_order(path: PathLike) -> Questions:
    """Read the questions of a topics file, in its order; ``entities.tsv`` beside it maps ids to labels.

    Raises
    ------
    FormatError
        If a line is malformed, or an id does not begin with the side that is asked for.
    """
    topics = read_topics(path)
    ids = Path(path).with_name(ENTITY_IDS)
    if ids.is_file():
        anchors = read_label_lines(ids, column=0).encode(topics.anchor)
        expected, labels = f"expected entity ids of {ENTITY_IDS} beside it as anchors", topics.anchor
        require(anchors >= 0, lambda row: FormatError(f"{expected}, found {labels[row]}", path))
        topics = replace(topics, anchor=read_entity_names(ids).decode(anchors))
    with in_file(path):
        return topics.questions()


def read_entity_names(path: PathLike) -> Vocabulary:
    """Read the labels of entities, one per line; in ``entities.tsv``, of a collection with ids, the second column.

    Raises
    ------
    FormatError
        If a label is repeated, or the file is not text.
    """
    return read_label_lines(path, column=1 if lists_ids(path) else None)


def _blocks(
    path: PathLike,
    matrix: NDArray[Any] | Hdf5Matrix,
    row_of: NDArray[np.intp] | None,
    column_of: NDArray[np.intp] | None,
    n_questions: int,
    block: int | None,
) -> Iterator[ScoreBlock]:
    step = block or max(1, BLOCK_BYTES // max(matrix.shape[1] * matrix.dtype.itemsize, 1))
    for first in range(0, n_questions, step):
        rows = np.arange(first, min(first + step, n_questions))
        scores = _rows_of(path, matrix, first, len(rows)) if row_of is None else matrix[row_of[rows]]
        yield rows, scores if column_of is None else scores[:, column_of]


def _opened(path: PathLike) -> NDArray[Any] | Hdf5Matrix:
    return Hdf5Matrix(path, _DATA_SET) if Path(path).suffix.lower() in HDF5_SUFFIXES else mapped_matrix(path)


def _rows_of(path: PathLike, matrix: NDArray[Any] | Hdf5Matrix, first: int, count: int) -> NDArray[Any]:
    if not isinstance(matrix, np.memmap) or not matrix.flags.c_contiguous:
        return matrix[first : first + count]
    # a separate map, which is closed with the block: pages of one map of the whole file would stay in memory
    offset = matrix.offset + first * matrix.shape[1] * matrix.dtype.itemsize
    return np.memmap(Path(path), matrix.dtype, "r", offset, (count, matrix.shape[1]))

"""Factorised systems: question and entity vectors whose product is the score matrix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_places, question_places, warn_of_extra
from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays
from kgtrec.formats.score_matrix import Block, questions_per_block, read_entity_names, read_label_lines


def read_factorised(
    path: PathLike,
    collection: Collection,
    *,
    entities: PathLike | None = None,
    relations: PathLike | None = None,
    block: int | None = None,
) -> Iterator[Block]:
    """Blocks of (question rows, scores) of a factorised system, in question order; scores are ``Q @ E.T + b``.

    The ``.npz`` archive holds ``E`` (entities x d), ``Q`` (questions x d), optionally ``b`` (entities,), of any float
    type, and ``questions`` (questions x 3: is a head question, relation number, anchor number). Numbers follow label
    files beside the archive, by which entities and questions are matched to the collection's. Scores are computed in
    float64 and rounded once to float32, so that they are the same in blocks of any size and on any processor, but for
    one in some hundred million.

    Parameters
    ----------
    path : path
        The archive.
    collection : Collection
        What the scores are for. Questions and entities of the archive that it lacks are left out, with a warning.
    entities, relations : path, optional
        Labels, one per line; by default ``entities.txt`` and ``relations.txt`` beside the archive.
    block : int, optional
        Questions per block; by default as many as fit 64 MiB.

    Raises
    ------
    FormatError
        At once, if the archive or a label file is damaged.
    CollectionError
        At once, if they lack a question or an entity of the collection.
    """
    arrays = _arrays(path)
    entities = Path(path).with_name("entities.txt") if entities is None else entities
    relations = Path(path).with_name("relations.txt") if relations is None else relations
    for labels, what in ((entities, "entities"), (relations, "relations")):
        if not Path(labels).exists():
            raise FormatError(
                f"expected the labels of the archive's {what} in {labels}, found no such file; name it with --{what}",
                path=path,
            )
    names = read_entity_names(entities)
    columns = entity_places(collection, names, where=os.fspath(entities))
    if columns.size != len(arrays["E"]):
        raise FormatError(
            f"expected one row of E per line of {entities}, found {len(arrays['E'])} rows and {columns.size} lines",
            path=path,
        )
    asked = _questions(path, arrays["questions"], names, read_label_lines(relations))
    rows = question_places(collection, asked, where=os.fspath(path))
    warn_of_extra(columns, "entities", where=os.fspath(path))
    warn_of_extra(rows, "questions", where=os.fspath(path))
    with np.errstate(over="ignore", invalid="ignore"):
        E = arrays["E"].astype(np.float64)[columns.place]
        b = None if "b" not in arrays else arrays["b"].astype(np.float64)[columns.place]
    return _blocks(arrays["Q"], E, b, rows.place, block)


def _blocks(
    Q: NDArray[Any],
    E: NDArray[np.float64],
    b: NDArray[np.float64] | None,
    question_row: NDArray[np.intp],
    block: int | None,
) -> Iterator[Block]:
    step = questions_per_block(len(E), 8, block)
    for first in range(0, len(question_row), step):
        rows = np.arange(first, min(first + step, len(question_row)))
        # numbers beyond float32 come to infinity or NaN, which the ranking names with its question
        with np.errstate(over="ignore", invalid="ignore"):
            scores = Q[question_row[rows]].astype(np.float64) @ E.T
            if b is not None:
                scores += b
            rounded = scores.astype(np.float32)
        yield rows, rounded


def _questions(path: PathLike, questions: NDArray[Any], entities: Vocabulary, relations: Vocabulary) -> Questions:
    """The archive's questions, under its own entities and relations."""
    side, relation, anchor = questions.T.astype(np.int64)
    for column, numbers, bound in ((0, side, 2), (1, relation, len(relations)), (2, anchor, len(entities))):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= bound))
        if len(wrong):
            raise FormatError(
                f"expected numbers from 0 to {bound - 1} in column {column} of questions, found {numbers[wrong[0]]} "
                f"in row {wrong[0]}",
                path=path,
            )
    ids = Vocabulary.of([str(number) for number in range(len(side))])
    return Questions(ids, side == 1, relation.astype(np.int32), anchor.astype(np.int32), entities, relations)


def _arrays(path: PathLike) -> dict[str, NDArray[Any]]:
    arrays = archived_arrays(path, ("E", "Q", "questions"), ("b",))
    _check_shapes(path, arrays)
    return arrays


def _check_shapes(path: PathLike, arrays: dict[str, NDArray[Any]]) -> None:
    E, Q, questions, b = arrays["E"], arrays["Q"], arrays["questions"], arrays.get("b")
    shapes = f"E {E.shape}, Q {Q.shape}, questions {questions.shape}" + ("" if b is None else f", b {b.shape}")
    fits = E.ndim == Q.ndim == 2 and E.shape[1] == Q.shape[1] and questions.shape == (len(Q), 3)
    if not fits or (b is not None and b.shape != (len(E),)):
        raise FormatError(
            f"expected E (entities x d), Q (questions x d), questions (questions x 3) and b (entities), found {shapes}",
            path=path,
        )
    if questions.dtype.kind not in "iu":
        raise FormatError(f"expected whole numbers in questions, found {questions.dtype}", path=path)
    for name in ("E", "Q", "b"):
        if name in arrays and arrays[name].dtype.kind not in "fiu":
            raise FormatError(f"expected numbers in {name}, found {arrays[name].dtype}", path=path)

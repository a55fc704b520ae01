"""Factorised systems: question and entity vectors whose product is the score matrix."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecWarning
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays
from kgtrec.formats.score_matrix import Block, entity_places, questions_per_block, read_label_lines


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
    files beside the archive, by which entities and questions are matched to the collection's. Products are float32.

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
        At once, if the archive or a label file is damaged or lacks a question or entity of the collection.
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
    place, n_entities = entity_places(entities, collection)
    if n_entities != len(arrays["E"]):
        raise FormatError(
            f"expected one row of E per line of {entities}, found {len(arrays['E'])} rows and {n_entities} lines",
            path=path,
        )
    question_row = _question_rows(path, arrays["questions"], collection, place, n_entities, read_label_lines(relations))
    for extra, what in (
        (n_entities - len(place), "entities"),
        (len(arrays["Q"]) - len(question_row), "questions"),
    ):
        if extra:
            message = f"{os.fspath(path)}: left out {extra} {what} that the collection lacks"
            warnings.warn(message, KgtrecWarning, stacklevel=2)
    with np.errstate(over="ignore", invalid="ignore"):
        E = arrays["E"].astype(np.float32)[place]
        b = None if "b" not in arrays else arrays["b"].astype(np.float32)[place]
    return _blocks(arrays["Q"], E, b, question_row, block)


def _blocks(
    Q: NDArray[Any],
    E: NDArray[np.float32],
    b: NDArray[np.float32] | None,
    question_row: NDArray[np.intp],
    block: int | None,
) -> Iterator[Block]:
    step = questions_per_block(len(E), 4, block)
    for first in range(0, len(question_row), step):
        rows = np.arange(first, min(first + step, len(question_row)))
        # numbers beyond float32 come to infinity or NaN, which the ranking names with its question
        with np.errstate(over="ignore", invalid="ignore"):
            scores = Q[question_row[rows]].astype(np.float32) @ E.T
            if b is not None:
                scores += b
        yield rows, scores


def _question_rows(
    path: PathLike,
    questions: NDArray[Any],
    collection: Collection,
    place: NDArray[np.int32],
    n_entities: int,
    relations: Vocabulary,
) -> NDArray[np.intp]:
    """Row of the archive for each question of the collection."""
    side, relation, anchor = questions.T.astype(np.int64)
    for column, numbers, bound in ((0, side, 2), (1, relation, len(relations)), (2, anchor, n_entities)):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= bound))
        if len(wrong):
            raise FormatError(
                f"expected numbers from 0 to {bound - 1} in column {column} of questions, found {numbers[wrong[0]]} "
                f"in row {wrong[0]}",
                path=path,
            )
    relation = collection.relations.encode(relations.labels)[relation]
    code_at = np.full(n_entities, -1, np.int32)
    code_at[place] = np.arange(len(place), dtype=np.int32)
    anchor = code_at[anchor]
    row = collection.questions.rows(side == 1, relation, anchor)
    row[(relation < 0) | (anchor < 0)] = -1
    kept = np.flatnonzero(row >= 0)
    found = np.bincount(row[kept], minlength=len(collection.questions))
    for unmet, what in ((found == 0, "is missing"), (found > 1, "stands more than once")):
        if unmet.any():
            first = collection.questions.ids[np.flatnonzero(unmet)[0]]
            raise FormatError(
                f"expected each question of the collection once, found {first!r} {what} "
                f"({np.count_nonzero(unmet)} such questions in all)",
                path=path,
            )
    rows = np.empty(len(collection.questions), np.intp)
    rows[row[kept]] = kept
    return rows


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

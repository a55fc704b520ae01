"""Factorised systems: question and entity vectors whose product is the score matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.factor_folders import BY_QUESTION, FactorArrays
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays
from kgtrec.formats.score_matrix import read_entity_names, read_label_lines


def read_factor_archive(
    path: PathLike, *, entities: PathLike | None = None, relations: PathLike | None = None
) -> FactorArrays:
    """The arrays of a factorised system, whose scores are ``Q @ E.T + b``.

    The ``.npz`` archive holds ``E`` (entities x d), ``Q`` (questions x d), optionally ``b`` (entities,), of any float
    type, and ``questions`` (questions x 3: is a head question, relation number, anchor number). Numbers follow label
    files, by which entities and questions are matched with a collection's.

    Parameters
    ----------
    path : path
        The archive.
    entities, relations : path, optional
        Labels, one per line; by default ``entities.txt`` and ``relations.txt`` beside the archive.

    Raises
    ------
    FormatError
        If the archive or a label file is damaged, or they do not fit each other.
    """
    arrays = archived_arrays(path, ("E", "Q", "questions"), ("b",))
    _check_shapes(path, arrays)
    entities = Path(path).with_name("entities.txt") if entities is None else entities
    relations = Path(path).with_name("relations.txt") if relations is None else relations
    for labels, what in ((entities, "entities"), (relations, "relations")):
        if not Path(labels).exists():
            raise FormatError(
                f"expected the labels of the archive's {what} in {labels}, found no such file; name it with --{what}",
                path=path,
            )
    names = read_entity_names(entities)
    if len(names) != len(arrays["E"]):
        raise FormatError(
            f"expected one row of E per line of {entities}, found {len(arrays['E'])} rows and {len(names)} lines",
            path=path,
        )
    types = read_label_lines(relations)
    E, Q, questions = (arrays[name] for name in ("E", "Q", "questions"))
    return FactorArrays(BY_QUESTION, {}, False, names, types, E, arrays.get("b"), Q=Q, questions=questions)


def numbered_questions(
    path: PathLike, questions: NDArray[Any], entities: Vocabulary, relations: Vocabulary
) -> Questions:
    """Questions of rows (is a head question, relation number, anchor number), under a model's entities and relations.

    Raises
    ------
    FormatError
        If a number is that of no label.
    """
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

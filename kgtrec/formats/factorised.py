"""Factorised systems: question and entity vectors whose product is the score matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.factor_folders import BY_QUESTION, FactorArrays, checked
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays
from kgtrec.formats.score_matrix import read_entity_names
from kgtrec.formats.trec.topics import read_label_lines


def read_factor_archive(
    path: PathLike, *, entities: PathLike | None = None, relations: PathLike | None = None
) -> FactorArrays:
    """Read the arrays of a factorised system, whose scores are ``Q @ E.T + b``.

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
    entities = Path(path).with_name("entities.txt") if entities is None else entities
    relations = Path(path).with_name("relations.txt") if relations is None else relations
    for labels, what in ((entities, "entities"), (relations, "relations")):
        if not Path(labels).exists():
            raise FormatError(
                f"expected the labels of the archive's {what} in {labels}, found no such file; name it with --{what}",
                path=path,
            )
    made = FactorArrays(BY_QUESTION, {}, False, read_entity_names(entities), read_label_lines(relations), **arrays)
    return checked(made, path, {name: name for name in arrays})


def numbered_questions(
    path: PathLike, questions: NDArray[Any], entities: Vocabulary, relations: Vocabulary
) -> Questions:
    """Make questions of rows (is a head question, relation number, anchor number) of a model.

    Raises
    ------
    FormatError
        If a number is that of no label.
    """
    side, relation, anchor = questions.T.astype(np.int64)
    for column, numbers, bound in ((0, side, 2), (1, relation, len(relations)), (2, anchor, len(entities))):
        expected = f"expected numbers from 0 to {bound - 1} in column {column} of questions"
        if (wrong := np.flatnonzero((numbers < 0) | (numbers >= bound))).size:
            raise FormatError(f"{expected}, found {numbers[wrong[0]]} in row {wrong[0]}", path=path)
    ids = Vocabulary.of([str(number) for number in range(len(side))])
    return Questions(ids, side == 1, relation.astype(np.int32), anchor.astype(np.int32), entities, relations)

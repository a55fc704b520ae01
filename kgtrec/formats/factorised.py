"""Factorised systems: question and entity vectors whose product is the score matrix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import Rounding
from kgtrec.data.collection import Collection
from kgtrec.data.identity import Places, entity_places, question_places, warn_of_extra
from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays
from kgtrec.formats.score_matrix import Block, questions_per_block, read_entity_names
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.ranking.answer_ranks import count_against
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.kernels.ranking.panels import Vectors, are_wide, scores_of, tied_by_rounding, wide
from kgtrec.kernels.rows import Rows


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
    files beside the archive, by which entities and questions are matched with the collection's. Scores are computed in
    float64 and rounded once to float32, so that they are the same in blocks of any size and on any processor, except
    for about one in some hundred million. What an archive in float64 knows and rounding takes away is an error where it
    moves ranks.

    Parameters
    ----------
    path : path
        The archive.
    collection : Collection
        Whose questions are scored. Questions and entities of the archive that it lacks are left out, with a warning.
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
    KgtrecError
        When a block is made, if answers tie with candidates since scores are rounded.
    """
    archive = read_factor_archive(path, entities=entities, relations=relations)
    columns = entity_places(collection, archive.entities, where=os.fspath(archive.entities_file))
    rows = question_places(collection, archive.questions, where=os.fspath(path))
    warn_of_extra(columns, "entities", where=os.fspath(path))
    warn_of_extra(rows, "questions", where=os.fspath(path))
    return _blocks(Path(path).stem, archive, collection, columns, rows.place, block)


def _blocks(
    name: str,
    archive: FactorArchive,
    collection: Collection,
    columns: Places,
    question_row: NDArray[np.intp],
    block: int | None,
) -> Iterator[Block]:
    vectors = Vectors(archive.E, archive.b, PRODUCT, are_wide(archive.E, archive.b, archive.Q))
    rounding = Rounding(name, len(question_row))
    step = questions_per_block(len(archive.E), 8, block)
    for first in range(0, len(question_row), step):
        rows = np.arange(first, min(first + step, len(question_row)))
        queries = wide(archive.Q[question_row[rows]])
        scores = scores_of(vectors, queries)
        if vectors.is_wide:
            _tell_rounding(rounding, vectors, queries, scores, collection, first, columns.place)
        yield rows, scores if columns.is_same else np.take(scores, columns.place, axis=1)
    rounding.tell()


def _tell_rounding(
    rounding: Rounding,
    vectors: Vectors,
    queries: NDArray[np.float64],
    scores: NDArray[np.float32],
    collection: Collection,
    first: int,
    place: NDArray[np.intp],
) -> None:
    """Tell what rounding does to the answers of a block, among all entities of the collection that are not known."""
    qrels, known, width = collection.qrels, collection.known, scores.shape[1]

    def keys(question: NDArray[np.int32], entity: NDArray[np.int32]) -> NDArray[np.int64]:
        """Pairs of the block, by row and the archive's entity."""
        here = (question >= first) & (question < first + len(scores))
        found: NDArray[np.int64] = (question[here].astype(np.int64) - first) * width + place[entity[here]]
        return found

    is_answer = qrels.grade >= 1
    answers = distinct(keys(qrels.question[is_answer], qrels.entity[is_answer]))
    row, answer = np.divmod(answers, width)
    aside_row, aside_entity = np.divmod(distinct(np.append(answers, keys(known.question, known.entity))), width)
    entity = np.sort(place)
    if len(entity) < width:
        scores = scores[:, entity]
    aside = aside_row, np.searchsorted(entity, aside_entity)
    own = scores[row, np.searchsorted(entity, answer)]
    above, tied = count_against(scores, row, own, *aside)
    some = np.flatnonzero(tied)
    by_rounding = np.zeros(len(row), np.int64)
    by_rounding[some] = tied_by_rounding(vectors, queries, scores, entity, row[some], own[some], answer[some], *aside)
    rounding.add(above, tied, by_rounding)


@dataclass(frozen=True, slots=True, eq=False)
class FactorArchive:
    """The arrays of a factorised system, and what their rows are about."""

    E: Rows  # (entities, d)
    Q: Rows  # (questions, d)
    b: Rows | None  # (entities,)
    questions: Questions  # (questions,) under the labels of the archive
    entities_file: Path  # where these came from

    @property
    def entities(self) -> Vocabulary:
        """(entities,) labels."""
        return self.questions.entities


def read_factor_archive(
    path: PathLike, *, entities: PathLike | None = None, relations: PathLike | None = None
) -> FactorArchive:
    """The arrays of a factorised system, as :func:`read_factorised` describes them.

    Raises
    ------
    FormatError
        If the archive or a label file is damaged, or they do not fit each other.
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
    if len(names) != len(arrays["E"]):
        raise FormatError(
            f"expected one row of E per line of {entities}, found {len(arrays['E'])} rows and {len(names)} lines",
            path=path,
        )
    asked = numbered_questions(path, arrays["questions"], names, read_label_lines(relations))
    return FactorArchive(arrays["E"], arrays["Q"], arrays.get("b"), asked, Path(entities))


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
        expected = f"expected numbers from 0 to {bound - 1} in column {column} of questions"
        if (wrong := np.flatnonzero((numbers < 0) | (numbers >= bound))).size:
            raise FormatError(f"{expected}, found {numbers[wrong[0]]} in row {wrong[0]}", path=path)
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

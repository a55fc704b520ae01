"""Factor folders: a factorised model as arrays that are mapped, so that it may be larger than the memory.

``factors.json`` names the score, ``E.npy`` has a vector for each line of ``entities.txt``, ``R.npy`` one for each line
of ``relations.txt`` (with reciprocal relations two, the reciprocal ones last), and ``b.npy`` optionally a number for
each entity. For a score that is none of those known by name, ``Q.npy`` and ``questions.npy`` take the place of
``R.npy``, as in an ``.npz`` archive. Each array may be in shards instead, ``E-00000.npy`` and so on, whose rows follow
each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.numpy_files import archived_arrays, array_files, mapped_rows, save_array, spanned
from kgtrec.formats.output.outputs import writing_folder
from kgtrec.formats.score_matrix import read_entity_names
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.formats.versions import FORMATS, require_version
from kgtrec.kernels.rows import LargeArray

FACTORS, FORMAT = "factors.json", "factors"
_ARRAYS = ("E", "b", "R", "Q", "questions")
BY_QUESTION = "query"  # the score of a folder with Q.npy


@dataclass(frozen=True, slots=True, eq=False)
class FactorArrays:
    """The arrays of a factorised model; those of a factor folder are mapped."""

    score: str  # a formula of kgtrec.systems.formulas, or "query"
    parameters: Mapping[str, float | str]  # of the formula
    has_reciprocals: bool
    entities: Vocabulary
    relations: Vocabulary
    E: LargeArray  # (entities, d)
    b: LargeArray | None = None  # (entities,)
    R: LargeArray | None = None  # (relations, k)
    Q: LargeArray | None = None  # (questions, d)
    questions: LargeArray | None = None  # (questions, 3): is a head question, relation number, anchor number


def read_factor_folder(
    path: PathLike, *, entities: PathLike | None = None, relations: PathLike | None = None
) -> FactorArrays:
    """Read the arrays of a factor folder; of large ones only what is used is read later.

    Parameters
    ----------
    path : path
    entities, relations : path, optional
        Labels, one per line; by default ``entities.txt`` and ``relations.txt`` in the folder.

    Raises
    ------
    FormatError
        If a file is missing or damaged, or arrays and labels do not fit each other.
    """
    folder = Path(path)
    about = read_json(folder / FACTORS)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FormatError(
            'expected {"format": "factors", "version": 1, "score": ...}, found something else', path=folder / FACTORS
        )
    require_version(about.get("version"), FORMAT, folder / FACTORS)
    score, reciprocal = about.get("score"), about.get("reciprocal", False)
    parameters = {key: value for key, value in about.items() if key not in ("format", "version", "score", "reciprocal")}
    if not isinstance(score, str) or not isinstance(reciprocal, bool):
        raise FormatError("expected a score by name, and reciprocal as true or false", path=folder / FACTORS)
    names = read_entity_names(entities or folder / "entities.txt")
    relation_names = read_label_lines(relations or folder / "relations.txt")
    wanted = ("E", "b", "Q", "questions") if score == BY_QUESTION else ("E", "b", "R")
    files = {name: array_files(folder, name) for name in wanted}
    for name, found in files.items():
        if not found and name != "b":
            other = f"; with Q.npy the score is {BY_QUESTION!r}" if name == "R" and array_files(folder, "Q") else ""
            raise FormatError(f"expected {name}.npy for the score {score!r}, found no such file{other}", path=folder)
    arrays = {name: mapped_rows(found) for name, found in files.items() if found}
    called = {name: spanned(found) for name, found in files.items() if found}
    return checked(FactorArrays(score, parameters, reciprocal, names, relation_names, **arrays), path, called)


def checked(made: FactorArrays, path: PathLike, called: Mapping[str, str]) -> FactorArrays:
    """Return the arrays of a model, whose names in messages are ``called``.

    Raises
    ------
    FormatError
        If they do not fit each other or the labels, or are no numbers.
    """
    several, each = (2, "two rows") if made.has_reciprocals else (1, "one row")
    d = (*made.E.shape, -1)[1]
    for name in _ARRAYS:
        array: LargeArray | None = getattr(made, name)
        if array is None:
            continue
        what, shape = {
            "E": ("one row for each entity", (len(made.entities), d)),
            "b": ("one number for each entity", (len(made.entities),)),
            "R": (f"{each} for each relation", (several * len(made.relations), *array.shape[1:2])),
            "Q": (f"one row of {d} numbers for each question", (*array.shape[:1], d)),
            "questions": ("three numbers of each question", (0 if made.Q is None else len(made.Q), 3)),
        }[name]
        if array.shape != shape or (name != "b" and len(shape) != 2):
            lacking = "; is a shard missing?" if " to " in called[name] else ""
            count = "" if name == "Q" else f", {shape[0]:,}"
            raise FormatError(f"expected {what} in {called[name]}{count}, found shape {array.shape}{lacking}", path)
        if array.dtype.kind not in ("iu" if name == "questions" else "fiu"):
            whole = "whole " if name == "questions" else ""
            raise FormatError(f"expected {whole}numbers in {called[name]}, found {array.dtype}", path)
    return made


def write_factor_folder(path: PathLike, factors: FactorArrays) -> None:
    """Write a factor folder, arrays in the types that they have.

    Raises
    ------
    FormatError
        If the folder exists; in a command, ``--force`` replaces one that has factors.

    Notes
    -----
    Arrays of several parts are written in as many shards.
    """
    with writing_folder(path, FACTORS, owned=files_of_factors) as new:
        about = {"format": FORMAT, "version": FORMATS[FORMAT][-1], "score": factors.score}
        about |= {"reciprocal": factors.has_reciprocals, **factors.parameters}
        (new / FACTORS).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        for name in _ARRAYS:
            array = getattr(factors, name)
            if array is not None:
                save_array(new, name, array)
        for name, labels in (("entities", factors.entities), ("relations", factors.relations)):
            with (new / f"{name}.txt").open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(f"{label}\n" for label in labels)


def files_of_factors(folder: Path) -> list[str]:
    """Return the names and patterns of the files of an earlier factor folder; none if it is something else."""
    with suppress(OSError, FormatError):
        about = read_json(folder / FACTORS)
        if isinstance(about, dict) and about.get("format") == FORMAT:
            arrays = [f"{name}{shard}.npy" for name in _ARRAYS for shard in ("", "-[0-9]*")]
            return [FACTORS, "entities.txt", "relations.txt", *arrays]
    return []


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
    folder = Path(path).parent
    entities, relations = entities or folder / "entities.txt", relations or folder / "relations.txt"
    for labels, what in ((entities, "entities"), (relations, "relations")):
        if not Path(labels).exists():
            raise FormatError(
                f"expected the labels of the archive's {what} in {labels}, found no such file; name it with --{what}",
                path,
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
        if (wrong := np.flatnonzero((numbers < 0) | (numbers >= bound))).size:
            expected = f"expected numbers from 0 to {bound - 1} in column {column} of questions"
            raise FormatError(f"{expected}, found {numbers[wrong[0]]} in row {wrong[0]}", path)
    ids = Vocabulary.of([str(number) for number in range(len(side))])
    return Questions(ids, side == 1, relation.astype(np.int32), anchor.astype(np.int32), entities, relations)

"""Factor folders: a factorised model as arrays that are mapped, so that it may be larger than the memory.

``factors.json`` tells the score, ``E.npy`` has a vector for each line of ``entities.txt``, ``R.npy`` one for each line
of ``relations.txt`` (with reciprocal relations two, the reciprocal ones last), and ``b.npy`` optionally a number for
each entity. For a score that is none of those known by name, ``Q.npy`` and ``questions.npy`` take the place of
``R.npy``, as in an ``.npz`` archive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.numpy_files import mapped_array
from kgtrec.formats.output.outputs import writing_folder
from kgtrec.formats.score_matrix import read_entity_names, read_label_lines

FACTORS, FORMAT = "factors.json", "factors"
BY_QUESTION = "query"  # the score of a folder with Q.npy


@dataclass(frozen=True, slots=True, eq=False)
class FactorFolder:
    """The arrays of a factor folder, mapped."""

    score: str  # a formula of kgtrec.systems.formulas, or "query"
    parameters: Mapping[str, float]  # of the formula
    has_reciprocals: bool
    entities: Vocabulary
    relations: Vocabulary
    E: NDArray[Any]  # (entities, d)
    b: NDArray[Any] | None  # (entities,)
    R: NDArray[Any] | None = None  # (relations, k)
    Q: NDArray[Any] | None = None  # (questions, d)
    questions: NDArray[Any] | None = None  # (questions, 3): is a head question, relation number, anchor number


def read_factor_folder(
    path: PathLike, *, entities: PathLike | None = None, relations: PathLike | None = None
) -> FactorFolder:
    """The arrays of a factor folder; of large ones only what is used is read later.

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
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") != 1:
        expected = '{"format": "factors", "version": 1, "score": ...}'
        raise FormatError(f"expected {expected}, found something else", path=folder / FACTORS)
    score, reciprocal = about.get("score"), about.get("reciprocal", False)
    parameters = {key: value for key, value in about.items() if key not in ("format", "version", "score", "reciprocal")}
    if not isinstance(score, str) or not isinstance(reciprocal, bool):
        raise FormatError("expected a score by name, and reciprocal as true or false", path=folder / FACTORS)
    for key, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise FormatError(f"expected a number as {key}, found {value!r}", path=folder / FACTORS)
    names = read_entity_names(entities or folder / "entities.txt")
    types = read_label_lines(relations or folder / "relations.txt")
    by_question = score == BY_QUESTION
    arrays = {name: _array(folder, name) for name in ("E", "b", *(("Q", "questions") if by_question else ("R",)))}
    E, b, R, Q, questions = (arrays.get(name) for name in ("E", "b", "R", "Q", "questions"))
    n_relations = len(types) * (1 + reciprocal)
    for name, array, rows, what in (
        ("E", E, len(names), "one row for each entity"),
        ("b", b, len(names), "one number for each entity"),
        ("R", R, n_relations, f"{'two rows' if reciprocal else 'one row'} for each relation"),
        ("questions", questions, None if Q is None else len(Q), "one row for each row of Q"),
    ):
        if array is None and name in arrays and name != "b":
            raise FormatError(f"expected {name}.npy for the score {score!r}, found no such file", path=folder)
        if array is not None and (len(array) != rows or array.ndim != (1 if name == "b" else 2)):
            raise FormatError(f"expected {what} in {name}.npy, {rows:,}, found shape {array.shape}", path=folder)
    if E is None or (by_question and (Q is None or Q.ndim != 2 or Q.shape[1] != E.shape[1])):
        raise FormatError("expected E.npy, and Q.npy with vectors of the same length, found others", path=folder)
    return FactorFolder(score, parameters, reciprocal, names, types, E, b, R, Q, questions)


def write_factor_folder(path: PathLike, factors: FactorFolder) -> None:
    """Write a factor folder, arrays in the types that they have.

    Raises
    ------
    FormatError
        If the folder holds something else.
    """
    with writing_folder(path, by="kgtrec convert --to factors") as new:
        about = {"format": FORMAT, "version": 1, "score": factors.score, "reciprocal": factors.has_reciprocals}
        (new / FACTORS).write_text(json.dumps(about | dict(factors.parameters), indent=1) + "\n", encoding="utf-8")
        for name in ("E", "b", "R", "Q", "questions"):
            array = getattr(factors, name)
            if array is not None:
                np.save(new / f"{name}.npy", array)
        for name, labels in (("entities", factors.entities), ("relations", factors.relations)):
            with (new / f"{name}.txt").open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(f"{label}\n" for label in labels)


def _array(folder: Path, name: str) -> NDArray[Any] | None:
    path = folder / f"{name}.npy"
    if not path.is_file():
        return None
    found = mapped_array(path)
    if found.dtype.kind not in ("iu" if name == "questions" else "fiu"):
        raise FormatError(f"expected numbers, found {found.dtype}", path=path)
    return found

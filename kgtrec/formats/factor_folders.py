"""Factor folders: a factorised model as arrays that are mapped, so that it may be larger than the memory.

``factors.json`` tells the score, ``E.npy`` has a vector for each line of ``entities.txt``, ``R.npy`` one for each line
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

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.array_folders import array_files, mapped_rows, save_array, spanned
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import writing_folder
from kgtrec.formats.score_matrix import read_entity_names
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.kernels.rows import Rows

FACTORS, FORMAT = "factors.json", "factors"
_ARRAYS = ("E", "b", "R", "Q", "questions")
BY_QUESTION = "query"  # the score of a folder with Q.npy


@dataclass(frozen=True, slots=True, eq=False)
class FactorFolder:
    """The arrays of a factor folder, mapped."""

    score: str  # a formula of kgtrec.systems.formulas, or "query"
    parameters: Mapping[str, float | str]  # of the formula
    has_reciprocals: bool
    entities: Vocabulary
    relations: Vocabulary
    E: Rows  # (entities, d)
    b: Rows | None  # (entities,)
    R: Rows | None = None  # (relations, k)
    Q: Rows | None = None  # (questions, d)
    questions: Rows | None = None  # (questions, 3): is a head question, relation number, anchor number


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
    names = read_entity_names(entities or folder / "entities.txt")
    types = read_label_lines(relations or folder / "relations.txt")
    by_question = score == BY_QUESTION
    wanted = ("E", "b", *(("Q", "questions") if by_question else ("R",)))
    files = {name: array_files(folder, name) for name in wanted}
    for name, found in files.items():
        if not found and name != "b":
            other = f"; with Q.npy the score is {BY_QUESTION!r}" if name == "R" and array_files(folder, "Q") else ""
            raise FormatError(f"expected {name}.npy for the score {score!r}, found no such file{other}", path=folder)
    arrays = {name: _array(name, found) for name, found in files.items() if found}
    E, b, R, Q, questions = (arrays.get(name) for name in _ARRAYS)
    n_relations = len(types) * (1 + reciprocal)
    for name, dimensions, rows, what in (
        ("E", 2, len(names), "one row for each entity"),
        ("b", 1, len(names), "one number for each entity"),
        ("R", 2, n_relations, f"{'two rows' if reciprocal else 'one row'} for each relation"),
        ("Q", 2, None, "one row for each question"),
        ("questions", 2, None if Q is None else Q.shape[0], "one row for each row of Q"),
    ):
        shape = arrays[name].shape if name in arrays else None
        if shape is None or (len(shape) == dimensions and rows in (None, shape[0])):
            continue
        count = "" if rows is None else f", {rows:,}"
        lacking = "; is a shard missing?" if len(files[name]) > 1 else ""
        raise FormatError(
            f"expected {what} in {spanned(files[name])}{count}, found shape {shape}{lacking}", path=folder
        )
    if E is None or (Q is not None and Q.shape[1] != E.shape[1]):
        raise FormatError("expected E.npy, and Q.npy with vectors of the same length, found others", path=folder)
    if questions is not None and questions.shape[1] != 3:
        raise FormatError(f"expected three numbers of each question, found shape {questions.shape}", path=folder)
    return FactorFolder(score, parameters, reciprocal, names, types, E, b, R, Q, questions)


def write_factor_folder(path: PathLike, factors: FactorFolder) -> None:
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
        about = {"format": FORMAT, "version": 1, "score": factors.score, "reciprocal": factors.has_reciprocals}
        (new / FACTORS).write_text(json.dumps(about | dict(factors.parameters), indent=1) + "\n", encoding="utf-8")
        for name in _ARRAYS:
            array = getattr(factors, name)
            if array is not None:
                save_array(new, name, array)
        for name, labels in (("entities", factors.entities), ("relations", factors.relations)):
            with (new / f"{name}.txt").open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(f"{label}\n" for label in labels)


def files_of_factors(folder: Path) -> list[str]:
    """The names and patterns of the files of a factor folder that is there already; none if it is something else."""
    with suppress(OSError, FormatError):
        about = read_json(folder / FACTORS)
        if isinstance(about, dict) and about.get("format") == FORMAT:
            arrays = [f"{name}{shard}.npy" for name in _ARRAYS for shard in ("", "-[0-9]*")]
            return [FACTORS, "entities.txt", "relations.txt", *arrays]
    return []


def _array(name: str, files: list[Path]) -> Rows:
    found = mapped_rows(files)
    if found.dtype.kind not in ("iu" if name == "questions" else "fiu"):
        raise FormatError(f"expected numbers, found {found.dtype}", path=files[0])
    return found

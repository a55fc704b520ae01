"""Entity alignment systems (vectors or similarity matrices) and files of alignments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.alignments import EntityVectors, Pairs
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_codes, read_fields
from kgtrec.formats.numpy_files import archived_arrays, mapped_matrix

LEFT, RIGHT = "left.npy", "right.npy"


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentSystem:
    """The contents of a system's file or folder."""

    scores: EntityVectors | NDArray[Any]  # vectors, or similarities (n_left, n_right)
    is_test: NDArray[np.bool_] | None  # which rows are test alignments; None if the file does not say

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of left and right entities."""
        return self.scores.shape[0], self.scores.shape[1]


def read_alignment_system(path: PathLike) -> AlignmentSystem:
    """Read the vectors or similarities of one system.

    Parameters
    ----------
    path : path
        An ``.npz`` archive with ``left`` and ``right`` (entities x d) and optionally ``is_test`` (flags); a folder with
        ``left.npy`` and ``right.npy``; or an ``.npy`` matrix of similarities, left entities x right ones, which is
        mapped and not read.

    Raises
    ------
    FormatError
        If it is damaged or of another kind.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "gcn.npz")
    >>> np.savez(path, left=np.zeros((3, 2)), right=np.ones((4, 2)))
    >>> read_alignment_system(path).shape
    (3, 4)
    """
    if Path(path).is_dir():
        arrays = {
            side: np.asarray(mapped_matrix(Path(path) / name)) for side, name in (("left", LEFT), ("right", RIGHT))
        }
    elif Path(path).suffix.lower() == ".npy":
        return AlignmentSystem(mapped_matrix(path), None)
    else:
        arrays = archived_arrays(path, ("left", "right"), ("is_test",))
    with in_file(path):
        return AlignmentSystem(EntityVectors(arrays["left"], arrays["right"]), arrays.get("is_test"))


def read_pairs(path: PathLike, left: Vocabulary | int, right: Vocabulary | int) -> Pairs:
    r"""Read alignments, ``left TAB right`` a line, as row numbers.

    Parameters
    ----------
    path : path
        Plain, ``.gz`` or ``.zst``; blank lines are skipped.
    left, right : Vocabulary or int
        Labels, row by row, if the file has labels; or the number of rows, if the file has row numbers from 0.

    Raises
    ------
    FormatError
        For the first malformed line, an unknown label or row, or a file without alignments.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "test.tsv")
    >>> _ = path.write_text("0\t2\n1\t0\n")
    >>> read_pairs(path, 2, 3).tolist()
    [[0, 2], [1, 0]]
    """
    lines = Lines.read(path)
    if not lines.data.strip():
        raise FormatError("expected alignments, left TAB right a line, found an empty file", path)
    columns = read_fields(lines, 2, "2 columns (left, right) separated by TAB")
    rows = [
        _rows(lines, column, entities, side)
        for column, entities, side in zip(columns, (left, right), ("left", "right"), strict=True)
    ]
    return np.stack(rows, axis=1).astype(np.int32)


def _rows(lines: Lines, column: pa.StringArray, entities: Vocabulary | int, side: str) -> NDArray[np.int64]:
    if not isinstance(entities, Vocabulary):
        try:
            return read_codes(lines, column, entities, f"row of a {side} entity")
        except FormatError as error:
            raise FormatError(f"{error}; labels need --{side}-labels") from None
    rows = entities.encode(column)
    expected = f"expected a {side} entity among the {len(entities)} of --{side}-labels"
    lines.require(rows >= 0, lambda row: f"{expected}, found {column[row].as_py()!r}")
    return rows.astype(np.int64)

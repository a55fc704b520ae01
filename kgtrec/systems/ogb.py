"""OGB: submissions to WikiKG90Mv2, the ten best tails of each question."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.numpy_files import archived_arrays, mapped_matrix
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.kinds import RankedLists

_ARRAY = "t_pred_top10"
#: in the names of the submission and of its questions; otherwise the valid split
_QUESTIONS = ("test-dev", "test-challenge")
_MOST = np.iinfo(np.int32).max


def is_submission(path: Path) -> bool:
    """Return whether a path leads to an archive with a submission."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{_ARRAY}.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


@Adapter.of(
    "ogb",
    "OGB's WikiKG90Mv2",
    f"t_pred_wikikg90m-v2_*.npz of save_test_submission, with {_ARRAY}, questions x 10",
    "ranked lists",
    "--data with the questions (val_hr.npy, test-dev_hr.npy or test-challenge_hr.npy); --sides tail",
    is_submission,
)
def _read(path: Path, options: ReadOptions) -> RankedLists:
    best = archived_arrays(path, [_ARRAY], [])[_ARRAY]
    if best.ndim != 2 or best.dtype.kind not in "iu" or best.size == 0:
        raise FormatError(
            f"expected {_ARRAY} as numbers of entities, questions x 10, found {best.dtype} of shape "
            f"{' x '.join(map(str, best.shape)) or 'a single number'}",
            path,
        )
    asked = _asked(path, options)
    if len(asked) != len(best):
        raise FormatError(
            f"expected tails for each of {len(asked):,} questions, found them for {len(best):,}; --data gives the "
            "questions of the submission",
            path,
        )
    is_listed, n = best >= 0, len(best)  # negative numbers are padding
    length = is_listed.sum(axis=1)
    entity = _whole(best[is_listed], path)
    entities, code = _labelled(np.concatenate([asked[:, 0], entity]), options.entities, "entities", path)
    relations, relation = _labelled(asked[:, 1], options.relations, "relations", path)
    columns = entities, relations, np.zeros(n, np.bool_), code[:n], relation, np.full(n, -1, np.int32)
    lists = np.concatenate([[0], np.cumsum(length)]), code[n:], np.arange(len(entity))
    kind = f"a submission to OGB's WikiKG90Mv2, tails of {n:,} questions"
    return RankedLists(default_name(path.with_suffix("")), *columns, *lists, kind).require_once(
        lambda label, row: FormatError(
            f"expected each entity once in a row, found {label} more than once in row {row}", path
        )
    )


def _asked(path: Path, options: ReadOptions) -> NDArray[np.int64]:
    """(n, 2) number of head and relation of each question."""
    split = next((name for name in _QUESTIONS if name in path.name), "val")
    if options.data is None:
        raise FormatError(
            f"expected --data, the heads and relations of the questions ({split}_hr.npy, or the folder with it: "
            "processed/ of WikiKG90Mv2), found none; a submission has tails alone",
            path,
        )
    file = options.data / f"{split}_hr.npy" if options.data.is_dir() else options.data
    asked = mapped_matrix(file)
    if asked.shape[1] not in (2, 3) or asked.dtype.kind not in "iu":
        raise FormatError(
            f"expected whole numbers of heads and relations, n x 2, found {asked.dtype} of shape "
            f"{asked.shape[0]} x {asked.shape[1]}",
            path=file,
        )
    return _whole(np.asarray(asked[:, :2]), file)


def _whole(numbers: NDArray[Any], path: Path) -> NDArray[np.int64]:
    if numbers.size and (numbers.min() < 0 or numbers.max() > _MOST):
        raise FormatError(f"expected numbers from 0 to {_MOST:,}, found {numbers.min()} to {numbers.max()}", path)
    return numbers.astype(np.int64)


def _labelled(
    numbers: NDArray[np.int64], labels: Path | None, what: str, path: Path
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The labels of the numbers that occur, and the place of each among them."""
    distinct, code = np.unique(numbers, return_inverse=True)
    if labels is None:
        return Vocabulary(labels_of([str(number) for number in distinct.tolist()])), code.astype(np.int32)
    known = read_label_lines(labels)
    if distinct[-1] >= len(known):
        raise FormatError(
            f"expected numbers below {len(known):,}, of which {labels} has labels, found {distinct[-1]} among the "
            f"{what}",
            path,
        )
    return Vocabulary(known.labels.take(arrow_of(distinct))), code.astype(np.int32)

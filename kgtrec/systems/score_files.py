"""Our own files of scores: factorised systems (``.npz``) and score matrices (``.npy``, ``.h5``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kgtrec.data.collection import Collection
from kgtrec.formats.factor_folders import read_factor_archive
from kgtrec.formats.score_matrix import HDF5_SUFFIXES, read_score_matrix
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.factor_folders import factors_of
from kgtrec.systems.kinds import Factors, ScoreBlock, ScoreBlocks
from kgtrec.systems.ogb import is_submission


@Adapter.of(
    "factorised",
    "arrays of any framework",
    "NAME.npz with E (entities x d), Q (questions x d), questions, and b if there are biases; entities.txt and "
    "relations.txt beside it",
    "scores",
    "",
    lambda path: path.is_file() and path.suffix.lower() == ".npz" and not is_submission(path),
)
def _factorised(path: Path, options: ReadOptions) -> Factors:
    arrays = read_factor_archive(path, entities=options.entities, relations=options.relations)
    return factors_of(arrays, path, path.stem, "a factorised system")


def _matrix(path: Path, options: ReadOptions) -> ScoreBlocks:
    def blocks(collection: Collection, block: int | None) -> Iterator[ScoreBlock]:
        return read_score_matrix(path, collection, topics=options.topics, entities=options.entities, block=block)

    return ScoreBlocks(path.stem, blocks, "a score matrix")


MATRIX = Adapter(
    "matrix",
    "arrays of any framework",
    "NAME.npy, questions x entities, with topics.tsv and entities.txt beside it, or NAME.npy.json of convert --stamp",
    "scores",
    "",
    lambda path: path.is_file() and path.suffix.lower() == ".npy",
    _matrix,
)


MATRIX_HDF5 = Adapter(
    "matrix-hdf5",
    "arrays of any framework",
    "NAME.h5 with a data set scores, questions x entities, and the same files beside it",
    "scores",
    "h5py",
    lambda path: path.is_file() and path.suffix.lower() in HDF5_SUFFIXES,
    _matrix,
)

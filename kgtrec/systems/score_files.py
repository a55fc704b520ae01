"""Our own files of scores: factorised systems (``.npz``) and score matrices (``.npy``, ``.h5``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.identity import question_places, warn_of_extra
from kgtrec.formats.factorised import FactorArchive, read_factor_archive
from kgtrec.formats.score_matrix import HDF5_SUFFIXES, read_score_matrix
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.kinds import Block, CollectionFactors, Factors, ScoreBlocks, Scoring
from kgtrec.systems.ogb import is_submission


def _factorised(path: Path, given: Given) -> CollectionFactors:
    archive = read_factor_archive(path, entities=given.entities, relations=given.relations)
    return by_question(path.stem, archive, path)


def by_question(name: str, archive: FactorArchive, path: Path) -> CollectionFactors:
    """A factorised system with a vector for each question; ``path`` is for messages."""
    asked = archive.questions

    def factors(collection: Collection) -> Factors:
        # the archive must have what is asked, whatever becomes of entities that it lacks
        rows = question_places(collection, asked, where=os.fspath(path))
        warn_of_extra(rows, "questions", where=os.fspath(path))
        return Factors(
            name,
            asked.entities,
            asked.relations,
            archive.E,
            archive.b,
            _queries(archive, is_head=False),
            _queries(archive, is_head=True),
            kind="a factorised system",
        )

    return CollectionFactors(name, factors, "a factorised system")


def _queries(archive: FactorArchive, *, is_head: bool) -> Scoring:
    asked = archive.questions

    def queries(anchor: NDArray[np.int64], relation: NDArray[np.int64]) -> NDArray[Any]:
        rows = asked.rows(np.full(len(anchor), is_head), relation.astype(np.int32), anchor.astype(np.int32))
        found: NDArray[Any] = archive.Q[rows]
        return found

    return queries


def _matrix(path: Path, given: Given) -> ScoreBlocks:
    def blocks(collection: Collection, block: int | None) -> Iterator[Block]:
        return read_score_matrix(path, collection, topics=given.topics, entities=given.entities, block=block)

    return ScoreBlocks(path.stem, blocks, "a score matrix")


ADAPTERS = (
    Adapter(
        "factorised",
        "arrays of any framework",
        "NAME.npz with E (entities x d), Q (questions x d), questions, and b if there are biases; entities.txt and "
        "relations.txt beside it",
        "scores",
        "",
        lambda path: path.is_file() and path.suffix.lower() == ".npz" and not is_submission(path),
        _factorised,
    ),
    Adapter(
        "matrix",
        "arrays of any framework",
        "NAME.npy, questions x entities, with topics.tsv and entities.txt beside it, or NAME.npy.json of kgtrec stamp",
        "scores",
        "",
        lambda path: path.is_file() and path.suffix.lower() == ".npy",
        _matrix,
    ),
    Adapter(
        "matrix-hdf5",
        "arrays of any framework",
        "NAME.h5 with a data set scores, questions x entities, and the same files beside it",
        "scores",
        "h5py",
        lambda path: path.is_file() and path.suffix.lower() in HDF5_SUFFIXES,
        _matrix,
    ),
)

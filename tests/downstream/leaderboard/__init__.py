"""A small package that uses kgtrec, for `mypy --strict` against the installed wheel; see .ci/release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kgtrec
from kgtrec import Collection, KgtrecError, Qrels, Run, Scores
from kgtrec.meta import Correlations, correlate


def collection_of(folder: Path) -> Collection:
    """The questions of a folder of triples."""
    train, valid, test = (kgtrec.read_triples(folder / f"{split}.tsv") for split in ("train", "valid", "test"))
    return kgtrec.build_questions(train, valid, test)


def board(qrels: Collection | Qrels, runs: Mapping[str, Run], measures: str = "RR AP@20") -> list[tuple[str, float]]:
    """Systems by the first measure, the best first."""
    scores: Scores = kgtrec.evaluate(qrels, runs, measures)
    values: NDArray[np.float64] = scores.values[:, 0, 0]
    return sorted(zip(scores.systems, values.tolist(), strict=True), key=lambda row: -row[1])


def ranked(collection: Collection, scores: NDArray[np.float64], name: str) -> kgtrec.AnswerRanks:
    """The ranks of a score matrix in the collection's own order."""
    return kgtrec.rank_scores(
        collection, scores, questions=collection, entities=collection, name=name, depth=10
    ).answer_ranks


def agreement(first: Qrels, second: Qrels, systems: Path) -> Correlations | None:
    """How far two label sets agree on the order of systems; None where kgtrec refuses them."""
    try:
        return correlate(first, second, systems)
    except KgtrecError:
        return None

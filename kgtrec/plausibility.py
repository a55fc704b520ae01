"""What a run may hold without being malformed, and what is most likely damage all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS
from kgtrec.kernels.integer_keys import is_among_sorted
from kgtrec.kernels.rank_column import OffPlace, off_place
from kgtrec.pooling import PairSet

_ROWS_AT_A_TIME = 1 << 20


@dataclass(frozen=True, slots=True)
class RankColumn:
    """What the ranks say that a file's lines state."""

    off: OffPlace  # lines whose rank contradicts their score
    no_number: NDArray[np.intp]  # (n,) lines whose rank is no number


def read_ranks(labels: list[str], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """(n,) ranks as numbers, NaN where one is none.

    Examples
    --------
    >>> read_ranks(["1", "2.0", "x"], np.array([1, 0, 2], np.int32))
    array([ 2.,  1., nan])
    """
    return np.array([_number(label) for label in labels], np.float64)[codes]


def _number(label: str) -> float:
    try:
        found = float(label)
    except ValueError:
        return np.nan
    return found if np.isfinite(found) else np.nan


def check_ranks(question: NDArray[np.int32], rank: NDArray[np.float64], score: NDArray[np.float64]) -> RankColumn:
    """Hold the rank column of a run against its scores; lines whose rank is NaN are set apart."""
    is_number = ~np.isnan(rank)
    if is_number.all():
        return RankColumn(off_place(question, rank, score), np.zeros(0, np.intp))
    rows = np.flatnonzero(is_number)
    found = off_place(question[rows], rank[rows], score[rows])
    return RankColumn(OffPlace(rows[found.row], found.by_rank, found.by_score), np.flatnonzero(~is_number))


def questions_of_one_score(run: Run) -> tuple[NDArray[np.int32], int]:
    """The questions that list several candidates, all of one score, and how many list several.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"query_id": list("aabbc"), "doc_id": list("xyxyx"), "score": [1.0, 1.0, 2.0, 1.0, 0.0]}
    >>> run = Run.from_frame(pd.DataFrame(rows))
    >>> flat, several = questions_of_one_score(run)
    >>> [run.questions[code] for code in flat], several
    (['a'], 2)
    """
    first = np.flatnonzero(np.r_[True, run.question[1:] != run.question[:-1]][: len(run)])
    last = np.r_[first[1:], len(run)][: len(first)] - 1
    several = last > first
    flat = several & (run.score[first] == run.score[last])
    return run.question[first[flat]], int(several.sum())


@dataclass(frozen=True, slots=True)
class KnownListed:
    """Known answers in the lists of a run."""

    by_split: Mapping[str, int]  # of train, valid, test (left out of the questions): how many rows, where there are any
    rows: int
    questions: int
    example: tuple[str, str]  # question and entity


def known_listed(run: Run, collection: Collection) -> KnownListed | None:
    """Which entities that a run lists are known to answer the question; None if it lists none of them."""
    known, n_entities = collection.known, len(collection.entities)
    question_of = collection.questions.ids.encode(run.questions.labels)
    entity_of = collection.entities.encode(run.entities.labels)
    pairs = PairSet(known.question, known.entity, n_entities)
    rows: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
    for first in range(0, len(run), _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        question, entity = question_of[run.question[part]], entity_of[run.entity[part]]
        there = np.flatnonzero((question >= 0) & (entity >= 0))
        rows.append(first + there[pairs.holds(question[there], entity[there])])
    found = np.concatenate(rows)
    if len(found) == 0:
        return None
    key = question_of[run.question[found]].astype(np.int64) * n_entities + entity_of[run.entity[found]]
    by_split = {}
    for code, split in enumerate(SPLITS):
        own = known.split == code
        n = int(is_among_sorted(key, known.question[own].astype(np.int64) * n_entities + known.entity[own]).sum())
        if n:
            by_split[split] = n
    example = run.questions[run.question[found[0]]], run.entities[run.entity[found[0]]]
    return KnownListed(by_split, len(found), len(np.unique(run.question[found])), example)

"""Ranking a factorised model by tiles: blocks of questions x shards of entities, each counted on its own, by anybody.

A tile gives counts and lists; counts add up over the shards, and lists merge. The entities of a tile are scored a
panel at a time (:mod:`kgtrec.kernels.ranking.panels`), and a block of questions is the same in every cut, so that the
answer ranks and the run are the same for any number of shards and in whatever order tiles are done: those of
:func:`kgtrec.rank_scores` on the whole matrix of these scores.

An answer's own score is needed before anything can be counted against it, and only one shard has it. Each tile takes
it from the pair alone (:func:`kgtrec.kernels.ranking.panels.pair_scores`), which differs from the panel's in one of
some hundred million; the shard that has the entity says what the panel's is, and where they differ the block is counted
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import Rounding
from kgtrec.errors import KgtrecError, whole_number
from kgtrec.kernels.ranking.answer_ranks import ScoreError, count_against, require_numbers
from kgtrec.kernels.ranking.pairs import Aside, Pairs
from kgtrec.kernels.ranking.panels import PANEL, Vectors, pair_scores, scores_of, tied_by_rounding
from kgtrec.kernels.ranking.top_k import RunningTopK, TopK

_TILE_BYTES = 64 << 20  # scores that are computed at a time
_SHARD_SCORES = 1 << 28  # of a tile: some seconds of work
_LEAST_ROWS = 256  # questions in a block: fewer make the product slow


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the work is cut.

    Scores may depend on ``rows`` and ``panel``, since a product of another shape may round in another way, and on
    nothing else here.
    """

    rows: int  # questions in a block
    width: int  # entities that are scored at a time
    n_shards: int = 1
    panel: int = PANEL  # entities in a panel

    @classmethod
    def of(cls, n_entities: int, rows: int | None = None) -> Tiling:
        """Put questions in a block up to 64 MiB of scores of all entities, or 256 and fewer entities at a time.

        A tile has some 270 million scores at most.

        Examples
        --------
        >>> Tiling.of(14_541), Tiling.of(2_500_604)
        (Tiling(rows=1092, width=15360, n_shards=1, panel=1024), Tiling(rows=256, width=65536, n_shards=3, panel=1024))
        """
        panels = max(1, -(-n_entities // PANEL))
        if rows is None:
            rows = max(_TILE_BYTES // (4 * panels * PANEL), _LEAST_ROWS)
        rows = whole_number("block", rows, 1)
        at_once = max(1, min(_TILE_BYTES // (4 * rows * PANEL), panels))
        return cls(rows, at_once * PANEL, max(1, -(-rows * n_entities // _SHARD_SCORES)))

    def shards(self, n_entities: int) -> list[tuple[int, int]]:
        """Find where each shard begins and ends, at the ends of panels; no more than there are panels."""
        n_panels = -(-n_entities // self.panel)
        ends = np.linspace(0, n_panels, min(self.n_shards, max(n_panels, 1)) + 1).round().astype(int) * self.panel
        return [(int(first), int(min(last, n_entities))) for first, last in pairwise(ends)]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What all tiles share: a model's vectors, and which of its entities are ranked.

    Entities go by the model's numbers; those that it does not know follow its own, and score minus infinity.
    """

    vectors: Vectors
    entity: NDArray[np.int64]  # (n,) row in the collection's entities; -1: the collection lacks it
    tie_order: NDArray[np.int32]  # (n,) order among equal scores, the highest first
    depth: int  # of the lists; 0: none

    def __len__(self) -> int:
        return len(self.entity)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionBlock:
    """Some questions of one side, and what is counted for them; entities by the model's numbers.

    Pairs go by the question's place in the block and the entity. Those that are ranked are in the order of the
    collection's entities, the others in that of the model's.
    """

    rows: NDArray[np.intp]  # (n,) the questions, as rows of the collection
    queries: NDArray[np.float64] | None  # (n, d); None: the model cannot be asked, and all candidates tie
    ranked: Pairs  # (p,) that are counted against
    is_answer: NDArray[np.bool_]  # (p,)
    uncounted: Aside  # (a,) that are not counted
    excluded: Aside  # (o,) that are no candidates of the lists

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What one tile gives."""

    above: NDArray[np.int64]  # (p,) entities of the shard that score higher
    tied: NDArray[np.int64]  # (p,) those that score the same, itself included unless it is uncounted
    used: NDArray[np.float32]  # (p,) the own score that was counted against
    found: NDArray[np.float32]  # (p,) the own score in the shard; NaN: another shard has the entity
    by_rounding: NDArray[np.int64]  # (p,) how many tie with an answer since scores are rounded
    best: TopK | None  # lists of the shard's entities, by the model's numbers

    def add_rounding(self, rounding: Rounding, block: QuestionBlock) -> None:
        """Add what rounding does to the answers of the block, all of whose entities are counted here."""
        own = block.is_answer
        rounding.add(self.above[own], self.tied[own], self.by_rounding[own])


class TileError(KgtrecError):
    """A score is NaN or +inf: of a question and an entity, as rows of the collection."""

    def __init__(self, question: int, entity: int, score: float) -> None:
        super().__init__(question, entity, score)
        self.question, self.entity, self.score = question, entity, score


def count_tile(
    candidates: Candidates,
    block: QuestionBlock,
    shard: tuple[int, int],
    tiling: Tiling,
    own: NDArray[np.float32] | None = None,
) -> Counted:
    """Count and list the entities of a shard for a block of questions.

    Parameters
    ----------
    candidates : Candidates
    block : QuestionBlock
    shard : pair of int
        Where it begins, at the beginning of a panel, and ends.
    tiling : Tiling
    own : (p,) float32 array, optional
        Own scores of the block's pairs. Default: as they are when each is scored alone, or as they are in the tile if
        all entities are scored at once.

    Raises
    ------
    TileError
        If the score of a candidate is NaN or +inf.
    """
    (first, last), width, ranked = shard, tiling.width, block.ranked
    at_once = (first, last) == (0, len(candidates)) and last <= width
    if own is None and not at_once:
        own = _own_scores(candidates, block)
    above, tied, by_rounding = np.zeros((3, len(ranked.row)), np.int64)
    found = np.full(len(ranked.row), np.nan, np.float32)
    lists = RunningTopK(len(block), candidates.depth, candidates.tie_order) if candidates.depth else None
    buffer = np.empty((len(block), min(width, max(last - first, 1))), np.float32)
    for start in range(first, last, width):
        end = min(start + width, last)
        entity = start + np.flatnonzero(candidates.entity[start:end] >= 0)
        scores = buffer[:, : end - start]
        _score(candidates.vectors, block.queries, start, end, scores, tiling.panel)
        if len(entity) < end - start:
            scores = scores[:, entity - start]
        try:
            require_numbers(scores)
        except ScoreError as error:
            wrong = int(candidates.entity[entity[error.entity]])
            raise TileError(int(block.rows[error.row]), wrong, error.score) from None
        inside, own_pairs = _within(ranked, start, end, entity)
        found[inside] = scores[own_pairs]
        uncounted = _aside_within(block.uncounted, start, end, entity)
        used = found if own is None else own
        in_tile = count_against(scores, ranked.row, used, uncounted)
        above += in_tile[0]
        tied += in_tile[1]
        if candidates.vectors.is_wide and block.queries is not None:
            some = np.flatnonzero((in_tile[1] > 0) & block.is_answer)
            answers = Pairs(ranked.row[some], ranked.entity[some])
            by_rounding[some] += tied_by_rounding(
                candidates.vectors, block.queries, scores, entity, answers, used[some], uncounted
            )
        if lists is not None:
            lists.add(scores, entity, _aside_within(block.excluded, start, end, entity))
    best = None if lists is None else lists.best()
    return Counted(above, tied, found if own is None else own, found, by_rounding, best)


def own_scores(parts: Sequence[Counted]) -> NDArray[np.float32]:
    """Collect the own scores of a block's pairs, (p,), each from the shard that has the entity."""
    own = np.full_like(parts[0].found, np.nan)
    for part in parts:
        np.copyto(own, part.found, where=~np.isnan(part.found))
    return own


def differ(parts: Sequence[Counted], own: NDArray[np.float32]) -> bool:
    """Return whether one of a block's tiles was counted against other own scores."""
    return any(not np.array_equal(part.used, own) for part in parts)


def merged(candidates: Candidates, block: QuestionBlock, parts: Sequence[Counted]) -> Counted:
    """Merge all shards of a block."""
    if len(parts) == 1:
        return parts[0]
    best = None
    if candidates.depth:
        running = RunningTopK(len(block), candidates.depth, candidates.tie_order)
        running.merge(*(part.best for part in parts if part.best is not None))
        best = running.best()
    own = own_scores(parts)
    above, tied, by_rounding = (
        np.sum([getattr(part, name) for part in parts], axis=0) for name in ("above", "tied", "by_rounding")
    )
    return Counted(above, tied, own, own, by_rounding, best)


def _within(pairs: Pairs, first: int, last: int, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], Pairs]:
    """Which pairs have entities from ``first`` up to ``last``, and these pairs with the columns of their entities."""
    inside = np.flatnonzero((pairs.entity >= first) & (pairs.entity < last))
    return inside, Pairs(pairs.row[inside], np.searchsorted(columns, pairs.entity[inside]))


def _aside_within(aside: Aside, first: int, last: int, columns: NDArray[np.intp]) -> Aside:
    if isinstance(aside, Pairs):
        return _within(aside, first, last, columns)[1]
    return aside[:, first:last] if len(columns) == last - first else aside[:, columns]


def _score(
    vectors: Vectors, queries: NDArray[np.float64] | None, first: int, last: int, out: NDArray[np.float32], panel: int
) -> None:
    """Scores of entities from ``first`` up to ``last``; of those that the model does not know minus infinity."""
    n_known = 0 if queries is None else max(0, min(last, len(vectors)) - first)
    out[:, n_known:] = -np.inf
    if queries is not None and n_known:
        scores_of(vectors, queries, first, first + n_known, out[:, :n_known], panel=panel)


def _own_scores(candidates: Candidates, block: QuestionBlock) -> NDArray[np.float32]:
    row, entity = block.ranked
    own = np.full(len(row), -np.inf, np.float32)
    if block.queries is not None:
        known = np.flatnonzero(entity < len(candidates.vectors))
        own[known] = pair_scores(candidates.vectors, block.queries[row[known]], entity[known])
    return own

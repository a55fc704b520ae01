"""The blocks of a collection's questions for a factorised model, counted by this process or by others."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import Rounding
from kgtrec.data.progress import Progress
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import FileState
from kgtrec.formats.numpy_files import files_of, mapped_rows, save_rows
from kgtrec.kernels.ranking.answer_ranks import without_themselves
from kgtrec.kernels.ranking.pairs import Aside, Pairs
from kgtrec.kernels.ranking.panels import Vectors, wide
from kgtrec.kernels.ranking.top_k import TopK
from kgtrec.kernels.rows import LargeArray
from kgtrec.ranking.journal import Journal, naming_place, read_block, remove_unfinished
from kgtrec.ranking.mapping import Mapped
from kgtrec.ranking.rank import Plan, Ranked, pairs_of, wrong_score
from kgtrec.ranking.tiles import (
    Candidates,
    Counted,
    QuestionBlock,
    TileError,
    Tiling,
    count_tile,
    differ,
    merged,
    own_scores,
)
from kgtrec.systems.kinds import Factors, Scoring
from kgtrec.workers.results import Helper, are_worth_it, results


class CountTiles:
    """:func:`kgtrec.ranking.tiles.count_tile` of some candidates, as the work of other processes.

    Arrays in mapped files travel as the names of the files. Others are written to a file first, so that the workers of
    a machine share them; without a folder for it they travel with the work.

    Parameters
    ----------
    candidates : Candidates
    tiling : Tiling
    folder : path, optional
        Which all workers see.
    """

    def __init__(self, candidates: Candidates, tiling: Tiling, folder: Path | None) -> None:
        self.candidates, self._tiling, self._folder = candidates, tiling, folder

    def __call__(self, block: QuestionBlock, shard: tuple[int, int]) -> Counted:
        return count_tile(self.candidates, block, shard, self._tiling)

    @cached_property
    def _sent(self) -> tuple[list[Any], tuple[Any, ...]]:
        own, vectors = self.candidates, self.candidates.vectors
        arrays = [self._named(array) for array in (vectors.E, vectors.b, own.entity, own.tie_order)]
        return arrays, (vectors.comparison, vectors.is_wide, own.depth)

    def _named(self, array: LargeArray | None) -> list[Path] | LargeArray | None:
        if array is None or self._folder is None:
            return array
        if (files := files_of(array)) is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            # under a name of its own, so that no worker of another ranking maps it
            files = [self._folder.resolve() / f"array-{secrets.token_hex(8)}.npy"]
            with naming_place(files[0]):
                save_rows(files[0], array)
        return files

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._sent, "_tiling": self._tiling}

    @cached_property
    def candidates(self) -> Candidates:
        """In a worker, which maps the files when it counts for the first time."""
        arrays, (comparison, is_wide, depth) = self._sent
        mapped: Iterator[Any] = (mapped_rows(each) if isinstance(each, list) else each for each in arrays)
        E, b, entity, tie_order = mapped
        return Candidates(Vectors(E, b, comparison, is_wide), entity, tie_order, depth)


class Grid:
    """The blocks of a collection's questions for a model, and what their counts say.

    Parameters
    ----------
    factors : Factors
    places : Mapped
        Where the collection's questions and entities are in the model's numbers.
    plan : Plan
    tiling : Tiling
    """

    def __init__(self, factors: Factors, places: Mapped, plan: Plan, tiling: Tiling) -> None:
        self.name, self.collection, self.tiling = factors.name, plan.collection, tiling
        self._factors, self._places, self._plan = factors, places, plan
        n_known, unknown = len(factors.E), np.flatnonzero(places.entity < 0)
        self._number = places.entity.astype(np.intp)  # (entities,) the model's number of each of the collection's
        self._number[unknown] = n_known + np.arange(len(unknown))
        entity = np.full(n_known + len(unknown), -1, np.int64)
        entity[self._number] = np.arange(len(self._number))
        tie_order = np.full(len(entity), -1, np.int32)
        tie_order[self._number] = plan.collection.entities.byte_order
        vectors = Vectors(factors.E, factors.b, factors.comparison, factors.is_wide)
        self.candidates = Candidates(vectors, entity, tie_order, min(plan.options.depth, plan.width))

    @cached_property
    def _blocks(self) -> list[tuple[NDArray[np.intp], Scoring | None]]:
        """Places in the asked questions of each block, and what makes its queries."""
        places, factors = self._places, self._factors
        is_head, blocks = self.collection.questions.is_head[places.rows], []
        for own, queries in (
            (is_head & places.can_ask, factors.head_queries),
            (~is_head & places.can_ask, factors.tail_queries),
            (~places.can_ask, None),
        ):
            asked = np.flatnonzero(own)
            step = self.tiling.rows
            blocks += [(asked[first : first + step], queries) for first in range(0, len(asked), step)]
        return blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def n_questions(self, number: int) -> int:
        """Count the questions of a block."""
        return len(self._blocks[number][0])

    def block(self, number: int) -> QuestionBlock:
        """Make one of the blocks, with its queries."""
        own, queries = self._blocks[number]
        rows, width = self._places.rows[own], self._plan.width

        def numbered(aside: Aside) -> Aside:
            if not isinstance(aside, Pairs):
                mask = np.zeros((len(rows), len(self.candidates)), np.bool_)
                mask[:, self._number] = aside
                return mask
            row, entity = aside
            order = np.lexsort((self._number[entity], row))
            return Pairs(row[order], self._number[entity[order]])

        ranked, (row, entity) = pairs_of(self._plan.ranked, rows, width)
        with np.errstate(over="ignore", invalid="ignore"):
            made = None if queries is None else wide(queries(self._places.anchor[own], self._places.relation[own]))
        return QuestionBlock(
            rows,
            made,
            Pairs(row, self._number[entity]),
            self._plan.is_answer[ranked],
            *map(numbered, self._plan.aside(rows)),
        )

    def ranked(self, block: QuestionBlock, counts: Counted) -> Ranked:
        """Turn the counts of a block into answer ranks and a run of the collection."""
        entity, shape = self.candidates.entity, (len(block), len(self.candidates))
        counted = without_themselves(counts.above, counts.tied, counts.used, block.ranked, block.uncounted, shape)
        best = counts.best
        return self._plan.result(
            self.name,
            block.rows,
            # those that the collection lacks are no candidates
            replace(counted, n_other=counted.n_other - np.int32(len(self.candidates) - self._plan.width)),
            None if best is None else TopK(best.row, entity[best.entity], best.score),
        )

    def counted(self, block: QuestionBlock, own: NDArray[np.float32] | None = None) -> list[Counted]:
        """Count the tiles of a block in this process."""
        shards = self.tiling.shards(len(self.candidates))
        return [count_tile(self.candidates, block, shard, self.tiling, own) for shard in shards]

    def joined(self, block: QuestionBlock, tiles: list[Counted]) -> Counted:
        """Join the tiles of a block; they are counted again if a pair's score alone was not that of its panel."""
        own = own_scores(tiles)
        return merged(self.candidates, block, self.counted(block, own) if differ(tiles, own) else tiles)

    def parts(
        self,
        *,
        workers: int | None = None,
        executor: Helper | None = None,
        unfinished: Path | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Ranked]:
        """Yield the result of each block, one after the other, whoever counts it.

        Parameters
        ----------
        workers, executor
            As for :func:`kgtrec.workers.results.results`.
        unfinished : path, optional
            Folder with the blocks that an interrupted ranking finished, which keeps those that are finished here,
            unless all are in a few seconds; see :mod:`kgtrec.ranking.journal`. Workers must see it.
        progress : callable, optional
            Called with the number of questions of each block.

        Raises
        ------
        KgtrecError
            If a score is NaN or +inf; rounding moves ranks; a mapped file changes meanwhile; or workers are lost.
        """
        vectors, shards = self.candidates.vectors, self.tiling.shards(len(self.candidates))
        work = CountTiles(self.candidates, self.tiling, unfinished)
        journal = None if unfinished is None else Journal(unfinished, self.candidates, self.tiling)
        finished = {} if journal is None else journal.finished(self.block, len(self))
        mapped = [file for each in (vectors.E, vectors.b) if each is not None for file in files_of(each) or ()]
        states = {file: FileState.of(file) for file in mapped}
        given: deque[QuestionBlock] = deque()

        def pieces() -> Iterator[tuple[QuestionBlock, tuple[int, int]]]:
            for number in range(len(self)):
                if number not in finished:
                    given.append(self.block(number))
                    yield from ((given[-1], shard) for shard in shards)

        n_pieces = (len(self) - len(finished)) * len(shards)
        rounding = Rounding(self.name, sum(map(self.n_questions, range(len(self)))))
        begun, keeps = time.perf_counter(), bool(finished)
        counting = results(work, pieces(), n_pieces=n_pieces, workers=workers, executor=executor, name=self.name)
        try:
            with closing(counting):
                for number in range(len(self)):
                    if number in finished:
                        block = self.block(number)
                        counts = read_block(finished[number]) or self.joined(block, self.counted(block))
                    else:
                        tiles = [next(counting) for _ in shards]
                        block = given.popleft()
                        counts = self.joined(block, tiles)
                    if changed := next((file for file, state in states.items() if FileState.of(file) != state), None):
                        raise KgtrecError(
                            f"{changed}: expected a file that stays as it is while it is ranked, found it changed; "
                            "rank it again"
                        )
                    keeps = keeps or are_worth_it(begun, number + 1, len(self) - number - 1)
                    if journal is not None and keeps and number not in finished:
                        journal.keep(number, block, counts)
                    counts.add_rounding(rounding, block)
                    yield self.ranked(block, counts)
                    if progress is not None:
                        progress(len(block))
        except TileError as error:
            if unfinished is not None:
                remove_unfinished(unfinished)  # the same command ends in the same way
            raise wrong_score(self.collection, error.question, error.entity, error.score) from None
        rounding.warn()

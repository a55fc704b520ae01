"""A ranking as a folder of units, which any process that sees the folder can do, in any order.

The folder holds what all units share (``plan.json``, the model's vectors, the order of equal scores), for each block of
questions its queries and what is counted for them (``blocks/``), and for each unit that is done its counts and lists
(``done/``). A unit is a block and a shard of the entities. A result takes its name when it is whole on the disk, so
that what has a name is done; doing it again gives the same numbers.
"""

from __future__ import annotations

import json
import mmap
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import Rounding
from kgtrec.data.collection import Collection
from kgtrec.data.triples import are_splits
from kgtrec.errors import CollectionError, FormatError, KgtrecError, counted
from kgtrec.formats.array_folders import mapped_rows, save_rows
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.numpy_files import archived_arrays, mapped_array
from kgtrec.formats.output.outputs import writing_folder
from kgtrec.kernels.ranking.comparisons import comparison_of, described
from kgtrec.kernels.ranking.panels import Vectors
from kgtrec.kernels.ranking.top_k import TopK
from kgtrec.kernels.rows import JoinedRows, Rows
from kgtrec.ranking.plan_checks import (
    require_block,
    require_candidates,
    require_own_scores,
    require_result,
    require_tiling,
)
from kgtrec.ranking.rank import Ranked
from kgtrec.ranking.tiles import (
    Block,
    Candidates,
    Counted,
    Grid,
    TileError,
    Tiling,
    count_tile,
    differ,
    merged,
    own_scores,
    ranked,
    tile_error,
)

FORMAT = "rank plan"
PLAN, BLOCKS, DONE = "plan.json", "blocks", "done"
_SHOWN = 5  # units in a message
_PAIRS = ("placed_row", "placed_entity", "is_answer", "aside_row", "aside_entity", "out_row", "out_entity")
_COUNTS = ("above", "tied", "used", "found", "by_rounding")
_LISTS = ("lengths", "entity", "score")


def write_plan(folder: PathLike, grid: Grid, collection: PathLike = "") -> None:
    """Write the units of a ranking.

    A model's vectors in a ``.npy`` file that is mapped stay where they are; others are written into the folder.

    Parameters
    ----------
    folder : path
        Absent or empty.
    grid : Grid
    collection : path
        Where the collection is, for who joins the results.

    Raises
    ------
    FormatError
        If there is something else in the folder, or it cannot be written.
    """
    candidates, vectors = grid.candidates, grid.candidates.vectors
    with writing_folder(folder, PLAN) as new:
        (new / BLOCKS).mkdir()
        places = {}
        for name, array in (("E", vectors.E), ("b", vectors.b)):
            if array is None:
                continue
            if (files := _whole_files(array)) is not None:
                places[name] = files
            else:
                places[name] = [f"{name}.npy"]
                save_rows(new / f"{name}.npy", array)
        save_rows(new / "entity.npy", candidates.entity)
        save_rows(new / "tie_order.npy", candidates.tie_order)
        for number in range(len(grid)):
            block = grid.block(number)
            arrays = {name: getattr(block, name) for name in _PAIRS} | {"rows": block.rows}
            arrays["is_answer"] = block.is_answer.astype(np.uint8)
            if block.queries is not None:
                arrays["queries"] = block.queries
            np.savez(new / BLOCKS / f"{number}.npz", **arrays)
        about = {
            "format": FORMAT,
            "version": 2,
            "name": grid.name,
            "collection": grid.collection.matrix_stamp,
            "collection_folder": os.fspath(Path(collection).resolve()) if collection else "",
            "filtered_by": list(grid.filtered_by),
            "depth": candidates.depth,
            "vectors": places,
            "comparison": described(vectors.comparison),
            "is_wide": vectors.is_wide,
            "tiling": asdict(grid.tiling),
            "questions": [grid.n_questions(number) for number in range(len(grid))],
        }
        (new / PLAN).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _whole_files(array: Rows) -> list[str] | None:
    """The .npy files that give an array again when they are mapped, one after the other; None: there are none."""
    found: list[str] = []
    for part in array.parts if isinstance(array, JoinedRows) else (array,):
        # a part of a map has the map as its base
        if not isinstance(part, np.memmap) or not isinstance(part.base, mmap.mmap):
            return None
        path = Path(str(part.filename))
        if path.suffix != ".npy":
            return None
        again = mapped_array(path)
        if again.shape != part.shape or again.dtype != part.dtype:
            return None
        found.append(str(path.resolve()))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RankPlan:
    """The units of a ranking, in a folder."""

    folder: Path
    name: str  # of the system
    collection: str  # stamp
    collection_folder: str  # where it was; "": unknown
    filtered_by: tuple[str, ...]
    candidates: Candidates
    tiling: Tiling
    questions: tuple[int, ...]  # how many each block has
    shards: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        """How many units there are."""
        return len(self.questions) * len(self.shards)

    def block(self, number: int) -> Block:
        """A block of questions.

        Raises
        ------
        FormatError
            If its file is damaged.
        """
        path = self.folder / BLOCKS / f"{number}.npz"
        arrays = _archived(path, ("rows", *_PAIRS), ("queries",), "make the plan again")
        arrays["is_answer"] = arrays["is_answer"].astype(np.bool_)
        block = Block(arrays["rows"], arrays.get("queries"), *(arrays[name] for name in _PAIRS))
        require_block(block, self.questions[number], self.candidates, path)
        return block

    def path(self, unit: int) -> Path:
        """The file of a unit's result."""
        return self.folder / DONE / f"{unit}.npz"

    def left(self) -> list[int]:
        """The units that are not done."""
        done = {path.name for path in (self.folder / DONE).glob("*.npz")}
        return [unit for unit in range(len(self)) if f"{unit}.npz" not in done]

    def told(self, unit: int) -> str:
        """A unit and its questions, for messages."""
        block, shard = divmod(unit, len(self.shards))
        ids = self.block(block).rows
        first, last = self.shards[shard]
        entities = "" if len(self.shards) == 1 else f" with entities {first:,} to {last - 1:,}"
        return f"unit {unit} ({counted(len(ids), 'question')}, rows {ids[0]} to {ids[-1]}{entities})"


def read_plan(folder: PathLike) -> RankPlan:
    """The plan in a folder that :func:`write_plan` wrote.

    Raises
    ------
    FormatError
        If it is none, or damaged.
    """
    path = Path(folder, PLAN)
    if not path.is_file():
        raise FormatError("expected a plan of kgtrec rank --plan, found none", path=folder)
    about = read_json(path)
    try:
        if about["format"] != FORMAT or about["version"] != 2:
            raise KeyError("format")
        vectors = {name: [Path(folder, str(place)) for place in about["vectors"][name]] for name in about["vectors"]}
        if not all(vectors.values()):
            raise ValueError("expected files of vectors")
        made, is_wide = comparison_of(about["comparison"]), about.get("is_wide", False)
        depth, tiling, questions = about["depth"], Tiling(**about["tiling"]), tuple(about["questions"])
        require_tiling(tiling, depth, questions)
        name, stamp, place = (about[key] for key in ("name", "collection", "collection_folder"))
        filtered_by = tuple(about["filtered_by"])
        if not are_splits(about["filtered_by"]) or not all(
            isinstance(each, kind) for each, kind in ((name, str), (stamp, str), (place, str), (is_wide, bool))
        ):
            raise ValueError("expected texts and splits")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"expected a plan of kgtrec rank --plan, found another ({error!r})", path=path) from None
    own = Path(folder)
    E, b = (mapped_rows(vectors[name]) if name in vectors else None for name in ("E", "b"))
    entity, tie_order = (mapped_array(own / f"{name}.npy") for name in ("entity", "tie_order"))
    if E is None:
        raise FormatError("expected vectors of entities, found none; make the plan again", path=path)
    candidates = Candidates(Vectors(E, b, made, is_wide), entity, tie_order, depth)
    require_candidates(candidates, folder)
    shards = tuple(tiling.shards(len(entity)))
    return RankPlan(own, name, stamp, place, filtered_by, candidates, tiling, questions, shards)


@lru_cache(maxsize=4)
def _plan_of_process(folder: str, _: int) -> RankPlan:
    return read_plan(folder)


def remove_plan(folder: PathLike) -> None:
    """Remove the folder of a plan that is no longer needed, which this process may have mapped."""
    _plan_of_process.cache_clear()
    shutil.rmtree(folder)


def do_unit(folder: str, unit: int) -> None:
    """Do one unit, unless it is done; what executors are given.

    Raises
    ------
    FormatError
        If the plan is damaged, or has no such unit.
    TileError
        If a score is NaN or +inf.
    OSError
        If the result cannot be written; nothing is there under its name then.
    """
    plan = _plan_of_process(folder, Path(folder, PLAN).stat().st_mtime_ns)
    if not 0 <= unit < len(plan):
        raise FormatError(f"expected a unit from 0 to {len(plan) - 1}, found {unit}", path=folder)
    path = plan.path(unit)
    if path.exists():
        return
    number, shard = divmod(unit, len(plan.shards))
    block = plan.block(number)
    found = count_tile(plan.candidates, block, plan.shards[shard], plan.tiling)
    arrays = {name: getattr(found, name) for name in _COUNTS}
    if found.best is not None:
        lengths = np.bincount(found.best.row, minlength=len(block)).astype(np.int32)
        arrays |= {"lengths": lengths, "entity": found.best.entity.astype(np.int32), "score": found.best.score}
    draft = path.with_name(f".{unit}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(exist_ok=True)
        with draft.open("wb") as stream:
            np.savez(stream, **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        error.filename = os.fspath(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def collected(plan: RankPlan, collection: Collection) -> Iterator[Ranked]:
    """The results of all units, block by block.

    Blocks in which a pair's score alone was not that of its panel are counted again, here.

    Raises
    ------
    CollectionError
        If the collection is not the plan's.
    KgtrecError
        If a unit is not done, or rounding moves ranks.
    FormatError
        If a result is damaged.
    """
    if plan.collection != collection.matrix_stamp:
        raise CollectionError(
            f"{plan.folder}: expected the collection {plan.collection} of the plan, found {collection.matrix_stamp}"
        )
    if left := plan.left():
        some = ", ".join(map(str, left[:_SHOWN])) + (", ..." if len(left) > _SHOWN else "")
        raise KgtrecError(
            f"{plan.folder}: expected all {len(plan):,} units done, found {len(left):,} that are not: {some}; "
            "kgtrec rank --unit N does one, and --collect with --workers does them all"
        )
    rounding = Rounding(plan.name, sum(plan.questions))
    for number in range(len(plan.questions)):
        yield collected_block(plan, collection, number, rounding)
    rounding.tell()


def collected_block(plan: RankPlan, collection: Collection, number: int, rounding: Rounding) -> Ranked:
    """One of them, whose units are done; what rounding does to it is told."""
    block, candidates = plan.block(number), plan.candidates
    first = number * len(plan.shards)
    parts = [_result(plan, unit, block) for unit in range(first, first + len(plan.shards))]
    if block.rows.max() >= len(collection.questions) or candidates.entity.max() >= len(collection.entities):
        raise FormatError(
            f"expected questions and entities of the collection in block {number}, found others; make the plan again",
            path=plan.folder,
        )
    own = own_scores(parts)
    require_own_scores(own, parts, plan.folder)
    try:
        if differ(parts, own):
            parts = [count_tile(candidates, block, shard, plan.tiling, own) for shard in plan.shards]
    except TileError as error:
        raise tile_error(collection, candidates, block, error) from None
    found = merged(candidates, block, parts)
    found.tell_rounding(rounding, block)
    return ranked(collection, plan.name, plan.filtered_by, candidates, block, found)


def _result(plan: RankPlan, unit: int, block: Block) -> Counted:
    has_lists = plan.candidates.depth > 0
    needed = (*_COUNTS, *_LISTS) if has_lists else _COUNTS
    arrays = _archived(plan.path(unit), needed, (), "remove it, and do the unit again")
    require_result(arrays, block, plan.candidates, plan.path(unit))
    best = None
    if has_lists:
        row = np.repeat(np.arange(len(arrays["lengths"])), arrays["lengths"])
        best = TopK(row, arrays["entity"].astype(np.intp), arrays["score"])
    return Counted(**{name: arrays[name] for name in _COUNTS}, best=best)


def _archived(path: Path, needed: tuple[str, ...], optional: tuple[str, ...], way_out: str) -> dict[str, NDArray[Any]]:
    try:
        return archived_arrays(path, needed, optional)
    except FormatError as error:
        raise FormatError(f"{error}; {way_out}") from None

"""The units of a plan on any executor of ``concurrent.futures``: processes, a cluster, whatever has ``submit``.

Results are files in the plan's folder, which all workers must see; a future only says that one may be there. So a
worker that dies, hangs or answers twice changes nothing in what comes out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from kgtrec.data.arrays import Rounding
from kgtrec.data.collection import Collection
from kgtrec.errors import NO_ROOM, KgtrecError
from kgtrec.ranking.plans import RankPlan, collected_block, do_unit
from kgtrec.ranking.rank import Progress, Ranked
from kgtrec.ranking.tiles import TileError, tile_error
from kgtrec.workers.results import are_worth_it
from kgtrec.workers.units import PATIENCE, Give, Start, Units, done


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPlan(Units):
    """The units of a plan, whose results are files."""

    plan: RankPlan
    collection: Collection

    def told(self, unit: int) -> str:
        return self.plan.told(unit)

    def is_stored(self, unit: int) -> bool:
        return self.plan.path(unit).exists()

    def lacking(self, unit: int) -> Exception | None:
        if self.is_stored(unit):
            return None
        return FileNotFoundError(f"no result {self.plan.path(unit)}; do all workers see this folder?")

    def hopeless(self, unit: int, error: BaseException) -> Exception | None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return error  # all workers write to this folder
        if not isinstance(error, TileError):
            return None
        return _error_of(self.plan, self.collection, unit, error)


def _error_of(plan: RankPlan, collection: Collection, unit: int, error: TileError) -> KgtrecError:
    return tile_error(collection, plan.candidates, plan.block(unit // len(plan.shards)), error)


def do_here(plan: RankPlan, collection: Collection, *, workers: int = 1) -> None:
    """Do units in this process: all that are left, or with several workers until these are worth their start.

    Raises
    ------
    KgtrecError
        If a score is NaN or +inf.
    """
    left, begun = plan.left(), time.perf_counter()
    for place, unit in enumerate(left):
        if workers > 1 and are_worth_it(begun, place, len(left) - place):
            return
        try:
            do_unit(str(plan.folder.resolve()), unit)
        except TileError as error:
            raise _error_of(plan, collection, unit, error) from None


def done_in_order(
    plan: RankPlan,
    collection: Collection,
    start: Start,
    *,
    progress: Progress | None = None,
    patience: float = PATIENCE,
) -> Iterator[Ranked]:
    """Do all units of a plan that are not done, and give the results block by block.

    A unit whose worker fails is given to another one, three times at most. When no unit has been done for long, those
    that are under way are given out once more. If all workers are lost at once, new ones are started.

    Parameters
    ----------
    plan : RankPlan
    collection : Collection
        The plan's.
    start : callable
        Starts an executor: a context manager.
    progress : callable, optional
        Called with the number of questions that are done with all entities.
    patience : float, seconds
        How long no unit may be done before those under way are given out again; at least five times the longest time
        without so far.

    Raises
    ------
    KgtrecError
        If a score is NaN or +inf, or rounding moves ranks; if a unit fails three times, with the last error; or if no
        workers can be had. What is done stays in the plan's folder.
    """
    folder = str(plan.folder.resolve())

    @contextmanager
    def begin() -> Iterator[Give]:
        with start() as executor:
            yield lambda unit: executor.submit(do_unit, folder, unit)

    units = _OfPlan(
        total=len(plan),
        where=str(plan.folder),
        kept="what is done stays there",
        longer=", and --patience waits longer",
        plan=plan,
        collection=collection,
    )
    n_shards, left, rounding = len(plan.shards), set(plan.left()), Rounding(plan.name, sum(plan.questions))
    with closing(done(units, tuple(left), begin, patience=patience)) as arriving:
        for number in range(len(plan.questions)):
            own = set(range(number * n_shards, (number + 1) * n_shards))
            while left & own:
                left.discard(next(arriving)[0])
            yield collected_block(plan, collection, number, rounding)
            if progress is not None:
                progress(plan.questions[number])
    rounding.tell()

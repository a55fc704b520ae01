"""Rankings of a study that several workers share: units in a folder of the study, which is gone when they are done."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgtrec.errors import counted
from kgtrec.formats.output.folders import UNITS
from kgtrec.workers.results import Helper

if TYPE_CHECKING:
    from kgtrec.ranking.tiles import Grid
    from kgtrec.study.bench import Bench
    from kgtrec.workers.units import Start


def is_shared(bench: Bench, units: Path) -> bool:
    """Whether a ranking is cut into units: it has workers, or some of its units are done already."""
    from kgtrec.ranking.plans import PLAN

    return bench.helper is not None or bench.n_workers > 1 or (units / PLAN).is_file()


def write_shared(bench: Bench, units: Path, grid: Grid, out: Path) -> None:
    """Rank a factorised system, and write its answer ranks: the bytes of one process.

    Parameters
    ----------
    bench : Bench
    units : path
        The folder of the units. If somebody interrupts the work it stays, and the work goes on there.
    grid : Grid
    out : path
        Folder of the answer ranks.
    """
    from kgtrec.ranking.executors import do_here
    from kgtrec.ranking.plans import PLAN, read_plan, remove_plan, write_plan
    from kgtrec.ranking.write import write_planned

    if not (units / PLAN).is_file():
        write_plan(units, grid)
    plan = read_plan(units)
    if n_done := len(plan) - len(plan.left()):
        bench.say(f"{units}: {n_done:,} of {counted(len(plan), 'unit')} are done already")
    if bench.helper is None:
        do_here(plan, grid.collection, workers=bench.n_workers)
    write_planned(plan, grid.collection, out, _start(bench.helper, bench.n_workers), progress=bench.progress)
    remove_plan(units)
    with suppress(OSError):  # others are there
        units.parent.rmdir()


def _start(helper: Helper | None, workers: int) -> Start:
    from kgtrec.workers.processes import local_workers

    if helper is None:
        return partial(local_workers, workers)
    return (lambda: nullcontext(helper)) if isinstance(helper, Executor) else helper


def remove_others(study: Path) -> None:
    """Remove the units of rankings that were interrupted and are no longer asked for."""
    from kgtrec.ranking.plans import PLAN, remove_plan

    for plan in sorted((study / UNITS).glob(f"*/{PLAN}")):
        remove_plan(plan.parent)
    with suppress(OSError):  # there is none, or something else is in it
        (study / UNITS).rmdir()

"""Ranking by several workers: options, and what kgtrec rank does with the units of a plan."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import COUNT, at_least
from kgtrec.cli.workers import executor_of, workers_options
from kgtrec.errors import NO_ROOM, KgtrecError, counted
from kgtrec.report.progress import progress_bar
from kgtrec.workers.units import PATIENCE

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from kgtrec.data.collection import Collection
    from kgtrec.ranking.plans import RankPlan
    from kgtrec.ranking.tiles import Grid


@dataclass(frozen=True, slots=True)
class Units:
    """Who does the units of a plan."""

    workers: int | None  # processes of this machine
    scheduler: str | None  # address of a Dask scheduler
    shards: int
    patience: int  # seconds

    @property
    def are_many(self) -> bool:
        """Whether the work is cut for others."""
        return self.scheduler is not None or (self.workers or 1) > 1 or self.shards > 1

    def start(self) -> AbstractContextManager[Executor]:
        """The executor that was asked for."""
        from kgtrec.workers.processes import local_workers

        start = executor_of(self.scheduler)
        return local_workers(self.workers or 1) if start is None else start()


def units_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of who does the work, and in which pieces."""
    options = (
        workers_options,
        click.option(
            "--shards",
            type=COUNT,
            default=1,
            show_default=True,
            help="Parts of the entities that a unit of work may be; more where few questions meet many entities.",
        ),
        click.option("--plan", metavar="DIR", type=click.Path(), help="Write the units of work to DIR, and do none."),
        click.option(
            "--unit", type=at_least(0), metavar="N", help="Do unit N of the plan that is given as COLLECTION."
        ),
        click.option("--collect", is_flag=True, help="Join the units of the plan that is given as COLLECTION."),
        click.option(
            "--patience",
            type=at_least(1),
            default=PATIENCE,
            show_default=True,
            metavar="SECONDS",
            help="How long no unit may be done before those under way are given to other workers too.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def require_alone(
    sources: tuple[str, ...], out: str | None, plan: str | None, unit: int | None, *, collect: bool
) -> None:
    """Refuse options that do not go with units of a plan that is there."""
    if sources or plan is not None or (unit is not None and collect):
        raise click.UsageError("expected the folder of a plan and --unit or --collect, found more; see the examples")
    if collect and out is None:
        raise click.UsageError("expected --out, a folder for the joined results")
    if unit is not None and out is not None:
        raise click.UsageError("expected --unit without --out: its result stays in the plan's folder")


def write_units(folder: str, grid: Grid, collection: str) -> None:
    """Write a plan, and say what to do with it."""
    from kgtrec.ranking.plans import read_plan, write_plan

    write_plan(folder, grid, collection)
    plan = read_plan(folder)
    where = shlex.quote(folder)
    say(
        f"{folder}: {counted(len(plan), 'unit')}, 0 to {len(plan) - 1}: kgtrec rank {where} --unit N; "
        f"then kgtrec rank {where} --collect --out OUT"
    )


def do_one(folder: str, unit: int) -> None:
    """Do a unit of a plan."""
    from kgtrec.kernels.ranking.answer_ranks import score_in_words
    from kgtrec.ranking.plans import do_unit, read_plan
    from kgtrec.ranking.tiles import TileError

    plan = read_plan(folder)
    if unit >= len(plan):
        raise KgtrecError(f"{folder}: expected a unit from 0 to {len(plan) - 1}, found {unit}")
    if plan.path(unit).exists():
        say(f"{folder}: {plan.told(unit)} was done before")
        return
    try:
        do_unit(str(Path(folder).resolve()), unit)
    except TileError as error:
        block = plan.block(unit // len(plan.shards))
        raise KgtrecError(
            f"{folder}: expected numbers as scores, found {score_in_words(error.score)} for the question in row "
            f"{block.rows[error.row]} of the collection and the model's entity {error.entity}"
        ) from None
    say(f"{folder}: did {plan.told(unit)}")


def collect_units(folder: str, out: str, run_format: str, units: Units) -> None:
    """Join the results of a plan; with workers, do first what is left."""
    from kgtrec.formats.collections import read_collection
    from kgtrec.ranking.plans import read_plan
    from kgtrec.ranking.write import written

    plan = read_plan(folder)
    if not plan.collection_folder:
        raise KgtrecError(f"{folder}: expected a plan that names its collection, found none; it was made in Python")
    collection = read_collection(plan.collection_folder)
    say(written(plan.name, *_write(plan, collection, out, run_format, units)))


def write_by_workers(grid: Grid, collection: str, out: str, run_format: str, units: Units) -> tuple[Path, Path | None]:
    """Rank by units in a folder beside the results, which is removed at the end, and stays if something goes wrong."""
    from kgtrec.ranking.plans import read_plan, remove_plan, write_plan
    from kgtrec.ranking.write import require_outputs

    require_outputs(grid.name, out, run_format, gives_run=grid.candidates.depth > 0)
    folder = Path(out, f"{grid.name}.units")
    if (folder / "plan.json").is_file():
        raise KgtrecError(
            f"{folder}: expected no units of another time, found some; finish them by kgtrec rank "
            f"{shlex.quote(str(folder))} --collect --out {shlex.quote(out)} --workers {units.workers or 1}, or remove "
            "the folder"
        )
    write_plan(folder, grid, collection)
    again = f"kgtrec rank {shlex.quote(str(folder))} --collect --out {shlex.quote(out)} --workers {units.workers or 1}"
    try:
        own = units if units.scheduler is not None else replace(units, workers=units.workers or 1)
        found = _write(read_plan(folder), grid.collection, out, run_format, own)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            error.add_note(f"make room, and go on by {again}")
        else:
            say(f"{folder}: what is done stays there; to go on: {again}")
        raise
    remove_plan(folder)
    return found


def _write(plan: RankPlan, collection: Collection, out: str, run_format: str, units: Units) -> tuple[Path, Path | None]:
    from kgtrec.ranking.write import write_planned

    start = None if units.workers is None and units.scheduler is None else units.start
    return write_planned(
        plan, collection, out, start, run_format=run_format, patience=units.patience, progress=progress_bar
    )

"""Who does the work of a command: the options, which are the same wherever work is shared."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.options import MOST_WORKERS, Command, Whole, option, stacked

if TYPE_CHECKING:
    from concurrent.futures import Executor


def workers_options(command: Command) -> Command:
    """Add ``--workers`` and ``--scheduler``, which the command gets as ``workers`` and ``executor``, as verbs do."""

    @wraps(command)
    def shared(*, workers: int | None, scheduler: str | None, **given: Any) -> Any:
        if workers is not None and scheduler is not None:
            raise click.UsageError("expected --workers or --scheduler, found both")
        return command(workers=workers, executor=scheduler and partial(_dask, scheduler), **given)

    return stacked(
        option("--workers", "Processes that share the work, for the same results. Default: 1.", Whole(1, MOST_WORKERS)),
        option("--scheduler", "Dask scheduler, such as tcp://host:8786; needs kgtrec[distributed].", metavar="ADDRESS"),
    )(shared)


def _dask(address: str) -> AbstractContextManager[Executor]:
    from kgtrec.workers.clusters import dask_workers

    return dask_workers(address)

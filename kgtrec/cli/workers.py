"""Who does the work of a command: the options, which are the same wherever work is shared."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.options import MOST_WORKERS, Whole, option, stacked

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from kgtrec.workers.results import Helper


def _alone(context: click.Context, option: click.Parameter, value: Any) -> Any:
    others = {"workers", "scheduler"} - {option.name}
    if value is not None and any(context.params.get(other) is not None for other in others):
        raise click.UsageError("expected --workers or --scheduler, found both")
    return value


#: the options ``--workers`` and ``--scheduler``
workers_options = stacked(
    option(
        "--workers",
        "Processes that share the work; the results do not depend on it. Default: 1.",
        Whole(1, MOST_WORKERS),
        callback=_alone,
    ),
    option(
        "--scheduler",
        "Dask scheduler whose workers do the work, such as tcp://host:8786; needs kgtrec[distributed].",
        metavar="ADDRESS",
        callback=_alone,
    ),
)


def executor_of(scheduler: str | None) -> Helper | None:
    """Make what starts the workers that ``--scheduler`` names."""
    return None if scheduler is None else partial(_dask, scheduler)


def _dask(address: str) -> AbstractContextManager[Executor]:
    from kgtrec.workers.clusters import dask_workers

    return dask_workers(address)

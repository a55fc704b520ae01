"""Progress bars and messages of all commands, always on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from kgtrec.errors import legible

_Item = TypeVar("_Item")


def say(message: str) -> None:
    """Print one or more lines for the user; standard output is for results."""
    click.echo("\n".join(map(legible, message.split("\n"))), err=True)


@contextmanager
def progress(description: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar with rate and remaining time; yields a function that adds a number of finished items.

    Nothing is drawn if standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None  # saves the time to import rich
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(description, total=total, rate="")

        def advance(amount: int) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, advance=amount, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance


def counting(items: Iterable[_Item], advance: Callable[[int], None]) -> Iterator[_Item]:
    """Yield the items, and call ``advance(1)`` after each."""
    for item in items:
        yield item
        advance(1)

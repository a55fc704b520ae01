"""What several commands share: progress and messages, always on standard error, and how these put things."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from kgtrec.errors import legible

_Item = TypeVar("_Item")


def say(message: str) -> None:
    """A line or some for the person at the terminal; standard output stays for results."""
    click.echo("\n".join(map(legible, message.split("\n"))), err=True)


@contextmanager
def progress(description: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar with rate and time left; yields a function that takes how much more is done.

    Nothing is drawn where standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None  # without the time that it takes to load what draws
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(description, total=total, rate="")

        def advance(amount: int) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, advance=amount, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance


def counting(items: Iterable[_Item], advance: Callable[[int], None]) -> Iterator[_Item]:
    """The items one by one, each told to ``advance`` when the next one is asked for."""
    for item in items:
        yield item
        advance(1)

"""What several commands share: progress and messages, always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from kgtrec.errors import FormatError, KgtrecError


def say(message: str) -> None:
    """One line for the person at the terminal; standard output stays for results."""
    click.echo(message, err=True)


@contextmanager
def progress(description: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar with rate and time left; yields a function that takes how much more is done.

    Nothing is drawn where standard error is not a terminal.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total, rate="")

        def advance(amount: int) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, advance=amount, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say which file an error of the block is about, where the error does not."""
    try:
        yield
    except FormatError:
        raise
    except KgtrecError as error:
        raise type(error)(f"{path}: {error}") from None

"""How far long work is, in a terminal and in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

_OFTEN = 0.1  # seconds between two states in a notebook


@contextmanager
def progress_bar(description: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar with the number of items that are done, on a terminal with rate and remaining time too.

    It is for the ``progress`` of what takes long: as it is for :func:`kgtrec.run_study` and
    :func:`kgtrec.data_sets.get`, opened for all others, which know no total. Nothing is drawn if standard error is
    neither a terminal nor a notebook.

    Parameters
    ----------
    description : str
        What is done.
    total : int
        Number of items.
    unit : str
        What is counted: "questions", "systems".

    Yields
    ------
    function
        To be called with the number of further items that are done.

    Examples
    --------
    >>> with progress_bar("ranking", 2, "questions") as advance:
    ...     for _ in range(2):
    ...         advance(1)
    """
    if "IPython" in sys.modules and (shown := _in_notebook(description, total, unit)) is not None:
        yield shown
        return
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


def _in_notebook(description: str, total: int, unit: str) -> Callable[[int], None] | None:
    """A bar in the output of the cell that runs; None where there is no notebook."""
    from IPython import get_ipython
    from IPython.display import HTML, display

    if getattr(get_ipython(), "kernel", None) is None:
        return None
    done, last = 0, time.monotonic()

    def state() -> HTML:
        label = escape(description)
        bar = f'<progress value="{done}" max="{total}" aria-label="{label}"></progress>'
        return HTML(f"{bar} {label}: {done:,} of {total:,} {escape(unit)}")

    handle = display(state(), display_id=True)

    def advance(amount: int) -> None:
        nonlocal done, last
        done += amount
        if done >= total or time.monotonic() - last >= _OFTEN:
            last = time.monotonic()
            handle.update(state())

    return advance

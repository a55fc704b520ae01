"""Messages of all commands, always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import click

from kgtrec.errors import legible

_Item = TypeVar("_Item")


def say(message: str) -> None:
    """Print the lines of a message for the user, if there are any; standard output is for results."""
    if message:
        click.echo("\n".join(map(legible, message.split("\n"))), err=True)


def counting(items: Iterable[_Item], advance: Callable[[int], None]) -> Iterator[_Item]:
    """Yield the items, and call ``advance(1)`` after each."""
    for item in items:
        yield item
        advance(1)

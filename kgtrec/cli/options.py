"""Options that several commands have, worded and read alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    from kgtrec.meta.known_measures import Better

Command = Callable[..., Any]

out_option = click.option("--out", type=click.Path(), help="File to write instead of standard output.")


def measure_option(about: str) -> Callable[[Command], Command]:
    """The option ``-m`` or ``--measure``, told to the command as ``measures``, with what its help says."""
    return click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE", help=about)


def format_option(forms: Sequence[str]) -> Callable[[Command], Command]:
    """The option ``--format``, told to the command as ``form``; see :func:`kgtrec.cli.evaluate.form_of`."""
    return click.option(
        "--format", "form", type=click.Choice(forms),
        help="Form of the output; by default that of --out's suffix, else table.",
    )  # fmt: skip


def direction_options(command: Command) -> Command:
    """The options ``--higher`` and ``--lower``; see :func:`directions`."""
    for way in ("lower", "higher"):
        about = f"Column of an unknown measure where {way} is better."
        command = click.option(f"--{way}", multiple=True, metavar="NAME", help=about)(command)
    return command


def directions(higher: Sequence[str], lower: Sequence[str]) -> dict[str, Better]:
    """Which way columns of unknown measures are better, from ``--higher`` and ``--lower``.

    Raises
    ------
    KgtrecError
        If one is named by both.
    """
    twice = sorted(set(higher) & set(lower))
    if twice:
        raise KgtrecError(f"expected {twice[0]} to be better either --higher or --lower, found both")
    better: dict[str, Better] = {**dict.fromkeys(higher, "higher"), **dict.fromkeys(lower, "lower")}
    return better

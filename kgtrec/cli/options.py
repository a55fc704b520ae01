"""Options that several commands have, worded and read alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kgtrec.errors import KgtrecError
from kgtrec.kernels.positions import TIE_POLICIES

if TYPE_CHECKING:
    from kgtrec.meta.known_measures import Better

Command = Callable[..., Any]

out_option = click.option("--out", type=click.Path(), help="File to write instead of standard output.")

ties_option = click.option(
    "--ties",
    type=click.Choice(TIE_POLICIES),
    help="Order of equal scores (rank type); expected is the exact mean over all orders. Default: trec (by label) for "
    "runs, realistic for answer ranks.",
)

missing_option = click.option(
    "--missing",
    type=click.Choice(("zero", "skip")),
    default="zero",
    show_default=True,
    help="Questions that a run lacks: count as empty lists (trec_eval -c), or leave out.",
)

mixed_option = click.option(
    "--mixed", is_flag=True,
    help="Only warn of answer ranks that cannot be compared: filtered by other splits, or without the same judged "
    "non-answers where a measure looks at these.",
)  # fmt: skip


def measure_option(about: str) -> Callable[[Command], Command]:
    """The option ``-m`` or ``--measure``, told to the command as ``measures``, with what its help says."""
    return click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE", help=about)


def collection_option(about: str) -> Callable[[Command], Command]:
    """The option ``--collection``, told to the command as ``folder``, with what its help says after "Collection"."""
    return click.option("--collection", "folder", type=click.Path(), help=f"Collection {about}")


def seed_option(about: str = "Of all that is random.") -> Callable[[Command], Command]:
    """The option ``--seed``, with what its help says."""
    return click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help=about)


def workers_option(what: str, default: int | None) -> Callable[[Command], Command]:
    """The option ``--workers``, which counts threads or processes; None stands for all cores."""
    about = f"{what} that share the work; any number gives the same bytes."
    return click.option(
        "--workers", type=click.IntRange(1), default=default, show_default=default is not None,
        help=about if default is not None else f"{about} Default: all cores.",
    )  # fmt: skip


def format_option(forms: Sequence[str]) -> Callable[[Command], Command]:
    """The option ``--format``, told to the command as ``form``; see :func:`kgtrec.cli.evaluate.form_of`."""
    return click.option(
        "--format", "form", type=click.Choice(forms),
        help="Form of the output; by default that of --out's suffix, else table.",
    )  # fmt: skip


def require_table(form: str, table: str | None, tables: Sequence[str]) -> None:
    """Refuse a ``--table`` that is none of ``tables``, and CSV without one, or another form with one."""
    if table is not None and table not in tables:
        raise click.BadParameter(f"expected one of {', '.join(tables)}, got {table!r}", param_hint="--table")
    if (form == "csv") != (table is not None):
        raise click.UsageError(
            f"--format csv and --table go together: a CSV file holds one table, of {', '.join(tables)}"
        )


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

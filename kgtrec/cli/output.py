"""How every command prints what it found: --format, --table and --out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from kgtrec.data.table import Result
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import suffixes
from kgtrec.formats.output.outputs import write_text, writing

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "csv", "json", "latex", "parquet")
_BY_SUFFIX = {"": "table", ".txt": "table", ".csv": "csv", ".json": "json", ".tex": "latex", ".parquet": "parquet"}


def output_options(
    tables: Sequence[str] = (), out: str = "File to write instead of standard output.", *, is_folder: bool = False
) -> Callable[[Command], Command]:
    """The options ``--format`` (told to the command as ``form``), ``--out`` and, of several tables, ``--table``.

    ``--table`` is told to the command as ``part``, None where it is not given. ``out`` is what ``--out`` is said to be;
    where it is a folder, something else is written there, and the result is printed.
    """
    forms, default = (FORMATS[:-1], "table") if is_folder else (FORMATS, "that of --out's suffix, else table")

    def decorate(command: Command) -> Command:
        command = click.option("--out", type=click.Path(), help=out)(command)
        if tables:
            command = click.option(
                "--table",
                "part",
                type=click.Choice(tables),
                help=f"The only table to print. CSV and Parquet hold one. Default there: {tables[0]}.",
            )(command)
        return click.option(
            "--format", "form", type=click.Choice(forms), help=f"Form of the output; by default {default}."
        )(command)

    return decorate


def form_of(out: str | None, form: str | None = None, forms: Sequence[str] = FORMATS) -> str:
    """The form that was asked for, or the one among ``forms`` that a file's suffix stands for, or a table."""
    if form is None:
        suffix = suffixes(out)[0] if out else ""
        known = {end: name for end, name in _BY_SUFFIX.items() if name in forms}
        if suffix not in known:
            raise KgtrecError(
                f"--out {out}: expected a name that ends in {', '.join(end for end in known if end)}, or --format with "
                f"any other name, found {suffix!r}"
            )
        form = known[suffix]
    if form == "parquet" and (out is None or out == "-"):
        raise KgtrecError("--format parquet is a binary form and needs --out FILE")
    return form


def show(result: Result, form: str, out: str | None = None, names: Sequence[str] | None = None) -> None:
    """Print a result, or write it to a file; ``names`` as :func:`kgtrec.report.show.shown` has it."""
    from kgtrec.report.show import shown

    if form == "parquet":
        import pyarrow.parquet as pq

        table = next(table for table in result.tables() if names is None or table.key == names[0])
        with writing(str(out)) as stream:
            pq.write_table(table.data, stream)
        return
    is_terminal = out is None and sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else None
    write_text(out or "-", shown(result, form, names, width=width, bold=is_terminal))

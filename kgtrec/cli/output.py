"""The output options of all commands: --format, --table and --out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from kgtrec.cli.options import PATH, Command, force_option, option
from kgtrec.data.table import Result
from kgtrec.errors import KgtrecError
from kgtrec.formats.contents import TABLE
from kgtrec.formats.files import suffixes
from kgtrec.formats.output.outputs import require_file, write_text, writing

FORMATS = ("table", "csv", "json", "latex", "markdown", "parquet")
_SUFFIXES = ("", ".txt", ".csv", ".json", ".tex", ".md", ".parquet")
_BY_SUFFIX = dict(zip(_SUFFIXES, ("table", *FORMATS), strict=True))


@dataclass(frozen=True, slots=True)
class Output:
    """How and where a command shows its result, and which of its tables."""

    form: str = "table"
    out: str | None = None
    part: str | None = None

    @property
    def is_laid_out(self) -> bool:
        """Whether the result is for people, who get several tables, and not for a program."""
        return self.form in ("table", "latex", "markdown")

    def show(self, result: Result, names: Sequence[str] | None = None) -> None:
        """Print a result, or write it to a file; ``names``: its tables without ``--table``, as for ``shown``."""
        from kgtrec.report.show import shown

        names = (self.part,) if self.part else names
        if self.form == "parquet":
            import pyarrow.parquet as pq

            table = next(table for table in result.tables() if names is None or table.key == names[0])
            with writing(str(self.out), kind=TABLE) as stream:
                pq.write_table(table.data, stream)
            return
        is_terminal = self.out is None and sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if is_terminal else None
        write_text(self.out or "-", shown(result, self.form, names, width=width, bold=is_terminal))


def output_options(
    tables: Sequence[str] = (), out: str = "File to write instead of standard output."
) -> Callable[[Command], Command]:
    """Add the options of :func:`raw_output_options`, which the command gets as one :class:`Output` ``output``."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def shown(*, form: str | None, out: str | None, part: str | None = None, **given: Any) -> Any:
            return command(output=Output(form_of(out, form), out, part), **given)

        return raw_output_options(tables, out)(shown)

    return decorate


def raw_output_options(tables: Sequence[str], out: str, *, is_printed: bool = False) -> Callable[[Command], Command]:
    """Add the options ``--format`` (passed as ``form``), ``--out`` and, if there are several tables, ``--table``.

    ``--table`` is passed as ``part``, None if it is not given. ``out`` is the help text of ``--out``. ``is_printed``:
    ``--out`` is a folder for other files, and the result is printed.
    """
    forms, default = (FORMATS[:-1], "table") if is_printed else (FORMATS, "that of --out's suffix, else table")

    def decorate(command: Command) -> Command:
        command = option("--out", out, PATH)(force_option(command))
        if tables:
            command = option(
                "--table part",
                f"The only table to print. CSV and Parquet hold one. Default: all; there {tables[0]}.",
                tables,
            )(command)
        return option("--format form", f"Form of the output. Default: {default}.", forms)(command)

    return decorate


def form_of(out: str | None, form: str | None = None, *, forms: Sequence[str] = FORMATS, option: str = "--out") -> str:
    """Return the requested form, or the one among ``forms`` for the suffix of the file, or "table" without a file."""
    if form is None:
        suffix = suffixes(out)[0] if out else ""
        known = {end: name for end, name in _BY_SUFFIX.items() if name in forms}
        if suffix not in known:
            ends = ", ".join(end for end in known if end)
            way_out = ", or --format with any other name" if option == "--out" else ""
            raise KgtrecError(f"{option} {out}: expected a name that ends in {ends}{way_out}, found {suffix!r}")
        form = known[suffix]
    if form == "parquet" and (out is None or out == "-"):
        raise KgtrecError("expected --out FILE with --format parquet, which is a binary format, found none")
    if out:
        require_file(out, kind=TABLE if form == "parquet" else "")  # before anything is computed
    return form

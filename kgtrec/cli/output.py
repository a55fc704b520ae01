"""The output options of all commands: --format, --table and --out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, Command, force_option, option, stacked
from kgtrec.data.table import PlottedResult, Result
from kgtrec.errors import KgtrecError
from kgtrec.formats.contents import PDF, PNG, TABLE
from kgtrec.formats.files import suffixes
from kgtrec.formats.output.outputs import require_file, write_text, writing
from kgtrec.formats.parquet import with_metadata

FORMATS = ("table", "csv", "json", "latex", "markdown", "parquet")
FIGURES = ("svg", "pdf", "png")
_SUFFIXES = ("", ".txt", ".csv", ".json", ".tex", ".md", ".parquet", *(f".{form}" for form in FIGURES))
_BY_SUFFIX = dict(zip(_SUFFIXES, ("table", *FORMATS, *FIGURES), strict=True))
_BINARY = {"parquet": TABLE, "pdf": PDF, "png": PNG}  # form -> kind of file


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

        if self.form in FIGURES:
            self._draw(result)
            return
        names = (self.part,) if self.part else names
        if self.form == "parquet":
            import pyarrow.parquet as pq

            table = next(table for table in result.tables() if names is None or table.key == names[0])
            with writing(str(self.out), kind=TABLE) as stream:
                schema = with_metadata(table.data.schema, {"format": "table"})
                pq.write_table(table.data.cast(schema), stream)
            return
        is_terminal = self.out is None and sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if is_terminal else None
        write_text(self.out or "-", shown(result, self.form, names, width=width, bold=is_terminal))

    def _draw(self, result: Result) -> None:
        """Write the first figure of a result."""
        from kgtrec.report import drawing

        figures = result.figures() if isinstance(result, PlottedResult) else ()
        if not figures:
            raise KgtrecError(f"expected a result that has a figure with {self.out or self.form}, found only tables")
        if len(figures) > 1:
            say(f"note: the first of {len(figures)} figures, {figures[0].title}; in Python figures() gives all")
        if self.form == "svg":
            write_text(self.out or "-", drawing.svg(figures[0]))
            return
        with writing(str(self.out), kind=_BINARY[self.form]) as stream:
            stream.write((drawing.pdf if self.form == "pdf" else drawing.png)(figures[0]))


def output_options(tables: Sequence[str] = (), *, has_figures: bool = False) -> Callable[[Command], Command]:
    """Add ``--format``, ``--out`` and, for several tables, ``--table``, as one :class:`Output` ``output``.

    ``has_figures``: the result is one that can be drawn.
    """
    forms = (*FORMATS, *FIGURES) if has_figures else FORMATS

    def decorate(command: Command) -> Command:
        @wraps(command)
        def shown(*, form: str | None, out: str | None, part: str | None = None, **given: Any) -> Any:
            return command(output=Output(form_of(out, form, forms=forms), out, part), **given)

        about = "File instead of standard output, in the format of its suffix."
        return raw_output_options(tables, about, forms)(shown)

    return decorate


def raw_output_options(tables: Sequence[str], out: str, forms: Sequence[str] = FORMATS) -> Callable[[Command], Command]:
    """Add the options ``--format`` (passed as ``form``), ``--out`` and, if there are several tables, ``--table``.

    ``--table`` is passed as ``part``, None if it is not given. ``out`` is the help text of ``--out``.
    """
    return stacked(
        option("--format form", "Form of the output.", forms),
        *([option("--table part", "Only this table.", tables)] if tables else []),
        option("--out", out, PATH),
        force_option,
    )


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
    if form in _BINARY and (out is None or out == "-"):
        raise KgtrecError(f"expected --out FILE with --format {form}, which is a binary format, found none")
    if out:
        require_file(out, kind=_BINARY.get(form, ""))  # before anything is computed
    return form

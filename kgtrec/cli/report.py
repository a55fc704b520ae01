"""kgtrec report."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, force_option, listed_of, option
from kgtrec.errors import KgtrecError

_UNITS = {"in": 1, "cm": 2.54, "mm": 25.4, "pt": 72.27}  # how many make an inch; points as LaTeX has them
_NARROWEST, _WIDEST = 2, 20  # inches


def _formats(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from kgtrec.data.table import FORMER_FORMATS, REPORT_FORMATS

    names = listed_of(value, (*REPORT_FORMATS, *FORMER_FORMATS), ", ".join(REPORT_FORMATS))
    return tuple(dict.fromkeys(FORMER_FORMATS.get(name, name) for name in names))


def _inches(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)", value.strip().lower())
    inches = float(found[1]) / _UNITS.get(found[2], math.nan) if found else math.nan
    if not _NARROWEST <= inches <= _WIDEST:
        raise click.BadParameter(
            f"expected a width of {_NARROWEST} to {_WIDEST} inches, such as 3.3in, 84mm, 8.4cm or 240pt, "
            f"found {value!r}"
        )
    return inches


@click.command(name="report")
@click.argument("study", type=click.Path())
@option("--out", "The page, NAME.html; other formats are written beside it.", PATH, required=True)
@option(
    "--formats",
    "html, svg, pdf, png (figures), latex, csv (tables), a list. Default: html.",
    callback=_formats,
    metavar="FORMATS",
)
@option(
    "--width",
    "Width of figures as SVG, PDF and PNG, such as 3.3in, 84mm or 240pt; their text is then 7 to 8 pt. Default: "
    "4.4in for each panel, two side by side, text of 9 pt.",
    callback=_inches,
    metavar="WIDTH",
)
@option("--intervals", "Also show the intervals of scores and correlations in LaTeX tables.", is_flag=True)
@force_option
def command(study: str, out: str, formats: tuple[str, ...], width: float | None, *, intervals: bool) -> None:
    """Write the report of STUDY, a folder that kgtrec study wrote: one page that works offline.

    Nothing is computed: the page is made from the stored results of the study. With formats other than html, figures
    are written to figures/ and tables to tables/ and data/ beside the page.

    \b
    kgtrec report study --out report.html
    kgtrec report study --out paper/report.html --formats html,pdf,latex
    kgtrec report study --out paper/report.html --formats pdf,latex --width 3.3in
    """
    from kgtrec.report.files import write_report
    from kgtrec.study.write_report import contents_of_report

    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        raise KgtrecError(f"--out {out}: expected a name that ends in .html, found {page.suffix!r}")
    write_report(contents_of_report(Path(study), formats or ("html",), width=width, with_intervals=intervals), page)
    say(f"wrote {out if not formats or 'html' in formats else page.parent}")

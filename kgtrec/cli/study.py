"""kgtrec study."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, choices_option, force_option, option, refuse_idle, workers_options
from kgtrec.data.table import REPORT_FORMATS
from kgtrec.errors import KgtrecError
from kgtrec.report.progress import progress_bar

_UNITS = {"in": 1, "cm": 2.54, "mm": 25.4, "pt": 72.27}  # how many make an inch; points as LaTeX has them
_NARROWEST, _WIDEST = 2, 20  # inches


def _inches(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    width = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)", value.strip().lower())
    inches = float(width[1]) / _UNITS.get(width[2], math.nan) if width else math.nan
    if not _NARROWEST <= inches <= _WIDEST:
        raise click.BadParameter(
            f"expected a width of {_NARROWEST} to {_WIDEST} inches, such as 3.3in, 84mm, 8.4cm or 240pt, "
            f"found {value!r}"
        )
    return inches


@click.command(name="study")
@click.argument("study", type=click.Path(), metavar="CONFIG|STUDY")
@option("--out", "Folder of the study; for STUDY, the page. Default: as in CONFIG.", PATH)
@workers_options
@option("--prune", "Remove steps of earlier inputs or options at the end.", is_flag=True)
@choices_option("--formats", choices=REPORT_FORMATS, about="Of the report of STUDY. Default: html.")
@option("--width", "Width of the figures of STUDY, such as 3.3in.", callback=_inches, metavar="WIDTH")
@option("--intervals", "Show intervals in the LaTeX tables of STUDY.", is_flag=True)
@force_option
def command(
    study: str, out: str | None, formats: tuple[str, ...], width: float | None, intervals: bool, **running: Any
) -> None:
    """Run a whole study, from triples and scores to the report, as configured in CONFIG (TOML), or write the report of
    a finished STUDY (a folder) anew.

    \b
    # run it, or go on where it stopped
    kgtrec study study.toml --workers 2
    # its report for a paper
    kgtrec study fb15k-237 --out paper/report.html --formats html,pdf,latex --width 3.3in

    Docs: docs/study.md
    """
    from kgtrec.report.files import write_report
    from kgtrec.study.run import contents_of_report, run_study

    if not Path(study).is_dir():
        refuse_idle(("formats", "width", "intervals"), f"{study}, which is no folder of a study")
        run_study(study, out, say=say, progress=progress_bar, **running)
        return
    refuse_idle(("workers", "scheduler", "prune"), f"{study}, the folder of a study")
    page = Path(out or "")
    if page.suffix.lower() not in (".html", ".htm"):
        raise KgtrecError(f"--out: expected a name that ends in .html for the report, found {out or 'none'}")
    write_report(contents_of_report(Path(study), formats or ("html",), width=width, with_intervals=intervals), page)
    say(f"wrote {out if not formats or 'html' in formats else page.parent}")

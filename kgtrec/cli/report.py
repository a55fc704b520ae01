"""kgtrec report."""

from __future__ import annotations

from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.errors import KgtrecError, nearest


def _formats(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from kgtrec.data.table import REPORT_FORMATS

    names = tuple(dict.fromkeys((value or "").replace(",", " ").split()))
    for name in names:
        if name not in REPORT_FORMATS:
            raise click.BadParameter(
                f"expected {', '.join(REPORT_FORMATS)}, got {name!r}{nearest(name, REPORT_FORMATS)}"
            )
    return names


@click.command(name="report")
@click.argument("study", type=click.Path())
@click.option(
    "--out", type=click.Path(), required=True, help="The page, NAME.html; other formats are written beside it."
)
@click.option(
    "--formats",
    callback=_formats,
    metavar="FORMATS",
    help="html, svg, pdf, png (figures), tex, csv (tables), separated by commas. Default: html.",
)
def command(study: str, out: str, formats: tuple[str, ...]) -> None:
    """Write the report of STUDY, a folder that kgtrec study wrote: one page that works offline.

    Nothing is computed: the page is made from the stored results of the study. With formats other than html, figures
    are written to figures/ and tables to tables/ and data/ beside the page.

    \b
    kgtrec report study --out report.html
    kgtrec report study --out paper/report.html --formats html,pdf,tex
    """
    from kgtrec.study.write_report import write_report

    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        raise KgtrecError(f"--out {out}: expected a name that ends in .html")
    write_report(Path(study), page, formats or ("html",), say=say)
    say(f"wrote {out if not formats or 'html' in formats else page.parent}")

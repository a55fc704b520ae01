"""kgtrec report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.files import writing

_FOLDERS = ("figures", "tables", "data")


def _formats(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from kgtrec.report.files import FORMATS

    names = tuple(dict.fromkeys(name for name in (value or "").replace(",", " ").split()))
    for name in names:
        if name not in FORMATS:
            raise click.BadParameter(f"expected {', '.join(FORMATS)}, got {name!r}{nearest(name, FORMATS)}")
    return names


@click.command(name="report")
@click.argument("study", type=click.Path())
@click.option("--out", type=click.Path(), required=True, help="The page, NAME.html; other forms go beside it.")
@click.option(
    "--formats",
    callback=_formats,
    metavar="FORMATS",
    help="html, svg, pdf, png (figures), tex, csv (tables), separated by commas. Default: html.",
)
def command(study: str, out: str, formats: tuple[str, ...]) -> None:
    """Write the report of STUDY, a folder that kgtrec study wrote: one page that needs no network.

    Nothing is computed: the page is made of what the study has kept. With other forms than html, figures go to
    figures/ and tables to tables/ and data/ beside the page.

    \b
    kgtrec report study --out report.html
    kgtrec report study --out paper/report.html --formats html,pdf,tex
    """
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        raise KgtrecError(f"--out {out}: expected a name that ends in .html")
    write_report(Path(study), page, formats or ("html",))
    say(f"wrote {out}")


def write_report(study: Path, page: Path, formats: Sequence[str], *, beside: bool = False) -> None:
    """Make a study's report and write its files; ``beside`` the study, what an earlier report left there goes."""
    from kgtrec.formats.studies import read_study
    from kgtrec.report.files import PAGE, USUAL_FORMATS, report_files
    from kgtrec.report.records import table_csv
    from kgtrec.report.study import study_report

    found = read_study(study)
    chosen = list(formats or USUAL_FORMATS)
    files = report_files(study_report(found), chosen)
    if "csv" in chosen:
        files |= {f"data/{name.replace('/', '-')}.csv": table_csv(table).encode()
                  for name, table in found.tables.items()}  # fmt: skip
    if beside:
        for folder in _FOLDERS:
            for old in (page.parent / folder).glob("*.*"):
                if f"{folder}/{old.name}" not in files:
                    old.unlink()
    for name, contents in sorted(files.items(), key=lambda file: file[0] == PAGE):  # the page comes last
        target = page if name == PAGE else page.parent / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with writing(target) as stream:
            stream.write(contents)

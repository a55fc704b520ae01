"""kgtrec report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.outputs import remove_file, require_file, writing, written_by

FOLDERS = ("figures", "tables", "data")  # beside the page
BY = "report"  # what writes them


def _formats(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from kgtrec.data.report import REPORT_FORMATS

    names = tuple(dict.fromkeys((value or "").replace(",", " ").split()))
    for name in names:
        if name not in REPORT_FORMATS:
            raise click.BadParameter(
                f"expected {', '.join(REPORT_FORMATS)}, got {name!r}{nearest(name, REPORT_FORMATS)}"
            )
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
    say(f"wrote {out if not formats or 'html' in formats else page.parent}")


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
        files |= {name: table_csv(table).encode()
                  for name, table in zip(_data_names(found.tables), found.tables.values(), strict=True)}  # fmt: skip
    targets = {name: page if name == PAGE else page.parent / name for name in files}
    for target in targets.values():
        require_file(target, by=BY)
    if beside:
        _remove_earlier(page.parent, files)
    for name, contents in sorted(files.items(), key=lambda file: file[0] == PAGE):  # the page comes last
        with writing(targets[name], by=BY) as stream:
            stream.write(contents)


def _data_names(tables: Iterable[str]) -> list[str]:
    """The files of tables PART/LABELS and PART/FIRST/SECOND: of each its own, also where labels hold dashes."""
    from kgtrec.report.cells import numbered

    return [f"data/{name}.csv" for name in numbered(table.replace("/", "-") for table in tables)]


def _remove_earlier(folder: Path, files: Iterable[str]) -> None:
    """Remove what an earlier report wrote and this one does not; what somebody put there or changed stays."""
    for own in ("", *FOLDERS):
        for name in written_by(folder / own, BY):
            if f"{own}/{name}".removeprefix("/") not in files and not remove_file(folder / own / name, by=BY):
                say(f"note: {folder / own / name} is of an earlier report and was changed since; it stays")

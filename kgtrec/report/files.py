"""A report as files: the page, and each figure and table as a file of its own, for papers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from kgtrec.data.table import REPORT_FORMATS, Figure, Report, Table
from kgtrec.errors import one_of
from kgtrec.formats.contents import PDF, PNG
from kgtrec.formats.output.outputs import require_file, together, writing
from kgtrec.report.drawing import pdf, png, svg
from kgtrec.report.html import data_file, is_too_large, to_html
from kgtrec.report.records import table_csv
from kgtrec.report.show import table_latex

USUAL_FORMATS = ("html", "svg", "pdf", "latex", "csv")
PAGE = "report.html"
_KINDS = {".png": PNG, ".pdf": PDF}


def report_files(
    report: Report,
    formats: Collection[str] = USUAL_FORMATS,
    *,
    width: float | None = None,
    with_intervals: bool = False,
) -> dict[str, bytes]:
    """Return the files of a report, for one folder.

    Parameters
    ----------
    report : Report
        What to write.
    formats : collection of {"html", "svg", "pdf", "latex", "csv", "png"}
        Which files to make. "html" is the page, with a CSV file for data that are too large to be stored in the page;
        "svg", "pdf" and "png" are figures; "latex" are tables; "csv" is the data of figures and tables.
    width : float, optional
        Width of the figures in inches, see :func:`kgtrec.report.drawing.svg`. It does not change the figures of the
        page.
    with_intervals : bool
        Whether LaTeX tables include the intervals. The tables of the page always do.

    Returns
    -------
    dict
        Path within the folder -> contents: ``report.html``, ``figures/KEY.svg``, ``tables/KEY.tex`` and so on. The
        same report gives the same bytes.

    Raises
    ------
    KgtrecError
        If a format is unknown.
    """
    for name in formats:
        one_of("formats among", name, REPORT_FORMATS)
    drawn: dict[str, Callable[[Figure, float | None], bytes]] = {
        "svg": lambda figure, width: svg(figure, width=width).encode(),
        "pdf": pdf,
        "png": png,
    }
    found = {PAGE: to_html(report).encode()} if "html" in formats else {}
    blocks: tuple[Figure | Table, ...] = (*report.figures, *report.tables)
    for block in blocks:
        if "csv" in formats or ("html" in formats and is_too_large(block)):
            found[data_file(block)] = table_csv(block.data).encode()
    if "latex" in formats:
        found |= {
            f"tables/{table.key}.tex": table_latex(table, intervals="beside" if with_intervals else "none").encode()
            for table in report.tables
        }
    for kind, draw in drawn.items():
        if kind in formats:
            found |= {f"figures/{figure.key}.{kind}": draw(figure, width) for figure in report.figures}
    return found


def write_report(files: Mapping[str, bytes], page: Path) -> None:
    """Write the files of a report, all or none, the page under its own name."""
    targets = {name: page if name == PAGE else page.parent / name for name in files}
    kinds = {name: _KINDS.get(target.suffix, "") for name, target in targets.items()}
    for name, target in targets.items():
        require_file(target, kind=kinds[name])
    with together():
        for name, contents in files.items():
            with writing(targets[name], kind=kinds[name]) as stream:
                stream.write(contents)

"""A report as files: the page, and its figures and tables one by one, as a paper takes them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kgtrec.data.table import REPORT_FORMATS, Figure, Report, Table
from kgtrec.errors import KgtrecError
from kgtrec.report.drawing import pdf, png, svg
from kgtrec.report.html import data_file, is_too_large, to_html
from kgtrec.report.records import table_csv
from kgtrec.report.show import table_latex

USUAL_FORMATS = ("html", "svg", "pdf", "latex", "csv")
PAGE = "report.html"


def report_files(
    report: Report,
    formats: Collection[str] = USUAL_FORMATS,
    *,
    width: float | None = None,
    with_intervals: bool = False,
) -> dict[str, bytes]:
    """The files of a report, to be written beside one another.

    Parameters
    ----------
    report : Report
    formats : collection of {"html", "svg", "pdf", "latex", "csv", "png"}
        Which files to make: the page, with the CSV of what is too large to be saved from it; figures as SVG, PDF, PNG;
        tables as LaTeX; the data of both as CSV.
    width : float, optional
        Of the figures, in inches, as :func:`kgtrec.report.drawing.svg` has it; those of the page have their own.
    with_intervals : bool
        Whether LaTeX tables show the intervals, too; those of the page always do.

    Returns
    -------
    dict
        Path within the folder -> contents: ``report.html``, ``figures/KEY.svg``, ``tables/KEY.tex`` and so on. The
        same bytes for the same report.

    Raises
    ------
    KgtrecError
        If a format is unknown.
    """
    unknown = [name for name in formats if name not in REPORT_FORMATS]
    if unknown:
        raise KgtrecError(f"expected formats among {', '.join(REPORT_FORMATS)}, found {', '.join(map(repr, unknown))}")
    drawn: dict[str, Callable[[Figure, float | None], bytes]] = {"svg": _svg, "pdf": pdf, "png": png}
    found = {PAGE: to_html(report).encode()} if "html" in formats else {}
    blocks: tuple[Figure | Table, ...] = (*report.figures, *report.tables)
    for block in blocks:
        if "csv" in formats or ("html" in formats and is_too_large(block)):
            found[data_file(block)] = table_csv(block.data).encode()
    if "latex" in formats:
        found |= {
            f"tables/{table.key}.tex": table_latex(table, with_intervals=with_intervals).encode()
            for table in report.tables
        }
    for kind, draw in drawn.items():
        if kind in formats:
            found |= {f"figures/{figure.key}.{kind}": draw(figure, width) for figure in report.figures}
    return found


def _svg(figure: Figure, width: float | None) -> bytes:
    return svg(figure, width=width).encode()

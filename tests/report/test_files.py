from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from kgtrec.data.table import Report, Section, Table
from kgtrec.errors import KgtrecError
from kgtrec.report.files import report_files, table_latex
from tests.report.sample import small_report


def test_a_paper_gets_each_figure_and_table_in_its_formats():
    """SVG, PDF and CSV of figures; LaTeX and CSV of tables; and the page."""
    report = small_report()
    files = report_files(report)
    expected = {"report.html"}
    expected |= {f"figures/{figure.key}.{kind}" for figure in report.figures for kind in ("svg", "pdf", "csv")}
    expected |= {f"tables/{table.key}.{kind}" for table in report.tables for kind in ("tex", "csv")}
    assert set(files) == expected
    assert all(files.values())


def test_only_what_is_asked_for_is_made(report: Report):
    """LaTeX alone takes no drawing; an unknown format is told."""
    assert set(report_files(report, ("latex",))) == {"tables/scores.tex"}
    with pytest.raises(KgtrecError, match="expected formats among html, svg, pdf, latex, csv, png, found 'docx'"):
        report_files(report, ("html", "docx"))


@pytest.mark.slow
def test_data_that_the_page_cannot_hold_are_beside_it():
    """The page names the file, which is there whatever else is asked for; small data are in the page."""
    large = Table("big", "Big", "", pa.table({"label": [f"number {n}" for n in range(120_000)]}))
    small = Table("small", "Small", "", pa.table({"label": ["a"]}))
    files = report_files(Report("R", (Section("a", "A", (large, small)),)), ("html",))
    assert set(files) == {"report.html", "tables/big.csv"}
    assert b"they are in the file <code>tables/big.csv</code> in the same folder" in files["report.html"]
    assert files["tables/big.csv"].count(b"\n") == 120_001
    assert b'download="small.csv"' in files["report.html"]


def test_same_report_same_files():
    """Byte by byte, made anew."""
    kinds = ("svg", "png", "latex", "csv")
    assert report_files(small_report(), kinds) == report_files(small_report(), kinds)


def test_csv_holds_the_data_at_full_precision(report: Report):
    """Numbers read back exactly."""
    by_key = {figure.key: figure for figure in report.figures}
    rows = list(csv.DictReader(io.StringIO(report_files(report, ("csv",))["figures/p-values.csv"].decode())))
    assert [float(row["p"]) for row in rows] == by_key["p-values"].data["p"].to_pylist()


def test_latex_escapes_labels_and_marks_the_best():
    """What LaTeX would obey or misprint is escaped; a minus is a minus, the best is bold."""
    data = pa.table({"system": ["<b>|a_b|&%$#{}~^\\", "x"], "tau": [-0.5, 0.25]})
    text = table_latex(Table("t", "T", "", data))
    assert r"\textless{}b\textgreater{}\textbar{}a\_b\textbar{}\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}" in text
    assert "$-$0.5000" in text
    assert text.startswith("\\begin{tabular}{lr}\n\\toprule\nsystem & tau \\\\\n")


def test_latex_shows_intervals_and_letters(report: Report):
    """Letters as superscripts; intervals only if they are asked for."""
    text = report_files(report, ("latex",))["tables/scores.tex"].decode()
    assert r"\textbf{0.4000}\textsuperscript{a} &" in text
    assert "[0." not in text
    text = report_files(report, ("latex",), with_intervals=True)["tables/scores.tex"].decode()
    assert r"\textbf{0.4000\textsuperscript{a} [0.3600, 0.4400]}" in text
    assert r"\textless{}script\textgreater{}" in text

"""A report as one HTML file that needs no network: it contains styles, script, pictures and data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from kgtrec.data.table import Column, Figure, Report, Table
from kgtrec.formats.files import kgtrec_version
from kgtrec.report.cells import count_text, direction, is_number_column, label_text, table_cells
from kgtrec.report.drawing import svg
from kgtrec.report.figures import panels
from kgtrec.report.records import table_csv
from kgtrec.report.svg import inline

_LARGEST_LINK = 1_500_000  # characters of a data: address; browsers do not open addresses longer than 2 MB
_MOST_NUMBERS = 400  # rows of a figure's data that are also shown as a table
_FIRST = {"higher": "descending", "lower": "ascending", "neither": ""}


def to_html(report: Report) -> str:
    """Return a report as a page.

    The page cannot load, send or frame anything, and runs only its own script. Its content security policy, with the
    hashes of style and script, forbids everything else. All text from data is escaped.

    Parameters
    ----------
    report : Report
        What to show.

    Returns
    -------
    str
        The same report gives the same text. For data that are too large for a link, the page names a file beside it,
        which :func:`kgtrec.report.report_files` makes.

    Examples
    --------
    >>> from kgtrec.data.table import Section, Text
    >>> page = to_html(Report("Ranks of <b>", (Section("all", "All", (Text(("Nothing yet.",)),)),)))
    >>> "Ranks of &lt;b&gt;" in page, "http" in page.replace("http-equiv", "")
    (True, False)
    """
    filters = {
        "label": label_text,
        "lines": _lines,
        "count": count_text,
        "download": _download,
        "cells": _shown,
        "numbers": _numbers,
        "pictures": lambda figure: [markup(inline(svg(figure, at))) for at in range(len(panels(figure)))],
    }
    return filled_page("report", template("report.js"), filters, report=report).lstrip("\n")


def filled_page(name: str, script: str, filters: Mapping[str, Any] = MappingProxyType({}), **shown: Any) -> str:
    """Fill in NAME.html with NAME.css and a script, the only ones that its content security policy allows."""
    from jinja2 import Environment, StrictUndefined

    style = look() + template(f"{name}.css")
    sources = f"style-src {source_hash(style)}; script-src {source_hash(script)}"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= filters
    page = environment.from_string(template(f"{name}.html"))
    return page.render(version=kgtrec_version(), policy=policy, style=markup(style), script=markup(script), **shown)


def embedded(data: Mapping[str, Any]) -> str:
    """Return JSON in which nothing ends a script, begins a comment, or breaks a line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def markup(text: str) -> Any:
    """Mark up what goes into a page as it is: our own files, and pictures, whose text is escaped as XML demands."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  # nosec B704 # not what anybody gave


def look() -> str:
    """Return the style sheet that all pages share: colours, type and tables."""
    return template("look.css")


def template(name: str) -> str:
    """Return a file of the folder ``kgtrec/report/templates``."""
    return (files("kgtrec.report") / "templates" / name).read_text(encoding="utf-8")


def source_hash(text: str) -> str:
    """Return the hash by which a content security policy names a style or a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _numbers(figure: Figure) -> Table | None:
    """The data of a figure that is small; p-values are never shown as 0."""
    columns = tuple(Column(name, form="p" if name == "p" else "number") for name in figure.data.column_names)
    is_small = 0 < figure.data.num_rows <= _MOST_NUMBERS
    return Table(f"{figure.key}-numbers", figure.title, "", figure.data, columns) if is_small else None


def _shown(table: Table) -> dict[str, Any]:
    table = table.wide
    rows = table_cells(table)
    return {
        "columns": [_head(table, column) for column in table.columns],
        # all cells of a column have room for its longest letters, so that the numbers are aligned
        "letters": [max((min(len(cell.groups), 8) for cell in cells), default=0) for cells in zip(*rows, strict=True)],
        "rows": rows,
    }


def _head(table: Table, column: Column) -> dict[str, Any]:
    label = label_text(column.label or column.name)
    is_whole = "-" in label and len(label) < 17  # a short label has no line break at its hyphen
    return {
        "label": label,
        "classes": " ".join(
            ["number-cell"] * is_number_column(table, column) + ["whole"] * is_whole + ["wide"] * (len(label) > 24)
        ),
        "first": _FIRST[direction(table.shown, column)],
    }


def is_too_large(block: Table | Figure) -> bool:
    """Check whether the data are too large for a link in the page; the page then names :func:`data_file` instead."""
    return not _address(block)


def data_file(block: Table | Figure) -> str:
    """Return the path of the data of a table or figure, relative to the page."""
    return f"{'tables' if isinstance(block, Table) else 'figures'}/{block.key}.csv"


def _address(block: Table | Figure) -> str:
    """The data as a link; "" if they are too large for a browser."""
    address = "data:text/csv;charset=utf-8," + quote(table_csv(block.data), safe="")
    return address if len(address) <= _LARGEST_LINK else ""


def _download(block: Table | Figure) -> dict[str, Any]:
    address = _address(block)
    return {"file": f"{block.key}.csv" if address else data_file(block), "href": address}


def _lines(text: str) -> str:
    """Text with its lines and indentation, without characters that cannot be shown."""
    return "\n".join(
        line[: len(line) - len(line.lstrip())] + label_text(line) for line in text.replace("\t", "    ").splitlines()
    )

"""The tables of any result as text for a terminal, CSV, JSON or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.table import Report, Result, Table
from kgtrec.errors import legible
from kgtrec.report.cells import Cell, is_number_column, table_cells
from kgtrec.report.records import table_csv, table_json, tables_json
from kgtrec.report.tables import aligned, booktabs, text_width

_MOST_ROWS = 40  # of a table in a notebook
_LARGE = 20_000  # rows of a table that are laid out for a notebook


def shown(
    result: Result, form: str, names: Sequence[str] | None = None, *, width: int | None = None, bold: bool = False
) -> str:
    r"""Return a result in one of the text formats.

    Parameters
    ----------
    result : Result
    form : {"table", "csv", "json", "latex", "markdown"}
        "table": aligned text. "csv": the data of one table, at full precision. "json": all data; a list of records for
        a single table, or an object if there are several tables or the result has an ``about()``. "latex": tables for
        ``\\usepackage{booktabs}``. "markdown": tables as GitHub and most editors show them.
    names : sequence of str, optional
        Keys of the tables to print, in this order. Default: the first for ``csv``, all for ``json``, otherwise all
        that have rows to show.
    width : int, optional
        Width of the terminal. A table that is wider, and has more measures than rows, is transposed.
    bold : bool
        Whether best values are bold in a terminal.
    """
    tables = {table.key: table for table in result.tables()}
    chosen = list(tables.values()) if names is None else [tables[name] for name in names]
    if names is None and form in ("table", "latex", "markdown"):
        chosen = [table for table in chosen if table.shown.num_rows] or chosen[:1]
    if form == "csv":
        return table_csv(chosen[0].data, is_short=chosen[0].is_short)
    if form == "json":
        about: Mapping[str, Any] = getattr(result, "about", dict)()
        if len(chosen) == 1 and not about:
            return table_json(chosen[0].data)
        return tables_json(about, {table.key: table.data for table in chosen})
    if form in ("latex", "markdown"):
        return "\n".join(map(table_latex if form == "latex" else table_markdown, chosen))
    return "\n".join(table_text(table, width=width, bold=bold) for table in chosen)


def result_html(result: Result, *, most: int = _MOST_ROWS) -> str:
    """Return the tables of a result as HTML for a notebook; of a table with more than ``most`` rows the first ones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> class Two(Result):
    ...     def tables(self):
    ...         return (Table("scores", "Scores", "", pa.table({"system": ["<a>", "b"], "RR": [0.25, 1.0]})),)
    >>> print(result_html(Two(), most=1))
    <table><caption>Scores</caption>
    <thead><tr><th style="text-align: left">system</th><th style="text-align: right">RR</th></tr></thead>
    <tbody>
    <tr><td style="text-align: left">&lt;a&gt;</td><td style="text-align: right">0.2500</td></tr>
    </tbody></table>
    <p>The first rows; <code>tables()</code> has all.</p>
    """
    chosen = [table for table in result.tables() if table.shown.num_rows] or result.tables()[:1]
    return "\n".join(_table_html(table, most) for table in chosen)


def summary_html(report: Report) -> str:
    """Return the first section of a report as HTML for a notebook.

    Examples
    --------
    >>> from kgtrec.data.table import Facts, Section, Text
    >>> blocks = Text(("a is <best>.",)), Facts((("systems", "2"),))
    >>> print(summary_html(Report("Study", (Section("summary", "In short", blocks), Section("rest", "Rest", ())))))
    <h3>Study</h3>
    <p>a is &lt;best&gt;.</p>
    <p><strong>2</strong> systems</p>
    <p>The first of 2 sections; <code>kgtrec.report.to_html</code> gives the page.</p>
    """
    return str(_notebook().summary(report)).rstrip("\n")


@cache
def _notebook() -> Any:
    """The macros by which a notebook shows things."""
    from jinja2 import Environment, StrictUndefined

    from kgtrec.report.drawing import svg  # a figure takes matplotlib

    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True)  # noqa: S701  # nosec B701 # by filters
    environment.filters |= {
        "text": lambda text: escape(legible(text)),
        "escaped": escape,
        "picture": svg,
        "table": _table_html,
    }
    source = (files("kgtrec.report") / "templates" / "notebook.html").read_text(encoding="utf-8")
    return environment.from_string(source).module


def _table_html(table: Table, most: int = _MOST_ROWS) -> str:
    is_large = table.shown.num_rows > _LARGE  # such as the values of each question: cut before it is laid out
    wide = (replace(table, data=table.shown.slice(0, _LARGE), view=None, rows=None) if is_large else table).wide
    rows = table_cells(wide, typeset=False)
    is_cut = is_large or len(rows) > most
    texts, left, best = _texts(wide, rows[:most])
    return str(_notebook().table_of(texts, left, best.tolist(), table.caption or table.title, is_cut)).strip("\n")


def table_text(table: Table, *, width: int | None = None, bold: bool = False) -> str:
    """Return a table for a terminal: its caption, or its title if it has no caption, and aligned columns.

    The header is left out if all headings are blank. For ``width`` and ``bold`` see :func:`shown`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kgtrec.data.table import Column
    >>> data = pa.table({"system": ["a", "b"], "RR": [0.25, 1.0]})
    >>> print(table_text(Table("scores", "Scores", "", data)), end="")
    Scores
    system      RR
    a       0.2500
    b       1.0000
    >>> data = pa.table({"what": ["triples", "head type"], "count": [3, 1], "is_part": [False, True]})
    >>> columns = Column("what", " ", parts="is_part"), Column("count", " ")
    >>> print(table_text(Table("size", "", "", data, columns)), end="")
    triples      3
      head type  1
    """
    head = [*table.caption.splitlines(), ""] if table.caption else filter(None, [table.title])
    wide = table.wide
    cells, left, best = _texts(wide, table_cells(wide, typeset=False))
    spread = next((column.across for column in table.columns if column.across), "")
    is_narrow = width is not None and spread and left == 1 and text_width(cells) > width
    if is_narrow and len(cells) < len(cells[0]):
        cells = [list(column) for column in zip(*cells, strict=True)]
        cells[0][0], best = spread, best.T
    if not any(cell.strip() for cell in cells[0]):
        cells, best = cells[1:], best[1:]
    return "".join(f"{legible(line)}\n" for line in head) + aligned(cells, left, best if bold else None)


#: where the intervals of a table for LaTeX are: after the values, below them, in columns of their own, or nowhere
INTERVALS = ("beside", "row", "column", "none")


def table_latex(table: Table, *, intervals: str = "beside") -> str:
    r"""Return a table for ``\usepackage{booktabs}``, with best values in bold and groups' letters as superscripts.

    Parameters
    ----------
    table : Table
    intervals : {"beside", "row", "column", "none"}
        Whether intervals are after the values, in a row below them, or in a column of their own.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(table_latex(Table("t", "T", "", pa.table({"system": ["<a_b>"], "tau": [-0.5]}))), end="")
    \begin{tabular}{lr}
    \toprule
    system & tau \\
    \midrule
    \textless{}a\_b\textgreater{} & $-$0.5000 \\
    \bottomrule
    \end{tabular}
    """
    note = f"% {legible(table.note)}\n" if table.note else ""
    wide = table.wide
    rows = table_cells(wide)
    texts, left, best = _texts(wide, rows, with_groups=False, with_intervals=intervals == "beside")
    raised, ends = (
        [[""] * len(wide.columns), *([getattr(cell, part) for cell in row] for row in rows)]
        for part in ("groups", "interval")
    )
    if table.upright:
        raised = [list(row) for row in zip(*raised, strict=True)]
    elif intervals in ("row", "column"):
        # each row, or column, is followed by its intervals, if it has any
        axis = 0 if intervals == "row" else 1
        kept = np.ravel([[True, any(line)] for line in (ends if axis == 0 else zip(*ends, strict=True))])
        texts, best, raised = (
            np.stack((np.array(part, object), np.array(after, object)), axis + 1)
            .reshape((-1, len(wide.columns)) if axis == 0 else (len(ends), -1))
            .compress(kept, axis)
            .tolist()
            for part, after in ((texts, ends), (best, np.zeros_like(best)), (raised, np.full_like(ends, "", object)))
        )
    return note + booktabs(texts, left, np.array(best, np.bool_), raised)


def table_markdown(table: Table) -> str:
    r"""Return a table for Markdown, with the best values in bold, and its note below.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(table_markdown(Table("t", "T", "", pa.table({"system": ["a|b"], "RR": [0.5]}))), end="")
    | system | RR |
    | :--- | ---: |
    | a\|b | 0.5000 |
    """
    wide = table.wide
    texts, left, best = _texts(wide, table_cells(wide, typeset=False))
    bold = np.where(best, "**", "")
    cells = [
        [f"{mark}{legible(cell).replace('|', chr(92) + '|')}{mark}" for cell, mark in zip(*row, strict=True)]
        for row in zip(texts, bold, strict=True)
    ]
    cells.insert(1, [":---"] * left + ["---:"] * (len(cells[0]) - left))
    note = f"\n{legible(table.note)}\n" if table.note else ""
    return "".join(f"| {' | '.join(row)} |\n" for row in cells) + note


def _texts(
    table: Table, rows: Sequence[Sequence[Cell]], *, with_groups: bool = True, with_intervals: bool = True
) -> tuple[list[list[str]], int, NDArray[np.bool_]]:
    """The cells of a wide table with their header, the number of leading label columns, and which cells are best."""
    numbers = [is_number_column(table, column) for column in table.columns]
    left = numbers.index(True) if True in numbers else len(numbers)
    texts = [
        [column.label or column.name for column in table.columns],
        *(
            [
                " ".join(filter(None, (cell.text, cell.groups * with_groups, cell.interval * with_intervals)))
                for cell in row
            ]
            for row in rows
        ),
    ]
    best = np.array([[False] * len(table.columns), *([cell.is_best for cell in row] for row in rows)], np.bool_)
    return ([list(column) for column in zip(*texts, strict=True)], 1, best.T) if table.upright else (texts, left, best)

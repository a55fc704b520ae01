"""Any result as text for a terminal, CSV, JSON or LaTeX: by its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgtrec.data.table import Result, Table
from kgtrec.errors import legible
from kgtrec.report.cells import is_number_column, label_text, table_cells
from kgtrec.report.records import table_csv, table_json, tables_json
from kgtrec.report.tables import aligned, booktabs


def shown(result: Result, form: str, names: Sequence[str] | None = None) -> str:
    r"""A result in one of the forms of text.

    Parameters
    ----------
    result : Result
    form : {"table", "csv", "json", "latex"}
        Aligned text; the data of one table, values at full precision; all data, a list of records or, of several
        tables and a result that says what was asked, an object; ``\\usepackage{booktabs}`` tables.
    names : sequence of str, optional
        Keys of the tables that are printed, in their order. Default: the first for ``csv``, all for ``json``, else
        all that have rows to show.
    """
    tables = {table.key: table for table in result.tables()}
    chosen = list(tables.values()) if names is None else [tables[name] for name in names]
    if names is None and form in ("table", "latex"):
        chosen = [table for table in chosen if table.shown.num_rows] or chosen[:1]
    if form == "csv":
        return table_csv(chosen[0].data)
    if form == "json":
        about: Mapping[str, Any] = getattr(result, "about", dict)()
        if len(chosen) == 1 and not about:
            return table_json(chosen[0].data)
        return tables_json(about, {table.key: table.data for table in chosen})
    return "\n".join(map(table_latex if form == "latex" else table_text, chosen))


def table_text(table: Table) -> str:
    """A table for a terminal: its caption, or its title where it has none, if any, and aligned columns.

    The header is left out where all headings are blank.

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
    head = [*table.caption.splitlines(), ""] if table.caption else [table.title] * bool(table.title)
    cells, left = _texts(table.wide, typeset=False)
    return "".join(f"{legible(line)}\n" for line in head) + aligned(cells if any(cells[0]) else cells[1:], left)


def table_latex(table: Table) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``); best values bold, intervals and letters beside the values.

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
    table = table.wide
    cells = table_cells(table)
    best = np.array([[False] * len(table.columns), *([cell.is_best for cell in row] for row in cells)], np.bool_)
    return booktabs(*_texts(table, typeset=True), best)


def _texts(table: Table, *, typeset: bool) -> tuple[list[list[str]], int]:
    """The cells with their header, and how many leading columns are labels."""
    numbers = [is_number_column(table, column) for column in table.columns]
    left = numbers.index(True) if True in numbers else len(numbers)
    header = [label_text(column.label or column.name) for column in table.columns]
    rows = [
        [" ".join(filter(None, (cell.text, cell.groups, cell.interval))) for cell in row]
        for row in table_cells(table, typeset=typeset)
    ]
    return [header, *rows], left

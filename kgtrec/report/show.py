"""Any result as text for a terminal, CSV, JSON or LaTeX: by its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgtrec.data.table import Result, Table
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
        Keys of the tables that are printed, in their order. Default: the first for ``csv``, else all of them.
    """
    tables = {table.key: table for table in result.tables()}
    chosen = list(tables.values()) if names is None else [tables[name] for name in names]
    if form == "csv":
        return table_csv(chosen[0].data)
    if form == "json":
        about: Mapping[str, Any] = getattr(result, "about", dict)()
        if len(chosen) == 1 and not about:
            return table_json(chosen[0].data)
        return tables_json(about, {table.key: table.data for table in chosen})
    return "\n".join(map(table_latex if form == "latex" else table_text, chosen))


def table_text(table: Table) -> str:
    """A table for a terminal: its caption, or its title where it has none, and aligned columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> data = pa.table({"system": ["a", "b"], "RR": [0.25, 1.0]})
    >>> print(table_text(Table("scores", "Scores", "", data)), end="")
    Scores
    system      RR
    a       0.2500
    b       1.0000
    """
    head = f"{table.caption}\n\n" if table.caption else f"{table.title}\n"
    return head + aligned(*_texts(table, typeset=False))


def table_latex(table: Table, *, with_intervals: bool = True) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``); best values bold, letters of groups as superscripts.

    Parameters
    ----------
    table : Table
    with_intervals : bool
        Whether intervals stand beside the values; a paper's column seldom has room for them.

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
    cells = table_cells(table)
    best = np.array([[False] * len(table.columns), *([cell.is_best for cell in row] for row in cells)], np.bool_)
    raised = [[""] * len(table.columns), *([cell.groups for cell in row] for row in cells)]
    texts, left = _texts(table, typeset=True, with_groups=False, with_intervals=with_intervals)
    return booktabs(texts, left, best, raised)


def _texts(
    table: Table, *, typeset: bool, with_groups: bool = True, with_intervals: bool = True
) -> tuple[list[list[str]], int]:
    """The cells with their header, and how many leading columns are labels."""
    numbers = [is_number_column(table, column) for column in table.columns]
    left = numbers.index(True) if True in numbers else len(numbers)
    header = [label_text(column.label or column.name) for column in table.columns]
    rows = [
        [" ".join(filter(None, (cell.text, cell.groups * with_groups, cell.interval * with_intervals))) for cell in row]
        for row in table_cells(table, typeset=typeset)
    ]
    return [header, *rows], left

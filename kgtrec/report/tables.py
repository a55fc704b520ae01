"""Scores as text: an aligned table, CSV, JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.scores import Scores
from kgtrec.errors import legible
from kgtrec.measures.names import parse_measure
from kgtrec.report.cells import measure_text
from kgtrec.report.records import table_json

_LATEX = str.maketrans(
    {
        "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "|": r"\textbar{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "\N{MINUS SIGN}": "$-$", "\N{INFINITY}": r"$\infty$",
    }
)  # fmt: skip


def to_csv(scores: Scores) -> str:
    """Long form, a header line, values at full precision; an undefined value is an empty cell."""
    items = {name: quoted(labels) for name, labels in scores.items.items()}
    systems, measures = (tuple(quoted(pa.array(names)).to_pylist()) for names in (scores.systems, scores.measures))
    table = _long(replace(scores, systems=systems, measures=measures, items=items))
    cells = [
        pc.fill_null(pc.cast(column, pa.string()), "") if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    rows = pc.binary_join_element_wise(*cells, ",").to_pylist()
    return "\n".join([",".join(table.column_names), *rows]) + "\n"


def quoted(labels: pa.Array) -> pa.Array:
    """Labels as CSV cells: in quotes where they hold a comma, a quote or a line break."""
    in_quotes = pc.binary_join_element_wise('"', pc.replace_substring(labels, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(labels, '[",\r\n]'), in_quotes, labels)


def to_json(scores: Scores) -> str:
    """Long form, a list of records, one a line; an undefined value is null."""
    return table_json(scores.to_table())


def _long(scores: Scores) -> pa.Table:
    table = scores.to_table()
    for place, name in enumerate(table.column_names):
        if name in ("value", "low", "high", "effective"):
            value = table.column(name)
            table = table.set_column(place, name, pc.if_else(pc.is_nan(value), pa.scalar(None, pa.float64()), value))
    return table


@dataclass(frozen=True, slots=True)
class _Grid:
    """A wide table as cells of text: what a person reads, on a terminal or in a paper."""

    header: list[str]
    rows: list[list[str]]
    best: NDArray[np.bool_]  # (rows, columns) which cells hold the best value of their measure
    n_labels: int  # how many leading columns are labels


def _grid(scores: Scores) -> _Grid:
    """Systems (and items) down, measures across."""
    _, n_measures, n_items = scores.values.shape
    columns = [labels.to_pylist() for labels in scores.items.values()]
    wide = _cells_of(scores)
    labels = [[system, *(column[item] for column in columns)] for system in scores.systems for item in range(n_items)]
    best = np.zeros((len(labels), 1 + len(columns) + n_measures), np.bool_)
    best[:, 1 + len(columns) :] = _best(scores).transpose(0, 2, 1).reshape(-1, n_measures)
    rows = [[*label, *cells] for label, cells in zip(labels, wide, strict=True)]
    return _Grid(["system", *scores.items, *scores.measures], rows, best, 1 + len(columns))


def _cells_of(scores: Scores) -> list[list[str]]:
    """(systems x items) rows of one cell per measure, with the interval behind the value if there is one."""
    n_measures = len(scores.measures)
    value = scores.values.transpose(0, 2, 1).reshape(-1, n_measures)
    rows = [[measure_text(cell, name) for cell, name in zip(row, scores.measures, strict=True)] for row in value]
    if scores.low is None or scores.high is None:
        return rows
    low, high = (array.transpose(0, 2, 1).reshape(-1, n_measures) for array in (scores.low, scores.high))
    return [
        [
            cell
            if math.isnan(low[place, column])
            else f"{cell} [{measure_text(low[place, column], name)}, {measure_text(high[place, column], name)}]"
            for column, (cell, name) in enumerate(zip(row, scores.measures, strict=True))
        ]
        for place, row in enumerate(rows)
    ]


def _best(scores: Scores) -> NDArray[np.bool_]:
    """Which values are the best of their measure among the systems; none where there is one system."""
    best = np.zeros(scores.values.shape, np.bool_)
    if len(scores.systems) < 2:
        return best
    for column, measure in enumerate(scores.measures):
        better = parse_measure(measure).record.better
        if better != "neither":
            values = scores.values[:, column] if better == "higher" else -scores.values[:, column]
            best[:, column] = values == np.fmax.reduce(values, axis=0)
    return best


def to_table(scores: Scores, *, width: int | None = None, bold: bool = False) -> str:
    """An aligned table; ``width`` turns it where it then fits better, ``bold`` marks the best values."""
    grid = _grid(scores)
    cells, left = [[legible(text) for text in row] for row in (grid.header, *grid.rows)], grid.n_labels
    marks = np.vstack([np.zeros(len(grid.header), np.bool_), grid.best])
    if width is not None and not scores.items and _width(cells) > width and len(grid.rows) < len(scores.measures):
        cells = [list(column) for column in zip(*cells, strict=True)]
        cells[0][0], marks, left = "measure", marks.T, 1
    return aligned(cells, left, marks if bold else None)


def aligned(cells: Sequence[Sequence[str]], left: int, bold: NDArray[np.bool_] | None = None) -> str:
    r"""Rows of text in columns, the first ``left`` of them flush left and the others right; ``bold``: which cells are.

    Whatever steers a terminal stands as an escape, see :func:`kgtrec.errors.legible`.

    Examples
    --------
    >>> print(aligned([["system", "RR"], ["a\x1b[2J", "0.5"]], 1), end="")
    system       RR
    a\x1b[2J    0.5
    """
    cells = [[legible(text) for text in row] for row in cells]
    widths = [max(_cells(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join(
            _styled(
                _padded(text, widths[column], left_aligned=column < left),
                bold=bold is not None and bool(bold[place, column]),
            )
            for column, text in enumerate(row)
        ).rstrip()
        for place, row in enumerate(cells)
    ]
    return "\n".join(lines) + "\n"


def _width(cells: Sequence[Sequence[str]]) -> int:
    widths = [max(_cells(row[column]) for row in cells) for column in range(len(cells[0]))]
    return sum(widths) + 2 * (len(widths) - 1)


def _cells(text: str) -> int:
    """How many terminal cells a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int, *, left_aligned: bool) -> str:
    space = " " * (width - _cells(text))
    return text + space if left_aligned else space + text


def _styled(text: str, *, bold: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if bold else text


def to_latex(scores: Scores) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``), best values in bold; a comment tells what intervals are over."""
    grid = _grid(scores)
    bold = np.vstack([np.zeros(len(grid.header), np.bool_), grid.best])
    over = f"% intervals over {scores.population}\n" if scores.population else ""
    return over + booktabs([grid.header, *grid.rows], grid.n_labels, bold)


def booktabs(
    cells: Sequence[Sequence[str]],
    left: int,
    bold: NDArray[np.bool_] | None = None,
    raised: Sequence[Sequence[str]] | None = None,
) -> str:
    r"""A LaTeX table of text, a header first, the first ``left`` columns flush left; ``bold``: which cells are.

    ``raised`` is what stands as a superscript behind the first word of each cell: its value.

    A row that begins with a bracket or a star follows an empty group: they would belong to the rule or the line break
    above, as its argument or its starred form.

    Examples
    --------
    >>> print(booktabs([["system", "RR"], ["a_b", "0.5"]], 1), end="")
    \begin{tabular}{lr}
    \toprule
    system & RR \\
    \midrule
    a\_b & 0.5 \\
    \bottomrule
    \end{tabular}
    """
    lines = []
    for place, row in enumerate(cells):
        texts = (
            _latex_cell(text, "" if raised is None else raised[place][column],
                        bold=bold is not None and bool(bold[place, column]))
            for column, text in enumerate(row)
        )  # fmt: skip
        line = " & ".join(texts) + r" \\"
        lines.append("{}" + line.lstrip() if line.lstrip().startswith(("[", "*")) else line)
    columns = "l" * left + "r" * (len(cells[0]) - left)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule",
         r"\end{tabular}", ""]
    )  # fmt: skip


def _latex_cell(text: str, raised: str = "", *, bold: bool) -> str:
    escaped = "--" if text == "-" else legible(text).translate(_LATEX)
    if bold:
        escaped = rf"\textbf{{{escaped}}}"
    if not raised:
        return escaped
    value, space, interval = escaped.partition(" ")
    return rf"{value}\textsuperscript{{{raised}}}{space}{interval}"

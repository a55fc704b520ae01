"""Rows of text as a table: aligned for a terminal, or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import legible

_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\N{MINUS SIGN}": "$-$",
        "\N{INFINITY}": r"$\infty$",
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
    }
)


def aligned(cells: Sequence[Sequence[str]], left: int, bold: NDArray[np.bool_] | None = None) -> str:
    r"""Return rows of text in columns; the first ``left`` columns are left-aligned, the others right-aligned.

    ``bold`` marks the cells in bold. Control characters are escaped, see :func:`kgtrec.errors.legible`.

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
            _padded(
                text, widths[column], left_aligned=column < left, bold=bold is not None and bool(bold[place, column])
            )
            for column, text in enumerate(row)
        ).rstrip()
        for place, row in enumerate(cells)
    ]
    return "\n".join(lines) + "\n"


def text_width(cells: Sequence[Sequence[str]]) -> int:
    """Return the width of the lines of :func:`aligned` in terminal cells."""
    widths = [max(_cells(row[column]) for row in cells) for column in range(len(cells[0]))]
    return sum(widths) + 2 * (len(widths) - 1)


def _cells(text: str) -> int:
    """The width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int, *, left_aligned: bool, bold: bool) -> str:
    space = " " * (width - _cells(text))
    padded = text + space if left_aligned else space + text
    return f"\x1b[1m{padded}\x1b[0m" if bold else padded


def booktabs(
    cells: Sequence[Sequence[str]],
    left: int,
    bold: NDArray[np.bool_] | None = None,
    raised: Sequence[Sequence[str]] | None = None,
) -> str:
    r"""Return a LaTeX table of text; the first row is the header, the first ``left`` columns are left-aligned.

    ``bold`` marks the cells in bold. ``raised`` gives a superscript per cell, after its first word, which is the value.

    A row that begins with [ or * has an empty group before it. Otherwise LaTeX would read the sign as part of the rule
    or line break above: as an argument, or as the starred form.

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
            _latex_cell(
                text,
                "" if raised is None else raised[place][column],
                bold=bold is not None and bool(bold[place, column]),
            )
            for column, text in enumerate(row)
        )
        line = " & ".join(texts) + r" \\"
        lines.append("{}" + line.lstrip() if line.lstrip().startswith(("[", "*")) else line)
    columns = "l" * left + "r" * (len(cells[0]) - left)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _latex_cell(text: str, raised: str = "", *, bold: bool) -> str:
    escaped = "--" if text == "-" else legible(text).translate(_LATEX)
    if bold:
        escaped = rf"\textbf{{{escaped}}}"
    if not raised:
        return escaped
    value, space, interval = escaped.partition(" ")
    return rf"{value}\textsuperscript{{{raised}}}{space}{interval}"

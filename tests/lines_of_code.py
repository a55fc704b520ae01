"""The lines of code of the package by folder, without docstrings, comments and blanks, and its statements.

python -m tests.lines_of_code
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kgtrec"
_HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # of docstrings
_BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_and_statements(source: str) -> tuple[int, int]:
    """How many lines of a module hold code, and how many statements it has."""
    nodes = list(ast.walk(ast.parse(source)))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in nodes:
        if isinstance(node, _HOLDERS) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines), sum(isinstance(node, ast.stmt) for node in nodes)


def by_folder() -> dict[str, tuple[int, int]]:
    """Folder -> lines and statements."""
    lines: Counter[str] = Counter()
    statements: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        folder = path.parent.relative_to(PACKAGE.parent).as_posix()
        for counter, number in zip((lines, statements), lines_and_statements(path.read_text()), strict=True):
            counter[folder] += number
    return {folder: (lines[folder], statements[folder]) for folder in sorted(lines)}


if __name__ == "__main__":
    found = by_folder()
    for folder, (n_lines, n_statements) in found.items():
        print(f"{folder:32} {n_lines:6,} {n_statements:6,}")
    print(f"{'all':32} {sum(n for n, _ in found.values()):6,} {sum(n for _, n in found.values()):6,}")

"""The wording of every error and warning of the package, by file, so that a change of it is seen in review.

python -m tests.messages     writes tests/messages.txt
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kgtrec"
SNAPSHOT = Path(__file__).with_name("messages.txt")
_ENDINGS = ("Error", "Exception", "BadParameter", "warn", "error", "require", "refused")  # of what takes one


def _text(node: ast.AST) -> str | None:
    """A string as it stands in the source, with {} for each expression; None for what is no string."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "{}" for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = _text(left), _text(right)
            return None if sides == (None, None) else "".join(side or "{}" for side in sides)
    return None


def _texts(node: ast.AST) -> Iterator[str]:
    """The outermost strings of an expression, in order."""
    text = _text(node)
    if text is not None:
        yield text
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _is_raised(node: ast.AST) -> bool:
    """Whether a node is a call that makes an error or a warning, or a statement that raises one."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Raise)
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called.endswith(_ENDINGS)


def messages(source: str) -> list[str]:
    """The messages of a module, each once, in order; words alone, such as keys, are none."""
    found: dict[str, None] = {}

    def search(node: ast.AST) -> None:
        if _is_raised(node):
            found.update((text, None) for text in _texts(node) if " " in text.strip())
        else:
            for child in ast.iter_child_nodes(node):
                search(child)

    search(ast.parse(source))
    return [*found]


def snapshot() -> str:
    """The messages of all modules, as the file holds them."""
    parts = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if texts := messages(path.read_text()):
            lines = (repr(text)[1:-1] for text in texts)
            parts.append("\n".join([f"# {path.relative_to(PACKAGE.parent).as_posix()}", *lines]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")

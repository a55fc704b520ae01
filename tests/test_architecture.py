"""The import rule of the house, read off the source: a subject is a folder, and imports go down only."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.lines_of_code import by_folder, lines_and_statements

PACKAGE = Path(__file__).parents[1] / "kgtrec"

MOST_LINES = 41_000 + 3_000 + 1_500 + 2_000 + 1_000  # issues 28 to 31
_FLOORS = (
    ("errors",),
    ("workers",),
    ("kernels",),
    ("data",),
    ("measures",),
    ("formats",),
    ("collection", "systems", "data_sets"),
    ("ranking",),
    ("evaluation",),
    ("pooling",),
    ("alignment", "campaign"),
    ("openworld", "meta"),
    ("report",),
    ("explore",),
    ("study", "pykeen", "ir_measures"),
    ("serve",),
    ("cli",),
)
#: room -> how far up it is; a room imports from lower floors, and from itself
FLOOR = {room: floor for floor, rooms in enumerate(_FLOORS) for room in rooms}
#: rooms whose modules are imported only when something is computed
HEAVY = (
    "systems",
    "collection",
    "ranking",
    "evaluation",
    "pooling",
    "campaign",
    "alignment",
    "meta",
    "openworld",
    "explore",
    "ir_measures",
    "pykeen",
    "serve",
)
#: what a module may import when it is itself imported; everything else waits inside a function
LIGHT = {"numpy", "pyarrow", "click"}


def room(module: str) -> str:
    """The room of a dotted module name."""
    first = module.split(".")[1]
    return "cli" if first == "__main__" else first


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def imports(path: Path, *, top_level_only: bool) -> set[str]:
    """Dotted names that a file imports, those for type checkers aside."""
    waits = (ast.FunctionDef, ast.Lambda) if top_level_only else ()
    nodes: list[ast.AST] = []
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        is_guard = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if not is_guard and not isinstance(node, waits):
            nodes.append(node)
            left += ast.iter_child_nodes(node)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: expected absolute imports"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path):
    """No module imports from a room above its own; `kgtrec/__init__.py` re-exports and is exempt."""
    if path == PACKAGE / "__init__.py":
        return
    own = room("kgtrec." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    for name in imports(path, top_level_only=False):
        assert name != "kgtrec", "name the module: the package itself leads everywhere"
        if name.startswith("kgtrec."):
            assert room(name) == own or FLOOR[room(name)] < FLOOR[own], f"{own} may not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_packages_are_imported_where_they_are_used(path: Path):
    """No module below the verbs imports pandas, scipy or the like at its top, so that commands start fast."""
    import sys

    if room("kgtrec." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)) in HEAVY:
        return
    for name in imports(path, top_level_only=True):
        first = name.split(".")[0]
        assert first in LIGHT | {"kgtrec"} or first in sys.stdlib_module_names, f"import {name} inside the function"


def test_names_imported_by_text_are_those_that_show_a_result():
    """Of higher floors a result asks ``report`` when it is shown; a pool its summary, scores how names are read."""
    asked = set()
    for path in modules():
        own = room("kgtrec." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
        for home in re.findall(r"""\bimported\(\s*["']([\w.]+)["']""", path.read_text(encoding="utf-8")):
            if FLOOR[room(f"kgtrec.{home}")] >= FLOOR[own] and room(f"kgtrec.{home}") != own:
                asked.add((own, home))
    others = {(own, home) for own, home in asked if room(f"kgtrec.{home}") != "report"}
    assert others == {("data", "measures.names"), ("data", "pooling.summary")}


def test_every_folder_is_a_room_with_a_floor():
    """The top of the package holds subjects, the errors and the command."""
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms == FLOOR.keys() | {"__init__", "__main__"}


def test_no_modules_import_each_other_in_a_circle():
    """Not inside functions either; what the ``__init__.py`` of another package imports is imported with its modules."""
    dotted = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in modules()}
    left = {name.removesuffix(".__init__"): imports(path, top_level_only=False) for name, path in dotted.items()}
    for name, used in left.items():
        own = {name, name.rpartition(".")[0]}
        left[name] = (used | {found.rpartition(".")[0] for found in used} - own) & left.keys() - {"kgtrec"}
    while free := {name for name, used in left.items() if not used & left.keys()}:
        left = {name: used for name, used in left.items() if name not in free}
    assert not left


def test_kernels_know_no_labels():
    """A kernel imports numpy and scipy, and nothing that knows labels, files or frames."""
    for path in (PACKAGE / "kernels").rglob("*.py"):
        outside = {name.split(".")[0] for name in imports(path, top_level_only=False)}
        assert not outside & {"pyarrow", "pandas"}, path


@pytest.mark.slow
def test_the_house_does_not_grow():
    """By ``python -m tests.lines_of_code``; an issue raises this by the figure that it names."""
    assert sum(n for n, _ in by_folder().values()) <= MOST_LINES


def test_what_counts_as_a_line_of_code():
    """Not docstrings, comments and blanks; a text that is no docstring, and each line of a call."""
    source = '''"""Of the module,

in lines."""
# a comment

def f(
    x,  # with a comment
):
    """Of the function."""
    text = """
    in lines"""
    return text
'''
    assert lines_and_statements(source) == (6, 5)

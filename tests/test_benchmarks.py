"""Benchmarks, which only .ci/long runs: what they import is there, and each has a smallest size."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
TREES = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.py"))}


def defined(tree: ast.Module) -> set[str]:
    """The names that a module itself defines."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} | {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@pytest.mark.parametrize("name", TREES)
def test_what_a_benchmark_imports_is_there(name: str):
    """Of kgtrec and of other benchmarks, inside functions too; other people's modules may be missing here."""
    for node in ast.walk(TREES[name]):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        names = [alias.name for alias in node.names]
        if node.module in TREES:
            assert set(names) <= defined(TREES[node.module])
        elif node.module.partition(".")[0] == "kgtrec":
            module = import_module(node.module)
            for each in names:
                assert hasattr(module, each) or import_module(f"{node.module}.{each}")


@pytest.mark.parametrize("name", [name for name in TREES if "__main__" in ast.unparse(TREES[name])])
def test_every_benchmark_has_a_smallest_size(name: str):
    """The options are parsed by the function that adds --smallest, by which .ci/long runs it."""
    calls = [node.func for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]
    assert any(isinstance(call, ast.Name) and call.id == "parsed" for call in calls)

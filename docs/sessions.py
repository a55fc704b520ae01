"""Replay the terminal and Python sessions of a Markdown page, so that what it shows is what comes out."""

from __future__ import annotations

import atexit
import contextlib
import doctest
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[1]
_SESSION = re.compile(r"^(\$|>>>) ", re.MULTILINE)
# whose sessions read public data, which is not part of the repository
PAGES_WITH_DATA = ("docs/papers.md", "docs/other-questions.md")
PAGES = tuple(
    name
    for name in ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
    if _SESSION.search((ROOT / name).read_text()) and name not in PAGES_WITH_DATA
)
# what every session but README's begins with: the collection and the ranks of docs/install.md, made once
BEGINNING = (
    "kgtrec questions examples/family --out family",
    "kgtrec rank family --baseline all --judged examples/family/truth.txt --out ranks",
)
DATA = Path(os.environ.get("KGTREC_DATA") or ROOT.parent / "shared" / "data")
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def replayed(text: str, data: Path | None = None, *, begun: bool = True) -> str:
    """The page with each session's output as it comes out now; all sessions share one folder and one interpreter.

    They begin beside copies of ``examples``, ``annotation`` and ``qrels``, and with what BEGINNING makes if ``begun``.
    ``data`` is a folder that they know as ``data``.
    """
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(_beginning(begun), Path(parent, "session"))
        if data is not None:
            Path(folder, "data").symlink_to(data.resolve())
        with _shell(folder):
            return _BLOCK.sub(lambda block: f"```{block[1]}\n{_session(block[1], block[2], names)}```", text)


@functools.cache
def _beginning(begun: bool) -> Path:
    """The folder that sessions begin with, kept while this process runs."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for name in ("examples", "annotation", "qrels"):
        shutil.copytree(ROOT / name, folder / name)
    with _shell(folder):
        for command in BEGINNING if begun else ():
            subprocess.run(command, shell=True, check=True, capture_output=True)  # noqa: S602  # ours
    return folder


@contextlib.contextmanager
def _shell(folder: Path) -> Iterator[None]:
    """Inside, the current folder is that one, and commands find kgtrec."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with contextlib.chdir(folder), mock.patch.dict(os.environ, PATH=path):
        yield


def _session(kind: str, text: str, names: dict[str, object]) -> str:
    if kind == "python":
        return _python(text, names) if ">>>" in text else text
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{_output(command)}" for command in commands)


def _output(command: str) -> str:
    """What a command prints, standard error included."""
    done = subprocess.run(  # noqa: S602  # the page is ours
        command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout


def _python(text: str, names: dict[str, object]) -> str:
    lines = []
    for example in doctest.DocTestParser().get_examples(text):
        lines += [f"{'>>>' if not place else '...'} {line}" for place, line in enumerate(example.source.splitlines())]
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(example.source, "<page>", "single"), names)  # noqa: S102  # the page is ours
        lines += shown.getvalue().splitlines()
    return "".join(f"{line}\n" for line in lines)

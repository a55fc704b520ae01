"""Replay the terminal and Python sessions of a Markdown page, so that what it shows is what comes out."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/first-steps.md",
    "docs/python.md",
    "docs/neighbours.md",
    "docs/systems.md",
    "docs/scale.md",
    "docs/files.md",
    "docs/data-sets.md",
    "docs/alignment.md",
    "docs/ties.md",
    "docs/micro.md",
    "docs/macro.md",
    "docs/chance.md",
    "docs/check-paper.md",
    "docs/intervals.md",
    "docs/campaigns.md",
    "docs/machine-verdicts.md",
    "docs/correlation.md",
    "docs/pooling.md",
    "docs/sampling.md",
    "docs/open-world.md",
    "docs/open-world-estimate.md",
    "docs/power.md",
    "docs/explore.md",
    "docs/training-seeds.md",
    "docs/stability.md",
    "docs/sampled-candidates.md",
)
# whose sessions read public data, which is not part of the repository
PAGES_WITH_DATA = ("docs/papers.md", "docs/other-questions.md")
DATA = Path(os.environ.get("KGTREC_DATA") or ROOT.parent / "shared" / "data")
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def replayed(text: str, data: Path | None = None) -> str:
    """The page with each session's output as it comes out now; all sessions share one folder and one interpreter.

    ``data`` is a folder that they know as ``data``.
    """
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"))
        if data is not None:
            Path(folder, "data").symlink_to(data.resolve())
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with contextlib.chdir(folder), mock.patch.dict(os.environ, PATH=path):
            return _BLOCK.sub(lambda block: f"```{block[1]}\n{_session(block[1], block[2], names)}```", text)


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

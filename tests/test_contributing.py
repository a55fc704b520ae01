"""The worked examples of a change are true: each diff is applied to a copy of the package, and tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import _FLOORS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLES_OF = ROOT / "examples" / "contributing"
EXAMPLES = ("measure", "format", "source", "command")
MOST_LINES = 40
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diffs")


def session_of(example: str) -> str:
    """The terminal session of an example."""
    page = (EXAMPLES_OF / f"{example}.md").read_text()
    (found,) = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return found


def applied(example: str, folder: Path) -> Path:
    """A copy of the package, its tests and its example, with a diff applied."""
    for name in ("kgtrec", "tests", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "axe", "golden"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    subprocess.run(["git", "apply", EXAMPLES_OF / f"{example}.diff"], cwd=folder, check=True)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """One in which `kgtrec` is that of the copy."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "kgtrec").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kgtrec "$@"\n')
    (programs / "kgtrec").chmod(0o755)
    return {**os.environ, "PYTHONPATH": str(folder), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def replayed(session: str, folder: Path) -> str:
    """A terminal session with what comes out."""
    parts, variables = [], environment(folder)
    for command in re.findall(r"^\$ (.*)$", session, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        parts.append(f"$ {command}\n{done.stdout}")
    return "".join(parts)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_diff_is_short(example: str):
    """At most 40 lines, those of its heads and context included."""
    assert len((EXAMPLES_OF / f"{example}.diff").read_text().splitlines()) <= MOST_LINES


@needs_git
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_diff_does_what_its_page_shows(example: str, tmp_path: Path):
    """Every command below it is run with the changed package, and its output compared to the letter."""
    session = session_of(example)
    assert replayed(session, applied(example, tmp_path)) == session


@needs_git
@pytest.mark.slow
def test_the_laws_take_a_measure_up_by_its_record(tmp_path: Path):
    """No test names the new measure, and the laws of all measures hold for it."""
    folder = applied("measure", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "micro.Linear"]
    done = subprocess.run(
        [*command, "tests/laws/test_every_measure.py"],
        cwd=folder,
        env=environment(folder),
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^4 passed", done.stdout, re.MULTILINE), done.stdout


def test_the_picture_of_the_house_is_that_of_the_import_rule():
    """Floor by floor, the highest first."""
    picture = TEXT.split("## Architecture", 1)[1].split("```text\n", 1)[1].split("```", 1)[0]
    floors = [tuple(re.split(r" {3,}", line)[0].split("  ")) for line in picture.splitlines()]
    assert floors == [tuple(floor) for floor in reversed(_FLOORS)]


def test_every_example_is_tried_and_linked():
    """Each has a diff and a page, to which CONTRIBUTING.md leads."""
    assert {path.name for path in EXAMPLES_OF.iterdir()} == {
        f"{name}.{form}" for name in EXAMPLES for form in ("diff", "md")
    }
    assert all(f"(examples/contributing/{name}.md)" in TEXT for name in EXAMPLES)


def test_links_lead_somewhere():
    """Those of the pages beside README."""
    for page in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)[)#]", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page}: {target}"


def test_the_version_is_the_same_everywhere():
    """In pyproject.toml and CITATION.cff."""
    found = [
        re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)[1]
        for name, pattern in (("pyproject.toml", r'^version = "(.*)"$'), ("CITATION.cff", r"^version: (.*)$"))
    ]
    assert len(found) == 2
    assert len(set(found)) == 1


def test_the_changelog_is_by_version_and_by_kind_of_change():
    """As Keep a Changelog has it: what is not released on top, versions from the newest, each kind of change once."""
    kinds = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    parts = re.split(r"^## (.*)\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    titles = parts[::2]
    assert titles[0] == "Unreleased"
    released = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d", title) for title in titles[1:]]
    numbers = [tuple(map(int, version.groups())) for version in released]
    assert numbers == sorted(set(numbers), reverse=True)
    for text in parts[1::2]:
        places = [kinds.index(kind) for kind in re.findall(r"^### (.*)$", text, re.MULTILINE)]
        assert places == sorted(set(places))

"""What README and docs show is what comes out; the pages that are generated are up to date."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import kgtrec
from kgtrec.measures.registry import registered

ROOT = Path(__file__).parents[1]
WAY_OUT = "run: python docs/generate.py"
MOST_LINES = 3_800
PAGES_BY_HAND = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(page for page in (ROOT / "docs").glob("*.md") if page.name not in ("cli.md", "measures.md")),
]


def modules_of_docs() -> tuple[ModuleType, ...]:
    """docs/sessions.py, docs/generate.py and docs/api_pages.py."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return tuple(importlib.import_module(name) for name in ("sessions", "generate", "api_pages"))
    finally:
        sys.path.remove(str(ROOT / "docs"))


sessions, generate, api_pages = modules_of_docs()


@pytest.mark.slow
@pytest.mark.parametrize("page", sessions.PAGES)
def test_sessions_show_what_comes_out(page: str):
    """Every command and statement of the page is run, in order, and its output compared to the letter."""
    text = (ROOT / page).read_text()
    assert sessions.replayed(text, begun=page != "README.md") == text, WAY_OUT


@pytest.mark.slow
@pytest.mark.parametrize("page", sessions.PAGES_WITH_DATA)
def test_sessions_with_data_show_what_comes_out(page: str, data: Path):
    """The same for pages whose sessions read public data."""
    text = (ROOT / page).read_text()
    assert sessions.replayed(text, data) == text, WAY_OUT


@pytest.mark.parametrize("page", generate.PAGES)
def test_generated_pages_are_up_to_date(page: str):
    """Help and measures in the docs are those of the code."""
    assert (ROOT / "docs" / page).read_text() == generate.PAGES[page](), WAY_OUT


def test_every_measure_has_one_row():
    """The page of measures lists each registered measure once, in the section of its family."""
    sections = re.split(r"^## ", (ROOT / "docs" / "measures.md").read_text(), flags=re.MULTILINE)[1:]
    for family, section in zip(generate.FAMILIES, sections, strict=True):
        own = [measure.name for measure in registered() if generate.family_of(measure) == family]
        assert re.findall(r"^\| `([\w.]+)", section, re.MULTILINE) == own


@pytest.mark.slow
def test_the_commands_of_readme_that_show_no_output_run():
    """Those of a campaign, one after the other, beside what a clone holds; the server is left out."""
    (block,) = (
        text for text in re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL) if "pool" in text
    )
    commands = [line.partition("  #")[0].strip() for line in block.splitlines() if " serve " not in line]
    assert len(commands) == 4
    page = "".join(f"$ {command} > log.txt 2>&1 && echo done\ndone\n" for command in commands)
    page = f"```console\n{page}```"
    assert sessions.replayed(page) == page


def test_links_lead_somewhere():
    """Relative links of the pages name files of the repository."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_documentation_stays_short():
    """README fits two screens, and all that is written by hand has an end; cli.md and measures.md are generated."""
    lines = {page: len(page.read_text().splitlines()) for page in PAGES_BY_HAND}
    assert lines[ROOT / "README.md"] <= 110
    assert lines[ROOT / "CONTRIBUTING.md"] <= 130
    assert sum(lines.values()) <= MOST_LINES


def test_pictures_are_small():
    """None is larger than 150 kB, a recording of 20 seconds than 1 MB; a page that shows one is read on a phone too."""
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert len(sizes) > 10
    most = {"judge.webp": 1_000_000, "explore.webp": 1_000_000}
    assert {name: size for name, size in sizes.items() if size > most.get(name, 150_000)} == {}


def test_every_picture_is_shown():
    """A page of README or docs shows it, or links it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]
    text = "".join(page.read_text() for page in pages)
    assert [path.name for path in (ROOT / "docs" / "images").iterdir() if f"images/{path.name}" not in text] == []


def strings(path: Path) -> list[str]:
    """Every string of a module, docstrings and f-strings as they stand in the source; expressions are none."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    plain = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return plain + [ast.unparse(node) for node in nodes if isinstance(node, ast.JoinedStr)]


@pytest.mark.slow
def test_percent_signs_stand_at_their_numbers():
    """95%, not the number, a space and the sign: in the pages, and in what kgtrec prints."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    texts = {page: [page.read_text()] for page in pages}
    texts |= {path: strings(path) for path in (ROOT / "kgtrec").rglob("*.py")}
    apart = re.compile(r"[\d}] %(?!\()")
    assert [(path.name, text) for path, found in texts.items() for text in found if apart.search(text)] == []


def test_every_public_name_is_there():
    """`kgtrec.__all__` holds, and names nothing twice."""
    assert len(set(kgtrec.__all__)) == len(kgtrec.__all__)
    for name in kgtrec.__all__:
        assert getattr(kgtrec, name) is not None
    assert importlib.util.find_spec("kgtrec.cli") is not None

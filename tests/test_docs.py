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
MEASURE_PAGES = {"micro": "micro.md", "macro": "macro.md", "chance": "chance.md", "weighted": "intervals.md"}


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


@pytest.mark.parametrize(("family", "page"), MEASURE_PAGES.items())
def test_pages_of_measures_show_the_registry(family: str, page: str):
    """The table of each family's page is the one that the registry gives, and there is only one."""
    text = (ROOT / "docs" / page).read_text()
    assert re.findall(r"<!-- measures: (\w+) -->", text) == [family]
    assert generate.family_table(family) in text, WAY_OUT
    assert generate.filled(text) == text, WAY_OUT


def test_every_measure_is_of_one_family():
    """Each registered measure has its row on one page; those that fix their weights have another in that family."""
    tables = {family: generate.family_table(family) for family in MEASURE_PAGES}
    for measure in registered():
        row = re.compile(rf"^\| `{re.escape(measure.name)}[`@\[]", re.MULTILINE)
        found = [family for family, table in tables.items() for _ in row.findall(table)]
        expected = 2 if measure.weighting else 1
        assert len(found) == expected, (measure.name, found)
        assert ("weighted" in found) == (measure.weighting is not None), measure.name


def test_every_measure_is_documented():
    """The page of measures lists each registered measure."""
    text = (ROOT / "docs" / "measures.md").read_text()
    assert [measure.name for measure in registered() if f"| `{measure.name}" not in text] == []


def test_links_lead_somewhere():
    """Relative links of the pages name files of the repository."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


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

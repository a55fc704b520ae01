"""What README and docs show is what comes out; the pages that are generated are up to date."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import kgtrec
from kgtrec.measures.registry import registered

ROOT = Path(__file__).parents[1]
WAY_OUT = "run: python docs/generate.py"


@pytest.fixture(scope="module")
def docs() -> Iterator[dict[str, ModuleType]]:
    """docs/sessions.py and docs/generate.py as modules."""
    sys.path.insert(0, str(ROOT / "docs"))
    yield {name: importlib.import_module(name) for name in ("sessions", "generate")}
    sys.path.remove(str(ROOT / "docs"))


@pytest.mark.parametrize("page", ["README.md", "docs/files.md", "docs/alignment.md", "docs/ties.md"])
def test_sessions_show_what_comes_out(docs: dict[str, ModuleType], page: str):
    """Every command and statement of the page is run, in order, and its output compared to the letter."""
    text = (ROOT / page).read_text()
    assert docs["sessions"].replayed(text) == text, WAY_OUT


@pytest.mark.parametrize("page", ["cli.md", "measures.md"])
def test_generated_pages_are_up_to_date(docs: dict[str, ModuleType], page: str):
    """Help and measures in the docs are those of the code."""
    assert (ROOT / "docs" / page).read_text() == docs["generate"].PAGES[page](), WAY_OUT


def test_every_measure_is_documented():
    """The page of measures lists each registered measure."""
    text = (ROOT / "docs" / "measures.md").read_text()
    assert [measure.name for measure in registered() if f"| `{measure.name}" not in text] == []


def test_links_lead_somewhere():
    """Relative links of the pages name files of the repository."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_public_name_is_there():
    """`kgtrec.__all__` holds, and names nothing twice."""
    assert len(set(kgtrec.__all__)) == len(kgtrec.__all__)
    for name in kgtrec.__all__:
        assert getattr(kgtrec, name) is not None
    assert importlib.util.find_spec("kgtrec.cli") is not None

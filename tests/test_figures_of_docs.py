"""The figures of the documentation that docs/figures.py draws are those of the code and of the committed numbers."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """docs/figures.py, which writes to another folder."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    found = importlib.import_module("figures")
    monkeypatch.setattr(found, "IMAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["figures.py"])
    yield found
    sys.modules.pop("figures", None)


@pytest.mark.slow
def test_figures_show_what_the_code_gives(figures: ModuleType, tmp_path: Path):
    """The same texts, and as many points, whatever matplotlib's version; a size of a column and a third."""
    import matplotlib as mpl

    with mpl.rc_context():
        figures.main()
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == ["rewards-answers.svg", "rewards-questions.svg", "which-measure-tau.svg", "which-measure-wrong.svg"]
    for name in drawn:
        ours, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, IMAGES))
        for pattern in (r">([^<]+)</text>", r"<(use|title|desc)\b"):
            assert re.findall(pattern, ours) == re.findall(pattern, kept)
        width = re.search(r'width="([\d.]+)pt"', kept)
        assert width is not None
        assert float(width[1]) == pytest.approx(85 / 25.4 * 72 * 1.3, rel=0.01)


@pytest.mark.parametrize(
    ("name", "page"), [("judge", "README.md"), ("judge", "docs/serve.md"), ("explore", "docs/explore.md")]
)
def test_recordings_last_as_long_as_the_pages_say(name: str, page: str):
    """By the header of each frame of a WebP file, which has its milliseconds."""
    content, at, duration = (IMAGES / f"{name}.webp").read_bytes(), 12, 0
    while at < len(content):
        size = int.from_bytes(content[at + 4 : at + 8], "little")
        if content[at : at + 4] == b"ANMF":
            duration += int.from_bytes(content[at + 20 : at + 23], "little")
        at += 8 + size + size % 2
    assert f"[A recording of {duration / 1000:.0f} seconds](" in (ROOT / page).read_text()

"""Figures of results as files, and the help of commands with many options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import exit_code

CITIES = Path(__file__).parents[2] / "examples" / "cities"


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """A folder with a collection C and the answer ranks of two baselines."""
    folder = tmp_path_factory.mktemp("cities")
    assert exit_code("questions", CITIES, "--out", folder / "C") == 0
    baselines = "--baseline", "rules", "--baseline", "popularity"
    assert exit_code("rank", folder / "C", *baselines, "--depth", 0, "--out", folder / "ranks") == 0
    return folder


FIGURED = {
    "evaluate": "evaluate C ranks",
    "evaluate --ties all": "evaluate C ranks --ties all",
    "correlate": "meta correlate C C/qrels.txt --systems ranks -m micro.MRR -m AP",
    "sparsity": "meta sparsity C/qrels.txt half.txt --systems ranks -m AP",
    "stability": "meta stability C ranks --repeats 2 --sizes 50% -m micro.MRR",
    "power": "meta power C ranks -m micro.MRR",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURED)
def test_a_result_with_a_figure_is_drawn(collection, name, monkeypatch, capsys):
    """As an SVG, a PDF or a PNG, by the suffix of --out; one of another kind in its place stays."""
    monkeypatch.chdir(collection)
    rows = Path("C/qrels.txt").read_text().splitlines(keepends=True)
    Path("half.txt").write_text("".join(rows[::2]))
    words = FIGURED[name].split()
    for suffix, begin in (("svg", b"<svg"), ("pdf", b"%PDF-"), ("png", b"\x89PNG")):
        assert exit_code(*words, "--out", f"a.{suffix}", "--force") == 0, capsys.readouterr().err
        assert begin in Path(f"a.{suffix}").read_bytes()[:200]
    Path("b.pdf").write_bytes(Path("a.png").read_bytes())
    assert exit_code(*words, "--out", "b.pdf", "--force") == 2
    assert "holds a PNG" in capsys.readouterr().err


def test_a_result_without_a_figure_is_not_drawn(collection, monkeypatch, capsys):
    """The error says which names will do; a binary form needs a file."""
    monkeypatch.chdir(collection)
    assert exit_code("chance", "C", "--out", "x.svg") == 2
    assert "found '.svg'" in capsys.readouterr().err
    assert exit_code("evaluate", "C", "ranks", "--format", "pdf") == 2
    assert "--format pdf" in capsys.readouterr().err


def test_many_options_are_grouped(capsys):
    """In the help of a command with more than eight, which has each of them once; another has one list."""
    assert exit_code("evaluate", "--help") == 0
    shown = capsys.readouterr().out
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["What is scored:", "How:", "Output:", "Other:"]
    for name in ("--measure", "--missing", "--out", "--list-measures"):
        assert shown.count(f"\n  {name}") + shown.count(f", {name} ") == 1
    assert exit_code("campaign", "assign", "--help") == 0
    assert "\nOptions:\n" in capsys.readouterr().out

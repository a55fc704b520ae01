"""Figures of results as files, and the help of commands with many options."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kgtrec.cli import cli
from tests.program import exit_code, printed_by, refusal

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
    assert "holds a PNG" in refusal(capsys, *words, "--out", "b.pdf", "--force")


def test_a_result_without_a_figure_is_not_drawn(collection, monkeypatch, capsys):
    """The error says which names will do; a binary form needs a file."""
    monkeypatch.chdir(collection)
    assert "found '.svg'" in refusal(capsys, "chance", "C", "--out", "x.svg")
    assert "--format pdf" in refusal(capsys, "evaluate", "C", "ranks", "--format", "pdf")


def commands(group=cli, path="") -> list[tuple[str, click.Command]]:
    """Every command with its words."""
    own = {f"{path} {name}": group.get_command(click.Context(group), name) for name in group.commands_of}
    below = [commands(command, name) for name, command in own.items() if isinstance(command, click.Group)]
    return [*own.items(), *(pair for pairs in below for pair in pairs)]


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda part: str(part))
def test_the_help_of_every_command_has_an_example(words, command):
    """On a line of its own."""
    assert f"kgtrec{words}" in [line.strip()[: len(words) + 6] for line in command.help.splitlines()]


def test_many_options_are_grouped(capsys):
    """In the help of a command with more than eight, which has each of them once; another has one list."""
    shown = printed_by(capsys, "evaluate", "--help")
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["What is scored:", "How:", "Output:", "Other:"]
    for name in ("--measure", "--missing", "--out", "--list-measures"):
        assert shown.count(f"\n  {name}") + shown.count(f", {name} ") == 1
    assert "\nOptions:\n" in printed_by(capsys, "campaign", "assign", "--help")

"""Figures of results as files, and the help of commands with many options."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from kgtrec.cli import cli
from tests.program import exit_code, printed_by, refusal

ROOT = Path(__file__).parents[2]
CITIES = ROOT / "examples" / "cities"


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


def commands(group=cli, words=()) -> dict[tuple[str, ...], click.Command]:
    """Every command and group, by its words."""
    found = {words: group}
    for name in group.commands_of:
        command = group.get_command(click.Context(group), name)
        below = commands(command, (*words, name)) if isinstance(command, click.Group) else {(*words, name): command}
        found |= below
    return found


COMMANDS = commands()
LEAVES = [words for words, command in COMMANDS.items() if not isinstance(command, click.Group)]
each_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


def shown_help(words, monkeypatch, capsys) -> list[str]:
    """The lines of a command's help in a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
    return printed_by(capsys, *words, "--help").splitlines()


def examples(words) -> list[tuple[str, str]]:
    """The comments and the commands below the help of a command."""
    lines = COMMANDS[words].epilog.removeprefix("\b\n").split("\n\n")[0].splitlines()
    return list(zip(lines[::2], lines[1::2], strict=True))


@each_command
def test_the_help_fits_a_screen(words, monkeypatch, capsys):
    """48 lines of 100 columns; 60 for those with most options. No line is cut."""
    lines = shown_help(words, monkeypatch, capsys)
    assert len(lines) <= (60 if words in {("evaluate",), ("questions",), ("rank",)} else 48)
    assert max(map(len, lines)) <= 100


@each_command
def test_the_help_begins_with_a_sentence_or_two(words):
    """The rest is in the options and on the page."""
    assert COMMANDS[words].help.endswith(".")
    assert len(COMMANDS[words].help.replace(".npz", "").replace(" et al.", "").split(". ")) <= 2


@each_command
def test_the_help_has_two_examples_each_with_a_comment(words):
    """A group may have up to four. Each is an example of the command, or of what comes after it."""
    found = examples(words)
    assert 2 <= len(found) <= (2 if words in LEAVES else 4)
    for comment, command in found:
        assert comment.startswith("# ")
        assert len(comment.split()) <= 12
        assert not command.startswith(("#", " "))
    assert f" {' '.join(['kgtrec', *words])} " in f" {found[0][1]} "


@each_command
def test_every_example_parses(words):
    """Its command and its options exist, and its values are of their type."""
    for _, example in examples(words):
        typed = shlex.split(example[example.index("kgtrec ") :])[1:]
        of = next(tuple(typed[:n]) for n in (2, 1) if tuple(typed[:n]) in LEAVES)
        with click.Context(cli, info_name="kgtrec") as parent:
            COMMANDS[of].make_context(" ".join(of), typed[len(of) :], parent)


@each_command
def test_the_help_ends_with_a_page_that_exists(words, monkeypatch, capsys):
    """By its path in the repository."""
    label, page = shown_help(words, monkeypatch, capsys)[-1].split()
    assert label == "Docs:"
    assert (ROOT / page).parent == ROOT / "docs"
    assert (ROOT / page).is_file()


def test_an_option_has_the_same_words_in_every_command():
    """The default may be another one."""
    for name in ("ties", "missing", "unlisted_answers", "sides", "families", "force", "seed", "resamples", "workers"):
        found = {param.help.split(".")[0] for words in LEAVES for param in COMMANDS[words].params if param.name == name}
        assert len(found) == 1, found


def test_many_options_are_grouped(monkeypatch, capsys):
    """In the help of a command with more than eight, which has each of them once; another has one list."""
    lines = shown_help(["evaluate"], monkeypatch, capsys)
    headings = [line for line in lines if line.endswith(":") and line[0] != " "]
    assert headings == ["What is scored:", "Method:", "Output:"]
    for name in ("-m, --measure", "--missing", "--out", "--list-measures", "-h, --help"):
        assert sum(line.startswith(f"  {name}") for line in lines) == 1
    assert "Options:" in shown_help(["campaign", "assign"], monkeypatch, capsys)


def test_many_choices_follow_the_help_of_their_option(monkeypatch, capsys):
    """Where they wrap; few stand beside the name."""
    lines = shown_help(["meta", "stability"], monkeypatch, capsys)
    assert "  --coefficient NAME       Coefficient: tau, tau_ap, spearman, rbo  [default: tau]" in lines
    assert any(line.startswith("  --missing [zero|skip] ") for line in lines)

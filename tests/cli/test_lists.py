"""Lists on the command line: commas or spaces, or the option again; former names of options still work."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from kgtrec.cli import cli
from kgtrec.cli.options import choices_option, listed


def params(*words: str) -> dict[str, click.Parameter]:
    command, context = cli, click.Context(cli)
    for word in words:
        command = command.get_command(context, word)
    return {option: param for param in command.params for option in param.opts}


@pytest.mark.parametrize("text", ["a b", "a,b", " a , b ", "a,b,", "a  b"])
def test_commas_and_spaces_separate(text):
    assert listed(text) == ["a", "b"]


@pytest.mark.parametrize(
    "words", [["--test", "t,tukey"], ["--test", "t tukey"], ["--test", "t", "--test", "tukey", "--test", "t"]]
)
def test_choices_are_a_list_or_repeated(words):
    """And each counts once."""

    @click.command()
    @choices_option("--test", "tests", choices=("t", "tukey", "bootstrap"), about="x")
    def command(tests) -> None:
        click.echo(tests)

    assert CliRunner().invoke(command, words).output == "('t', 'tukey')\n"
    refused = CliRunner().invoke(command, ["--test", "t,tuky"])
    assert refused.exit_code == 2
    assert "expected t, tukey, bootstrap, found 'tuky'; did you mean tukey?" in refused.output


@pytest.mark.parametrize(
    ("words", "name", "former"),
    [
        (["align"], "--by-size", "--study"),
        (["questions"], "--input-format", "--format"),
        (["meta", "power"], "--resamples", "--repeats"),
        (["openworld", "curve"], "--repeats", "--draws"),
        (["pool"], "--known", "--seeds"),
    ],
)
def test_former_names_of_options_still_work(words, name, former):
    found = params(*words)
    assert found[name] is found[former]

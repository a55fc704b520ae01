"""Commands of the program, run one after the other and kept for a script: how `kgtrec demo` works."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgtrec.cli import cli


class Script:
    """Commands of the program, run one after the other in the folder at hand, and kept for a script."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, *words: str) -> str:
        """Run ``kgtrec WORDS``; gives back what it prints. A word with a * stands for the files that fit it."""
        self.lines.append(" ".join(["kgtrec", *(word if "*" in word else shlex.quote(word) for word in words)]))
        with _captured(quiet=words[0] != "baseline") as output:  # which takes long, and tells how far it is
            cli.main(args=list(_expanded(words)), standalone_mode=False)
        return output.getvalue().decode()

    def copy(self, source: str, target: str) -> None:
        """Copy a file."""
        self.lines.append(f"cp {source} {target}")
        shutil.copyfile(source, target)

    def note(self, text: str) -> None:
        """Say what the commands that follow are for."""
        self.lines.append(f"\n# {text}")

    def text(self, made_by: str) -> str:
        """The commands as a file for a shell."""
        return (
            "# What kgtrec demo did, step by step, with the files in kg/ and filled/. Run it in this folder.\n"
            f"# They came from: {made_by}\n"
            "set -e\n" + "\n".join(self.lines) + "\n"
        )


@contextlib.contextmanager
def _captured(*, quiet: bool) -> Iterator[io.BytesIO]:
    """What is printed to standard output meanwhile; ``quiet`` drops messages to standard error too."""
    output = io.BytesIO()
    text = io.TextIOWrapper(output, "utf-8", write_through=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(text))
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield output
    text.detach()  # or it would close what has just been filled


def _expanded(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from sorted(map(str, Path().glob(word))) if "*" in word else [word]

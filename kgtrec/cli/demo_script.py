"""Commands of the program, run one after the other and recorded as a script, for `kgtrec demo`."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
from pathlib import Path

from kgtrec.cli import cli


class Script:
    """Commands of the program, run one after the other in the current folder, and recorded as a script."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, line: str) -> str:
        """Run ``kgtrec LINE`` and return its output. A word with a * is a file pattern."""
        self.lines.append(f"kgtrec {line}")
        words = shlex.split(line)
        output = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            if "--baseline" not in words:  # which takes long, and shows its progress
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            patterns = {word: sorted(map(str, Path().glob(word))) for word in words if "*" in word}
            args = [name for word in words for name in patterns.get(word, [word])]
            cli.main(args=args, standalone_mode=False)
        output.seek(0)
        return output.read()

    def copy(self, source: str, target: str) -> None:
        """Copy a file."""
        self.lines.append(f"cp {source} {target}")
        shutil.copyfile(source, target)

    def note(self, text: str) -> None:
        """Add a comment about the following commands."""
        self.lines.append(f"\n# {text}")

    def text(self, made_by: str) -> str:
        """Give the commands as a file for a shell."""
        return (
            "# What kgtrec demo did, step by step, with the files in kg/ and filled/.\n"
            "# `sh steps.sh` in this folder does all of it again in a new one, again.XXXXXX.\n"
            f"# They came from: {made_by}\n"
            "set -e\n"
            "new=$(mktemp -d again.XXXXXX)\n"
            "cp -r kg filled $new\n"
            "cd $new\n" + "\n".join(self.lines) + "\n"
        )

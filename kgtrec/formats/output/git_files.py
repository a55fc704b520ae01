"""Settings for git of a folder that is kept under version control: its files are compared byte by byte."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import GIT_ATTRIBUTES, GIT_IGNORE


def write_git_files(part: Path, folder: PathLike, *, added_to: Iterable[str] = (), ignored: Iterable[str] = ()) -> None:
    """Write ``.gitattributes``, and ``.gitignore`` where something is ignored; one that the folder has stays.

    Parameters
    ----------
    part : path
        Where they are written.
    folder : path
        The folder that this becomes, which may be there already.
    added_to : iterable of str
        Files to which lines are only added, so that git can merge two copies line by line.
    ignored : iterable of str
        Files that belong to one machine alone.
    """
    lines = {GIT_ATTRIBUTES: ["* -text", *(f"{name} merge=union" for name in added_to)], GIT_IGNORE: list(ignored)}
    for name, texts in lines.items():
        if texts and not os.path.lexists(Path(folder, name)):
            (part / name).write_bytes("".join(f"{text}\n" for text in texts).encode())

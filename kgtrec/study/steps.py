"""Steps of long work, each kept in a folder of its own, so that what is there already is not computed again.

A step's folder is ``NAME-KEY``, where KEY is a hash of the step's inputs (by checksum), its options and the version of
kgtrec. It holds what the step has made, and ``step.json``, which tells all of that and the checksum of each file. It
appears when the step is done, in one move: a program that is killed leaves no half step behind, and goes on after the
last whole one when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kgtrec.errors import FormatError, KgtrecError, warn
from kgtrec.formats.files import PathLike, kgtrec_version, sha256_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import folder_beside, free_names, write_text

STEP = "step.json"
_KEY_DIGITS = 16


class Steps:
    """A folder of steps.

    Parameters
    ----------
    folder : path
        Made with its parents when the first step is done.
    announce : callable, optional
        Told the name of each step that has to be computed, before it is.

    Examples
    --------
    >>> import tempfile
    >>> steps = Steps(tempfile.mkdtemp())
    >>> def squares(folder, /): _ = (folder / "squares.txt").write_text("1 4 9")
    >>> (steps.do("squares", squares, options={"n": 3}) / "squares.txt").read_text()
    '1 4 9'
    >>> steps.done, steps.do("squares", squares, options={"n": 3}).name == steps.record[0]["folder"], steps.done
    (1, True, 1)
    """

    def __init__(self, folder: PathLike, announce: Callable[[str], None] = lambda name: None) -> None:
        self.folder = Path(folder)
        self.announce = announce
        self.record: list[dict[str, Any]] = []  # what is in step.json of each step asked for, in that order
        self.done = 0  # how many were computed, and not only found

    def do(
        self,
        name: str,
        make: Callable[[Path], None],
        *,
        inputs: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Path:
        """The folder of a step, which ``make`` fills unless it is there already.

        Parameters
        ----------
        name : str
            Letters, digits, dots and dashes.
        make : callable
            Takes an empty folder and writes files into it: the same for the same inputs and options.
        inputs : mapping of str to str, optional
            What the step reads -> its checksum; see :func:`kgtrec.formats.files.sha256_of` and :meth:`key_of`.
        options : mapping, optional
            All else that the result depends on, as JSON can hold it.

        Raises
        ------
        KgtrecError
            If the name cannot be that of a folder.
        """
        if not name or not all(sign.isalnum() or sign in ".-_@" for sign in name) or name.startswith("."):
            raise KgtrecError(f"expected a step's name of letters, digits, dots and dashes, found {name!r}")
        about = {"step": name, "kgtrec": kgtrec_version(), "inputs": dict(inputs or {}), "options": dict(options or {})}
        key = _digest(about)
        place = self.folder / f"{name}-{key}"
        if not _is_whole(place, about):
            if os.path.lexists(place):  # somebody has changed it, and may want what they put there
                aside = next(free_names(place))
                place.rename(aside)
                warn(
                    f"{place}: was changed since it was computed, and is computed again; the former is kept as "
                    f"{aside.name}"
                )
            self.announce(name)
            with folder_beside(place) as part:
                make(part)
                files = {file.relative_to(part).as_posix(): sha256_of(file) for file in sorted(_files(part))}
                write_text(part / STEP, json.dumps({**about, "files": files}, indent=2, ensure_ascii=False) + "\n")
                part.replace(place)
            self.done += 1
        self.record.append({"folder": place.name, **read_json(place / STEP)})
        return place

    @staticmethod
    def key_of(step: Path) -> str:
        """What stands for a step's result as an input of another step."""
        return sha256_of(step / STEP)

    def remove_others(self) -> int:
        """Remove the steps that were not asked for, of earlier inputs or options; how many there were.

        One in which somebody has changed or put anything stays.
        """
        kept = {step["folder"] for step in self.record}
        others = [place for place in self.folder.glob("*-*") if place.name not in kept and _is_whole(place)]
        for place in others:
            shutil.rmtree(place, ignore_errors=True)
        return len(others)


def damaged_files(step: PathLike, files: Mapping[str, str] | None = None) -> list[FormatError]:
    """What is wrong with the files of a step's folder, file by file; a study computes such a step again.

    Parameters
    ----------
    step : path
    files : mapping of str to str, optional
        The checksum that each file should have. Default: what ``step.json`` says.
    """
    place = Path(step)
    if not (place / STEP).is_file():
        return [FormatError(f"expected a step of a study, found no {STEP} in it; run kgtrec study again", path=place)]
    try:
        found = read_json(place / STEP)["files"]
        there = {path.relative_to(place).as_posix(): path for path in sorted(_files(place))}
        expected = dict(found if files is None else files)
    except (ValueError, KeyError, TypeError):
        return [
            FormatError(
                "expected what a study says of a step, found something else; run kgtrec study again", path=place / STEP
            )
        ]
    wrong = [
        FormatError("expected this file of the step, found none; run kgtrec study again", path=place / name)
        for name in expected
        if name not in there
    ] + [
        FormatError("expected the file that the study wrote, found another; run kgtrec study again", path=place / name)
        for name in expected
        if name in there and sha256_of(there[name]) != expected[name]
    ]
    return wrong + [
        FormatError(
            "expected files of the step alone, found another, for which kgtrec study computes it again; move it away",
            path=place / name,
        )
        for name in there
        if name not in (*expected, STEP)
    ]


def _files(folder: Path) -> list[Path]:
    """All that is in a folder, links and pipes too, but for the folders in it."""
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def _is_whole(place: Path, about: Mapping[str, Any] | None = None) -> bool:
    """Whether a step is there, of these inputs and options if they are given, with every file as it was written."""
    try:
        found = read_json(place / STEP)
        files = found.pop("files")
        is_asked_for = about is None or found == json.loads(json.dumps(about))
        return is_asked_for and not damaged_files(place, files)
    except (OSError, FormatError, KeyError, AttributeError, TypeError):
        return False


def _digest(about: Mapping[str, Any]) -> str:
    text = json.dumps(about, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]

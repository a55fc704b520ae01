"""Steps of a long computation, each in a folder of its own; a step that exists is not computed again.

The folder of a step is ``NAME-KEY``. KEY is a hash of the checksums of the step's inputs, its options and the version
of kgtrec. The folder has the files of the step, and ``step.json``, which records inputs, options, version and the
checksum of each file. The folder is moved into place when the step is complete. A program that is killed therefore
leaves no incomplete step, and continues after the last complete step when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kgtrec.errors import FormatError, warn
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
        It is created with its parents when the first step is computed.
    announce : callable, optional
        Called with the name of each step before it is computed.

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
        self.record: list[dict[str, Any]] = []  # step.json of each requested step, in this order
        self.done = 0  # number of steps that were computed, without those that existed

    def do(
        self,
        name: str,
        make: Callable[[Path], None],
        *,
        inputs: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Path:
        """Return the folder of a step; ``make`` fills it if the step does not exist.

        Parameters
        ----------
        name : str
            Letters, digits, dots and dashes.
        make : callable
            Called with an empty folder, into which it writes files: the same ones for the same inputs and options.
        inputs : mapping of str to str, optional
            Name -> checksum of each input; see :func:`kgtrec.formats.files.sha256_of` and :meth:`key_of`.
        options : mapping, optional
            Everything else that the result depends on, as JSON values.
        """
        about = _about(name, inputs, options)
        place = self.folder / _folder_of(about)
        if not _is_whole(place, about):
            if os.path.lexists(place):  # it was changed, and the user may want to keep the changes
                aside = next(free_names(place))
                place.rename(aside)
                warn(
                    f"{place}: this step was changed since it was computed, so it is computed again; the changed one "
                    f"is kept as {aside.name}"
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
    def folder_name(
        name: str, *, inputs: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None
    ) -> str:
        """Return the name of the folder of a step with these inputs and options."""
        return _folder_of(_about(name, inputs, options))

    @staticmethod
    def key_of(step: Path) -> str:
        """Return the checksum of a step, for use as an input of another step."""
        return sha256_of(step / STEP)

    def remove_others(self) -> int:
        """Remove the steps of earlier inputs or options, which were not requested; returns their number.

        A folder with changed or added files is kept.
        """
        kept = {step["folder"] for step in self.record}
        others = [place for place in self.folder.glob("*-*") if place.name not in kept and _is_whole(place)]
        for place in others:
            shutil.rmtree(place, ignore_errors=True)
        return len(others)


def damaged_files(step: PathLike, files: Mapping[str, str] | None = None) -> list[FormatError]:
    """Return the errors in a step's folder, file by file; a study computes a step with errors again.

    Parameters
    ----------
    step : path
    files : mapping of str to str, optional
        The expected checksum of each file. Default: the checksums in ``step.json``.
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
                "expected a study's record of a step, found something else; run kgtrec study again", path=place / STEP
            )
        ]
    again = "; run kgtrec study again"
    wrong = [(name, f"expected this file of the step, found none{again}") for name in expected if name not in there]
    wrong += [
        (name, f"expected the file that the study wrote, found another{again}")
        for name, path in there.items()
        if name in expected and sha256_of(path) != expected[name]
    ]
    added = "expected only files of the step, found another, because of which kgtrec study computes the step again; "
    wrong += [(name, f"{added}move it away") for name in there if name not in (*expected, STEP)]
    return [FormatError(message, path=place / name) for name, message in wrong]


def _files(folder: Path) -> list[Path]:
    """All entries of a folder and its subfolders, including links and pipes, without the folders themselves."""
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def _is_whole(place: Path, about: Mapping[str, Any] | None = None) -> bool:
    """Whether a step exists with unchanged files and, if they are given, with these inputs and options."""
    try:
        found = read_json(place / STEP)
        files = found.pop("files")
        is_asked_for = about is None or found == json.loads(json.dumps(about))
        return is_asked_for and not damaged_files(place, files)
    except (OSError, FormatError, KeyError, AttributeError, TypeError):
        return False


def _about(name: str, inputs: Mapping[str, str] | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"step": name, "kgtrec": kgtrec_version(), "inputs": dict(inputs or {}), "options": dict(options or {})}


def _folder_of(about: Mapping[str, Any]) -> str:
    text = json.dumps(about, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{about['step']}-{hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]}"

"""A study's folder: the manifest, the steps, and the tables that a report is made of.

=================  ====================================================================================================
``manifest.json``  what was computed from what: inputs and their checksums, versions, seeds, options, steps, commands
``study.toml``     the configuration as it was given
``steps/``         one folder per step, see :mod:`kgtrec.formats.steps`
=================  ====================================================================================================

``report.html``, ``figures/``, ``tables/`` and ``data/`` beside them are made of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.report import Input, Provenance
from kgtrec.data.study import LabelFacts, Study, StudyOptions
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, sha256_of
from kgtrec.formats.folders import MANIFEST, STEPS
from kgtrec.formats.outputs import write_text
from kgtrec.formats.steps import STEP, damaged_files

BY = "study"  # what keeps the folder
#: of a step: what was warned of, what a label set holds, a collection; its tables are those of step_table
NOTES, FACTS, COLLECTION = "notes.json", "facts.json", "collection"
_FORMAT = 1


def write_study_manifest(folder: PathLike, manifest: Mapping[str, Any]) -> None:
    """Write what a study was made of, atomically."""
    text = json.dumps({"study_format": _FORMAT, **manifest}, indent=1, ensure_ascii=False)
    write_text(Path(folder) / MANIFEST, text + "\n", by=BY)


def step_table(part: str) -> str:
    """The file of a step that has a table."""
    return f"{part}.parquet"


def write_step_table(step: PathLike, part: str, table: pa.Table) -> None:
    """Write a table of a step that is being made."""
    import pyarrow.parquet as pq

    pq.write_table(table, Path(step) / step_table(part))


def read_study(folder: PathLike) -> Study:
    """What a study found.

    Parameters
    ----------
    folder : path
        The folder that ``kgtrec study`` wrote; its inputs are not needed.

    Returns
    -------
    Study
        With every table that was computed.

    Raises
    ------
    FormatError
        If the folder holds no study, a study that was stopped before its end, or one whose steps were damaged.
    """
    path = Path(folder)
    manifest = _manifest(path)
    try:
        sums = {f"{step['folder']}/{name}": sha256
                for step in manifest["steps"] for name, sha256 in step["files"].items()}  # fmt: skip
        tables = {name: _table(path / STEPS / file, sums[file]) for name, file in manifest["tables"].items()}
        notes = [note for step in manifest["steps"] for note in _json(path / STEPS / step["folder"] / NOTES)]
        collections = {
            name: _json(path / STEPS / step / COLLECTION / MANIFEST)["report"]
            for name, step in manifest["collections"].items()
        }
        inputs = tuple(Input(each["name"], each["bytes"], each["sha256"]) for each in manifest["inputs"])
        made = Provenance(manifest["versions"], manifest["settings"], inputs, tuple(manifest["commands"]))
        return Study(
            manifest["title"], tuple(manifest["systems"]), tuple(manifest["measures"]), tuple(manifest["main"]),
            tuple(LabelFacts(**facts) for facts in manifest["labels"]), collections, tables, manifest["subtitle"],
            tuple(manifest["about"]), tuple(dict.fromkeys(notes)), _options(manifest["options"]), made,
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"expected what kgtrec study writes, found something else ({type(error).__name__}: {error}); run kgtrec "
            "study again", path=path / MANIFEST,
        ) from None  # fmt: skip


def damaged_steps(folder: PathLike) -> list[FormatError]:
    """What is wrong with the files of a study's steps, beyond what :func:`read_study` reads; see there for errors."""
    path = Path(folder)
    wrong: list[FormatError] = []
    for step in _manifest(path)["steps"]:
        wrong += damaged_files(path / STEPS / step["folder"], step["files"])
    return wrong


def is_study(folder: PathLike) -> bool:
    """Whether a folder is that of a study, whole or not."""
    return (Path(folder) / STEPS).is_dir()


def _options(found: Mapping[str, Any]) -> StudyOptions:
    return StudyOptions(**{**found, "coefficients": tuple(found["coefficients"])})


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FormatError("expected the folder of a study, found none; kgtrec study CONFIG.toml writes one", path=path)
    if not (path / MANIFEST).is_file():
        raise FormatError(
            f"expected the folder of a study, found no {MANIFEST}; a study that was stopped goes on when kgtrec study "
            "is run again", path=path,
        )  # fmt: skip
    manifest = _json(path / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("study_format") != _FORMAT:
        raise FormatError(f"expected a study of format {_FORMAT}, found another file", path=path / MANIFEST)
    return manifest


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError:
        raise FormatError("expected a file of the study, found none; run kgtrec study again", path=path) from None
    except ValueError:
        raise FormatError("expected JSON, found something else; run kgtrec study again", path=path) from None


def _table(path: Path, sha256: str) -> pa.Table:
    import pyarrow.parquet as pq

    if not (path.parent / STEP).is_file():
        raise FormatError("expected a step of the study, found none; run kgtrec study again", path=path.parent)
    try:
        if sha256_of(path) != sha256:
            raise FormatError("expected the table that the study computed, found another; run kgtrec study again",
                              path=path)  # fmt: skip
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        raise FormatError("expected a table, found a damaged file; run kgtrec study again", path=path) from None

"""The folder of a study: the manifest, the steps, and the tables for the report.

=================  ====================================================================================================
``manifest.json``  the record of the computation: inputs and their checksums, versions, seeds, options, steps, commands
``study.toml``     the configuration as it was given
``steps/``         one folder per step, see :mod:`kgtrec.study.steps`
=================  ====================================================================================================

``report.html``, ``figures/``, ``tables/`` and ``data/`` beside them are made from these; the manifest has their sums.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.table import Input, Provenance
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, sha256_of
from kgtrec.formats.json_text import read_json, read_manifest
from kgtrec.formats.output.folders import MANIFEST, STEPS
from kgtrec.formats.output.outputs import update_text
from kgtrec.formats.parquet import read_whole_table
from kgtrec.formats.versions import FORMATS, require_version
from kgtrec.study.config import LabelFacts, Note, Study, StudyOptions
from kgtrec.study.steps import STEP, damaged_files

#: files of a step: its warnings, the contents of a label set, a collection; step_table has the names of its tables
NOTES, FACTS, COLLECTION = "notes.json", "facts.json", "collection"
_LABELS = "labels "  # prefix of those inputs of a step that are label sets


def write_study_manifest(folder: PathLike, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a study atomically."""
    found = {"study_format": FORMATS["a study"][-1], **manifest}
    text = json.dumps({**found, "sha256": _sum_of(found)}, indent=1, ensure_ascii=False)
    update_text(Path(folder) / MANIFEST, text + "\n")


def study_manifest(folder: PathLike) -> dict[str, Any]:
    """Return the manifest in a folder, as far as a study wrote it, with the ``files`` that it has beside its steps."""
    with suppress(FormatError):
        return {"files": {}, **_manifest(Path(folder))}
    return {"files": {}}


def step_table(part: str) -> str:
    """Return the name of the file with a table of a step."""
    return f"{part}.parquet"


def write_step_table(step: PathLike, part: str, table: pa.Table) -> None:
    """Write a table into the folder of a step."""
    import pyarrow.parquet as pq

    pq.write_table(table, Path(step) / step_table(part))


def read_study(folder: PathLike) -> Study:
    """Read the results of a study.

    Parameters
    ----------
    folder : path
        The folder that ``kgtrec study`` wrote; its inputs are not needed.

    Returns
    -------
    Study
        With all tables that were computed.

    Raises
    ------
    FormatError
        If the folder has no study, a study that was stopped before its end, or one with a changed manifest or step.
    """
    path = Path(folder)
    manifest = _manifest(path)
    try:
        sums = {
            f"{step['folder']}/{name}": sha256 for step in manifest["steps"] for name, sha256 in step["files"].items()
        }
        tables = {name: _table(path / STEPS / file, sums[file]) for name, file in manifest["tables"].items()}
        notes = _notes((_labels_of(step), _json(path / STEPS / step["folder"] / NOTES)) for step in manifest["steps"])
        collections = {
            name: _json(path / STEPS / step / COLLECTION / MANIFEST)["report"]
            for name, step in manifest["collections"].items()
        }
        inputs = tuple(Input(each["name"], each["bytes"], each["sha256"]) for each in manifest["inputs"])
        options = manifest["options"]
        made = Provenance(manifest["versions"], manifest["settings"], inputs, tuple(manifest["commands"]))
        return Study(
            manifest["title"],
            tuple(manifest["systems"]),
            tuple(manifest["measures"]),
            tuple(manifest["main"]),
            tuple(LabelFacts(**facts) for facts in manifest["labels"]),
            collections,
            tables,
            manifest["subtitle"],
            tuple(manifest["about"]),
            notes,
            StudyOptions(**{**options, "coefficients": tuple(options["coefficients"])}),
            made,
            manifest.get("exploration", ""),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"expected a manifest as kgtrec study writes it, found another one ({type(error).__name__}: {error}); run "
            "kgtrec study again",
            path=path / MANIFEST,
        ) from None


def damaged_steps(folder: PathLike) -> list[FormatError]:
    """Return the errors in all files of a study's steps; raises the errors of :func:`read_study`."""
    path = Path(folder)
    wrong: list[FormatError] = []
    for step in _manifest(path)["steps"]:
        wrong += damaged_files(path / STEPS / step["folder"], step["files"])
    return wrong


def is_study(folder: PathLike) -> bool:
    """Check whether a folder is the folder of a study, complete or not."""
    return (Path(folder) / STEPS).is_dir()


def _labels_of(step: Mapping[str, Any]) -> tuple[str, ...]:
    """The label sets that a step is about: those it was computed from, or the one that it makes."""
    own = [name.removeprefix(_LABELS) for name in step["inputs"] if name.startswith(_LABELS)]
    return (step["step"].removeprefix("labels-"),) if step["step"].startswith("labels-") else tuple(own)


def _notes(steps: Iterable[tuple[tuple[str, ...], list[str]]]) -> tuple[Note, ...]:
    """Each warning once; a warning of a step with one label set is not about label sets that are compared with it."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for labels, notes in steps:
        for text in notes:
            found.setdefault(text, []).append(labels)
    return tuple(
        Note(text, tuple(dict.fromkeys(name for labels in several if len(labels) <= fewest for name in labels)))
        for text, several in found.items()
        for fewest in [max(1, min(map(len, several)))]
    )


def _manifest(path: Path) -> dict[str, Any]:
    way_out = "kgtrec study CONFIG.toml writes one, and continues one that was stopped"
    manifest = read_manifest(path, MANIFEST, "a study", way_out, again="run kgtrec study again")
    require_version(manifest.get("study_format"), "a study", path / MANIFEST, way_out)
    if manifest.pop("sha256", "") != _sum_of(manifest):
        raise FormatError(
            "expected the manifest that kgtrec study wrote, found a changed one; run kgtrec study again with --force",
            path=path / MANIFEST,
        )
    return manifest


def _sum_of(manifest: Mapping[str, Any]) -> str:
    """The checksum of a manifest's values."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _json(path: Path) -> Any:
    if not path.is_file():
        raise FormatError("expected a file of the study, found none; run kgtrec study again", path)
    return read_json(path, way_out="run kgtrec study again")


def _table(path: Path, sha256: str) -> pa.Table:
    if not (path.parent / STEP).is_file():
        raise FormatError("expected a step of the study, found none; run kgtrec study again", path=path.parent)
    try:
        if sha256_of(path) != sha256:
            raise FormatError("expected the table that the study computed, found another; run kgtrec study again", path)
    except OSError:
        raise FormatError("expected a table, found a damaged file; run kgtrec study again", path) from None
    return read_whole_table(path)

"""The folder of a study: the manifest, the steps, and the tables for the report.

=================  ====================================================================================================
``manifest.json``  the record of the computation: inputs and their checksums, versions, seeds, options, steps, commands
``study.toml``     the configuration as it was given
``steps/``         one folder per step, see :mod:`kgtrec.study.steps`
=================  ====================================================================================================

``report.html``, ``figures/``, ``tables/`` and ``data/`` beside them are made from these; the manifest has their sums.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.data.collection import CATEGORIES
from kgtrec.data.table import Input, Provenance
from kgtrec.errors import FormatError, is_number
from kgtrec.formats.files import PathLike, sha256_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.folders import MANIFEST, STEPS
from kgtrec.formats.output.outputs import update_text
from kgtrec.formats.parquet import read_whole_table
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.study.config import LABEL_KINDS, LabelFacts, Note, Study, StudyOptions
from kgtrec.study.steps import STEP, damaged_files
from kgtrec.study.tables import require_study_tables

#: files of a step: its warnings, the contents of a label set, a collection; step_table has the names of its tables
NOTES, FACTS, COLLECTION = "notes.json", "facts.json", "collection"
_FORMAT = 1
_LABELS = "labels "  # prefix of those inputs of a step that are label sets
_OF_PAIRS = ("correlation", "correlation-parts", "correlation-fixed", "swaps")  # tables of two label sets


def write_study_manifest(folder: PathLike, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a study atomically."""
    text = json.dumps({"study_format": _FORMAT, **manifest}, indent=1, ensure_ascii=False)
    update_text(Path(folder) / MANIFEST, text + "\n")


def study_manifest(folder: PathLike) -> dict[str, Any]:
    """The manifest in a folder as far as there is one of a study, with the ``files`` that it wrote beside its steps."""
    with suppress(FormatError):
        manifest = _manifest(Path(folder))
        if isinstance(manifest.get("files", {}), dict):
            return {"files": {}, **manifest}
    return {"files": {}}


def step_table(part: str) -> str:
    """The name of the file with a table of a step."""
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
        If the folder has no study, a study that was stopped before its end, or a study with damaged steps or with
        tables that a report cannot show.
    """
    path = Path(folder)
    manifest = _manifest(path)
    try:
        sums = {
            f"{step['folder']}/{name}": sha256 for step in manifest["steps"] for name, sha256 in step["files"].items()
        }
        paths = {name: path / STEPS / file for name, file in manifest["tables"].items()}
        tables = {name: _table(paths[name], sums[file]) for name, file in manifest["tables"].items()}
        notes = _notes((_labels_of(step), _json(path / STEPS / step["folder"] / NOTES)) for step in manifest["steps"])
        collections = {
            name: _json(path / STEPS / step / COLLECTION / MANIFEST)["report"]
            for name, step in manifest["collections"].items()
        }
        inputs = tuple(Input(each["name"], each["bytes"], each["sha256"]) for each in manifest["inputs"])
        made = Provenance(manifest["versions"], manifest["settings"], inputs, tuple(manifest["commands"]))
        study = Study(
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
            _options(manifest["options"]),
            made,
        )
        _require_types(study)
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"expected a manifest as kgtrec study writes it, found another one ({type(error).__name__}: {error}); run "
            "kgtrec study again",
            path=path / MANIFEST,
        ) from None
    require_study_tables(study, paths)
    return study


def _require_types(study: Study) -> None:
    """Raise TypeError if the manifest has values that a report cannot show."""
    made, options = study.provenance, study.options
    texts: dict[str, Any] = {
        "title": study.title,
        "subtitle": study.subtitle,
        "systems": study.systems,
        "measures": study.measures,
        "main": study.main,
        "about": study.about,
        "notes": [note.text for note in study.notes],
        "commands": made.commands,
        "versions": (*made.versions, *made.versions.values()),
        "settings": (*made.settings, *made.settings.values()),
        "inputs": [text for each in made.inputs for text in (each.name, each.sha256)],
        "labels": [text for one in study.labels for text in (one.name, one.kind, one.collection, one.about)],
    }
    for name, value in texts.items():
        if not all(isinstance(text, str) for text in ([value] if name in ("title", "subtitle") else value)):
            raise TypeError(f"expected texts as {name}, found {value!r}"[:200])
    counts = [
        *(each.size for each in made.inputs),
        *(count for one in study.labels for count in (one.questions, one.answers, one.judged_wrong)),
        *(count for one in study.labels for count in (one.triples, one.depth) if count is not None),
    ]
    for report in study.collections.values():
        found = report.get("categories", {})
        for category in CATEGORIES if found else ():
            counts += [found[category]["relations"], found[category]["test_triples"]]
    if any(type(count) is not int or not 0 <= count < 2**63 for count in counts):
        raise TypeError("expected whole numbers as counts of labels and sizes of inputs, found others")
    if not (study.systems and study.measures and study.main and study.labels):
        raise TypeError("expected systems, measures and labels, found none")
    names = {one.name for one in study.labels}
    for table in study.tables:
        part, *of = table.split("/")
        if len(of) != 1 + (part in _OF_PAIRS) or not names.issuperset(of):
            raise TypeError(f"expected tables of the label sets, found {table!r}"[:200])
    if not all(is_number(share) and 0 < share < 1 for share in (options.confidence, options.alpha)):
        raise TypeError("expected shares between 0 and 1 as confidence and alpha, found others")
    for chosen, allowed, what in (
        ((*options.coefficients, options.coefficient), COEFFICIENTS, "coefficients"),
        ([one.kind for one in study.labels], LABEL_KINDS, "kinds of labels"),
    ):
        if unknown := [name for name in chosen if name not in allowed]:
            raise TypeError(f"expected {what} among {', '.join(allowed)}, found {unknown[0]!r}"[:200])


def damaged_steps(folder: PathLike) -> list[FormatError]:
    """Errors in the files of a study's steps, also those that :func:`read_study` does not read; raises its errors."""
    path = Path(folder)
    wrong: list[FormatError] = []
    for step in _manifest(path)["steps"]:
        wrong += damaged_files(path / STEPS / step["folder"], step["files"])
    return wrong


def is_study(folder: PathLike) -> bool:
    """Whether a folder is the folder of a study, complete or not."""
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


def _options(found: Mapping[str, Any]) -> StudyOptions:
    return StudyOptions(**{**found, "coefficients": tuple(found["coefficients"])})


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FormatError(
            "expected the folder of a study, found no folder; kgtrec study CONFIG.toml writes one", path=path
        )
    if not (path / MANIFEST).is_file():
        raise FormatError(
            f"expected the folder of a study, found no {MANIFEST}; to continue a study that was stopped, run kgtrec "
            "study again",
            path=path,
        )
    manifest = _json(path / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("study_format") != _FORMAT:
        raise FormatError(f"expected a study of format {_FORMAT}, found another file", path=path / MANIFEST)
    return manifest


def _json(path: Path) -> Any:
    if not path.is_file():
        raise FormatError("expected a file of the study, found none; run kgtrec study again", path=path)
    return read_json(path, way_out="run kgtrec study again")


def _table(path: Path, sha256: str) -> pa.Table:
    if not (path.parent / STEP).is_file():
        raise FormatError("expected a step of the study, found none; run kgtrec study again", path=path.parent)
    try:
        if sha256_of(path) != sha256:
            raise FormatError(
                "expected the table that the study computed, found another; run kgtrec study again", path=path
            )
    except OSError:
        raise FormatError("expected a table, found a damaged file; run kgtrec study again", path=path) from None
    table = read_whole_table(path)
    for place, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):  # NaN has many bit patterns, and arithmetic warns about some of them
            quiet = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
            table = table.set_column(place, table.column_names[place], quiet)
    return table

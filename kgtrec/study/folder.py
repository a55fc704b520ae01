"""A study's folder: the manifest, the steps, and the tables that a report is made of.

=================  ====================================================================================================
``manifest.json``  what was computed from what: inputs and their checksums, versions, seeds, options, steps, commands
``study.toml``     the configuration as it was given
``steps/``         one folder per step, see :mod:`kgtrec.study.steps`
=================  ====================================================================================================

``report.html``, ``figures/``, ``tables/`` and ``data/`` beside them are made of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
from kgtrec.formats.output.outputs import write_text
from kgtrec.formats.parquet import read_whole_table
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.study.config import LABEL_KINDS, LabelFacts, Note, Study, StudyOptions
from kgtrec.study.steps import STEP, damaged_files
from kgtrec.study.tables import require_study_tables

BY = "study"  # what keeps the folder
#: of a step: what was warned of, what a label set holds, a collection; its tables are those of step_table
NOTES, FACTS, COLLECTION = "notes.json", "facts.json", "collection"
_FORMAT = 1
_LABELS = "labels "  # what an input of a step begins with that is a label set
_OF_PAIRS = ("correlation", "correlation-parts", "correlation-fixed", "swaps")  # tables of two label sets


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
        If the folder holds no study, a study that was stopped before its end, or one whose steps were damaged, or hold
        tables that no report can be made of.
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
            f"expected what kgtrec study writes, found something else ({type(error).__name__}: {error}); run kgtrec "
            "study again",
            path=path / MANIFEST,
        ) from None
    require_study_tables(study, paths)
    return study


def _require_types(study: Study) -> None:
    """Raise TypeError where a report could not show what the manifest says."""
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
    """What is wrong with the files of a study's steps, beyond what :func:`read_study` reads; see there for errors."""
    path = Path(folder)
    wrong: list[FormatError] = []
    for step in _manifest(path)["steps"]:
        wrong += damaged_files(path / STEPS / step["folder"], step["files"])
    return wrong


def is_study(folder: PathLike) -> bool:
    """Whether a folder is that of a study, whole or not."""
    return (Path(folder) / STEPS).is_dir()


def _labels_of(step: Mapping[str, Any]) -> tuple[str, ...]:
    """The label sets that a step is about: those that it was made of, or the one that it makes."""
    own = [name.removeprefix(_LABELS) for name in step["inputs"] if name.startswith(_LABELS)]
    return (step["step"].removeprefix("labels-"),) if step["step"].startswith("labels-") else tuple(own)


def _notes(steps: Iterable[tuple[tuple[str, ...], list[str]]]) -> tuple[Note, ...]:
    """Each text once; what a step of one label set warns of is not about the others that it is compared with."""
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
        raise FormatError("expected the folder of a study, found none; kgtrec study CONFIG.toml writes one", path=path)
    if not (path / MANIFEST).is_file():
        raise FormatError(
            f"expected the folder of a study, found no {MANIFEST}; a study that was stopped goes on when kgtrec study "
            "is run again",
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
        if pa.types.is_floating(column.type):  # a NaN may have any of many bit patterns, and arithmetic warns of some
            quiet = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
            table = table.set_column(place, table.column_names[place], quiet)
    return table

"""A study's folder: what is read of it, and how damage is told."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kgtrec.errors import FormatError
from kgtrec.formats.files import sha256_of
from kgtrec.study.config import LabelFacts, Note, StudyOptions
from kgtrec.study.folder import (
    COLLECTION,
    MANIFEST,
    NOTES,
    STEPS,
    read_study,
    step_table,
    write_step_table,
    write_study_manifest,
)
from kgtrec.study.steps import STEP, Steps

SCORES = pa.table({"system": ["NA", "007"], "measure": ["RR", "RR"], "value": [0.25, float("nan")]})
LABELS = LabelFacts("all", "test", "test", "", 3, 4, 0)
OPTIONS = StudyOptions(0.9, 0.01, ("rbo",), "tau_ap")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of one table, whose two steps warned of the same."""
    steps = Steps(tmp_path / STEPS)

    def collect(step: Path) -> None:
        (step / COLLECTION).mkdir()
        (step / COLLECTION / "manifest.json").write_text('{"report": {"questions": 3}}')
        (step / NOTES).write_text('["first", "both"]')

    def score(step: Path) -> None:
        write_step_table(step, "scores", SCORES)
        (step / NOTES).write_text('["both"]')

    collected, scored = steps.do("collection-test", collect), steps.do("scores-all", score, inputs={"labels all": "a"})
    write_study_manifest(
        tmp_path,
        {
            "title": "T",
            "subtitle": "",
            "about": ["One."],
            "versions": {"kgtrec": "1"},
            "settings": {"seed": "3"},
            "commands": ["kgtrec study study.toml"],
            "options": asdict(OPTIONS),
            "systems": ["NA", "007"],
            "inputs": [{"name": "train.tsv", "bytes": 7, "sha256": "ab"}],
            "measures": ["RR"],
            "main": ["RR"],
            "labels": [asdict(LABELS)],
            "collections": {"test": collected.name},
            "tables": {"scores/all": f"{scored.name}/{step_table('scores')}"},
            "steps": steps.record,
        },
    )
    return tmp_path


def changed(folder: Path, change: dict[str, Any]) -> None:
    path = folder / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


def test_what_a_study_found_is_read(folder: Path):
    """Each warning once, with the label set that it is about; and options as they were."""
    found = read_study(folder)
    assert (found.title, found.systems, found.labels, found.options) == ("T", ("NA", "007"), (LABELS,), OPTIONS)
    assert found.part("scores")["all"].slice(0, 1).equals(SCORES.slice(0, 1))
    assert found.notes == (Note("first"), Note("both", ("all",)))
    assert found.collections == {"test": {"questions": 3}}
    assert [each.name for each in found.provenance.inputs] == ["train.tsv"]


def test_a_folder_without_a_manifest_is_no_study_yet(tmp_path: Path):
    with pytest.raises(
        FormatError, match=r"expected the folder of a study, found no manifest\.json; to continue a study"
    ):
        read_study(tmp_path)
    with pytest.raises(FormatError, match="expected the folder of a study, found no folder"):
        read_study(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"manifest.json:1: expected JSON, found something else \(.*\); run kgtrec study again"),
        (b"\xff\xfe", "expected JSON, found something else"),
        (b"[]", "expected a study of format 1, found another file"),
        (b'{"study_format": 2}', "expected a study of format 1, found another file"),
        (
            b'{"study_format": 1}',
            r"expected a manifest as kgtrec study writes it, found another one \(KeyError: 'steps'\)",
        ),
        (b'{"study_format": 1, "steps": 3}', r"found another one \(TypeError: .*run kgtrec study again"),
    ],
)
def test_a_damaged_manifest_is_told(folder: Path, content: bytes, message: str):
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(FormatError, match=message) as told:
        read_study(folder)
    assert "manifest.json" in str(told.value)


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"alpha": 0.05}},
        {"options": asdict(OPTIONS) | {"pairs": []}},
        {"labels": [{"name": "all"}]},
        {"tables": {"scores/all": "elsewhere/scores.parquet"}},
        {"tables": None},
    ],
)
def test_a_manifest_of_other_things_is_told(folder: Path, change: dict[str, Any]):
    changed(folder, change)
    with pytest.raises(
        FormatError, match=r"manifest\.json: expected a manifest as kgtrec study writes it, found another one"
    ):
        read_study(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scores-*/scores.parquet", "expected a table, found a damaged file"),
        ("scores-*/notes.json", "expected a file of the study, found none"),
        (f"scores-*/{STEP}", "expected a step of the study, found none"),
        ("collection-*/collection/manifest.json", "expected a file of the study, found none"),
    ],
)
def test_a_missing_file_is_told(folder: Path, name: str, message: str):
    """With the way out."""
    next((folder / STEPS).glob(name)).unlink()
    with pytest.raises(FormatError, match=f"{message}; run kgtrec study again"):
        read_study(folder)


def test_a_table_that_is_no_longer_the_same_is_told(folder: Path):
    """Also where it is a whole table."""
    write_step_table(next((folder / STEPS).glob("scores-*")), "scores", SCORES.slice(1))
    with pytest.raises(FormatError, match="expected the table that the study computed, found another"):
        read_study(folder)


def with_table(folder: Path, part: str, columns: dict[str, Any]) -> Path:
    """A table of a study, with the checksums that belong to it."""
    (step,) = (folder / STEPS).glob("scores-*")
    write_step_table(step, part, pa.table(columns))
    path = step / step_table(part)
    manifest = json.loads((folder / MANIFEST).read_text())
    for about in manifest["steps"]:
        if about["folder"] == step.name:
            about["files"][path.name] = sha256_of(path)
    name = f"{part}/all/all" if part in ("correlation", "swaps") else f"{part}/all"
    changed(folder, {"tables": manifest["tables"] | {name: f"{step.name}/{path.name}"}, "steps": manifest["steps"]})
    return path


OF_SYSTEMS = {"system": ["NA", "007"], "measure": ["RR", "RR"]}
CORRELATED = {"measure": ["RR"], "coefficient": ["rbo"], "value": [0.5]}
SAMPLED = {
    "measure": ["RR", "AP"],
    "share": [0.5, 0.5],
    "triples": [3, 3],
    "repeats": [2, 2],
    "mean": [1.0, 1.0],
    "low": [1.0, 1.0],
    "high": [1.0, 1.0],
}
TIES = {"tied": [0.0, 0.0], "mean_group": [1.0, 1.0], "largest_group": [1, 1], **OF_SYSTEMS, "apart": [0.0, 0.0]}


@pytest.mark.parametrize(
    ("part", "columns", "message"),
    [
        ("scores", OF_SYSTEMS, "expected columns system, measure, value, low, high, found system, measure"),
        ("scores", OF_SYSTEMS | {"value": ["high", "low"]}, "expected numbers, found string in column value"),
        ("scores", OF_SYSTEMS | {"value": [1.0, 2.0], "low": [0.0, 1.0]}, "expected columns low and high, or neither"),
        ("scores", OF_SYSTEMS | {"value": [1, 2**60]}, r"numbers up to 2\^53, found 1152921504606846976 in column val"),
        ("scores", {"system": ["NA", None], "measure": ["RR", "RR"], "value": [1, 2]}, "found none in row 1 in column"),
        (
            "scores",
            {"system": ["007", "NA"], "measure": ["RR", "RR"], "value": [1, 2]},
            "expected a row for each of 2 ",
        ),
        (
            "scores",
            OF_SYSTEMS | {"value": [1, 2], "more": [[1], [2]]},
            "text or numbers, found list<.*> in column more",
        ),
        ("correlation", CORRELATED | {"measure": ["RRR"]}, "expected RR in column measure, found 'RRR'"),
        ("correlation", CORRELATED | {"coefficient": ["t"]}, "expected tau, .* in column coefficient, found 't'"),
        ("depths", CORRELATED | {"depth": [1.5]}, "expected whole numbers, found double in column depth"),
        ("depths", CORRELATED | {"depth": [1], "coefficient": ["tau"]}, "expected rows of rbo, found none"),
        ("stability", SAMPLED | {"share": [0.5, 0.25]}, "expected the same shares for each measure"),
        ("stability", {name: [] for name in SAMPLED}, "expected rows, found none"),
        ("ties", TIES, "expected a column for each policy for ties between measure and apart, found tied, "),
        (
            "pairs",
            {"measure": ["RR"], "first": ["NA"], "second": ["8"], "test": ["t"], "p_adjusted": [0.5]},
            "expected NA, 007 in column second, found '8'",
        ),
        ("power", {"measure": ["RR"]}, "expected columns measure, test, items, .*, found measure"),
    ],
)
def test_a_table_that_a_report_cannot_show_is_told(folder: Path, part: str, columns: dict[str, Any], message: str):
    """Also where its checksums were adapted: with its file, what was expected and found, and the way out."""
    path = with_table(folder, part, columns)
    with pytest.raises(FormatError, match=f"{message}.*; run kgtrec study again") as told:
        read_study(folder)
    assert str(told.value).startswith(f"{path}: expected ")


def test_every_nan_is_the_same(folder: Path):
    """Arithmetic warns of a signalling one."""
    signalling = np.array([0x7FF0000000000001, 0], np.uint64).view(np.float64)
    with_table(folder, "scores", OF_SYSTEMS | {"value": signalling, "low": signalling, "high": signalling})
    (table,) = (table for name, table in read_study(folder).tables.items() if name == "scores/all")
    assert table.column("value").to_numpy().tobytes() == np.array([np.nan, 0]).tobytes()


def test_damaged_notes_are_told(folder: Path):
    next((folder / STEPS).glob(f"scores-*/{NOTES}")).write_text("[")
    with pytest.raises(FormatError, match=r"notes\.json:1: expected JSON, found something else"):
        read_study(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": 5}, "expected texts as title, found 5"),
        ({"systems": ["a", None]}, "expected texts as systems, found"),
        ({"versions": {"kgtrec": 1}}, "expected texts as versions, found"),
        (
            {"labels": [asdict(LABELS) | {"kind": "te3t"}]},
            "expected kinds of labels among test, sample, .*, found 'te3t'",
        ),
        ({"labels": [asdict(LABELS) | {"questions": "3"}]}, "expected whole numbers as counts of labels"),
        ({"options": asdict(OPTIONS) | {"coefficient": "tau2"}}, "expected coefficients among tau, .*, found 'tau2'"),
        ({"options": asdict(OPTIONS) | {"confidence": 95}}, "expected shares between 0 and 1 as confidence and alpha"),
        ({"inputs": [{"name": "a", "bytes": 1.5, "sha256": "ab"}]}, "expected whole numbers as counts .* of inputs"),
    ],
)
def test_what_a_report_could_not_show_is_refused(folder: Path, change: dict[str, Any], message: str):
    """Before a report fails on it."""
    changed(folder, change)
    with pytest.raises(
        FormatError, match=rf"manifest\.json: expected a manifest as kgtrec study writes it, .*{message}"
    ):
        read_study(folder)

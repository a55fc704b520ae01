"""A study's folder: what is read of it, and how damage is told."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kgtrec.errors import FormatError
from kgtrec.study.config import LabelFacts, Note, StudyOptions
from kgtrec.study.folder import (
    COLLECTION,
    MANIFEST,
    NOTES,
    STEPS,
    damaged_steps,
    read_study,
    step_table,
    write_step_table,
    write_study_manifest,
)
from kgtrec.study.steps import STEP, Steps

SCORES = pa.table({"system": ["NA", "007"], "measure": ["RR", "RR"], "value": [0.25, float("nan")]})
LABELS = LabelFacts("all", "test", "test", "", 3, 4, 0)
OPTIONS = StudyOptions(0.9, 0.01, ("rbo",), "tau_ap")
ABOUT = {
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
    "collections": {},
    "tables": {},
    "steps": [],
}


def write_study(folder: Path) -> None:
    """A study of one table, whose two steps warned of the same."""
    steps = Steps(folder / STEPS)

    def collect(step: Path) -> None:
        (step / COLLECTION).mkdir()
        (step / COLLECTION / "manifest.json").write_text('{"report": {"questions": 3}}')
        (step / NOTES).write_text('["first", "both"]')

    def score(step: Path) -> None:
        write_step_table(step, "scores", SCORES)
        (step / NOTES).write_text('["both"]')

    collected, scored = steps.do("collection-test", collect), steps.do("scores-all", score, inputs={"labels all": "a"})
    write_study_manifest(
        folder,
        ABOUT
        | {
            "collections": {"test": collected.name},
            "tables": {"scores/all": f"{scored.name}/{step_table('scores')}"},
            "steps": steps.record,
        },
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_study(tmp_path)
    return tmp_path


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
        FormatError, match=r"expected the folder of a study, found no manifest\.json in it; kgtrec study CONFIG"
    ):
        read_study(tmp_path)
    with pytest.raises(FormatError, match="expected the folder of a study, found nothing"):
        read_study(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"manifest.json:1: expected JSON, found something else \(.*\); run kgtrec study again"),
        (b"\xff\xfe", "expected JSON, found something else"),
        (b"[]", "expected a study of format version 1, found version None; kgtrec study CONFIG"),
        (b'{"study_format": 2}', "expected a study of format version 1, found version 2; a later kgtrec wrote it"),
        (b'{"study_format": 1}', "expected the manifest that kgtrec study wrote, found a changed one"),
    ],
)
def test_a_damaged_manifest_is_told(folder: Path, content: bytes, message: str):
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(FormatError, match=message) as told:
        read_study(folder)
    assert "manifest.json" in str(told.value)


@given(st.data())
def test_a_changed_manifest_is_told(data: st.DataObject):
    """Whichever value was changed, added or removed; line ends and indentation do not matter."""
    with tempfile.TemporaryDirectory() as place:
        write_study_manifest(place, ABOUT)
        path = Path(place, MANIFEST)
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps(manifest).replace("\n", "\r\n"))
        assert damaged_steps(place) == []
        name = data.draw(st.sampled_from([*manifest, "more"]).filter(lambda name: name != "study_format"))
        value = data.draw(st.none() | st.integers() | st.text() | st.lists(st.text()) | st.just(KeyError))
        assume(manifest.pop(name, KeyError) != value)
        path.write_text(json.dumps(manifest if value is KeyError else manifest | {name: value}))
        with pytest.raises(
            FormatError, match=r"manifest\.json: expected the manifest that kgtrec study wrote, found a ch"
        ):
            read_study(place)


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


def test_damaged_notes_are_told(folder: Path):
    next((folder / STEPS).glob(f"scores-*/{NOTES}")).write_text("[")
    with pytest.raises(FormatError, match=r"notes\.json:1: expected JSON, found something else"):
        read_study(folder)

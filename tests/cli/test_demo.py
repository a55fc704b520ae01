"""The demo writes what the repository holds, and its steps do it again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgtrec.cli import main
from kgtrec.cli.demo_world import _KINSHIP
from kgtrec.formats.output.record import RECORD
from kgtrec.openworld.family_tree import KINSHIP

ROOT = Path(__file__).parents[2]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_records(found: dict[str, bytes]) -> dict[str, bytes]:
    """The same but for kgtrec's records of what it wrote, which tell in which order."""
    return {path: data for path, data in found.items() if Path(path).name != RECORD}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that the demo writes for the default seed."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    main(["demo", "--out", str(folder)])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["annotation", "qrels"])
def test_the_repository_holds_what_the_demo_writes(demo: Path, name: str):
    """annotation/ and qrels/, byte for byte; after a change, copy them from the demo's folder."""
    assert files(demo / name) == files(ROOT / name)


def test_every_relation_of_a_family_tree_can_be_asked_for():
    """With a kind of person and a question of its own."""
    assert set(_KINSHIP) == set(KINSHIP)
    assert len({question for _, question in _KINSHIP.values()}) == len(_KINSHIP)


@pytest.mark.slow
def test_the_steps_do_it_again(demo: Path, tmp_path: Path):
    """Every file of the folder, with the same bytes, out of kg/ and filled/ alone."""
    for name in ("kg", "filled"):
        shutil.copytree(demo / name, tmp_path / name)
    shutil.copy(demo / "steps.sh", tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "steps.sh"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert without_records(files(tmp_path)) == without_records(files(demo))


@pytest.mark.slow
def test_the_steps_can_be_run_again_where_they_were(demo: Path, tmp_path: Path):
    """Each replaces what it wrote, and nothing else."""
    shutil.copytree(demo, tmp_path / "demo")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    for line in (tmp_path / "demo" / "steps.sh").read_text().splitlines():
        if line.startswith(("kgtrec questions", "kgtrec evaluate", "kgtrec campaign qrels")):
            subprocess.run(
                ["bash", "-c", line], cwd=tmp_path / "demo", env=environment, check=True, capture_output=True
            )
    again = without_records(files(tmp_path / "demo"))
    assert again.pop("notes.txt") == b"mine"
    assert again == without_records(files(demo))


def test_the_campaign_that_the_repository_holds_is_done(capsys):
    """Nothing waits for anybody."""
    main(["campaign", "status", str(ROOT / "annotation")])
    header, row = (line.split() for line in capsys.readouterr().out.splitlines()[:2])
    waiting = dict(zip(header, row[1:], strict=True))
    assert [waiting[state] for state in ("open", "conflict", "doubted", "undecidable")] == ["0"] * 4


@pytest.mark.slow
def test_labels_of_the_campaign_order_the_systems_as_the_truth_does(demo: Path, capsys):
    """What the demo shows: the sparse labels put inverse before rescal by macro.MRR, judged ones do not."""
    order = {}
    for file in ("qrels/qrels.depth0.txt", "qrels/qrels.txt", "kg/truth.txt"):
        runs = sorted(map(str, (demo / "sparse-ranks").glob("*.run")))
        main(["evaluate", str(demo / file), *runs, "-m", "macro.MRR", "--format", "csv"])
        rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
        order[file] = [system for system, _, _ in sorted(rows, key=lambda row: -float(row[2]))]
    assert order["qrels/qrels.txt"] == order["kg/truth.txt"]
    assert order["qrels/qrels.depth0.txt"] != order["kg/truth.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--people", "20"],
        pytest.param(["--error", "1"], marks=pytest.mark.slow),
        pytest.param(["--density", "1", "--people", "40"], marks=pytest.mark.slow),
    ],
)
def test_the_demo_works_for_other_worlds(tmp_path: Path, options: list[str]):
    main(["demo", "--out", str(tmp_path / "d"), *options])
    assert (tmp_path / "d" / "qrels" / "qrels.txt").stat().st_size > 0

"""A full disk at any part of what is written for large models: nothing half-written counts as done."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.formats.collections import write_collection
from kgtrec.formats.factor_folders import write_factor_folder
from kgtrec.formats.trec import runs
from kgtrec.workers import results
from tests.full_disks import TOLD, full_disk_runs, needs_full_disk
from tests.ranking.test_tiles import world
from tests.systems.test_factor_folders import folder_of
from tests.trees import is_part, tree

RANK = ["rank", "C", "model", "--out", "work/out", "--block", "4"]


def _rank(run_format):
    """What is done before, with shorter lists, and the command."""
    return [[*RANK, "--depth", "3", "--run-format", run_format]], [*RANK, "--run-format", run_format, "--force"]


def _convert(before, source, target, *options):
    return [["convert", before, target, *options]], ["convert", source, target, *options, "--force"]


PARTS, TO_PARTS, SORTED = ["--run-format", "parts"], ["--to", "parts"], "work/out/sorted.run"
#: name -> what is done before, on a disk with room, and the command
CASES = {
    "text": _rank("run.gz"),
    "by workers": ([], [*RANK, "--workers", "2"]),
    "Parquet": _rank("parquet"),
    "parts": _rank("parts"),
    "parts, for the first time": ([], [*RANK, *PARTS, "--force"]),
    "sort": _convert("small.run", "mixed.run", SORTED, "--sort"),
    "sort to parts": _convert("small.run", "mixed.run", SORTED, "--sort", *TO_PARTS),
    "factors": _convert("other", "model", "work/out/f", "--to", "factors"),
}


@needs_full_disk
@pytest.mark.slow  # each file that is written is one run, or more
@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_leaves_what_was_there(name, tmp_path, monkeypatch, capfd):
    """One line with a way out; no part of the output is new; and the same command is right when there is room."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(results, "_WORTH", 0)  # finished blocks are kept
    monkeypatch.setattr(runs, "_PART_ROWS", 40)
    rng = np.random.default_rng(9)
    collection = world(rng, 7, 30)
    write_collection("C", collection)
    for model in ("model", "other"):
        write_factor_folder(model, folder_of(rng, collection, "distmult"))
    lines = [f"q{row % 5} Q0 e{row} 1 {row} a" for row in range(60)]
    Path("mixed.run").write_text("".join(f"{line}\n" for line in lines))
    Path("small.run").write_text(f"{lines[0]}\n")
    before, command = CASES[name]
    for step in before:
        main(step)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    shutil.copytree(work, tmp_path / "former", copy_function=shutil.copy2)
    former = tree(work)

    def reset():
        shutil.rmtree(work)
        shutil.copytree(tmp_path / "former", work, copy_function=shutil.copy2)

    main(command)
    expected = tree(work)
    assert expected != former
    sizes = sorted({0, 30, *(len(data) - 1 for path, data in expected.items() if former.get(path) != data and data)})
    capfd.readouterr()
    seen = set()
    for fault, number, code, errors in full_disk_runs(lambda: main(command), reset, work, sizes):
        where = f"{fault} {number}: {errors}"
        if code == 0:  # other files were larger
            assert fault == "limit", where
            assert tree(work) == expected, where
            continue
        seen.add(fault)
        assert code == 2, where
        (line,) = [each for each in errors.splitlines() if each.startswith("error: ")]
        assert line.startswith(("error: work/", f"error: {work}/")), where
        assert line.endswith(f": {TOLD[fault]}; make room or choose another place, and give the command again"), where
        assert ".part" not in line, where
        # finished blocks stay
        left = {path: data for path, data in tree(work).items() if not path.startswith("out/model.unfinished/")}
        left = left if "out/" in former or left != {"out/": b""} else former
        assert not any(map(is_part, left)), where
        assert left == former, where
        main(command)
        assert tree(work) == expected, where
    assert seen == {"full", "limit"}

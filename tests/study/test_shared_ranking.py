"""Factorised systems that a study ranks: the same files whoever does the work, and however often it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.errors import KgtrecError
from kgtrec.formats.triples import read_triples
from kgtrec.ranking import grid, tiles
from kgtrec.study.run import run_study
from tests.examples import examples
from tests.executors import threads
from tests.studies import MORE, sample, study_toml
from tests.trees import tree

CONFIG = study_toml(
    data={"folder": "kg"},
    systems={"scores": ["a.npz", "b.npz"], "baselines": ["popularity"]},
    labels=sample(6) | MORE,
    measures={"names": ["micro.MRR", "AP@5"], "resamples": 2},
    stability={"labels": []},
    power={"labels": []},
    report={"formats": ["csv"]},
)


def write_study(folder: Path, seed: int) -> Path:
    """A study of two factorised systems with many equal scores, and a baseline; on all questions and on a sample."""
    rng = np.random.default_rng(seed)
    (folder / "kg").mkdir(parents=True)
    made = {
        "train": [(f"e{n}", f"r{n % 2}", f"e{(n * 7 + 3) % 20}") for n in range(20)],
        "valid": [("e0", "r0", "e9")],
        "test": [(f"e{n}", f"r{n % 2}", f"e{(n * 5 + 1) % 20}") for n in range(12)],
    }
    for name, triples in made.items():
        (folder / "kg" / f"{name}.tsv").write_text("".join("\t".join(triple) + "\n" for triple in triples))
    splits = [read_triples(folder / "kg" / f"{name}.tsv") for name in ("train", "valid", "test")]
    collection = build_questions(*splits)
    questions = collection.questions
    asked = np.stack([questions.is_head, questions.relation, questions.anchor], axis=1).astype(np.int64)
    for name in ("a", "b"):
        E, Q = rng.integers(-2, 3, (len(collection.entities), 3)), rng.integers(-2, 3, (len(questions), 3))
        np.savez(folder / f"{name}.npz", E=E.astype(np.float32), Q=Q.astype(np.float32), questions=asked)
    for name, labels in (("entities", collection.entities), ("relations", collection.relations)):
        (folder / f"{name}.txt").write_text("".join(f"{label}\n" for label in labels))
    judged = sorted({(questions.ids[int(row)], f"e{rng.integers(20)}") for row in rng.integers(0, len(questions), 9)})
    (folder / "more.txt").write_text(
        "".join(f"{question} 0 {entity} {n % 2}\n" for n, (question, entity) in enumerate(judged))
    )
    (folder / "study.toml").write_text(CONFIG)
    return folder / "study.toml"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of three questions, so that there are several."""
    monkeypatch.setattr(tiles, "_TILE_BYTES", 1)
    monkeypatch.setattr(tiles, "_LEAST_ROWS", 3)


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=examples(3), deadline=None)
def test_the_files_are_the_same_bytes_on_any_executor(tmp_path_factory, seed):
    """By this process, by an executor that is there, and by one that is started; nothing unfinished stays."""
    with mock.patch.object(tiles, "_TILE_BYTES", 1), mock.patch.object(tiles, "_LEAST_ROWS", 3):
        config = write_study(tmp_path_factory.mktemp("study") / "s", seed)
        outs = [config.parent / name for name in ("one", "pool", "started")]
        run_study(config, outs[0])
        with counted_tiles() as n_tiles:
            with ThreadPoolExecutor(2) as pool:
                run_study(config, outs[1], executor=pool)
            run_study(config, outs[2], executor=threads)
        assert len(n_tiles) > 8
        made = [tree(out) for out in outs]
    assert made[1] == made[0]
    assert made[2] == made[0]
    assert not any((out / "unfinished").exists() for out in outs)


@contextmanager
def counted_tiles() -> Iterator[list[int]]:
    """The first question of each tile that is counted meanwhile, by this process and its threads."""
    did: list[int] = []
    count = grid.count_tile

    def counting(candidates, block, *others):
        did.append(int(block.rows[0]))
        return count(candidates, block, *others)

    with mock.patch.object(grid, "count_tile", counting):
        yield did


@pytest.mark.slow
def test_two_processes_change_no_byte(tmp_path: Path, monkeypatch):
    """From the command line, where they are started after the first unit."""
    monkeypatch.setattr(import_module("kgtrec.workers.results"), "_WORTH", 0)
    config = write_study(tmp_path / "s", 1)
    for name, options in (("one", []), ("two", ["--workers", "2"])):
        main(["study", str(config), "--out", str(tmp_path / name), *options])
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


KILLED = """
import os, signal, sys
from kgtrec.cli import main
from kgtrec.ranking import grid, tiles
from kgtrec.workers import results
tiles._TILE_BYTES, tiles._LEAST_ROWS, results._WORTH = 1, 3, 0
tell, left = grid.Counted.add_rounding, [3]
def harm(*arguments):
    left[0] -= 1
    if left[0] == 0:
        {what}
    tell(*arguments)
grid.Counted.add_rounding = harm
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["os.kill(os.getpid(), 9)", "raise KeyboardInterrupt"], ids=["killed", "stopped"])
@pytest.mark.parametrize("again", [None, threads], ids=["one process", "threads"])
def test_an_interrupted_study_goes_on(tmp_path: Path, what, again):
    """Blocks of the first system that are finished are not counted again, whoever goes on; and nothing else stays."""
    config = write_study(tmp_path / "s", 5)
    with counted_tiles() as whole:
        run_study(config, tmp_path / "whole")
    words = ["study", str(config), "--out", str(tmp_path / "parts"), "--workers", "2"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED.format(what=what), *words], check=False, capture_output=True
    )
    assert ended.returncode in (-signal.SIGKILL, 130)
    (unfinished,) = (tmp_path / "parts" / "unfinished").iterdir()
    assert unfinished.name.startswith("ranks-a-")
    assert len(list(unfinished.glob("*.block"))) == 3
    with counted_tiles() as did:
        run_study(config, tmp_path / "parts", executor=again)
    assert sorted(did) == sorted(whole[3:])
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")


@pytest.mark.slow
def test_what_was_finished_of_an_older_model_goes(tmp_path: Path):
    """Nothing of it is in the study, which is as if it had not been interrupted."""
    config = write_study(tmp_path / "s", 3)
    words = ["study", str(config), "--out", str(tmp_path / "out")]
    program = [sys.executable, "-c", KILLED.format(what="os.kill(os.getpid(), 9)"), *words]
    subprocess.run(program, check=False, capture_output=True)
    assert (tmp_path / "out" / "unfinished").exists()
    with np.load(tmp_path / "s" / "a.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "s" / "a.npz", **(arrays | {"E": -arrays["E"]}))
    for name in ("out", "fresh"):
        run_study(config, tmp_path / name)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


@pytest.mark.parametrize("executor", [None, threads], ids=["one", "threads"])
def test_a_score_that_is_no_number_ends_the_study(tmp_path: Path, executor):
    """With the question and the entity, whoever finds it."""
    config = write_study(tmp_path / "s", 4)
    with np.load(tmp_path / "s" / "a.npz") as archive:
        arrays = dict(archive)
    arrays["E"][3] = np.nan
    np.savez(tmp_path / "s" / "a.npz", **arrays)
    with pytest.raises(KgtrecError, match=r"ranks-a: .*NaN"):
        run_study(config, tmp_path / "out", executor=executor)

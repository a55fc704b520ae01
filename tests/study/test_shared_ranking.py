"""Factorised systems that a study ranks: the same files whoever does the work, and however often it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
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
from kgtrec.ranking import plans, tiles
from kgtrec.study.run import run_study
from tests.examples import examples
from tests.executors import threads
from tests.trees import tree

CONFIG = """title = "T"
[data]
folder = "kg"
[systems]
scores = ["a.npz", "b.npz"]
baselines = ["popularity"]
[[labels]]
name = "all"
kind = "test"
[[labels]]
name = "some"
kind = "sample"
size = 6
[[labels]]
name = "more"
kind = "qrels"
file = "more.txt"
[measures]
names = ["micro.MRR", "AP@5"]
resamples = 2
[stability]
labels = []
[power]
labels = []
[report]
formats = ["csv"]
"""


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


@given(st.integers(0, 2**32))
@settings(max_examples=examples(3), deadline=None)
def test_the_files_are_the_same_bytes_on_any_executor(tmp_path_factory, seed):
    """By this process, by an executor that is there, and by one that is started; no unit stays."""
    with mock.patch.object(tiles, "_TILE_BYTES", 1), mock.patch.object(tiles, "_LEAST_ROWS", 3):
        config = write_study(tmp_path_factory.mktemp("study") / "s", seed)
        outs = [config.parent / name for name in ("one", "pool", "started")]
        run_study(config, outs[0])
        with counted_units() as n_units:
            with ThreadPoolExecutor(2) as pool:
                run_study(config, outs[1], executor=pool)
            run_study(config, outs[2], executor=threads)
        assert len(n_units) > 8
        made = [tree(out) for out in outs]
    assert made[1] == made[0]
    assert made[2] == made[0]
    assert not any((out / "units").exists() for out in outs)


@contextmanager
def counted_units() -> Iterator[list[int]]:
    """The units that are done meanwhile, by this process and its threads."""
    did: list[int] = []
    do = plans.do_unit

    def counting(folder: str, unit: int) -> None:
        did.append(unit)
        do(folder, unit)

    with mock.patch.object(import_module("kgtrec.ranking.executors"), "do_unit", counting):
        yield did


@pytest.mark.slow
def test_two_processes_change_no_byte(tmp_path: Path, monkeypatch):
    """From the command line, where they are started after the first unit."""
    monkeypatch.setattr(import_module("kgtrec.workers.results"), "_WORTH", 0)
    config = write_study(tmp_path / "s", 1)
    for name, options in (("one", []), ("two", ["--workers", "2"])):
        main(["study", str(config), "--out", str(tmp_path / name), *options])
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


class Ends(Executor):
    """Does some calls in this thread, and is interrupted at the next."""

    def __init__(self, n_calls: int) -> None:
        self.left = n_calls
        self.pool = ThreadPoolExecutor(1)

    def submit(self, work, /, *arguments):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        future = self.pool.submit(work, *arguments)
        future.exception()
        return future


@pytest.mark.slow
@pytest.mark.parametrize("again", ["one process", "threads"])
def test_an_interrupted_study_goes_on(tmp_path: Path, again: str):
    """Units that are done are not done again, whoever goes on; then their folder is gone."""
    config = write_study(tmp_path / "s", 2)
    run_study(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_study(config, tmp_path / "parts", executor=Ends(2))
    (units,) = (tmp_path / "parts" / "units").iterdir()
    assert units.name.startswith("ranks-a-")
    total = len(plans.read_plan(units))
    assert len(plans.read_plan(units).left()) == total - 2
    told: list[str] = []
    with counted_units() as did:
        run_study(config, tmp_path / "parts", executor=threads if again == "threads" else None, say=told.append)
    assert f"{units}: 2 of {total} units are done already" in told
    assert sorted(did[: total - 2]) == list(range(2, total))
    if again == "one process":
        assert len(did) == total - 2, "systems without units are ranked without them"
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")


KILLED = """
import os, signal, sys
from importlib import import_module
from kgtrec.cli import main
from kgtrec.ranking import tiles
from kgtrec.workers import results
tiles._TILE_BYTES, tiles._LEAST_ROWS, results._WORTH = 1, 3, 0
written = import_module("kgtrec.ranking.executors")
def collect(plan, collection, number, rounding):
    os.kill(os.getpid(), signal.SIGKILL)
written.collected_block = collect
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_study_that_is_killed_while_its_workers_rank_goes_on(tmp_path: Path):
    """By SIGKILL, when units of the first system are done: they are not done again, and nothing else stays."""
    config = write_study(tmp_path / "s", 5)
    run_study(config, tmp_path / "whole")
    words = ["study", str(config), "--out", str(tmp_path / "parts"), "--workers", "2"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    (units,) = (tmp_path / "parts" / "units").iterdir()
    left = plans.read_plan(units).left()
    assert 0 not in left
    with counted_units() as did:
        run_study(config, tmp_path / "parts")
    assert sorted(did) == left
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")


@pytest.mark.slow
def test_units_of_a_ranking_that_is_not_asked_for_any_more_go(tmp_path: Path):
    """As after a change of the model."""
    config = write_study(tmp_path / "s", 3)
    with pytest.raises(KeyboardInterrupt):
        run_study(config, tmp_path / "out", executor=Ends(1))
    with np.load(tmp_path / "s" / "a.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "s" / "a.npz", **(arrays | {"E": -arrays["E"]}))
    run_study(config, tmp_path / "out")
    assert not (tmp_path / "out" / "units").exists()


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

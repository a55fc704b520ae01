"""Rankings on a Dask cluster: a real scheduler and workers, on loopback."""

from __future__ import annotations

import os
import re
import runpy
import signal
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.ranking.rank import joined
from kgtrec.ranking.tiles import Tiling
from kgtrec.workers import results
from kgtrec.workers.clusters import dask_workers
from tests.cli.test_rank_workers import write_world
from tests.clusters import Cluster
from tests.program import exit_code
from tests.ranking.test_tiles import columns, grid_of, model, world
from tests.trees import tree

distributed = pytest.importorskip("distributed", reason="Dask is not installed; pip install kgtrec[distributed]")
SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture
def grid():
    """Blocks of one question, in three shards, of which many are left while few are given out."""
    rng = np.random.default_rng(7)
    collection = world(rng, 60, 80)
    return grid_of(collection, model(rng, collection, PRODUCT), Tiling(1, 8, 3, panel=4), 5)


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    """Finished blocks are kept, and few pieces are given out at a time."""
    monkeypatch.setattr(results, "_WORTH", 0)
    monkeypatch.setattr(results, "_AHEAD_OF_EXECUTOR", 8)


def expected(grid):
    return columns(joined(list(grid.parts())))


def ranked(grid, address, acts, **options):
    """The parts of a grid by the workers of a cluster, of which one is harmed each time so many are done."""
    left, found = dict(acts), []
    for part in grid.parts(executor=lambda: dask_workers(address), **options):
        found.append(part)
        if (act := left.pop(len(found), None)) is not None:
            act()
    assert not left
    return found


def test_workers_killed_three_times_and_one_that_hangs_change_nothing(tmp_path, grid):
    """Each killed worker is replaced; one is stopped, never answers again, and is given up by the scheduler."""
    cluster = Cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="3 seconds")

    def harm(sign):
        os.killpg(cluster.workers[-1].pid, sign)
        cluster.add_worker()

    acts = {n: lambda: harm(signal.SIGKILL) for n in (2, 9, 17)} | {25: lambda: harm(signal.SIGSTOP)}
    try:
        found = ranked(grid, cluster.address, acts, unfinished=tmp_path / "m.unfinished")
    finally:
        cluster.close()
    assert columns(joined(found)) == expected(grid)


def test_a_lost_scheduler_is_told_and_what_is_left_is_done_by_another(cluster, grid, tmp_path):
    """Finished blocks are not done again."""
    unfinished = tmp_path / "m.unfinished"
    harm = {20: lambda: os.killpg(cluster.scheduler.pid, signal.SIGKILL)}
    with pytest.raises(KgtrecError, match="give"):
        ranked(grid, cluster.address, harm, unfinished=unfinished)
    kept = len(list(unfinished.glob("*.block")))
    assert 19 <= kept < len(grid)
    (tmp_path / "other").mkdir()
    other, given = Cluster(tmp_path / "other"), []
    block, grid.block = grid.block, lambda number: given.append(number) or block(number)
    try:
        found = ranked(grid, other.address, {}, unfinished=unfinished)
    finally:
        other.close()
    assert len(given) == len(grid) + kept  # finished blocks once to be recognised, once to be told
    assert columns(joined(found)) == expected(grid)


def test_a_score_that_is_none_is_told_at_once(cluster, grid, tmp_path):
    """With question and entity; no other worker is asked."""
    grid.candidates.vectors.E[:, 0] = np.nan
    with pytest.raises(KgtrecError, match=r"found NaN for question '[a-z]+[0-9]+', entity 'e"):
        ranked(grid, cluster.address, {}, unfinished=tmp_path / "m.unfinished")


def test_nobody_at_the_address_is_told():
    expected = "scheduler"
    with pytest.raises(KgtrecError, match=expected), dask_workers("tcp://127.0.0.1:9"):
        pass


@pytest.mark.slow
def test_the_lines_for_slurm_rank_on_a_real_cluster(tmp_path, monkeypatch):
    """Those of docs/scale.md, with a local cluster over TCP in the place of SLURM's, give the bytes of one process."""
    (lines,) = re.findall(r"```python\n(import subprocess\n.*?SLURMCluster.*?)```", SCALE.read_text(), re.DOTALL)
    asked = []

    class SLURMCluster(distributed.LocalCluster):
        """Takes what SLURM's takes; each of its jobs has two processes."""

        def __init__(self, *, cores, processes, memory, walltime):
            asked.append((cores, processes, memory, walltime))
            super().__init__(n_workers=0, threads_per_worker=1, processes=True, protocol="tcp://", host="127.0.0.1")

        def scale(self, n=0, *, jobs=None):
            asked.append(jobs)
            super().scale(n if jobs is None else 2)

    stand_in = ModuleType("dask_jobqueue")
    stand_in.SLURMCluster = SLURMCluster
    monkeypatch.setitem(sys.modules, "dask_jobqueue", stand_in)
    monkeypatch.chdir(tmp_path)
    write_world(tmp_path, "big")
    command = tmp_path / "bin" / "kgtrec"  # with this Python, which has Dask
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kgtrec "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    (tmp_path / "on_slurm.py").write_text(lines)
    runpy.run_path("on_slurm.py")
    assert asked == [(8, 8, "32GB", "04:00:00"), 25, None]
    assert len(lines.splitlines()) <= 10
    assert exit_code("rank", "C", "big.npz", "--out", "alone") == 0
    assert tree(tmp_path / "ranks") == tree(tmp_path / "alone")

"""Units on a Dask cluster: a real scheduler and workers, started from the command line, on loopback."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.ranking.executors import done_in_order
from kgtrec.ranking.plans import read_plan, write_plan
from kgtrec.ranking.rank import joined
from kgtrec.ranking.tiles import Tiling
from kgtrec.workers.clusters import dask_workers
from tests.clusters import Cluster
from tests.ranking.test_tiles import columns, grid_of, model, world

pytest.importorskip("distributed", reason="Dask is not installed; pip install kgtrec[distributed]")


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture
def grid():
    """A hundred blocks of one question, in three shards."""
    rng = np.random.default_rng(7)
    collection = world(rng, 60, 80)
    return grid_of(collection, model(rng, collection, PRODUCT), Tiling(1, 8, 3, panel=4), 5)


def expected(grid):
    return columns(joined(list(grid.in_turn())))


@contextmanager
def when_units_are_done(plan, counts, act):
    """Call ``act`` once each time so many units are done."""
    over, left = threading.Event(), list(counts)

    def watch():
        while left and not over.is_set():
            time.sleep(0.02)
            if len(plan) - len(plan.left()) >= left[0]:
                left.pop(0)
                act()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield left
    finally:
        over.set()
        thread.join()


def test_workers_killed_three_times_and_one_that_hangs_change_nothing(cluster, grid, tmp_path):
    """Each killed worker is replaced; one is stopped, and never answers again."""
    write_plan(tmp_path / "plan", grid)
    plan = read_plan(tmp_path / "plan")
    acts = iter([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])

    def harm():
        os.killpg(cluster.workers[-1].pid, next(acts))
        cluster.add_worker()

    with when_units_are_done(plan, (2, 20, 40, 60), harm) as left:
        found = list(done_in_order(plan, grid.collection, lambda: dask_workers(cluster.address), patience=3))
    assert left == []
    assert columns(joined(found)) == expected(grid)


def test_a_lost_scheduler_is_told_and_what_is_left_is_done_by_another(cluster, grid, tmp_path):
    write_plan(tmp_path / "plan", grid)
    plan = read_plan(tmp_path / "plan")
    with (
        when_units_are_done(plan, (5,), lambda: os.killpg(cluster.scheduler.pid, signal.SIGKILL)),
        pytest.raises(KgtrecError, match=r"found none that answers|lost all of them 3 times"),
    ):
        list(done_in_order(plan, grid.collection, lambda: dask_workers(cluster.address), patience=3))
    left = len(plan.left())
    assert 0 < left <= len(plan) - 5
    (tmp_path / "other").mkdir()
    other = Cluster(tmp_path / "other")
    try:
        found = list(done_in_order(plan, grid.collection, lambda: dask_workers(other.address)))
    finally:
        other.close()
    assert columns(joined(found)) == expected(grid)


def test_nobody_at_the_address_is_told():
    expected = r"expected a Dask scheduler at tcp://127\.0\.0\.1:9, found none that answers"
    with pytest.raises(KgtrecError, match=expected), dask_workers("tcp://127.0.0.1:9"):
        pass

"""Statistics on a Dask cluster: a real scheduler and workers, started from the command line, on loopback."""

from __future__ import annotations

import os
import signal

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.meta.stability import stability
from kgtrec.workers.clusters import dask_workers
from tests.cli.test_study import files, run, write_study
from tests.clusters import Cluster
from tests.meta.test_stability import MEASURES, STUDY

pytest.importorskip("distributed", reason="Dask is not installed; pip install kgtrec[distributed]")
SIZES = [0.2, 0.5, 0.7]


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


def when_done(counts, act):
    """A function for ``progress`` that calls ``act`` once each time so many subsamples are done."""
    left, total = list(counts), 0

    def progress(more):
        nonlocal total
        total += more
        if left and total >= left[0]:
            left.pop(0)
            act()

    return progress


def test_workers_that_are_killed_change_no_byte(cluster):
    """Each is replaced; none of the last ones has had the work from here."""
    alone, victims = stability(*STUDY, MEASURES, sizes=SIZES, repeats=100), iter(cluster.workers)

    def harm():
        os.killpg(next(victims).pid, signal.SIGKILL)
        cluster.add_worker()

    found = stability(
        *STUDY,
        MEASURES,
        sizes=SIZES,
        repeats=100,
        executor=lambda: dask_workers(cluster.address),
        progress=when_done((10, 60, 120), harm),
    )
    assert found.scores.tobytes() == alone.scores.tobytes()


def test_a_study_on_a_cluster_is_the_same(cluster, tmp_path):
    """With the tests that resample, and the ranges of correlations."""
    config = write_study(tmp_path)
    config.write_text(config.read_text() + '[power]\ntests = ["t", "bootstrap", "tukey"]\nrepeats = 40\n')
    assert run("study", config, "--out", tmp_path / "alone") == 0
    assert run("study", config, "--out", tmp_path / "shared", "--scheduler", cluster.address) == 0
    assert files(tmp_path / "shared") == files(tmp_path / "alone")


def test_a_lost_scheduler_is_told(cluster):
    harm = when_done((10,), lambda: os.killpg(cluster.scheduler.pid, signal.SIGKILL))
    with pytest.raises(KgtrecError, match=r"none that answers|stability: expected workers"):
        stability(
            *STUDY, MEASURES, sizes=SIZES, repeats=1000, executor=lambda: dask_workers(cluster.address), progress=harm
        )


def test_a_scheduler_without_workers_is_told(cluster):
    for worker in cluster.workers:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    with pytest.raises(KgtrecError, match="scheduler"):
        stability(*STUDY, MEASURES, sizes=SIZES, repeats=10, executor=lambda: dask_workers(cluster.address))

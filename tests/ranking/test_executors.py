"""Units on executors: the same bytes whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, FormatError, KgtrecError
from kgtrec.kernels.ranking import panels
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.ranking import plans
from kgtrec.ranking.executors import done_in_order
from kgtrec.ranking.plans import collected, do_unit, read_plan, write_plan
from kgtrec.ranking.rank import joined
from kgtrec.ranking.tiles import Tiling
from kgtrec.systems.kinds import Factors
from kgtrec.workers.processes import local_workers
from tests.executors import Fickle, fickle, threads
from tests.ranking.test_tiles import columns, grid_of, model, wide_model, world


@pytest.fixture
def grid():
    """Nine questions in blocks of two, forty entities in three shards."""
    rng = np.random.default_rng(0)
    collection = world(rng, 9, 40)
    return grid_of(collection, model(rng, collection, PRODUCT, n_unknown=2, n_extra=2), Tiling(2, 8, 3, panel=4), 5)


@pytest.fixture
def plan(grid, tmp_path):
    write_plan(tmp_path / "plan", grid)
    return read_plan(tmp_path / "plan")


def expected(grid):
    return columns(joined(list(grid.in_turn())))


def test_units_done_in_any_order_and_joined_are_the_ranking(grid, plan):
    units = np.random.default_rng(1).permutation(len(plan)).tolist()
    assert plan.left() == sorted(units)
    for unit in units:
        do_unit(str(plan.folder), unit)
    assert plan.left() == []
    assert columns(joined(list(collected(plan, grid.collection)))) == expected(grid)


def test_a_unit_that_is_done_is_not_done_again(plan):
    do_unit(str(plan.folder), 1)
    before = plan.path(1).stat()
    do_unit(str(plan.folder), 1)
    assert plan.path(1).stat().st_mtime_ns == before.st_mtime_ns
    assert 1 not in plan.left()


def test_an_executor_does_what_is_left(grid, plan):
    """Each block comes once, in order, with the number of its questions."""
    for unit in (0, 4):
        do_unit(str(plan.folder), unit)
    told = []
    found = list(done_in_order(plan, grid.collection, threads, progress=told.append))
    assert columns(joined(found)) == expected(grid)
    assert told == list(plan.questions)


def test_processes_give_the_same(grid, plan):
    found = list(done_in_order(plan, grid.collection, lambda: local_workers(2)))
    assert columns(joined(found)) == expected(grid)


@pytest.mark.parametrize("what", [OSError("disk"), MemoryError(), "says done", "hangs"], ids=str)
def test_a_unit_that_fails_twice_is_done_by_the_third(grid, plan, what):
    start = fickle(lambda unit, attempt: what if unit == 4 and attempt < 3 else None)
    found = list(done_in_order(plan, grid.collection, start, patience=0.3))
    assert columns(joined(found)) == expected(grid)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (OSError("disk"), r"unit 4 \(2 questions, rows .*\) has failed 3 times: OSError: disk"),
        ("says done", "has failed 3 times: FileNotFoundError: no result .*; do all workers see this folder?"),
        ("hangs", "expected unit 4 .* to be done by one of the 3 workers that it was given to, found none that"),
    ],
    ids=["error", "no-result", "hangs"],
)
def test_a_unit_that_fails_three_times_ends_it_with_what_is_done_kept(grid, plan, what, told):
    start = fickle(lambda unit, attempt: what if unit == 4 else None)
    with pytest.raises(KgtrecError, match=told):
        list(done_in_order(plan, grid.collection, start, patience=0.3))
    assert 4 in plan.left()
    assert columns(joined(list(done_in_order(plan, grid.collection, threads)))) == expected(grid)


def test_workers_that_are_all_lost_are_replaced(grid, plan):
    """Twice; the third time something was done meanwhile."""
    starts = []

    @contextmanager
    def start():
        starts.append(len(plan.left()))
        with ThreadPoolExecutor(1) as pool:
            first = min(plan.left(), default=0)
            yield Fickle(pool, lambda unit, _: BrokenExecutor("killed") if len(starts) < 4 and unit > first else None)

    found = list(done_in_order(plan, grid.collection, start))
    assert columns(joined(found)) == expected(grid)
    assert len(starts) == 4


def test_without_any_worker_it_ends(grid, plan):
    start = fickle(lambda unit, attempt: BrokenExecutor("gone"))
    with pytest.raises(KgtrecError, match=r"lost all of them 3 times .*BrokenExecutor: gone"):
        list(done_in_order(plan, grid.collection, start))


@pytest.mark.slow
def test_killed_processes_change_nothing(tmp_path):
    """Up to three times SIGKILL to a worker while it works."""
    rng = np.random.default_rng(4)
    collection = world(rng, 40, 60)
    own = grid_of(collection, model(rng, collection, PRODUCT), Tiling(1, 1024), 3)
    write_plan(tmp_path / "plan", own)
    plan = read_plan(tmp_path / "plan")
    kills, over = [], threading.Event()

    def kill():
        done = 0
        while not over.is_set() and len(kills) < 3:
            time.sleep(0.01)
            now = len(plan) - len(plan.left())
            if now > done:
                done = now
                for process in active_children()[:1]:
                    with suppress(ProcessLookupError):  # it may be one that was killed before
                        os.kill(process.pid, signal.SIGKILL)
                        kills.append(process.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = list(done_in_order(plan, collection, lambda: local_workers(2)))
    finally:
        over.set()
        killer.join()
    assert columns(joined(found)) == columns(joined(list(own.in_turn())))
    assert kills


def test_nan_is_told_with_its_labels(grid, tmp_path):
    vectors = grid.candidates.vectors
    object.__setattr__(grid.candidates, "vectors", panels.Vectors(vectors.E * np.nan, vectors.b, vectors.comparison))
    write_plan(tmp_path / "plan", grid)
    with pytest.raises(KgtrecError, match=r"found NaN for question '[a-z]+[0-9]', entity 'e"):
        list(done_in_order(read_plan(tmp_path / "plan"), grid.collection, threads))


def test_what_is_not_done_is_told(grid, plan):
    do_unit(str(plan.folder), 0)
    with pytest.raises(KgtrecError, match=f"found {len(plan) - 1} that are not: 1, 2, 3, 4, 5, ..."):
        list(collected(plan, grid.collection))


def test_another_collection_is_refused(grid, plan):
    other = world(np.random.default_rng(9), 3, 8)
    with pytest.raises(CollectionError, match="of the plan, found"):
        list(collected(plan, other))


def test_a_plan_is_written_into_an_empty_folder_only(grid, plan, tmp_path):
    do_unit(str(plan.folder), 0)
    with pytest.raises(FormatError):
        write_plan(plan.folder, grid)
    assert plan.path(0).exists()
    with pytest.raises(FormatError, match="expected a plan of kgtrec rank --plan, found none"):
        read_plan(tmp_path)


def test_a_result_that_cannot_be_written_is_not_there(plan, monkeypatch):
    """A disk that is full while the result is written."""

    def full(stream, **arrays):
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plans.np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        do_unit(str(plan.folder), 0)
    assert list((plan.folder / "done").iterdir()) == []


def test_vectors_in_a_mapped_file_stay_where_they_are(grid, tmp_path):
    vectors, E = grid.candidates.vectors, tmp_path / "big.npy"
    np.save(E, vectors.E)
    mapped = np.load(E, mmap_mode="r")
    for array, copied in ((mapped, False), (mapped[::-1], True)):
        object.__setattr__(grid.candidates, "vectors", panels.Vectors(array, vectors.b, vectors.comparison))
        folder = tmp_path / f"plan-{copied}"
        write_plan(folder, grid)
        assert (folder / "E.npy").exists() == copied
        np.testing.assert_array_equal(read_plan(folder).candidates.vectors.E, array)


@pytest.mark.parametrize("damage", ["{", "{}", '{"format": "rank plan", "version": 2}', "[1]"])
def test_a_damaged_plan_is_refused(plan, damage):
    Path(plan.folder, "plan.json").write_text(damage)
    with pytest.raises(FormatError):
        read_plan(plan.folder)


def test_a_model_that_knows_no_question_has_no_queries(tmp_path):
    """Blocks of questions that cannot be asked are units as well."""
    rng = np.random.default_rng(5)
    collection = world(rng, 4, 9)
    known = model(rng, collection, PRODUCT)
    anchors = {collection.entities[code] for code in collection.questions.anchor.tolist()}
    others = [place for place, label in enumerate(known.entities) if label not in anchors]
    names = known.entities.decode(np.array(others, np.int32))
    queries = known.tail_queries, known.head_queries
    few = Factors("few", Vocabulary(names), known.relations, known.E[others], None, *queries)
    own = grid_of(collection, few, Tiling.of(9), 3)
    write_plan(tmp_path / "plan", own)
    found = list(done_in_order(read_plan(tmp_path / "plan"), collection, threads))
    assert columns(joined(found)) == columns(joined(list(own.in_turn())))
    assert all(part.answer_ranks.above.max(initial=0) == 0 for part in found)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_what_rounding_takes_is_an_error_by_workers_too(tmp_path, n_shards):
    """Factors in float64 that all tie in float32: whoever counts them, and whoever joins what was counted."""
    rng = np.random.default_rng(0)
    collection = world(rng, 9, 40)
    factors, _ = wide_model(rng, collection, lambda E, b: (E, b + 1e9))
    write_plan(tmp_path / "plan", grid_of(collection, factors, Tiling(2, 8, n_shards, panel=4), 5))
    plan = read_plan(tmp_path / "plan")
    for parts in (lambda: done_in_order(plan, collection, threads), lambda: collected(plan, collection)):
        with pytest.raises(KgtrecError, match="made: expected scores that differ in float32 where they"):
            list(parts())
        for unit in plan.left():
            do_unit(str(plan.folder), unit)

"""Results of pieces: the same whoever does them, and whatever becomes of that."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from multiprocessing import active_children

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import KgtrecError, KgtrecWarning, warn
from kgtrec.workers import results as module
from kgtrec.workers.processes import local_workers
from kgtrec.workers.results import results
from tests.examples import examples
from tests.executors import Copying, fickle, threads

PIECES = [(number, number % 3) for number in range(7)]


class Work:
    """Multiplies; counts in each process how often it was unpickled, and how often it was pickled."""

    pickled = unpickled = 0

    def __call__(self, one: int, other: int) -> int:
        warn("each piece says so")
        return 10 * one + other

    def __getstate__(self) -> dict[str, int]:
        type(self).pickled += 1
        return {}

    def __setstate__(self, _: dict[str, int]) -> None:
        type(self).unpickled += 1


EXPECTED = [10 * one + other for one, other in PIECES]


@given(st.permutations(range(7)))
@settings(max_examples=examples(10))
def test_results_come_in_the_order_of_the_pieces_whichever_is_done_first(order):
    held: list[tuple[Future, object]] = []

    class Late(Executor):
        def submit(self, function, /, *arguments):
            held.append((Future(), lambda: function(*arguments)))
            if len(held) == 7:
                threading.Thread(target=self.answer).start()
            return held[-1][0]

        def answer(self):
            for place in order:
                held[place][0].set_result(held[place][1]())

    assert list(results(Work(), PIECES, executor=Late())) == EXPECTED


def test_nobody_hears_the_warnings_of_pieces():
    """By one, by threads at once and by copies; what is heard afterwards is as before."""
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", KgtrecWarning)
        with ThreadPoolExecutor(3) as pool:
            for executor in (None, pool, Copying(), threads):
                assert list(results(Work(), PIECES, executor=executor)) == EXPECTED
        with pytest.raises(KgtrecWarning):
            warn("each piece says so")
    assert list(warnings.filters) == before


def test_work_is_pickled_once_and_unpickled_once_by_a_process():
    Work.pickled = Work.unpickled = 0
    assert list(results(Work(), PIECES, executor=Copying())) == EXPECTED
    assert (Work.pickled, Work.unpickled) == (1, 1)


def test_threads_have_the_work_itself():
    Work.pickled = 0
    with ThreadPoolExecutor(2) as pool:
        assert list(results(Work(), PIECES, executor=pool)) == EXPECTED
    assert Work.pickled == 0


def test_nothing_to_do_is_done_by_nobody():
    def start():
        raise AssertionError

    assert list(results(Work(), [], workers=3)) == []
    assert list(results(Work(), [], executor=start)) == []


def test_short_work_starts_no_process(monkeypatch):
    """Whatever number is asked for."""
    monkeypatch.setattr(module, "local_workers", None)
    assert list(results(Work(), PIECES, workers=9)) == EXPECTED


@pytest.mark.parametrize("n_pieces", [1, 2, 100])
def test_pieces_are_taken_as_they_are_given_out(n_pieces, monkeypatch):
    """A few more than there are workers, so that not all of them are in memory."""
    monkeypatch.setattr(module, "_AHEAD_OF_EXECUTOR", 5)
    taken, most = [], 0
    pieces = (taken.append(number) or (number, 0) for number in range(n_pieces))
    with ThreadPoolExecutor(2) as pool:
        for place, _ in enumerate(results(Work(), pieces, n_pieces=n_pieces, executor=pool)):
            most = max(most, len(taken) - place)
    assert len(taken) == n_pieces
    assert most <= 5


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (OSError("net"), r"stability:.*OSError"),
        (MemoryError(), "^stability: part 5 of 7 failed"),
        (KgtrecError("no such measure"), "^no such measure$"),
    ],
    ids=["error", "memory", "refused"],
)
def test_a_piece_that_fails_ends_it_at_once(what, told):
    """Though the piece before it hangs; who gives it again is the executor's matter, as Dask does."""

    def becomes(piece, attempt):
        return what if piece == (4, 1) else "hangs" if piece == (3, 0) else None

    with pytest.raises(KgtrecError, match=told):
        list(results(Work(), PIECES, executor=fickle(becomes), name="stability"))


def test_what_is_refused_is_not_given_again():
    """Another worker of Dask would refuse it too: for its scheduler the piece is done."""

    def refuse(number):
        raise KgtrecError(f"no {number}")

    sent: list[Future] = []

    class Watched(Copying):
        def submit(self, function, /, *arguments):
            sent.append(ThreadPoolExecutor(1).submit(function, *arguments))
            return sent[-1]

    with pytest.raises(KgtrecError, match=r"^no 3$"):
        list(results(refuse, [(3,)], executor=Watched()))
    assert [future.exception() for future in sent] == [None]


def test_workers_that_are_all_lost_are_replaced_and_do_what_is_left():
    """What came before is not asked for again."""
    asked = []

    def becomes(piece, attempt):
        asked.append(piece)
        return BrokenExecutor("killed") if piece[0] > 3 and len(asked) < 8 else None

    assert list(results(Work(), PIECES, executor=fickle(becomes))) == EXPECTED
    assert asked.count((6, 0)) == 2


def test_without_any_worker_it_ends():
    start = fickle(lambda piece, attempt: BrokenExecutor("gone"))
    with pytest.raises(KgtrecError, match=r"work:.*workers"):
        list(results(Work(), PIECES, executor=start))


def test_workers_and_an_executor_are_not_both_asked_for():
    with pytest.raises(KgtrecError, match="found both: 2 and"):
        list(results(Work(), PIECES, workers=2, executor=threads))


def slow(number: int) -> tuple[int, int]:
    time.sleep(0.02)
    return number, os.getpid()


def threads_of_products() -> str:
    time.sleep(0.3)  # so that each of two processes does one
    return f"{os.getpid()} {os.environ.get('OPENBLAS_NUM_THREADS')}"


@pytest.mark.slow
def test_each_process_computes_in_one_thread(monkeypatch):
    """Not only the first, which a pool starts before the others."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with local_workers(2) as pool:
        found = {future.result() for future in [pool.submit(threads_of_products) for _ in range(2)]}
    assert len(found) == 2
    assert {each.split()[1] for each in found} == {"1"}


@pytest.mark.slow
def test_killed_processes_change_nothing(monkeypatch):
    """The first pieces are done here, the others by two processes; one is killed, and new ones do the rest."""
    monkeypatch.setattr(module, "_WORTH", 0.1)
    pieces, killed, found = [(number,) for number in range(300)], [], []
    for number, process in results(slow, pieces, workers=2):
        found.append((number, process))
        if process != os.getpid() and not killed:
            killed.append(process)
            os.kill(process, signal.SIGKILL)
    assert [number for number, _ in found] == list(range(300))
    by = [process for _, process in found]
    assert by[0] == os.getpid() != by[-1]
    assert len(killed) == 1
    assert len(set(by)) > 2
    patience = time.monotonic() + 30  # until they have ended
    while (left := {process.pid for process in active_children()} & set(by)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not left

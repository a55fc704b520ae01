"""Processes that do units of work."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import active_children

import pytest

from kgtrec.workers import processes
from kgtrec.workers.processes import local_workers


def lose(pool: ProcessPoolExecutor, others: set) -> list[int]:
    """Kill the processes that a pool has, and wait until it has ended them all."""
    killed = [process.pid for process in set(active_children()) - others]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    while killed and not pool._broken:
        time.sleep(0.01)
    time.sleep(0.5 * bool(killed))
    return killed


def ended(others: set) -> bool:
    """Whether all processes but the others end within ten seconds."""
    for _ in range(1000):
        if set(active_children()) <= others:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_a_worker_that_is_lost_while_another_one_starts_ends_the_pool(monkeypatch):
    """The pool has ended its processes by then, and would wait for ever for the one that it knows only afterwards."""
    others, killed = set(active_children()), []

    class Losing(ProcessPoolExecutor):
        def _spawn_process(self):
            first = dict(self._processes)
            super()._spawn_process()
            (second,) = set(self._processes) - set(first)
            process = self._processes.pop(second)
            killed.extend(lose(self, others | {process}))  # while a lock is held that the pool needs to wait
            self._processes[second] = process

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Losing)
    monkeypatch.setattr(processes, "_PARTING", 0.1)
    with pytest.raises(BrokenExecutor), local_workers(2) as pool:
        pool.submit(os.getpid).result()
    assert len(killed) == 1
    assert ended(others)


@pytest.mark.slow
def test_a_worker_that_is_lost_before_another_one_starts_ends_the_pool(monkeypatch):
    """What the next process would read from is closed by then."""
    others, killed = set(active_children()), []

    class Losing(ProcessPoolExecutor):
        def _spawn_process(self):
            killed.extend(lose(self, others))
            super()._spawn_process()

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Losing)
    with pytest.raises(BrokenExecutor), local_workers(2) as pool:
        pool.submit(os.getpid).result()
    assert len(killed) == 1
    assert ended(others)


def test_a_process_that_the_system_refuses_is_told(monkeypatch):
    """As if there were too many already."""

    class Refused(ProcessPoolExecutor):
        def submit(self, *_):
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Refused)
    with pytest.raises(BrokenExecutor, match="temporarily"), local_workers(2):
        pass


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(keeper, 9); os.waitid(os.P_PID, keeper, os.WEXITED)"])
def test_what_a_pool_shared_is_removed_without_a_word(end):
    """By another process, which would warn if the command ends at once, or, started again, of what it never knew."""
    program = (
        "import os, sys\n"
        "from multiprocessing import resource_tracker\n"
        "from kgtrec.workers.processes import local_workers\n"
        "if __name__ == '__main__':\n"
        "    with local_workers(1):\n"
        "        keeper = resource_tracker._resource_tracker._pid\n"
        f"        {end}\n"
        "    print('here', file=sys.stderr)\n"
    )
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stderr == ("" if "exit" in end else "here\n")

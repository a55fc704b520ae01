"""Processes of this machine, which end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import pickle  # nosec B403 # of what is sent to our own processes
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

_PARTING = 5.0  # seconds that a process has to end by itself

_of_process: list[Callable[..., Any]] = []  # the function that a worker process was started with


@contextmanager
def local_workers(workers: int, work: Callable[..., Any] | None = None) -> Iterator[Executor]:
    """New processes, which are all started when this returns, and ended at the end, whatever they are at.

    Parameters
    ----------
    workers : int
    work : callable, optional
        What each is given once, for :func:`do`.

    Raises
    ------
    BrokenExecutor
        If one cannot be started, or is lost while others are started.
    """
    # new processes: a fork of one that has threads, such as Arrow's, may hang
    context, others = multiprocessing.get_context("spawn"), set(active_children())
    sent = pickle.dumps(work)  # once; what goes wrong here is no loss of a process
    _start_keeper()
    with ProcessPoolExecutor(workers, context, _begin, (sent,)) as pool:
        own: set[BaseProcess] = set()
        try:
            with _sigint_blocked(), _one_thread_each():
                while len(own) < workers:  # a pool starts a process when it is given work and none is idle
                    try:
                        pool.submit(_nothing)
                    except OSError as error:  # the system has no room for one, or another one was lost meanwhile
                        raise BrokenExecutor(f"a process could not be started: {error}") from error
                    own = set(active_children()) - others
            yield pool
        finally:
            _start_keeper()  # again, if it was killed
            # a pool waits for all of its processes, also for one that it started just after it had ended the others
            # since one of them was lost
            pool.shutdown(wait=False, cancel_futures=True)
            for process in own:
                process.join(_PARTING)
            for process in own:
                process.kill()  # one that hangs


def _nothing() -> None:
    """Do it."""


def do(piece: tuple[Any, ...]) -> Any:
    """Call the function that the process was started with on the arguments of a piece."""
    return _of_process[-1](*piece)


def _begin(sent: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that distributes the work handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # reported once, by the process that has the whole result
    _of_process.append(pickle.loads(sent))  # noqa: S301 # nosec B301 # from the process that distributes the work


def _end_with_parent() -> None:
    """End with the parent: a pool's worker would wait for ever if the process that distributes the work was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started here compute products in one thread, since there are several of them."""
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    unset = [name for name in names if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]


def _start_keeper() -> None:
    """Start the process that removes what an interrupted pool had shared, unless it runs; its messages go nowhere.

    It warns about all that it removes, and prints a traceback for all that was shared before it was killed and
    started again.
    """
    if os.name != "posix" or sys.__stderr__ is None:  # Windows shares nothing that has to be removed
        return
    earlier, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)  # which it inherits
        resource_tracker.ensure_running()
    finally:
        os.dup2(earlier, 2)
        os.close(earlier)
        os.close(nowhere)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl-C; one that is still starting would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)

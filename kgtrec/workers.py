"""Work distributed to processes, which end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from kgtrec.errors import KgtrecWarning

Value = TypeVar("Value")
Piece = tuple[Any, ...]

_of_process: list[Callable[..., Any]] = []  # the function that a worker process was started with


def results(work: Callable[..., Value], pieces: Sequence[Piece], workers: int) -> Iterator[Value]:
    """The results of ``work`` for the arguments of each piece, in their order, without its warnings.

    Parameters
    ----------
    work : callable
        Pickled once for each process, if there are several.
    pieces : sequence of tuple
    workers : int
        Processes; 1: this one.
    """
    if workers == 1:
        for piece in pieces:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KgtrecWarning)
                value = work(*piece)
            yield value
        return
    with processes(min(workers, len(pieces)), work) as pool:
        yield from pool.map(_do, pieces)


@contextmanager
def processes(workers: int, work: Callable[..., Any] | None = None) -> Iterator[ProcessPoolExecutor]:
    """New processes, which are all started when this returns; what is not begun when the block ends is left.

    Parameters
    ----------
    workers : int
    work : callable, optional
        What each is given once.
    """
    # new processes: a fork of one that has threads, such as Arrow's, may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (work,)) as pool:
        try:
            with _deaf(), _one_thread_each():
                pool.submit(_nothing)  # which starts them all
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def _nothing() -> None:
    """Do it."""


def _do(piece: Piece) -> Any:
    return _of_process[-1](*piece)


def _begin(work: Callable[..., Any] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that distributes the work handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # reported once, by the process that has the whole result
    if work is not None:
        _of_process.append(work)


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
    missing = [name for name in names if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


@contextmanager
def _deaf() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl-C; one that is still starting would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)

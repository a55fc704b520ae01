"""Work that is shared among processes, which end with the one that shares it out."""

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

_of_process: list[Callable[..., Any]] = []  # what a worker process was started with


def results(work: Callable[..., Value], pieces: Sequence[Piece], workers: int) -> Iterator[Value]:
    """What ``work`` returns for the arguments of each piece, in their order, without its warnings.

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
    # fresh processes: a fork of one that has threads, as Arrow's, may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(pieces)), context, _begin, (work,)) as pool:
        try:
            with _deaf():
                values = pool.map(_do, pieces)
            yield from values
        finally:
            pool.shutdown(cancel_futures=True)


def _do(piece: Piece) -> Any:
    return _of_process[-1](*piece)


def _begin(work: Callable[..., Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shares out the work is the one to be stopped
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # told once, by the process that knows all of the result
    _of_process.append(work)


def _end_with_parent() -> None:
    """A pool's worker would wait for work for ever if the process that shares it out was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started here ignore Ctrl-C, at which one that is still starting would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)

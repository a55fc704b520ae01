"""The results of one function for many pieces of work, whoever does them."""

from __future__ import annotations

import pickle  # nosec B403 # of what is sent to our own workers
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any, TypeVar

from kgtrec.errors import KgtrecError, KgtrecWarning, whole_number
from kgtrec.workers.processes import do, local_workers
from kgtrec.workers.units import PATIENCE, Give, Start, Units, done

Value = TypeVar("Value")
Piece = tuple[Any, ...]
Work = Callable[..., Any]
#: an executor, or what starts one
Helper = Executor | Start

_WORTH = 3.0  # seconds of work, below which no processes are started: that takes one or two


def number_of_workers(workers: int | None, executor: Helper | None) -> int:
    """How many processes are asked for; 1: none besides this one.

    Raises
    ------
    KgtrecError
        If it is no number of processes, or if there is an executor too.
    """
    if workers is None:
        return 1
    if executor is not None:
        raise KgtrecError(f"expected workers or an executor, found both: {workers} and {executor!r}")
    return whole_number("workers", workers, 1)


def are_worth_it(begun: float, n_done: int, n_left: int) -> bool:
    """Whether processes are worth their start, by how long a part took since ``begun`` (``time.perf_counter``)."""
    return n_done > 0 and (time.perf_counter() - begun) / n_done * n_left > _WORTH


def results(
    work: Callable[..., Value],
    pieces: Sequence[Piece],
    *,
    workers: int | None = None,
    executor: Helper | None = None,
    name: str = "work",
) -> Iterator[Value]:
    """The results of ``work`` for the arguments of each piece, in their order, without its warnings.

    Parameters
    ----------
    work : callable
        What it gives for a piece must depend on nothing else. Each process has a copy of it.
    pieces : sequence of tuple
        The longest first.
    workers : int, optional
        Processes of this machine. They are started when the first pieces have shown that the others take more than
        three seconds. Default: 1, this one.
    executor : Executor, or a function that starts one, optional
        Does all pieces. A function, which gives a context manager, is called again when all workers are lost.
    name : str
        What the work is, for messages.

    Raises
    ------
    KgtrecError
        What ``work`` raises; if a piece fails three times; or if no workers can be had.
    """
    workers, place = number_of_workers(workers, executor), 0
    if executor is None:
        begun = time.perf_counter()
        while place < len(pieces):
            if workers > 1 and are_worth_it(begun, place, len(pieces) - place):
                break
            with _QUIET:
                value = work(*pieces[place])
            yield value
            place += 1
    left = range(place, len(pieces))
    if not left:
        return

    def begin() -> AbstractContextManager[Give]:
        if executor is None:
            return _processes(work, pieces, min(workers, len(left)))
        return _others(work, pieces, nullcontext(executor) if isinstance(executor, Executor) else executor())

    units = Units(total=len(pieces), where=name)
    # a process that is lost is noticed; other workers may hang
    patience = float("inf") if executor is None else PATIENCE
    early: dict[int, Value] = {}
    with closing(done(units, left, begin, patience=patience)) as arriving:
        for number, found in arriving:
            early[number] = found
            while place in early:
                yield early.pop(place)
                place += 1


@contextmanager
def _processes(work: Work, pieces: Sequence[Piece], workers: int) -> Iterator[Give]:
    with local_workers(workers, work) as pool:
        yield lambda number: pool.submit(do, pieces[number])


@contextmanager
def _others(work: Work, pieces: Sequence[Piece], start: AbstractContextManager[Executor]) -> Iterator[Give]:
    with start as executor:
        sent = _on_cluster(executor, _Sent(work))

        def give(number: int) -> Future[Any]:
            return executor.submit(_do, sent, pieces[number])

        yield give


def _on_cluster(executor: Executor, sent: _Sent) -> Any:
    """What is sent with every piece: for Dask a key of what its workers have from now on."""
    client = getattr(executor, "_client", None)  # distributed.cfexecutor.ClientExecutor's
    if client is None or not hasattr(client, "scatter"):
        return sent
    try:
        return client.scatter(sent, broadcast=True, hash=False)
    except TimeoutError as error:
        raise KgtrecError(
            f"expected workers of the Dask scheduler {client.scheduler.address}, found none ({error})"
        ) from None


def _do(sent: _Sent, piece: Piece) -> Any:
    with _QUIET:
        return sent.work(*piece)


class _Sent:
    """Work that is pickled once, however often it is sent, and unpickled once by each process."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._pickled: tuple[str, bytes] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._pickled is None:
            self._pickled = uuid.uuid4().hex, pickle.dumps(self.work, pickle.HIGHEST_PROTOCOL)
        return _received, self._pickled


_last: dict[str, _Sent] = {}  # the work that this process received last


def _received(key: str, pickled: bytes) -> _Sent:
    sent = _last.get(key)
    if sent is None:
        # from the process that distributes the work
        sent = _Sent(pickle.loads(pickled))  # noqa: S301 # nosec B301
        sent._pickled = key, pickled
        _last.clear()
        _last[key] = sent
    return sent


class _Quiet:
    """Suppresses our warnings; may be entered by several threads at once, which ``catch_warnings`` may not."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._filters = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.simplefilter("ignore", KgtrecWarning)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._filters.__exit__(None, None, None)


_QUIET = _Quiet()

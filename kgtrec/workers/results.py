"""The results of one function for many pieces of work, whoever does them."""

from __future__ import annotations

import pickle  # nosec B403 # of what is sent to our own workers
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import Any, TypeVar

from kgtrec.errors import KgtrecError, KgtrecWarning, whole_number
from kgtrec.workers.processes import do, local_workers

Value = TypeVar("Value")
Piece = tuple[Any, ...]
Work = Callable[..., Any]
#: an executor, or what starts one
Helper = Executor | Callable[[], AbstractContextManager[Executor]]
_Give = Callable[[Piece], Future[Any]]

_WORTH = 3.0  # seconds of work, below which no processes are started: that takes one or two
_LOSSES = 3  # how often all workers may be lost before a piece is done
_AHEAD = 4  # pieces that are given out for each process of this machine, which bounds what is in memory
_AHEAD_OF_EXECUTOR = 256  # and for an executor, whose workers are not known
_LISTENING = 1.0  # seconds, after which Ctrl-C is noticed on Windows


def number_of_workers(workers: int | None, executor: Helper | None) -> int:
    """Count the processes that are asked for; 1: none besides this one.

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
    """Return whether processes are worth their start, from the time since ``begun`` (``time.perf_counter``)."""
    return n_done > 0 and (time.perf_counter() - begun) / n_done * n_left > _WORTH


def results(
    work: Callable[..., Value],
    pieces: Iterable[Piece],
    *,
    n_pieces: int | None = None,
    workers: int | None = None,
    executor: Helper | None = None,
    name: str = "work",
) -> Generator[Value, None, None]:
    """Yield the results of ``work`` for the arguments of each piece, in their order, without its warnings.

    Parameters
    ----------
    work : callable
        What it gives for a piece must depend on nothing else. Each process has a copy of it.
    pieces : iterable of tuple
        Taken as they are given out, a few more than there are workers.
    n_pieces : int, optional
        How many there are. Default: ``len(pieces)``.
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
        What ``work`` raises; if a piece fails in another way; or if no workers can be had.
    """
    workers, coming = number_of_workers(workers, executor), enumerate(pieces)
    if n_pieces is None:
        n_pieces = len(pieces) if isinstance(pieces, Sized) else 0
    at = 0  # the piece whose value comes next
    if executor is None:
        begun = time.perf_counter()
        while workers == 1 or not are_worth_it(begun, at, n_pieces - at):
            if (numbered := next(coming, None)) is None:
                return
            with _QUIET:
                value = work(*numbered[1])
            yield value
            at += 1
    elif n_pieces == 0:
        return
    held: dict[int, Piece] = {}  # that were given out, and whose values were not passed on
    values: dict[int, Any] = {}  # that came early
    losses = 0
    while True:
        try:
            with _given(work, min(workers, n_pieces - at), executor) as (give, ahead):
                running = {give(piece): number for number, piece in held.items() if number not in values}
                while True:
                    for number, piece in islice(coming, ahead - len(held)):
                        held[number] = piece
                        running[give(piece)] = number
                    if not running:
                        return
                    ended = wait(running, timeout=_LISTENING, return_when=FIRST_COMPLETED).done
                    for future in sorted(ended, key=running.__getitem__):
                        number = running.pop(future)
                        values[number] = _value(future, f"{name}: part {number + 1:,} of {n_pieces:,}")
                        losses = 0
                    while at in values:
                        del held[at]
                        yield values.pop(at)
                        at += 1
        except (BrokenExecutor, CancelledError) as error:
            losses += 1
            if losses == _LOSSES:
                raise KgtrecError(
                    f"{name}: expected workers, and lost all of them {_LOSSES} times before a part was done "
                    f"({type(error).__name__}: {error}); give the same command again"
                ) from error


def _value(future: Future[Any], what: str) -> Any:
    """The value of a piece that is done; its error, unless all workers are lost, as one of kgtrec."""
    try:
        value = future.result()
    except (BrokenExecutor, CancelledError, KgtrecError):
        raise
    except Exception as error:
        raise KgtrecError(f"{what} failed ({type(error).__name__}: {error}); give the same command again") from error
    if isinstance(value, KgtrecError):
        raise value
    return value


@contextmanager
def _given(work: Work, workers: int, executor: Helper | None) -> Iterator[tuple[_Give, int]]:
    """What gives a piece to workers, and how many pieces they are given at a time."""
    if executor is None:
        with local_workers(workers, work) as pool:
            yield lambda piece: pool.submit(do, piece), _AHEAD * workers
        return
    with nullcontext(executor) if isinstance(executor, Executor) else executor() as others:
        sent = _on_cluster(others, _Sent(work))
        yield lambda piece: others.submit(_do, sent, piece), _AHEAD_OF_EXECUTOR


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
    try:
        with _QUIET:
            return sent.work(*piece)
    except KgtrecError as error:
        return error  # raised by who waits for it: Dask would give to others what nobody can do


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

"""Several outputs that take their places together: each is whole on the disk before the first does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from kgtrec.formats.output.exchange import uninterrupted


@dataclass(slots=True)
class _Waiting:
    """What is whole, and has not taken its place."""

    installs: list[Callable[[], object]] = field(default_factory=list)
    places: dict[Path, Path] = field(default_factory=dict)  # target -> where its content is
    cleanup: ExitStack = field(default_factory=ExitStack)  # with an error, removes what is there


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Let the files and folders that are written in the block take their places at its end, in their order.

    If the block fails, as on a full disk, none does, and what was there before stays. A block within another one is a
    part of it.
    """
    if _waiting.get() is not None:
        yield
        return
    waiting = _Waiting()
    with waiting.cleanup:
        token = _waiting.set(waiting)
        try:
            yield
        finally:
            _waiting.reset(token)
        with uninterrupted():
            for install in waiting.installs:
                install()


def take_place(target: Path, part: Path, install: Callable[[], object], cleanup: ExitStack) -> None:
    """Install an output that is whole: now, or at the end of the block of :func:`together`.

    Parameters
    ----------
    target, part : path
        Where it will be, and where it is.
    install : callable
    cleanup : ExitStack
        What is to be done after that, or, with an error, instead.
    """
    waiting = _waiting.get()
    if waiting is None:
        with cleanup:
            install()
        return
    waiting.cleanup.push(cleanup)
    waiting.installs.append(install)
    waiting.places[target] = part


def afterwards(action: Callable[[], object]) -> None:
    """Do something after all outputs before it have taken their places."""
    waiting = _waiting.get()
    if waiting is None:
        action()
    else:
        waiting.installs.append(action)


def content_of(target: Path) -> Path:
    """Where the content of an output is that may not have taken its place."""
    waiting = _waiting.get()
    return target if waiting is None else waiting.places.get(target, target)


def on_failure(action: Callable[[], object]) -> None:
    """Do something last if the block of :func:`together` fails, when all else of it is removed; nothing outside one."""
    waiting = _waiting.get()
    if waiting is None:
        return

    def act(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            action()

    waiting.cleanup.push(act)

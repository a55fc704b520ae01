"""Moving files and folders into place: in one step where the system can, and reversibly where it cannot."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

NO_REPLACE, EXCHANGE = 1, 2  # flags of Linux's renameat2
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
_PART = re.compile(r"\.(.+)\.[0-9a-f]{8}\.kgtrec-part", re.DOTALL)
_MOST = 50  # characters of a name, of up to 4 bytes each; a name may have 255 bytes


def is_part(name: str, of: str | None = None) -> bool:
    """Whether a file or folder of this name is an unfinished one of a writer, of any target or of ``of``."""
    found = _PART.fullmatch(name)
    return found is not None and (of is None or found[1] == of[:_MOST])


def part_name(name: str) -> str:
    """An unused name for a file or folder that will be renamed to ``name``."""
    return f".{name[:_MOST]}.{os.urandom(4).hex()}.kgtrec-part"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay the effect of signals to the end of the block, which must be short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    came: list[int] = []
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)):
            if callable(signal.getsignal(number)) and number not in before:
                before[number] = signal.signal(number, lambda found, _: came.append(found))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def renamed_to_new(source: Path, place: Path) -> None:
    """Rename to an unused name.

    Raises
    ------
    FileExistsError
        If the name is in use.
    """
    if renamed(source, place, NO_REPLACE):
        return
    if os.path.lexists(place):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(place))
    source.rename(place)


def renamed(source: Path, place: Path, flags: int) -> bool:
    """Linux's renameat2; False where the system or the disk does not have it."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # seldom needed, and not for --help

    with suppress(AttributeError):
        system = ctypes.CDLL(None, use_errno=True)
        at_here = -100
        if system.renameat2(at_here, os.fsencode(source), at_here, os.fsencode(place), flags) == 0:
            return True
        number = ctypes.get_errno()
        if number not in _NOT_SUPPORTED:
            raise OSError(number, os.strerror(number), os.fspath(source))
    return False


def move(moves: Sequence[tuple[Path, Path]]) -> None:
    """Rename several, one after the other, all or none."""
    try:
        for source, place in moves:
            renamed_to_new(source, place)
    except BaseException:
        for source, place in reversed(moves):
            if not os.path.lexists(source):  # it has been moved
                with suppress(OSError):
                    place.replace(source)
        raise


def link(source: Path, place: Path) -> None:
    """A second name for a file, or a copy of it where a file can have only one.

    Raises
    ------
    FileExistsError
        If that name is in use.
    """
    try:
        os.link(source, place)
    except FileExistsError:
        raise
    except OSError:
        place.touch(exist_ok=False)
        shutil.copy2(source, place)


def lock(handle: int, *, wait: bool = True) -> bool:
    """Mark a file or folder as in use for other programs, as long as the handle is open.

    False where the system or the disk cannot lock, or if another program has the lock and this one does not ``wait``.
    """
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    return False


@contextmanager
def held(place: Path) -> Iterator[bool]:
    """Lock a file or folder until the block ends, even if it is moved; False if that is not possible now."""
    handle = -1
    try:
        with suppress(ImportError, OSError):
            import fcntl  # noqa: F401  # a system without it does not move what is open

            handle = os.open(place, os.O_RDONLY)
        yield handle >= 0 and lock(handle, wait=False)
    finally:
        if handle >= 0:
            os.close(handle)

"""The lock of a campaign: a program holds it while it changes anything in the folder, so that no other does.

It is a ``flock`` on the folder itself, and on its ``judgements.jsonl`` if there is one: many network file systems
lock files between machines, but not folders. The system releases both when the process ends, even if it is killed. No
lock file is left behind. Readers take no lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kgtrec.errors import KgtrecError, warn
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import JUDGEMENTS
from kgtrec.formats.output.outputs import is_being_made

_PATIENCE = 1.0  # seconds to wait for the lock before a warning


@contextmanager
def campaign_lock(folder: PathLike, *, needed: bool = False) -> Iterator[None]:
    """Hold the lock of a campaign until the block ends; waits for a program that holds it.

    What is read inside the block does not change until its end. If the folder is replaced while this program waits, the
    new one is locked instead. One program cannot hold the lock twice: it would wait for itself.

    Parameters
    ----------
    folder : path
        Of the campaign. If it does not exist, nothing is locked.
    needed : bool
        Whether to raise an error where the system cannot lock. Otherwise nobody waits there.

    Raises
    ------
    KgtrecError
        If the lock is ``needed`` and the system has no ``fcntl`` (Windows, except its Linux subsystem), or its files
        cannot be locked.
    """
    if is_being_made(folder):
        yield  # no other program can use it yet
        return
    try:
        import fcntl  # noqa: F401  # only to see whether it is there
    except ImportError:
        if needed:
            raise KgtrecError(
                f"{folder}: cannot be locked against other programs on this system, which has no fcntl; add "
                "judgements on Linux, macOS or the Windows Subsystem for Linux"
            ) from None
        yield
        return
    with ExitStack() as held:
        while not _is_taken(Path(folder), held, needed=needed):
            held.close()  # the folder we waited for was replaced
        yield


def _is_taken(folder: Path, held: ExitStack, *, needed: bool) -> bool:
    """Take the locks; whether they are on the current folder and file."""
    with suppress(OSError):  # not every network file system locks folders; then only the file is locked
        if not _lock(folder, os.O_RDONLY, folder, held):
            return False
    file = folder / JUDGEMENTS
    try:
        return not file.is_file() or _lock(file, os.O_RDWR, folder, held)
    except FileNotFoundError:
        return False
    except OSError as error:
        if needed:
            raise KgtrecError(f"{file}: cannot be locked against other programs: {error.strerror}") from None
        return True


def _lock(place: Path, flags: int, folder: Path, held: ExitStack) -> bool:
    """Lock what is at a path, waiting for the lock; whether it is still there then."""
    import fcntl

    descriptor = os.open(place, flags | getattr(os, "O_CLOEXEC", 0))
    held.callback(os.close, descriptor)  # which releases the lock
    patient_until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= patient_until:
                warn(f"{folder}: another program is changing it; waiting")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                break
            time.sleep(0.005)
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), place.stat())
    return False

"""The lock of a campaign: whoever changes anything in its folder holds it, so that nobody else does meanwhile.

It is a ``flock`` on the folder itself, and on its ``judgements.jsonl`` where that is there: many network file systems
lock files between machines, but no folders. The system lets both go when the process ends, however it ends. There is no
file to be left behind. Readers take no lock.
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

_PATIENCE = 1.0  # seconds to wait for the lock before a person is told


@contextmanager
def campaign_lock(folder: PathLike, *, needed: bool = False) -> Iterator[None]:
    """Alone with a campaign among the programs that change it, until the block ends; waits for who is there already.

    What is read inside the block stays true until its end. A folder that another one takes the place of while this
    program waits is given up for the new one. One program cannot hold the lock twice: it would wait for itself.

    Parameters
    ----------
    folder : path
        Of the campaign. Where there is none, there is nothing to be locked.
    needed : bool
        Whether to refuse to go on where the system can lock nothing. Otherwise nobody waits there.

    Raises
    ------
    KgtrecError
        If the lock is ``needed`` and the system has no ``fcntl`` (Windows itself; its Linux subsystem has it), or its
        files cannot be locked.
    """
    if is_being_made(folder):
        yield  # it is nobody else's yet
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
            held.close()  # something else has taken the place of what we waited for
        yield


def _is_taken(folder: Path, held: ExitStack, *, needed: bool) -> bool:
    """Take the locks; whether they are on what is there now."""
    with suppress(OSError):  # not every network file system locks folders; then the file alone is locked
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
    """Lock what is at a place, waiting for it; whether it is still there then."""
    import fcntl

    descriptor = os.open(place, flags | getattr(os, "O_CLOEXEC", 0))
    held.callback(os.close, descriptor)  # which lets the lock go
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

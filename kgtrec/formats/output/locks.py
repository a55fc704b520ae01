"""The lock of a campaign: a program holds it while it changes anything in the folder, so that no other does.

It is a lock on the campaign's ``judgements.jsonl``, which no program of kgtrec replaces: ``flock``, and on Windows the
lock of one byte far beyond the file's end, so that others can read it meanwhile. The system releases it when the
process ends, even if it is killed. No lock file is left behind. Readers take no lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kgtrec.errors import KgtrecError, warn
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import JUDGEMENTS

_PATIENCE = 1.0  # seconds to wait for the lock before a warning
_PAUSE = 0.005  # seconds
_FAR = 0x7FFF_FFFE  # the last byte that every version of Windows can lock


@contextmanager
def campaign_lock(folder: PathLike) -> Iterator[None]:
    """Hold the lock of a campaign until the block ends; waits for a program that holds it.

    What is read inside the block does not change until its end. If the file is replaced while this program waits, the
    new one is locked instead. One program cannot hold the lock twice: it would wait for itself.

    Parameters
    ----------
    folder : path
        Folder of the campaign. Without judgements in it, nothing is locked: nobody can judge yet.

    Raises
    ------
    KgtrecError
        If the file cannot be written to, or the disk cannot lock files, as some network drives.
    """
    path, patient_until = Path(folder, JUDGEMENTS), time.monotonic() + _PATIENCE
    with ExitStack() as held:
        while path.is_file() and not _is_taken(path, held):
            held.close()  # of another program, or of a file that was replaced meanwhile
            if time.monotonic() >= patient_until:
                warn(f"{folder}: another program is changing it; waiting")
                patient_until = float("inf")
            time.sleep(_PAUSE)
        yield


def _is_taken(path: Path, held: ExitStack) -> bool:
    """Take the lock unless another program has it; whether it is on the file that is there."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        held.callback(os.close, descriptor)
        return _is_locked(descriptor, held) and os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise KgtrecError(
            f"{path}: cannot be locked against other programs: {error.strerror}; to change a campaign, keep it in a "
            "folder that can be written to, on a disk that can lock files (some network drives cannot)"
        ) from None


def _is_locked(descriptor: int, held: ExitStack) -> bool:
    """Lock an open file; False if another program has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        def switch(mode: int) -> None:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, mode, 1)  # type: ignore[attr-defined]

        try:
            switch(msvcrt.LK_NBLCK)  # type: ignore[attr-defined]
        except PermissionError:
            return False
        held.callback(switch, msvcrt.LK_UNLCK)  # type: ignore[attr-defined]
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

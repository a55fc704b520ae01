"""Outputs take their places in one go: all of them, or none."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Move(NamedTuple):
    """A finished file or folder, and where it goes."""

    source: Path | None  # None: what is at the target is removed
    target: Path
    aside: Path  # where that is until all is done
    is_new: bool  # nothing may be at the target by then: another program was faster


@dataclass(slots=True)
class _Waiting:
    """Outputs that are complete, and have not taken their places."""

    plans: list[Callable[[], list[Move]]] = field(default_factory=list)
    places: dict[Path, Path] = field(default_factory=dict)  # target -> where its content is
    cleanup: ExitStack = field(default_factory=ExitStack)


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Let the files and folders that are written in the block take their places at its end, all or none.

    A block within another one is a part of it.
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
        move(waiting.plans)


def take_place(plan: Callable[[], list[Move]], cleanup: ExitStack, places: dict[Path, Path]) -> None:
    """Move a complete output to its place: now, or at the end of the block of :func:`together`.

    Parameters
    ----------
    plan : callable
        Checks that nothing is lost, and gives the moves.
    cleanup : ExitStack
        What is to be done after that, or, with an error, instead.
    places : dict
        Target -> where its content is.
    """
    waiting = _waiting.get()
    if waiting is None:
        with cleanup:
            move([plan])
        return
    waiting.cleanup.push(cleanup)
    waiting.plans.append(plan)
    waiting.places |= places


def last_of(cleanup: ExitStack) -> ExitStack:
    """Give the stack that ends when all outputs have taken their places, or none; ``cleanup`` if there is one."""
    waiting = _waiting.get()
    return cleanup if waiting is None else waiting.cleanup


def content_of(target: Path) -> Path:
    """Find the content of an output that may not have taken its place."""
    waiting = _waiting.get()
    return target if waiting is None else waiting.places.get(target, target)


def move(plans: Sequence[Callable[[], list[Move]]]) -> None:
    """Do all moves of the plans, or undo them and raise the error."""
    while True:
        moves = [each for plan in plans for each in plan()]
        identities = [_identity(each.source) for each in moves]
        try:
            for each in moves:
                _do(each, keeps=len(moves) > 1)
        except BaseException as error:
            for each, identity in reversed(list(zip(moves, identities, strict=True))):
                _undo(each, identity)
            if not isinstance(error, FileExistsError):
                raise
        else:
            return
        # another program was faster: the plans say whether its output may be replaced


def _do(each: Move, *, keeps: bool) -> None:
    source, target, aside, is_new = each
    if source is None:
        aside.parent.mkdir(exist_ok=True)
        target.rename(aside)
    elif is_new or not os.path.lexists(target):
        try:
            os.link(source, target)  # which, unlike a renaming, replaces nothing
        except FileExistsError:
            raise
        except OSError:  # a folder, or a disk without links
            _rename_to_new(source, target)
        else:
            source.unlink()
    else:
        copy_rights(target, source)
        if keeps:
            aside.parent.mkdir(exist_ok=True)
            link(target, aside)
        source.replace(target)


def _rename_to_new(source: Path, target: Path) -> None:
    try:
        if not os.path.lexists(target):
            source.rename(target)
            return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.ENOTDIR, errno.EEXIST):
            raise
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))


def _undo(each: Move, identity: tuple[int, int] | None) -> None:
    """Undo a move of what has this identity; what another program has put there meanwhile stays."""
    source, target, aside, is_new = each
    with suppress(OSError):
        if os.path.lexists(aside):
            aside.replace(target)
            aside.unlink(missing_ok=True)  # two names of one file stay where they are
        elif source is not None and is_new and _identity(target) == identity:
            target.unlink() if os.path.lexists(source) else target.rename(source)


def _identity(place: Path | None) -> tuple[int, int] | None:
    """What a file or folder keeps when it is renamed; None if it does not exist."""
    with suppress(OSError):
        found = place.lstat() if place is not None else None
        return found and (found.st_dev, found.st_ino)
    return None


def link(source: Path, place: Path) -> None:
    """Make a second name for a file, or a copy of it where a file can have only one.

    Raises
    ------
    FileExistsError
        If that name is in use.
    """
    try:
        os.link(source, place, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        if not source.is_symlink():
            place.touch(exist_ok=False)
        shutil.copy2(source, place, follow_symlinks=False)


def copy_rights(source: Path, place: Path) -> None:
    """Give a file the permissions and owner of the one that it replaces, as far as the system allows."""
    with suppress(OSError):
        found = source.stat()
        for owner, group in ((-1, found.st_gid), (found.st_uid, -1)):
            with suppress(OSError, AttributeError):
                os.chown(place, owner, group)
        place.chmod(stat.S_IMODE(found.st_mode))

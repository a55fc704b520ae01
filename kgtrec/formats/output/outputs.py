"""Writing files and folders: what exists is not replaced without ``force``; what is of another kind never is.

Nor are inputs of the command, verdicts, and files that belong to a campaign, a collection or a study. An output is
written beside its target as ``.NAME.XXXXXXXX.part``, and takes its place when it is complete and on the disk.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kgtrec.errors import NO_ROOM, FormatError
from kgtrec.formats.files import PathLike, compressing, suffixes
from kgtrec.formats.output.folders import owner_of
from kgtrec.formats.parquet import is_in_parts

_NAMED = 3  # names in an error
_BUFFER = 1 << 20
_PART = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part", re.DOTALL)
_MOST = 50  # characters of a name in that of its part, of up to 4 bytes each; a name may have 255 bytes
_OLD = "old"  # in the part of a folder: what is being replaced

_force: ContextVar[bool] = ContextVar("force", default=False)
_inputs: ContextVar[tuple[Path, ...] | None] = ContextVar("inputs", default=None)  # None outside of commands
_held: set[Path] = set()  # folders that this program has locked
_staging: list[Path] = []  # folders that are being filled, in which everything is new

#: the names, or patterns, of the files of an earlier output of the same kind in a folder; none if there is no such one
Owned = Callable[[Path], Iterable[str]]


@contextmanager
def replacing(wanted: bool = True) -> Iterator[None]:
    """Replace, until the block ends, what exists and is of the same kind; nothing changes unless ``wanted``."""
    token = _force.set(_force.get() or wanted)
    try:
        yield
    finally:
        _force.reset(token)


def is_replacing() -> bool:
    """Say whether what exists may be replaced, see :func:`replacing`."""
    return _force.get()


@contextmanager
def protecting(paths: Iterable[PathLike]) -> Iterator[None]:
    """Refuse, until the block ends, to replace any of these inputs of a command."""
    protected = list(_inputs.get() or ())
    for path in paths:
        if os.fspath(path) != "-":
            protected.append(_real(path))
            if is_in_parts(path):
                protected.extend(map(_real, Path(path).iterdir()))
    token = _inputs.set(tuple(protected))
    try:
        yield
    finally:
        _inputs.reset(token)


@contextmanager
def writing(path: PathLike, *, kind: str = "", force: bool = False) -> Iterator[BinaryIO]:
    """Open a binary stream that becomes the file ``path`` when the block succeeds, and is removed when it fails.

    Compressed by suffix; equal content gives equal bytes. ``-`` is standard output; a device or pipe is written to.

    Parameters
    ----------
    path : path
        A link means its target.
    kind : str
        What it will hold, as :func:`kgtrec.formats.contents.data_in` says: only a file of the same kind is replaced.
    force : bool
        Whether an existing file is replaced; one that is empty always is.

    Raises
    ------
    FormatError
        If it may not be replaced, or cannot be written; before anything is written.
    """
    if os.fspath(path) == "-":
        if sys.stdout is None:
            raise FormatError("expected standard output, found it closed", path="-")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if is_device(path):  # it has no content, and must not be replaced by a file
        with (
            _naming_full_disk(path, Path(path)),
            Path(path).open("wb") as raw,
            compressing(raw, suffixes(path)[1]) as stream,
        ):
            yield stream
        return
    target = _real(path)
    with _new_file(path, target, partial(_require_file, target, path, kind, force or _force.get())) as stream:
        yield stream


@contextmanager
def updating(path: PathLike) -> Iterator[BinaryIO]:
    """Do the same for a file that commands keep up to date, such as those of a campaign: what exists is replaced."""
    target = _real(path)
    with _new_file(path, target, partial(_require_place, target, path)) as stream:
        yield stream


def write_text(path: PathLike, text: str, *, kind: str = "", force: bool = False) -> None:
    """Write ``text`` as UTF-8, see :func:`writing`."""
    with writing(path, kind=kind, force=force) as stream:
        stream.write(text.encode())


def update_text(path: PathLike, text: str) -> None:
    """Write ``text`` as UTF-8, see :func:`updating`."""
    with updating(path) as stream:
        stream.write(text.encode())


def remove(path: PathLike) -> None:
    """Remove a file, a folder or a link, now or at the end of the block of ``together``; what a link leads to stays."""
    target = _real(Path(path).parent) / Path(path).name
    aside = target.with_name(part_name(target.name))
    with ExitStack() as cleanup:
        cleanup.callback(_remove, aside)
        take_place(lambda: [Move(None, target, aside, False)] * os.path.lexists(target), cleanup.pop_all(), {})


def keep_aside(path: PathLike) -> Path:
    """Give a file a second name, ``NAME.1.csv`` and so on, under which it stays when it is replaced."""
    for place in free_names(path):
        with suppress(FileExistsError):  # another program was faster
            link(Path(path), place)
            break
    return place


def free_names(path: PathLike) -> Iterator[Path]:
    """Yield unused names like that of a file or folder, ``NAME.1.csv`` and so on."""
    target = Path(path)
    stem, dot, rest = target.name.partition(".")
    names = (target.with_name(f"{stem}.{number}{dot}{rest}") for number in count(1))
    yield from (name for name in names if not os.path.lexists(name))


def require_file(path: PathLike, *, kind: str | None = "", force: bool = False) -> None:
    """Raise FormatError if :func:`writing` would refuse a file; ``kind`` is None where it is not known yet."""
    if os.fspath(path) != "-" and not is_device(path):
        _require_file(_real(path), path, kind, force or _force.get())


def is_being_made(path: PathLike) -> bool:
    """Say whether a file or folder is, or is in, one that this program is filling, see :func:`writing_folder`."""
    target = _real(path)
    return any(part == target or part in target.parents for part in _staging)


def is_same_file(one: PathLike, other: PathLike) -> bool:
    """Say whether two paths lead to one file."""
    with suppress(OSError):
        return Path(one).samefile(other)
    return _real(one) == _real(other)


def is_device(path: PathLike) -> bool:
    """Say whether a path leads to a device or pipe, which is written to and never replaced."""
    target = Path(path)
    try:
        is_special, is_disk = target.exists() and not target.is_file() and not target.is_dir(), target.is_block_device()
    except ValueError:
        return False  # reported by _real
    except OSError as error:  # a name that is too long, or a circle of links
        raise FormatError(f"cannot write here: {error.strerror}", path) from None
    if is_disk:
        raise FormatError("expected a file to write, found a disk, whose contents would be lost", path)
    return is_special


def nothing(_: Path) -> tuple[str, ...]:
    """Name the files that may be replaced in a folder: none."""
    return ()


def require_folder(path: PathLike, owned: Owned = nothing, *, force: bool = False) -> None:
    """Raise FormatError if :func:`writing_folder` would refuse a folder."""
    with ExitStack() as locks:
        _require_folder(_real(path), path, owned, force or _force.get(), locks)


@contextmanager
def writing_folder(path: PathLike, *last: str, owned: Owned = nothing, force: bool = False) -> Iterator[Path]:
    """Make a folder to fill, which becomes ``path`` when the block succeeds, and is removed when it fails.

    Parameters
    ----------
    path : path
        Absent, empty except for hidden files, or, with ``force``, one with an earlier output of the same kind, whose
        files are replaced; all others in it stay.
    *last : str
        The files by which a reader knows that all are there: they take their places last, and are removed first.
    owned : callable
        Gives the names of the files of an earlier output in a folder, none where it has no such output.
    force : bool

    Raises
    ------
    FormatError
        If it may not be written to; before and after the block.
    """
    target = _real(path)
    force = force or _force.get()
    with ExitStack() as locks:
        _require_folder(target, path, owned, force, locks)
    with _part_of(target, path, target if target.is_dir() else target.parent) as (part, _, cleanup):
        with _filling(part):
            yield part
        plan = partial(_moves_of_folder, part, target, path, last, owned, force, cleanup.enter_context(ExitStack()))
        if is_being_made(target):
            move([plan])
        else:
            take_place(plan, cleanup.pop_all(), {target: part})


@contextmanager
def folder_beside(target: PathLike) -> Iterator[Path]:
    """Make a new folder beside ``target``, to be renamed once it is filled; what is left of it is removed at the end.

    Raises
    ------
    FormatError
        If it cannot be created.
    """
    beside = _real(target)
    with _part_of(beside, target, beside.parent) as (part, _, _), _filling(part):
        yield part


# --- what may be replaced


def _real(path: PathLike) -> Path:
    """The target of a path, with all links followed."""
    if not os.fspath(path):  # as from an unset shell variable; it would mean the current folder
        raise FormatError("expected the name of a file or folder, found an empty one")
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:
        raise FormatError("expected a current folder, found a deleted one; change to another", path) from None
    except ValueError:
        raise FormatError("expected the name of a file, found one with a NUL character", path=repr(path)) from None


def _require_file(target: Path, path: PathLike, kind: str | None, force: bool) -> None:
    """Refuse a file that may not be written, or that would replace what may not be replaced."""
    _require_place(target, path)
    if is_being_made(target):
        return
    if _is_input(target):
        raise FormatError(
            "expected another file than those that are read, found one of them; choose another name", path
        )
    if owner := owner_of(target):
        raise FormatError(
            f"expected a name of its own, found that of a file of the {owner} in this folder; choose another name", path
        )
    if not target.exists() or target.stat().st_size == 0:
        return
    from kgtrec.formats.contents import data_in  # slow to import, and most targets are new

    content = data_in(target)
    if kind is not None and content != kind:
        what = f"{content}, which nothing else replaces" if content else f"something else than {kind}, which stays"
        raise FormatError(f"holds {what}; choose another name", path)
    if not force:
        raise existing(path)


def _require_place(target: Path, path: PathLike) -> None:
    """Refuse a path at which no file can be written."""
    if target.is_dir():
        raise FormatError("expected a file to write, found a folder", path)
    _require_parent(target, path)
    _require_writable(target, path)


def _require_parent(target: Path, path: PathLike) -> None:
    folder = next(place for place in target.parents if place.exists())
    if not folder.is_dir():
        raise FormatError(f"cannot write here: {folder} is a file, not a folder", path)
    _require_writable(folder, path)


def _require_writable(place: Path, path: PathLike) -> None:
    # even for root, who could write to it: somebody has made it read-only
    if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & 0o222):
        raise FormatError(f"cannot write here: {place} is read-only; choose another place", path)


def _is_input(place: Path) -> bool:
    return any(is_same_file(each, place) for each in _inputs.get() or ())


def existing(path: PathLike) -> FormatError:
    """Give the error for what exists and is not replaced, with the way out of a command or of Python."""
    return FormatError(f"exists; {'force=True' if _inputs.get() is None else '--force'} replaces it", path)


def _require_folder(target: Path, path: PathLike, owned: Owned, force: bool, locks: ExitStack) -> set[str]:
    """The names of the files in a folder that may be replaced; no other program moves any as long as it is locked."""
    if os.path.lexists(target) and not target.is_dir():
        raise FormatError("expected a folder to write, found a file", path)
    if is_being_made(target):
        return set()
    if kind := owner_of(target):
        raise FormatError(
            f"expected a name of its own, found that of a part of the {kind} in this folder; choose another name", path
        )
    if not target.is_dir():
        _require_parent(target, path)
        return set()
    if target not in _held and (handle := _lock(target)) >= 0:
        _held.add(target)
        locks.callback(os.close, handle)
        locks.callback(_held.discard, target)
    names = _names_of(target, owned)
    if read := [place for place in (target, *(target / name for name in names)) if _is_input(place)]:
        what = "an input" if read[0] == target else f"one that contains the input {read[0].name}"
        raise FormatError(f"expected a folder of its own, found {what}; choose another folder", path)
    others = sorted(entry.name for entry in target.iterdir() if entry.name not in names and entry.name[0] != ".")
    if others and not names:
        more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
        raise FormatError(
            "expected a new or empty folder, or one to replace by the same kind, found one with "
            f"{', '.join(others[:_NAMED])}{more}; choose another folder",
            path,
        )
    if names and not force:
        raise existing(path)
    for place in (target, *(target / name for name in names)):
        _require_writable(place, path)
    return names


def _names_of(folder: Path, owned: Owned) -> set[str]:
    """The files of an earlier output that are in a folder, also if a program was killed while it replaced them."""
    patterns = list(owned(folder))
    if not patterns:
        with ExitStack() as locks:
            parts = _parts_in(folder, locks)
            patterns = [name for part in parts for place in (part, part / _OLD) for name in owned(place)]
    return {
        place.name
        for place in folder.iterdir()
        if place.is_file() and any(fnmatchcase(place.name, own) for own in patterns)
    }


# --- parts, and how they take their places


@contextmanager
def _new_file(path: PathLike, target: Path, check: Callable[[], None]) -> Iterator[BinaryIO]:
    """A stream into a part of ``target``; ``check`` raises an error if that may not be written."""
    check()
    with _part_of(target, path, target.parent, is_file=True) as (part, handle, cleanup):
        with os.fdopen(handle, "wb", 0):
            # a second handle, as a compressor may close the one that it is given
            with os.fdopen(os.dup(handle), "wb", _BUFFER) as file, compressing(file, suffixes(path)[1]) as stream:
                yield stream
            os.fsync(handle)
        aside = target.parent / part_name(target.name)
        cleanup.callback(_remove, aside)

        def plan() -> list[Move]:
            is_new = not os.path.lexists(target)  # before the check: what comes after it is not replaced
            check()
            return [Move(part, target, aside, is_new)]

        if is_being_made(target):
            move([plan])
        else:
            take_place(plan, cleanup.pop_all(), {target: part})


def _moves_of_folder(
    part: Path, target: Path, path: PathLike, last: tuple[str, ...], owned: Owned, force: bool, locks: ExitStack
) -> list[Move]:
    locks.close()  # of an earlier try
    is_new, old = not os.path.lexists(target), part / _OLD
    names = _require_folder(target, path, owned, force, locks)
    if is_new:
        return [Move(part, target, old, is_new)]
    new = sorted((entry.name for entry in part.iterdir() if entry != old), key=lambda name: (name in last, name))
    if others := [name for name in new if name not in names and os.path.lexists(target / name)]:
        raise FormatError(f"expected no other file {others[0]} in this folder, found one; move it away", path)
    gone = [name for name in sorted(names, key=lambda name: name not in last) if name in last or name not in new]
    gone += [left.name for left in _parts_in(target, locks) if left != part]
    return [Move(None, target / name, old / name, False) for name in gone] + [
        Move(part / name, target / name, old / name, name in gone or name not in names) for name in new
    ]


@contextmanager
def _part_of(
    target: Path, path: PathLike, where: Path, *, is_file: bool = False
) -> Iterator[tuple[Path, int, ExitStack]]:
    """A new part of ``target`` in ``where``, opened, and what removes it in the end, with the folders made for it."""
    made, handle = [folder for folder in (where, *where.parents) if not folder.exists()], -1
    with ExitStack() as cleanup:
        waiting = _waiting.get()  # with others, folders stay until all have taken their places
        (cleanup if waiting is None else waiting.cleanup).callback(_remove_empty, made)
        locks = cleanup.enter_context(ExitStack())
        try:
            where.mkdir(parents=True, exist_ok=True)
            if where != target and not is_being_made(target):
                clear_parts(where, target.name)
            while True:  # before it is locked, another program may think it abandoned, and remove it
                part = where / part_name(target.name)
                cleanup.callback(_remove, part)
                if is_file:
                    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
                else:
                    part.mkdir()
                if (lock := _lock(part)) >= 0:
                    locks.callback(os.close, lock)
                if part.exists():
                    break
                if is_file:
                    os.close(handle)
        except OSError as error:
            raise _cannot_write(error, path, where) from None
        with _naming_full_disk(path, part):
            yield part, handle, cleanup


@contextmanager
def _filling(part: Path) -> Iterator[None]:
    _staging.append(part)
    try:
        yield
    finally:
        _staging.remove(part)


def part_name(name: str) -> str:
    """Give an unused name for a file or folder that will be renamed to ``name``."""
    return f".{name[:_MOST]}.{os.urandom(4).hex()}.part"


def clear_parts(folder: Path, name: str | None = None) -> None:
    """Remove what killed writers have left in a folder, of any target or of one."""
    with ExitStack() as locks:
        for part in _parts_in(folder, locks, name):
            _remove(part)


def _parts_in(folder: Path, locks: ExitStack, name: str | None = None) -> Iterator[Path]:
    """The parts in a folder that no program is writing, as far as the system says; ``locks`` keeps them from others.

    A part that another program has only just made is not locked yet: it waits for ``locks``, and makes a new one.
    """
    with suppress(OSError):
        for place in folder.iterdir():
            match = _PART.fullmatch(place.name)
            is_of_name = match and (name is None or match[1] == name[:_MOST])
            if is_of_name and (handle := _lock(place, wait=False)) >= 0:
                locks.callback(os.close, handle)
                yield place


def _lock(place: Path, *, wait: bool = True) -> int:
    """Lock a file or folder against other programs, as long as the handle is open; -1 where that is not possible."""
    with suppress(ImportError, OSError):
        import fcntl

        handle = os.open(place, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if not os.path.samestat(os.fstat(handle), place.stat()):
                raise FileExistsError  # another one, made since under the same name
        except OSError:
            os.close(handle)
            raise
        return handle
    return -1


def _remove(part: Path) -> None:
    try:
        shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):
            part.unlink(missing_ok=True)  # a file
    finally:
        if part.exists():  # somebody has pressed Ctrl-C
            shutil.rmtree(part, ignore_errors=True)


def _remove_empty(folders: Iterable[Path]) -> None:
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


# --- all outputs take their places in one go, or none


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


# --- errors of the system


@contextmanager
def _naming_full_disk(path: PathLike, part: Path) -> Iterator[None]:
    """Name the output for which there was no space in the error, and not its part."""
    try:
        yield
    except OSError as error:
        named = Path(error.filename) if isinstance(error.filename, str) else part
        if error.errno in NO_ROOM and part in (named, *named.parents):
            error.filename = os.fspath(path)
        raise


def _cannot_write(error: OSError, path: PathLike, folder: Path) -> Exception:
    """The error to raise for a place where nothing can be written."""
    if error.errno in NO_ROOM:
        error.filename = os.fspath(path)
        return error
    files = [place for place in (folder, *folder.parents) if place.exists() and not place.is_dir()]
    return FormatError(f"cannot write here: {f'{files[0]} is a file, not a folder' if files else error.strerror}", path)

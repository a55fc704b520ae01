"""Writing files and folders: kgtrec changes only what it wrote, and every output is complete, old or new.

Every folder that something was written to has a record, ``.kgtrec``: JSON Lines, one line per file, with its path below
the folder, its SHA-256 and its writer (``by``). A file is replaced only if the record has it as it is now, and a
folder only if all its contents were written by the command that replaces it. Anything else belongs to the user, and is
refused by name. A new file or folder is made beside its target, as ``.NAME.XXXXXXXX.kgtrec-part``, and exchanged with
the old one in one step where the system can do that (Linux), else by reversible renaming.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, cast

from kgtrec.errors import NO_ROOM, FormatError, warn
from kgtrec.formats.files import PathLike, compressing, sha256_of, suffixes
from kgtrec.formats.output.exchange import (
    EXCHANGE,
    held,
    is_part,
    link,
    lock,
    move,
    part_name,
    renamed,
    renamed_to_new,
    uninterrupted,
)
from kgtrec.formats.output.folders import owner_of
from kgtrec.formats.output.record import RECORD, Row, read_record, record
from kgtrec.formats.output.together import on_failure, take_place
from kgtrec.formats.parquet import is_in_parts

FILE = "file"  # the writer of a file that does not belong to a folder of ours
_NAMED = 3  # names in an error
_HOUSEKEEPING = frozenset((".gitignore", ".gitattributes", ".gitkeep", ".DS_Store"))  # not content; kept
_BUFFER = 1 << 20

_staging: list[Path] = []  # folders that are being filled, which begin empty and record nothing
_inputs: list[Path] = []  # files that the current command reads


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Identifies a file's state without reading it again."""

    inode: int
    size: int
    time: int  # of the last change, ns

    @classmethod
    def of(cls, path: Path) -> _Stamp:
        found = path.lstat()
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class OccupiedError(FormatError):
    """A file that must not be replaced, since kgtrec did not write it, or it was changed since."""


@contextmanager
def protecting(paths: Iterable[PathLike]) -> Iterator[None]:
    """Refuse, until the block ends, to write to any of these inputs, or to replace a folder that contains one."""
    before = len(_inputs)
    for path in paths:
        if os.fspath(path) != "-":
            _inputs.append(_real(path))
            if is_in_parts(path):
                _inputs.extend(map(_real, _children(Path(path))))
    try:
        yield
    finally:
        del _inputs[before:]


@contextmanager
def writing(path: PathLike, *, by: str = FILE, kind: str = "") -> Iterator[BinaryIO]:
    """A binary stream that becomes the file ``path`` when the block succeeds, and is removed when it fails.

    Compressed by suffix; equal content gives equal bytes. ``-`` is standard output; a device or pipe is written to.

    Parameters
    ----------
    path : path
        New, empty, or a file that was written in this way before and was not changed since; a link means its target.
    by : str
        The writer: only a file of the same writer is replaced.
    kind : str
        What it will hold, as :func:`kgtrec.formats.sniff.data_in` says: only a file of the same kind is replaced.

    Raises
    ------
    FormatError
        If the file is not kgtrec's, is of another kind, is an input of the command, or cannot be written; before
        anything is written.
    """
    if os.fspath(path) == "-":
        if sys.stdout is None:
            raise FormatError("expected standard output, found it closed", path="-")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if is_device(path):  # it has no content, and must not be replaced by a file
        try:
            with Path(path).open("wb") as raw, compressing(raw, suffixes(path)[1]) as stream:
                yield stream
        except OSError as error:
            _tell_place(error, path)
            raise
        return
    with _new_file(path, by, lambda target: _require_file(target, path, by, kind)) as stream:
        yield stream


@contextmanager
def updating(path: PathLike, *, by: str, is_recorded: bool = True) -> Iterator[BinaryIO]:
    """The same for a file that commands keep up to date, such as those of a campaign: any existing file is replaced.

    If that was edited since ``by`` wrote it, it is kept under another name.

    Parameters
    ----------
    path, by
        As for :func:`writing`.
    is_recorded : bool
        Whether the file is recorded as ours; not if it contains people's work, which is never replaced.

    Warns
    -----
    KgtrecWarning
        Says that name.
    """
    checked = partial(_stamp_of, path=path, by=by)
    with _new_file(path, by, checked, aside=True, is_recorded=is_recorded) as stream:
        yield stream


def write_text(path: PathLike, text: str, *, by: str = FILE, kind: str = "") -> None:
    """Write ``text`` as UTF-8, see :func:`writing`."""
    with writing(path, by=by, kind=kind) as stream:
        stream.write(text.encode())


def update_text(path: PathLike, text: str, *, by: str) -> None:
    """Write ``text`` as UTF-8, see :func:`updating`."""
    with updating(path, by=by) as stream:
        stream.write(text.encode())


def is_being_made(path: PathLike) -> bool:
    """Whether a file or folder is, or is in, one that this program is filling, see :func:`writing_folder`."""
    place = _real(path)
    return any(part == place or part in place.parents for part in _staging)


def is_same_file(one: PathLike, other: PathLike) -> bool:
    """Whether two paths lead to one file."""
    with suppress(OSError):
        return Path(one).samefile(other)
    return _real(one) == _real(other)


def require_file(
    path: PathLike, *, by: str = FILE, kind: str | None = "", aside: bool = False, is_named: bool = True
) -> None:
    """Raise FormatError if :func:`writing` would refuse a file; with ``aside``, if :func:`updating` would.

    ``kind`` is None where it is not known yet. Unless ``is_named``, kgtrec chose the file's name, and the error
    suggests no other one.
    """
    if os.fspath(path) == "-" or is_device(path):
        return
    if aside:
        _stamp_of(_real(path), path, by)
    else:
        _require_file(_real(path), path, by, kind, is_named=is_named)


def remove_file(path: PathLike, *, by: str) -> bool:
    """Remove a file that ``by`` wrote; whether it was removed: a changed one is kept."""
    target = _real(path)
    try:
        _is_ours(target, by)
        target.unlink()
    except FileNotFoundError:
        return True
    except _SomebodysError:
        return False
    return True


def claim_folder(folder: PathLike, by: str) -> None:
    """Record that a folder is kept by ``by``; created with its parents if needed.

    Raises
    ------
    FormatError
        If it is a file, cannot be created, or is not empty and was not claimed before.
    """
    target = _real(folder)
    _require_name(folder, target)
    if (by, ".", "") in read_record(target, folder):
        return
    if os.path.lexists(target) and not target.is_dir():
        raise FormatError("expected a folder to write, found a file; choose another", path=folder)
    if target.is_dir() and (others := [entry.name for entry in _children(target) if entry.name not in _HOUSEKEEPING]):
        raise FormatError(
            f"expected a new or empty folder, or one of kgtrec {by}, found one with other files: {_listed(others)}; "
            f"choose another folder{_without_record(target)}",
            path=folder,
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        record(target, [(by, ".", "")])
    except OSError as error:
        raise _cannot_write(error, folder, target) from None


def free_names(path: PathLike) -> Iterator[Path]:
    """Unused names like that of a file or folder, ``NAME.1.csv`` and so on."""
    target = Path(path)
    stem, dot, rest = target.name.partition(".")
    number = 1
    while True:
        name = target.with_name(f"{stem}.{number}{dot}{rest}")
        if not os.path.lexists(name):
            yield name
        number += 1


def written_by(folder: PathLike, by: str) -> tuple[str, ...]:
    """The files that ``by`` wrote into a folder according to its record, as paths below it."""
    found = read_record(Path(folder))
    return tuple(dict.fromkeys(path for writer, path, _ in found if writer == by))


def require_folder(path: PathLike, *, by: str, force: bool = True, keeps: Callable[[str], bool] | None = None) -> None:
    """Raise FormatError if :func:`writing_folder` would refuse a folder.

    Parameters
    ----------
    path, by, keeps
        As for :func:`writing_folder`.
    force : bool
        Whether one that ``by`` wrote before may be replaced.
    """
    _require_folder(_real(path), path, by, force, keeps or _keeps_no_more)


@contextmanager
def writing_folder(
    path: PathLike, *, by: str, force: bool = True, keeps: Callable[[str], bool] | None = None, records: bool = False
) -> Iterator[Path]:
    """A folder to fill, which becomes ``path`` when the block succeeds, and is removed when it fails.

    Parameters
    ----------
    path : path
        Absent, empty, or a folder that ``by`` wrote before, with nothing else in it and nothing changed since; files
        such as ``.gitignore`` are kept.
    by : str
        The writer.
    force : bool
        Whether a folder that ``by`` wrote before may be replaced.
    keeps : callable, optional
        Says by name which file beside our own in the folder is kept unchanged.
    records : bool
        Whether the files written in the block are recorded one by one too, so that they can be replaced later, one by
        one, by the commands that wrote them. Default: they belong to the folder as a whole.

    Raises
    ------
    FormatError
        If ``path`` is a file, is or contains an input, or is a folder with other files; before and after the block.
    """
    kept = keeps or _keeps_no_more
    target = _real(path)
    _require_folder(target, path, by, force, kept)
    _remove_stale(target)
    in_place = target.is_dir() and _cannot_be_renamed(target)
    with ExitStack() as cleanup:
        part = cleanup.enter_context(_part_folder(target, path, inside=in_place))
        if not records:
            _staging.append(part)
        with _naming_full_disk(path, part):
            try:
                yield part
            finally:
                if not records:
                    _staging.remove(part)
            _record_folder(part, by, before=_record_lines(target, kept))
        ours = _require_folder(target, path, by, force, kept)  # it may have changed meanwhile

        def install() -> None:
            if in_place:
                _fill(part, target, ours)
            else:
                _exchange_folder(part, target, ours, kept)

        take_place(target, part, install, cleanup.pop_all())


@contextmanager
def folder_beside(target: PathLike) -> Iterator[Path]:
    """A new folder beside ``target``, to be renamed once it is filled; anything left of it is removed at the end.

    Files in it are not recorded: it is for folders that check their files themselves.

    Raises
    ------
    FormatError
        If it cannot be created.
    """
    place = _real(target)
    with _part_folder(place, target, inside=False) as part, _naming_full_disk(target, part):
        _staging.append(part)
        try:
            yield part
        finally:
            _staging.remove(part)


def clear_parts(folder: PathLike) -> None:
    """Remove unfinished files of killed writers in a folder."""
    for part in _children(Path(folder)):
        if is_part(part.name):
            _remove_abandoned(part)


# --- one file


def _real(path: PathLike) -> Path:
    """The target of a path, with all links followed."""
    if not os.fspath(path):  # as from an unset shell variable; it would mean the current folder
        raise FormatError("expected the name of a file or folder, found an empty one")
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:
        raise FormatError("expected a current folder, found a deleted one; change to another", path=path) from None
    except ValueError:
        raise FormatError("expected the name of a file, found one with a NUL character", path=repr(path)) from None


def _require_name(path: PathLike, target: Path) -> None:
    """Refuse a name that is reserved for kgtrec's own use."""
    own = [each for each in (target, *target.parents) if each.name == RECORD or is_part(each.name)]
    if any(each == target or each.name == RECORD or not each.exists() for each in own):
        raise FormatError(
            "expected a name of its own, found one that kgtrec keeps for itself; choose another name", path=path
        )


def is_device(path: PathLike) -> bool:
    """Whether a path leads to a device or pipe, which is written to and never replaced."""
    target = Path(path)
    try:
        found, is_disk = target.exists() and not target.is_file() and not target.is_dir(), target.is_block_device()
    except ValueError:
        return False  # reported by _real
    except OSError as error:  # a name that is too long, or a circle of links
        raise FormatError(f"cannot write here: {error.strerror}", path=path) from None
    if is_disk:
        raise FormatError("expected a file to write, found a disk, whose contents would be lost", path=path)
    return found


@contextmanager
def _new_file(
    path: PathLike, by: str, checked: Callable[[Path], _Stamp | None], *, aside: bool = False, is_recorded: bool = True
) -> Iterator[BinaryIO]:
    """The stream, once ``checked`` accepts the path; that gives the stamp of the existing file.

    With ``aside`` the existing file is kept under another name, unless ``by`` wrote it.
    """
    target = _real(path)
    is_staged = is_being_made(target)
    before = checked(target)
    made = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
    part = target.parent / part_name(target.name)

    def remove(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            _remove_made(made)

    on_failure(partial(_remove_made, made))
    with ExitStack() as cleanup, _naming_full_disk(path, part):
        cleanup.push(remove)
        try:
            if made:
                target.parent.mkdir(parents=True, exist_ok=True)
            if not is_staged:
                _remove_stale(target)
            handle, is_locked = _open_part(part)
        except OSError as error:
            raise _cannot_write(error, path, target.parent) from None
        with ExitStack() as opened:
            file = opened.enter_context(os.fdopen(handle, "wb", buffering=0))
            if is_locked:  # until the part is in place
                cleanup.callback(os.close, os.dup(handle))
            if before is not None:
                _copy_rights(target, part)
            if aside and before is not None:  # people's work is replaced only when the new file is on the disk
                opened.callback(os.fsync, handle)
            hashing = _Hashing(file)
            raw: IO[bytes] = opened.enter_context(io.BufferedWriter(cast(io.RawIOBase, hashing), _BUFFER))
            stream = opened.enter_context(compressing(raw, suffixes(path)[1]))
            yield stream
        sha256 = hashing.sha256(part)
        if _stamp_of(target, path, by) != before:  # it was changed meanwhile
            before = checked(target)
        if aside and before is not None and sha256_of(target) != sha256:
            _keep_aside(target, path, by)
        if is_recorded and not is_staged:
            _record_file(target, by, sha256)

        def install() -> None:
            with uninterrupted():
                _install_file(part, target, before, lambda: checked(target))

        if is_staged:
            install()
        else:
            take_place(target, part, install, cleanup.pop_all())


@contextmanager
def _naming_full_disk(path: PathLike, part: Path) -> Iterator[None]:
    """Name the output for which there was no space in the error, and not its part."""
    try:
        yield
    except OSError as error:
        _tell_place(error, path, part)
        raise


def _tell_place(error: OSError, path: PathLike, part: Path | None = None) -> None:
    if error.errno not in NO_ROOM:
        return
    found = error.filename
    if not isinstance(found, str) or (part is not None and (Path(found) == part or part in Path(found).parents)):
        error.filename = os.fspath(path)


def _cannot_write(error: OSError, path: PathLike, folder: Path) -> Exception:
    """The error to raise for a place where nothing can be written."""
    if error.errno in NO_ROOM:
        error.filename = os.fspath(path)
        return error
    return FormatError(f"cannot write here: {_reason(error, folder)}", path=path)


def _record_file(target: Path, by: str, sha256: str) -> None:
    """Record a file before it exists; in a shared folder, the record may belong to another user."""
    try:
        record(target.parent, [(by, target.name, sha256)])
    except PermissionError as error:
        warn(
            f"{target.parent / RECORD}: cannot be written ({error.strerror}); {target.name} will not be recorded as "
            "kgtrec's, and will not be replaced"
        )


def _open_part(part: Path) -> tuple[int, bool]:
    """The handle of a new file, and whether it is locked; before that, another program may think it abandoned."""
    while True:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        is_locked = lock(handle)
        if part.exists():
            return handle, is_locked
        os.close(handle)


def _remove_made(folders: Iterable[Path]) -> None:
    """Remove folders that contain only a record: created for a failed output, or emptied."""
    for folder in folders:
        with suppress(OSError):
            if [entry.name for entry in _children(folder)] == [RECORD]:
                (folder / RECORD).unlink()
            folder.rmdir()


class _Hashing(io.RawIOBase):
    """A file that computes the SHA-256 of what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        import hashlib  # slow to import, and most commands need none

        self._file, self._sha256, self._is_in_order = file, hashlib.sha256(), True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        n = self._file.write(data)
        self._sha256.update(memoryview(data)[:n])
        return n

    def seek(self, offset: int, whence: int = 0, /) -> int:
        before = self._file.tell()
        place = self._file.seek(offset, whence)
        self._is_in_order &= place == before
        return place

    def tell(self) -> int:
        return self._file.tell()

    def sha256(self, path: Path) -> str:
        return self._sha256.hexdigest() if self._is_in_order else sha256_of(path)


def _require_file(target: Path, path: PathLike, by: str, kind: str | None, *, is_named: bool = True) -> _Stamp | None:
    """The stamp of the file to be replaced, None where there is none; an error if it is not kgtrec's."""
    if is_being_made(target):
        return None
    _require_place(target, path, by)
    try:
        if kind is not None and by == FILE and target.is_file():
            from kgtrec.formats.sniff import data_in  # which imports the writers of what it recognises

            if (found := data_in(target)) not in ("", kind):
                raise _SomebodysError(f"{found}, which nothing else may replace")
        return _is_ours(target, by)
    except (FileNotFoundError, NotADirectoryError):
        read_record(target.parent)  # it must be valid: a line is added at the end
        return None
    except _SomebodysError as error:
        other = f"name{_such_as(target)}" if is_named and by == FILE else "folder"  # a part's name is fixed
        raise OccupiedError(
            f"expected a new name, or a file that kgtrec wrote before, found {error}; choose another {other}, or move "
            "the file away",
            path=path,
        ) from None


def _require_place(target: Path, path: PathLike, by: str) -> None:
    """Refuse a path at which kgtrec may not write a file, whether or not something is there."""
    if not is_being_made(target):
        _require_name(path, target)
    if target.is_dir():
        raise FormatError("expected a file to write, found a folder", path=path)
    if is_being_made(target):
        return
    if by == FILE and any(is_same_file(place, target) for place in _inputs):
        raise FormatError(
            "expected another file than those that are read, found one of them; choose another name", path=path
        )
    if by == FILE and (kind := owner_of(target)):
        raise FormatError(
            f"expected a name of its own, found that of a file of the {kind} in this folder; choose another name",
            path=path,
        )


class _SomebodysError(Exception):
    """The existing file is not ours."""


def _is_ours(target: Path, by: str) -> _Stamp | None:
    """The stamp of a file that ``by`` wrote, or that is empty.

    Raises
    ------
    FileNotFoundError
        If there is none.
    _SomebodysError
        If it is not ours.
    """
    stamp = _Stamp.of(target)
    if stamp.size == 0:
        return stamp
    if all(name != target.name for _, name, _ in read_record(target.parent)):
        raise _SomebodysError("one that it did not write, which would be lost")
    own = target.name, sha256_of(target)  # before the record, since another program adds to the record before it writes
    writers = [writer for writer, *found in read_record(target.parent) if (*found,) == own]
    if not writers:
        raise _SomebodysError("one that was changed since, which would be lost")
    if by not in writers:
        raise _SomebodysError(f"a part of what kgtrec wrote as {writers[-1]}")
    return stamp


def _keep_aside(target: Path, path: PathLike, by: str) -> None:
    """Give a file that ``by`` did not write, or that was changed since, a second name, under which it is kept."""
    try:
        _is_ours(target, by)
    except _SomebodysError:
        for name in free_names(target):
            with suppress(FileExistsError):  # another program was faster
                link(target, name)
                break
        warn(f"{path}: was edited since kgtrec wrote it, or came from elsewhere; it is kept as {name.name}")


def _stamp_of(target: Path, path: PathLike, by: str) -> _Stamp | None:
    """The stamp of the existing file, whoever wrote it."""
    _require_place(target, path, by)
    with suppress(FileNotFoundError, NotADirectoryError):
        return _Stamp.of(target)
    return None


def _such_as(target: Path) -> str:
    return f", such as {next(free_names(target)).name}"


def _install_file(part: Path, target: Path, before: _Stamp | None, again: Callable[[], _Stamp | None]) -> None:
    """Replace what was there ``before`` with a finished file; ``again`` checks what is there now."""
    if before is None:
        try:
            renamed_to_new(part, target)
        except FileExistsError:
            again()  # raises an error if it is not ours
            part.replace(target)  # ours, from another process
        return
    with held(target):  # else it would count as abandoned once it has the part's name
        if renamed(part, target, EXCHANGE):
            with suppress(FileNotFoundError):  # if two programs replace it, the other one may have removed it
                if _Stamp.of(part) != before:  # another program was faster: put its file back
                    renamed(part, target, EXCHANGE)
                    again()
                    renamed(part, target, EXCHANGE)
                part.unlink()
            return
    if _Stamp.of(target) != before:
        again()
    part.replace(target)


# --- a folder


def _keeps_no_more(_: str) -> bool:
    return False


def _stays(name: str, keeps: Callable[[str], bool]) -> bool:
    return name in _HOUSEKEEPING or keeps(name)


def _require_folder(
    target: Path, path: PathLike, by: str, force: bool, keeps: Callable[[str], bool]
) -> dict[str, _Stamp]:
    """The files of a folder that may be replaced, as paths below it."""
    _require_name(path, target)
    if os.path.lexists(target) and not target.is_dir():
        raise FormatError("expected a folder to write, found a file", path=path)
    if inner := next((place for place in _inputs if place == target or target in place.parents), None):
        what = "an input" if inner == target else f"a folder that contains the input {inner.relative_to(target)}"
        raise FormatError(f"expected a folder of its own, found {what}; choose another folder", path=path)
    if kind := owner_of(target):
        raise FormatError(
            f"expected a name of its own, found that of a part of the {kind} in this folder; choose another name",
            path=path,
        )
    while target.is_dir():
        before = _Stamp.of(target)
        try:
            return _files_to_replace(target, path, by, force, keeps)
        except (FormatError, FileNotFoundError):
            if target.is_dir() and _Stamp.of(target) == before:
                raise  # else another program replaced it meanwhile: its record and its files were of two folders
    return {}


def _files_to_replace(
    target: Path, path: PathLike, by: str, force: bool, keeps: Callable[[str], bool]
) -> dict[str, _Stamp]:
    """The files of a folder, as paths below it; an error if not all of them may be replaced."""
    recorded = [(name, sha256) for writer, name, sha256 in read_record(target, path) if writer == by]
    sums: dict[str, set[str]] = {}
    for name, sha256 in recorded:
        sums.setdefault(name, set()).add(sha256)
    ours: dict[str, _Stamp] = {}
    others: list[str] = []
    foreign: list[str] = []  # folders
    changed: list[str] = []
    inhabited = {parent.as_posix() for name in sums for parent in Path(name).parents}
    for place, folders, files in os.walk(target):
        inner = Path(place).relative_to(target)
        entered = []
        for own in folders:
            name = (inner / own).as_posix()
            if Path(place, own).is_symlink():
                others.append(name)
            elif name in inhabited:
                entered.append(own)
            elif not is_part(own):
                foreign.append(f"{name}/")
        folders[:] = entered  # the contents of other folders do not matter, and may be large
        for own in files:
            entry, name = Path(place, own), (inner / own).as_posix()
            if is_part(own):
                continue
            if entry.is_symlink() or not entry.is_file():
                others.append(name)
            elif own == RECORD:
                read_record(Path(place), Path(path) / inner)  # which refuses a file of another kind
            elif inner == Path() and _stays(own, keeps):
                continue
            elif name not in sums:
                others.append(name)
            else:
                ours[name] = _Stamp.of(entry)
                if sha256_of(entry) not in sums[name]:
                    changed.append(name)
    others += foreign
    if others or changed:
        what = _whose(target, others) if others else ""
        since = f"what was changed since: {_listed(changed)}" if changed else ""
        raise FormatError(
            "expected a new or empty folder, or one in which all is as kgtrec wrote it, found "
            f"{' and '.join(filter(None, (what, since)))}; choose another folder, or move them away"
            + _without_record(target),
            path=path,
        )
    if ours and not force:
        raise FormatError(
            f"expected a new or empty folder, found what kgtrec wrote before ({by}); replace it with --force "
            "(in Python force=True)",
            path=path,
        )
    return ours


def _whose(folder: Path, names: list[str]) -> str:
    """The writers of the files in a folder that do not belong to the replaced output."""
    recorded = {name for _, name, _ in read_record(folder)}
    if all(name in recorded or (folder / name / RECORD).is_file() for name in names):
        return f"what another command of kgtrec wrote there: {_listed(names)}"
    return f"what kgtrec did not write there: {_listed(names)}"


def _without_record(folder: Path) -> str:
    return "" if read_record(folder) else f" (a copy of a folder needs its record, {RECORD})"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(sorted(names)[:_NAMED]) + more


def _below(folder: Path) -> Iterator[Path]:
    """Everything in a folder, folders before their contents; links are not followed."""
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))


def _children(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _cannot_be_renamed(target: Path) -> bool:
    """Whether a folder must not be renamed: it is a current folder, or a mount point."""
    return _holds_current_folder(target) or target.is_mount() or not os.access(target.parent, os.W_OK)


def _holds_current_folder(folder: Path) -> bool:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return False
    return here == folder or folder in here.parents


@contextmanager
def _part_folder(target: Path, path: PathLike, *, inside: bool) -> Iterator[Path]:
    """An empty folder beside ``target``, or in it, which is removed at the end."""
    where = target if inside else target.parent
    made = [folder for folder in (where, *where.parents) if not folder.exists()]
    part = where / part_name(target.name)
    on_failure(partial(_remove_made, made))
    handle = -1
    try:
        # created inside the block that removes it: a signal may come at any moment
        try:
            if made:
                where.mkdir(parents=True, exist_ok=True)
            while not part.exists():  # before it is locked, another program may think it abandoned
                if handle >= 0:
                    os.close(handle)
                    handle = -1
                part.mkdir()
                with suppress(OSError):
                    handle = os.open(part, os.O_RDONLY)
                    lock(handle)
        except OSError as error:
            raise _cannot_write(error, path, where) from None
        yield part
    except BaseException:
        _remove_part(part)
        _remove_made(made)
        raise
    finally:
        if handle >= 0:
            os.close(handle)
    _remove_part(part)


def _exchange_folder(part: Path, target: Path, ours: Mapping[str, _Stamp], keeps: Callable[[str], bool]) -> None:
    """Replace the existing folder with a finished one."""
    if not target.is_dir():
        renamed_to_new(part, target)
        return
    _copy_rights(target, part)
    if not any(target.iterdir()):
        part.replace(target)  # which replaces an empty folder only
        return
    for entry in _children(target):
        if entry.name != RECORD and entry.is_file() and _stays(entry.name, keeps):
            link(entry, part / entry.name)
    with held(target):  # else it would count as abandoned once it has the part's name
        with uninterrupted():
            if not renamed(part, target, EXCHANGE):
                aside = target.parent / part_name(target.name)
                move([(target, aside), (part, target)])
                aside.replace(part)
        _sweep(part, target, ours)


def _copy_rights(source: Path, place: Path) -> None:
    """Give a file or folder the permissions and owner of the one that it replaces, as far as the system allows."""
    found = source.stat()
    for owner, group in ((-1, found.st_gid), (found.st_uid, -1)):
        with suppress(OSError, AttributeError):
            os.chown(place, owner, group)
    with suppress(OSError):
        place.chmod(stat.S_IMODE(found.st_mode))


def _sweep(old: Path, new: Path, ours: Mapping[str, _Stamp]) -> None:
    """Remove our files from a replaced folder; files that others put there meanwhile are moved to the new one."""
    recorded = _recorded(old)  # also if another program has replaced the folder just now
    for entry in list(_below(old)):
        name = entry.relative_to(old)
        if entry == old / RECORD or (entry.is_dir() and not entry.is_symlink()):
            continue
        place = new / name
        with suppress(FileNotFoundError, FileExistsError):  # another program does the same
            if (
                entry.name == RECORD
                or any(is_part(part) for part in name.parts)
                or _Stamp.of(entry) == ours.get(name.as_posix())
                or _is_recorded(entry, old, recorded)
                or (place.exists() and _has_same_bytes(entry, place))  # it is kept: it has two names now
            ):
                entry.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            renamed_to_new(entry, place if not os.path.lexists(place) else next(free_names(place)))
    _remove_empty(old)


def _fill(part: Path, target: Path, ours: Mapping[str, _Stamp]) -> None:
    """Replace our files in a folder that cannot be renamed with those of a finished folder."""
    old = part / part_name("old")
    old.mkdir()
    moves = [(target / name, old / str(number)) for number, name in enumerate(ours)]
    if (target / RECORD).exists():
        moves.append((target / RECORD, old / RECORD))
    moves += [
        (entry, target / entry.relative_to(part)) for entry in _below(part) if not entry.is_dir() and entry != old
    ]
    for _, place in moves:
        place.parent.mkdir(parents=True, exist_ok=True)
    with uninterrupted():
        move(moves)
    for number, (name, stamp) in enumerate(ours.items()):
        if _Stamp.of(old / str(number)) != stamp:  # another program was faster: its file is kept, under another name
            renamed_to_new(old / str(number), next(free_names(target / name)))
        for folder in (target / name).relative_to(target).parents:
            if not _holds_current_folder(target / folder):
                with suppress(OSError):
                    (target / folder).rmdir()
    shutil.rmtree(part, ignore_errors=True)


def _remove_empty(folder: Path) -> None:
    """Remove a folder and the folders in it that are empty; its record is removed last."""
    for place, _, _ in os.walk(folder, topdown=False):
        if place != str(folder):
            with suppress(OSError):
                Path(place).rmdir()
    _remove_made([folder])


def _recorded(folder: Path) -> set[tuple[str, str]]:
    """Path and SHA-256 of the files that were written as parts of a folder, according to its record."""
    return {(name, sha256) for writer, name, sha256 in read_record(folder) if writer != FILE}


def _is_recorded(entry: Path, folder: Path, recorded: set[tuple[str, str]]) -> bool:
    name = entry.relative_to(folder).as_posix()
    return not entry.is_symlink() and entry.is_file() and (name, sha256_of(entry)) in recorded


def _has_same_bytes(one: Path, other: Path) -> bool:
    return is_same_file(one, other) or sha256_of(one) == sha256_of(other)


# --- parts that are not finished


def _remove_stale(target: Path) -> None:
    """Remove unfinished files of a killed writer beside a file or folder, or in it."""
    for folder in (target.parent, target):
        try:
            names = [entry.name for entry in os.scandir(folder)]
        except OSError:
            continue
        for name in names:
            if is_part(name, target.name):
                _remove_abandoned(folder / name)


def _remove_abandoned(part: Path) -> None:
    """Remove a part that no program is writing; if that is unknown, it is kept."""
    with held(part) as is_abandoned:
        if is_abandoned:
            _remove_part(part)


def _remove_part(part: Path) -> None:
    """Remove an unfinished file or folder; from a replaced folder, only its recorded files."""
    with suppress(OSError):
        if not part.is_dir() or part.is_symlink():
            part.unlink(missing_ok=True)
            return
        recorded = _recorded(part)
        if not recorded:
            shutil.rmtree(part, ignore_errors=True)
            return
        for entry in list(_below(part)):
            if entry == part / RECORD or not entry.is_file():
                continue
            # if it has two names, the other one is kept
            if entry.name == RECORD or entry.stat().st_nlink > 1 or _is_recorded(entry, part, recorded):
                entry.unlink()
        _remove_empty(part)


def _reason(error: OSError, folder: Path) -> str:
    """Why a folder cannot be written to; if there is a file instead, the system only says that it exists."""
    files = [place for place in (folder, *folder.parents) if place.exists() and not place.is_dir()]
    return f"{files[0]} is a file, not a folder" if files else str(error.strerror)


def _record_lines(target: Path, keeps: Callable[[str], bool]) -> list[Row]:
    """The lines of an earlier record about the files that are kept."""
    return [row for row in read_record(target) if keeps(row[1])]


def _record_folder(part: Path, by: str, before: list[Row]) -> None:
    """Record all files of a finished folder as those of ``by``."""
    rows = [
        (by, entry.relative_to(part).as_posix(), sha256_of(entry))
        for entry in sorted(_below(part))
        if entry.is_file() and entry.name != RECORD
    ]
    record(part, [*before, *rows])

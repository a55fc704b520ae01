"""What a data set needs of an archive: members by name, regular files of the published size, and nothing else."""

from __future__ import annotations

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.sums import WrongFileError, require_published
from kgtrec.errors import FormatError, counted

_MOST = 8 << 30  # bytes of a member whose size is not known
_MARGIN = 64 << 20  # bytes of a tar file beside the members that are asked for
_CHUNK = 1 << 20
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error, NotImplementedError)


def unpack(archive: Path, members: tuple[DataFile, ...], folder: Path) -> None:
    """Put members of a ``.tar.gz``, ``.tar`` or ``.zip`` file into a folder, once all of them are as published.

    Only what ``members`` names is written, where their ``path`` says. No name in the archive becomes a path.

    Raises
    ------
    FormatError
        If the archive is damaged, lacks a member, or has a link, a device or more bytes than were published in place of
        one. Nothing is written then.
    """
    wanted = {member.member or member.path: member for member in members}
    parts: dict[str, Path] = {}
    try:
        read = _zip_members if zipfile.is_zipfile(archive) else _tar_members
        for name, stream in read(archive, wanted):
            member = wanted[name]
            place = folder / member.path
            place.parent.mkdir(parents=True, exist_ok=True)
            parts[name] = place.with_name(f".{place.name}.unpacked")
            _copy(stream, parts[name], member)
            require_published(member, parts[name])
        if missing := [name for name in wanted if name not in parts]:
            raise FormatError(f"expected {', '.join(missing)} in the archive, found none of that name", path=archive)
        for name, part in parts.items():
            part.replace(folder / wanted[name].path)
    except _DAMAGED as error:
        raise FormatError(
            f"expected a whole archive, found a damaged one ({error}); move it away", path=archive
        ) from None
    except WrongFileError as error:
        raise FormatError(f"{name}: {error}; move the archive away", path=archive) from None
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _tar_members(archive: Path, wanted: Mapping[str, DataFile]) -> Iterator[tuple[str, IO[bytes]]]:
    """The members that are asked for, in the order of the archive; the rest of it is not read."""
    most = sum(_most(member) for member in wanted.values()) + _MARGIN
    missing = set(wanted)
    with archive.open("rb") as raw:
        is_plain = raw.peek(2)[:2] != b"\x1f\x8b"
        plain = cast(IO[bytes], raw if is_plain else gzip.GzipFile(fileobj=raw, mode="rb"))
        # a stream, so that nothing is sought, and a size that somebody made up is not believed
        with tarfile.open(fileobj=cast(IO[bytes], _Bounded(plain, most, archive)), mode="r|") as tar:
            for entry in tar:
                name = entry.name.removeprefix("./")
                if name not in missing:
                    continue
                if not entry.isreg() or (stream := tar.extractfile(entry)) is None:
                    raise FormatError(f"expected a regular file {name} in the archive, found none", path=archive)
                missing.remove(name)
                yield name, stream
                if not missing:
                    return


def _zip_members(archive: Path, wanted: Mapping[str, DataFile]) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as file:
        there = {entry.filename: entry for entry in file.infolist()}
        for name in wanted:
            entry = there.get(name)
            if entry is None:
                continue
            mode = entry.external_attr >> 16
            if entry.is_dir() or entry.flag_bits & 1 or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
                raise FormatError(f"expected a regular file {name} in the archive, found none", path=archive)
            with file.open(entry) as stream:
                yield name, stream


def _most(member: DataFile) -> int:
    return _MOST if member.size is None else member.size


def _copy(source: IO[bytes], place: Path, member: DataFile) -> None:
    """Write a member, up to one byte more than it may have."""
    left = _most(member)
    with place.open("wb") as target:
        while chunk := source.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise WrongFileError(f"expected {counted(_most(member), 'byte')} at most, found more")
            target.write(chunk)


class _Bounded:
    """What tarfile reads of a stream, which is an error where it is longer than it may be."""

    def __init__(self, stream: IO[bytes], most: int, archive: Path) -> None:
        self._stream, self._left, self._archive = stream, most, archive

    def read(self, size: int) -> bytes:
        found = self._stream.read(size)
        self._left -= len(found)
        if self._left < 0:
            raise FormatError("expected what was published, found an archive of far more bytes", path=self._archive)
        return found

"""Opening files: compression by suffix, standard input as ``-``; for writing, see :mod:`kgtrec.formats.output`."""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import pyarrow as pa

from kgtrec.errors import FormatError, KgtrecError

PathLike = str | os.PathLike[str]
_COMPRESSED = {b"\x1f\x8b": ("gzip", ".gz"), b"\x28\xb5\x2f\xfd": ("zstd", ".zst")}  # first bytes, format, suffix
# times its size that a file may expand to, which is five times what the most regular triples reach; bytes that any may
_MOST_EXPANDED, _LEAST_EXPANDED = 500, 1 << 26
_AT_A_TIME = 1 << 20
_NOT_OPENED: dict[type, str] = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "expected a file, found a folder",
    PermissionError: "expected a readable file, found one without read permission",
}
_TICK = 100_000_000  # nanoseconds; longer than the tick of any system's clock
_GZIP_LEVEL = 1  # run files are large and compress well at any level; higher ones cost only time


def suffixes(path: PathLike) -> tuple[str, str]:
    """Return the format suffix and the compression suffix, lower case: ``x.run.gz`` -> (".run", ".gz").

    Examples
    --------
    >>> suffixes("x.run.gz"), suffixes("train.tsv"), suffixes("-")
    (('.run', '.gz'), ('.tsv', ''), ('', ''))
    """
    name = Path(path)
    last = name.suffix.lower()
    return (name.with_suffix("").suffix.lower(), last) if last in (".gz", ".zst") else (last, "")


def name_as_text(name: str) -> str:
    r"""Return a file's name as printable text: bytes that are not UTF-8 become escapes.

    Examples
    --------
    >>> name_as_text("caf\u00e9.run"), name_as_text("caf\udce9.run")
    ('café.run', 'caf\\xe9.run')
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@contextmanager
def reading(path: PathLike) -> Iterator[BinaryIO]:
    """Open the bytes of a file, decompressed if it is ``.gz`` or ``.zst``; ``-`` is standard input.

    Raises
    ------
    FormatError
        If the file is missing, is a folder, cannot be read, is compressed without the suffix, or its compressed data
        are damaged or cut off, or expand to more than 500 times their size, and 64 MiB.
    """
    name = os.fspath(path)
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(_opened(path))
        except OSError as error:
            raise FormatError(
                _NOT_OPENED.get(type(error), f"cannot be opened: {error.strerror or error}"), path=name
            ) from None
        except KgtrecError:
            raise
        except ValueError:  # a NUL character, or half of a character
            raise FormatError(
                "expected the name of a file, found one that no file can have", path=ascii(name)
            ) from None
        try:
            yield stream
        except (EOFError, zlib.error, OSError) as error:
            # a bare OSError is of a reader of compressed data; one with an errno has another cause
            if isinstance(error, OSError) and (error.errno is not None or not suffixes(path)[1]):
                raise
            raise FormatError(
                f"expected whole compressed data, found damaged or cut-off data ({error}); copy or create the file "
                "again",
                path=os.fspath(path),
            ) from None


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    compression = suffixes(path)[1]
    if os.fspath(path) == "-":
        if sys.stdin is None:
            raise FormatError("expected standard input, found it closed", path="-")
        yield _plain(path, sys.stdin.buffer)
    elif compression == ".gz":
        with gzip.open(path, "rb") as stream:
            yield cast(BinaryIO, _Expanded(path, stream))
    elif compression == ".zst":
        with Path(path).open("rb") as raw, pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd") as plain:
            yield cast(BinaryIO, _Expanded(path, io.BufferedReader(cast(io.RawIOBase, plain), _AT_A_TIME)))
    else:
        with Path(path).open("rb") as stream:
            yield _plain(path, stream)


class _Expanded:
    """What a compressed file expands to, up to a limit that only a bomb reaches."""

    def __init__(self, path: PathLike, stream: Any) -> None:
        self._path, self._stream, self._position = path, stream, 0
        found = Path(path).stat()
        self._most = max(_LEAST_EXPANDED, _MOST_EXPANDED * found.st_size) if stat.S_ISREG(found.st_mode) else math.inf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._position = self._stream.seek(offset, whence)
        return self._position

    def readline(self, size: int = -1, /) -> bytes:
        return self._counted(self._stream.readline(_LEAST_EXPANDED if size < 0 else size))

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            return b"".join(iter(partial(self.read, _AT_A_TIME), b""))
        return self._counted(self._stream.read(size))

    def _counted(self, data: bytes) -> bytes:
        self._position += len(data)
        if self._position > self._most:
            raise FormatError(
                f"expected data that expand to at most {_MOST_EXPANDED:,} times their compressed size, found more than "
                f"{int(self._most) >> 20:,} MiB; decompress the file first if it is what it should be",
                path=os.fspath(self._path),
            )
        return data


def _plain(path: PathLike, stream: BinaryIO) -> BinaryIO:
    """``stream``, unless its first bytes are those of compressed data, which no reader of text can use."""
    first = stream.peek(4) if isinstance(stream, io.BufferedReader) else b""
    for magic, (name, suffix) in _COMPRESSED.items():
        if first.startswith(magic):
            way_out = "decompress it first" if os.fspath(path) == "-" else f"give it a name that ends in {suffix}"
            raise FormatError(f"expected plain data, found {name} data; {way_out}", path=os.fspath(path))
    return stream


@contextmanager
def compressing(raw: IO[bytes], compression: str) -> Iterator[BinaryIO]:
    """Return a stream that compresses into ``raw`` by the suffix ``compression``; equal content gives equal bytes."""
    if compression == ".gz":
        # no name and no time in the header, so that equal content gives equal bytes
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif compression == ".zst":
        with pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd") as stream:
            yield cast(BinaryIO, stream)
    else:
        yield cast(BinaryIO, raw)


@contextmanager
def alone_in(place: PathLike, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a folder until the block ends; other programs that ask for it wait.

    Parameters
    ----------
    place : path
        The folder; or a file in it, which is created if needed, and which more network file systems can lock. Where
        nothing can be locked, nobody waits.
    wait : bool
        Whether to wait for a program that holds the lock.

    Raises
    ------
    BlockingIOError
        If another program holds the lock, and this one does not wait.
    """
    descriptor = -1
    try:
        try:
            import fcntl

            descriptor = os.open(place, os.O_RDONLY if Path(place).is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except (ImportError, OSError):
            pass
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)  # which releases the lock


@dataclass(frozen=True, slots=True)
class FileState:
    """The system's record of a file: as long as it is the same, the contents are the same.

    Except for changes within one tick of the system's clock, some milliseconds, that keep the size: see :attr:`is_old`.
    """

    device: int
    inode: int
    size: int
    modified: int  # nanoseconds
    changed: int  # nanoseconds; also when its owner or permissions change; it cannot be set

    @classmethod
    def of(cls, path: PathLike) -> FileState | None:
        """Return the state of the file at a path; None where there is none."""
        try:
            return cls._of(os.stat(path))  # noqa: PTH116  # a server asks often, and this takes a fifth of the time
        except FileNotFoundError:
            return None

    @classmethod
    def of_open(cls, stream: BinaryIO) -> FileState:
        """Return the state of an open file."""
        return cls._of(os.fstat(stream.fileno()))

    @classmethod
    def _of(cls, found: os.stat_result) -> FileState:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @property
    def is_old(self) -> bool:
        """Whether the last change is so long ago that a further one would have another time."""
        return time.time_ns() - max(self.modified, self.changed) > _TICK


def require_regular(*paths: PathLike) -> None:
    """Refuse a pipe, a socket or a device instead of a campaign's file: reading it could take forever.

    Raises
    ------
    FormatError
        For the first one of ``paths`` that is neither a file nor a folder; a missing one is reported by its reader.
    """
    for path in paths:
        with suppress(OSError):
            mode = Path(path).stat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
                raise FormatError(f"expected a file of the campaign, found a {kind}; remove it", path)


def sha256_of(path: PathLike) -> str:
    """Return the SHA-256 of a file as it is stored, compressed or not, in hex digits."""
    import hashlib  # slow to import, and rarely needed

    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def kgtrec_version() -> str:
    """Return the installed version of kgtrec, for manifests; ``unknown`` where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("kgtrec")
    except PackageNotFoundError:
        return "unknown"

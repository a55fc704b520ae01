"""Opening and writing files: compression by suffix, standard input as ``-``, and writers that leave no half file."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

import pyarrow as pa

from kgtrec.errors import FormatError

PathLike = str | os.PathLike[str]
_GZIP_LEVEL = 1  # run files are large and compress well at any level; higher ones only cost time


def suffixes(path: PathLike) -> tuple[str, str]:
    """The format suffix and the compression suffix, lower case: ``x.run.gz`` -> (".run", ".gz").

    Examples
    --------
    >>> suffixes("x.run.gz"), suffixes("train.tsv"), suffixes("-")
    (('.run', '.gz'), ('.tsv', ''), ('', ''))
    """
    name = Path(path)
    last = name.suffix.lower()
    return (name.with_suffix("").suffix.lower(), last) if last in (".gz", ".zst") else (last, "")


@contextmanager
def reading(path: PathLike) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if it is ``.gz`` or ``.zst``; ``-`` is standard input.

    Raises
    ------
    FormatError
        If the file is missing, is a folder, cannot be read, or its compressed data are damaged or cut off.
    """
    name = os.fspath(path)
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(_opened(path))
        except FileNotFoundError:
            raise FormatError("no such file", path=name) from None
        except IsADirectoryError:
            raise FormatError("expected a file, found a folder", path=name) from None
        except PermissionError:
            raise FormatError("expected a readable file, found one without read permission", path=name) from None
        except OSError as error:
            raise FormatError(f"cannot be opened: {error.strerror or error}", path=name) from None
        try:
            yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, error) from None
        except OSError as error:
            # Arrow's zstd reader raises a bare OSError; any with an errno is about something else
            if suffixes(path)[1] == ".zst" and error.errno is None:
                raise _damaged(path, error) from None
            raise


def _damaged(path: PathLike, error: Exception) -> FormatError:
    return FormatError(
        f"expected whole compressed data, found damaged or cut-off data ({error}); copy or create the file anew",
        path=os.fspath(path),
    )


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    compression = suffixes(path)[1]
    if os.fspath(path) == "-":
        yield sys.stdin.buffer
    elif compression == ".gz":
        with gzip.open(path, "rb") as stream:
            yield cast(BinaryIO, stream)
    elif compression == ".zst":
        with Path(path).open("rb") as raw, pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd") as plain:
            yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, plain), 1 << 20))
    else:
        with Path(path).open("rb") as stream:
            yield stream


@contextmanager
def writing(path: PathLike) -> Iterator[BinaryIO]:
    """A binary stream that becomes the file ``path`` when the block ends well, and vanishes when it does not.

    Compressed by suffix; equal content gives equal bytes. ``-`` is standard output.
    """
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        # a device or a pipe has no content to keep, and must not be replaced by a file
        with target.open("wb") as raw, _compressing(raw, suffixes(path)[1]) as stream:
            yield stream
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise FormatError("expected a file to write, found a folder", path=target)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise FormatError(f"cannot write here: {error.strerror}", path=target) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as raw, _compressing(raw, suffixes(path)[1]) as stream:
            yield stream
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def _compressing(raw: IO[bytes], compression: str) -> Iterator[BinaryIO]:
    if compression == ".gz":
        # no name and no time in the header, so that equal content gives equal bytes
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif compression == ".zst":
        with pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd") as stream:
            yield cast(BinaryIO, stream)
    else:
        yield cast(BinaryIO, raw)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: PathLike, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with writing(path) as stream:
        stream.write(text.encode())


@contextmanager
def replacing_folder(path: PathLike, *, made_by: str) -> Iterator[Path]:
    """A folder to fill, which becomes ``path`` when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    path : path
        Absent, empty, or a folder that was made this way before, which is then replaced.
    made_by : str
        A file that every folder made this way holds, and by which an earlier one is known.

    Raises
    ------
    FormatError
        If ``path`` is a file, or a folder with anything else in it.
    """
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise FormatError("expected a folder to write, found a file", path=target)
    if target.is_dir() and any(target.iterdir()) and not (target / made_by).is_file():
        raise FormatError(
            "expected an empty or new folder, found one with other files, which would be lost; choose another",
            path=target,
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise FormatError(f"cannot write here: {error.strerror}", path=target) from None
    try:
        yield part
        part.chmod(0o777 & ~_umask())
        if target.is_dir():
            shutil.rmtree(target)
        part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)

"""A data set by its name: from the cache, from a mirror, or from where it was published."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from kgtrec.data_sets.download import DownloadError, download
from kgtrec.data_sets.registry import LAYOUTS, DataFile, DataSet, data_set, list_data_sets
from kgtrec.data_sets.sums import WrongFileError, is_published, require_published
from kgtrec.data_sets.unpack import unpack
from kgtrec.errors import FormatError, KgtrecError, nearest, warn
from kgtrec.formats.files import alone_in

if TYPE_CHECKING:
    from kgtrec.data.progress import ShowProgress

CACHE, MIRROR = "KGTREC_DATA_CACHE", "KGTREC_DATA_MIRROR"
_LOCK = ".lock"


def cache_folder() -> Path:
    """Return the folder of data sets: what ``KGTREC_DATA_CACHE`` names, else ``kgtrec`` in the user's cache.

    Each data set has a folder of its name in it. The folder need not exist.
    """
    named = os.environ.get(CACHE, "")
    if named:
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("kgtrec"))


def get(name: str, *, progress: ShowProgress | None = None) -> Path:
    """Download a data set unless it is in the cache, and return its folder, with all files as they were published.

    Every file is compared with its published SHA-256 before it is used, each time. Two programs that ask for the same
    data set download it once.

    Parameters
    ----------
    name : str
        Of :func:`list_data_sets`; upper and lower case are the same.
    progress : callable, optional
        Shows how far each download is: description, total and unit to a context manager of a function that takes how
        much more is done.

    Returns
    -------
    Path
        The folder: ``train.txt``, ``valid.txt`` and ``test.txt`` where the data set has splits.

    Raises
    ------
    KgtrecError
        If there is no such data set, or it cannot be downloaded; the message has the URL, and where to put the file. Of
        a data set whose checksums are not confirmed, that is always so until its files are there.
    FormatError
        If a file in the folder is not the published one; it stays.

    Notes
    -----
    ``KGTREC_DATA_MIRROR`` names the beginning of a URL, or a folder, that holds each file as ``NAME/FILE``, as the
    cache does; files are then taken from there alone.

    Examples
    --------
    >>> import os, tempfile
    >>> os.environ["KGTREC_DATA_MIRROR"] = tempfile.mkdtemp()
    >>> os.environ["KGTREC_DATA_CACHE"] = tempfile.mkdtemp()
    >>> get("nations")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: .../nations/nations.tar.gz: no such file, which KGTREC_DATA_MIRROR says that nations ...
    >>> del os.environ["KGTREC_DATA_MIRROR"], os.environ["KGTREC_DATA_CACHE"]
    """
    data = data_set(name)
    folder = cache_folder() / data.name
    if all(is_published(part, folder / part.path) for part in data.parts()):
        _warn_of_unknown(data, folder)
        return folder
    if data.unconfirmed:
        _require_by_hand(data, folder)
    with _disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder / _LOCK):
            for file in data.files:
                _make_ready(data, file, folder, progress)
    _warn_of_unknown(data, folder)
    return folder


def folder_of(text: str, *, progress: ShowProgress | None = None) -> Path:
    """Return a folder that exists, or that of the data set of this name, which is downloaded if need be.

    Parameters
    ----------
    text : str
        Path of a folder, or name of a data set with splits.
    progress : callable, optional
        As for :func:`get`.

    Raises
    ------
    KgtrecError
        If it is neither, or the data set cannot be had, or has no splits.
    """
    path = Path(text)
    if path.exists() or path.name != text:
        return path
    names = [data.name for data in list_data_sets(unconfirmed=True).data_sets]
    if text.casefold() not in names:
        raise FormatError(
            "expected a folder with train, valid and test triples, or the name of a data set, found neither"
            + (nearest(text, names) or "; kgtrec data list has the names"),
            path=text,
        )
    if (layout := data_set(text).layout) == "labels":
        raise KgtrecError(f"{text}: expected a data set of train, valid and test triples, found {LAYOUTS[layout]}")
    return get(text, progress=progress)


def _missing(file: DataFile, folder: Path) -> tuple[DataFile, ...]:
    """What is not there of a file that is used as it is, or of what is unpacked from it."""
    return tuple(part for part in file.members or (file,) if not is_published(part, folder / part.path))


def _make_ready(data: DataSet, file: DataFile, folder: Path, progress: ShowProgress | None) -> None:
    """Bring a file, or what is unpacked from it, to its place; another program may have done so meanwhile."""
    if not (missing := _missing(file, folder)):
        return
    if not is_published(file, folder / file.path):
        _fetch(data, file, folder / file.path, progress)
    if file.members:
        unpack(folder / file.path, missing, folder)


def _fetch(data: DataSet, file: DataFile, place: Path, progress: ShowProgress | None) -> None:
    """Download a file, or take it from the mirror, and check it."""
    origin, source = _origin(data, file)
    mirror = f"unset {MIRROR}" if os.environ.get(MIRROR) else f"name a mirror in {MIRROR}"
    wanted = "that file" if origin == file.url else file.url
    by_hand = f"put {wanted} at {place} and run the same command again, or {mirror}"
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.part")
    try:
        if source is None:
            download(origin, part, file, progress)
        else:
            shutil.copyfile(source, part)
        require_published(file, part)
        part.replace(place)
    except DownloadError as error:
        raise KgtrecError(f"{data.name}: cannot download {origin}: {error}; {by_hand}") from None
    except WrongFileError as error:
        raise KgtrecError(
            f"{data.name}: {origin} is not the file that was published: {error}; nothing of it was kept; {by_hand}"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def _origin(data: DataSet, file: DataFile) -> tuple[str, Path | None]:
    """The URL of a file, or its place in a mirror that is a folder."""
    mirror = os.environ.get(MIRROR, "")
    if not mirror:
        return file.url, None
    if mirror.startswith(("http://", "https://")):
        return f"{mirror.rstrip('/')}/{data.name}/{quote(file.path)}", None
    place = Path(mirror).expanduser() / data.name / file.path
    if not place.is_file():
        if "://" in mirror:
            raise KgtrecError(f"{MIRROR}: expected a folder, or a URL of http or https, found {mirror!r}")
        raise KgtrecError(
            f"{place}: no such file, which {MIRROR} says that {data.name} is taken from; put {file.url} there, or "
            f"unset {MIRROR}"
        )
    return str(place), place


def _require_by_hand(data: DataSet, folder: Path) -> None:
    """Refuse a data set that is not confirmed, unless what it is made of is there."""
    missing = [file for file in data.files if not is_published(file, folder / file.path) and _missing(file, folder)]
    if missing:
        raise KgtrecError(
            f"{data.name}: is not downloaded, since its checksums are not confirmed ({data.unconfirmed}); put "
            + ", ".join(f"{file.url} at {folder / file.path}" for file in missing)
            + " and run the same command again"
        )


def _warn_of_unknown(data: DataSet, folder: Path) -> None:
    """Warn of a data set that was put in place by hand, and of which nothing is known to compare it with."""
    for file in data.files:
        is_known = bool(file.sha256 or file.git_blob)
        if file.members and not all(member.sha256 for member in file.members):
            is_known = is_known and (folder / file.path).is_file()
        if not is_known:
            warn(f"{folder}: was not compared with what was published: {data.unconfirmed}")
            return


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Say where a file cannot be written, and what to do."""
    try:
        yield
    except OSError as error:
        raise FormatError(
            f"cannot write here: {error.strerror or error}; make room, or name another folder in {CACHE}", path=folder
        ) from None

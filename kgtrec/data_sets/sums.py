"""Whether a file is the one that was published."""

from __future__ import annotations

from pathlib import Path

from kgtrec.data_sets.registry import DataFile
from kgtrec.errors import FormatError, KgtrecError, counted
from kgtrec.formats.files import sha256_of

_DIGITS = 12  # of a checksum that a message shows


class WrongFileError(KgtrecError):
    """Bytes that are not those that were published."""


def require_published(file: DataFile, path: Path) -> None:
    """Refuse a file whose size or checksum is not the published one; what is not known of it is not compared.

    Raises
    ------
    WrongFileError
        With what was expected and found; where the file came from, and the way out, are the caller's to say.
    """
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise WrongFileError(f"expected {counted(file.size, 'byte')}, found {size:,}")
    if file.sha256 and (found := sha256_of(path)) != file.sha256:
        raise WrongFileError(f"expected SHA-256 {file.sha256[:_DIGITS]}..., found {found[:_DIGITS]}...")
    if file.git_blob and (found := git_blob_of(path)) != file.git_blob:
        raise WrongFileError(f"expected git's id {file.git_blob[:_DIGITS]}..., found {found[:_DIGITS]}...")


def is_published(file: DataFile, path: Path) -> bool:
    """Return whether a file is there; one that is not as published is refused, and stays.

    Raises
    ------
    FormatError
        If it is another one.
    """
    if not path.exists():
        return False
    if not path.is_file():
        raise FormatError("expected a file of a data set, found something else; move it away", path)
    try:
        require_published(file, path)
    except WrongFileError as error:
        raise FormatError(f"{error}; move it away, and what was published is put there", path) from None
    return True


def git_blob_of(path: Path) -> str:
    """Return git's id of a file: the SHA-1 of a header with the size, and of the bytes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty"
    >>> path.touch()
    >>> git_blob_of(path)
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    import hashlib

    header = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: header).hexdigest()

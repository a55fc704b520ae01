"""One file over HTTP, by pooch; what goes wrong on the way is one line."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.sums import WrongFileError
from kgtrec.errors import KgtrecError, counted
from kgtrec.formats.files import kgtrec_version

if TYPE_CHECKING:
    from kgtrec.data.progress import ShowProgress

_TIMEOUT = (15, 60)  # seconds to connect, and between two pieces
_CHUNK = 1 << 16


class DownloadError(KgtrecError):
    """A file that could not be had; the message says why, and the caller where else it may come from."""


def download(url: str, place: Path, file: DataFile, progress: ShowProgress | None = None) -> None:
    """Write what a server has to ``place``, up to the published size; the caller compares it with what was published.

    Raises
    ------
    DownloadError
        If the file cannot be had whole.
    WrongFileError
        If it is longer than the published one.
    OSError
        If it cannot be written.
    """
    import pooch
    from requests import exceptions

    headers = {"Accept-Encoding": "identity", "User-Agent": f"kgtrec/{kgtrec_version()}"}  # bytes as they are stored
    total = (file.size or 0) // 1000
    with progress(file.path, total, "kB") if progress else nullcontext(lambda _: None) as advance:
        bar = _Bar(place, file.size, advance)
        fetch = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT, headers=headers)
        try:
            fetch(url, str(place), None)
        except exceptions.HTTPError as error:
            answer: Any = error.response
            raise DownloadError(f"the server answered {answer.status_code} {answer.reason}") from None
        except exceptions.RequestException as error:
            reasons = {
                exceptions.SSLError: "no safe connection: its certificate was not accepted",
                exceptions.Timeout: "no answer in time",
                exceptions.ChunkedEncodingError: "the connection was cut off",
                exceptions.ConnectionError: "no connection",
            }
            reason = next(
                (reason for kind, reason in reasons.items() if isinstance(error, kind)), f"no answer: {error}"
            )
            raise DownloadError(reason) from None


class _Bar:
    """A progress bar as pooch knows them, which shows kilobytes, and stops a file that has no end."""

    total = 0

    def __init__(self, place: Path, most: int | None, advance: Any) -> None:
        self.place, self.most, self.advance, self.shown = place, most, advance, 0

    def update(self, _: int) -> None:
        """Look how much is there: pooch counts every piece as a whole one."""
        size = self.place.stat().st_size
        if self.most is not None and size > self.most:
            raise WrongFileError(f"expected {counted(self.most, 'byte')}, found more")
        self.advance(size // 1000 - self.shown)
        self.shown = size // 1000

    def reset(self) -> None:
        """Do nothing: the bar is where it belongs."""

    def close(self) -> None:
        """Do nothing: who made the bar closes it."""

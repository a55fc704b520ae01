"""One file over HTTP: goes on where an earlier download stopped, and is kept only if it is the published one."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.sums import WrongFileError, require_published
from kgtrec.errors import KgtrecError, counted
from kgtrec.formats.files import kgtrec_version

if TYPE_CHECKING:
    import requests

    from kgtrec.ranking.rank import Progress, ShowProgress

ATTEMPTS = 4  # at a download that is cut off, or that the server cannot answer just now
PAUSE = 1.0  # seconds before the second attempt; twice as many before each further one
_TIMEOUT = (15, 60)  # seconds to connect, and between two pieces
_CHUNK = 1 << 16
_LATER = (408, 425, 429, 500, 502, 503, 504)  # what a server answers that may serve the file later
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class DownloadError(KgtrecError):
    """A file that could not be had; the message says why, and the caller where else it may come from."""


class _CutError(Exception):
    """A download that stopped half-way."""


@dataclass(frozen=True, slots=True)
class Download:
    """Downloads one file, as pooch calls it: ``download(url, target, pooch)``.

    What has arrived is in ``.NAME.part`` beside the file's place, and in ``.NAME.part.json`` which version of which URL
    it is of. It is continued only if the server still has that version, by a strong ETag; else begun anew.
    """

    file: DataFile
    place: Path  # where the file will be
    progress: ShowProgress | None = None

    @property
    def part(self) -> Path:
        """What has arrived."""
        return self.place.with_name(f".{self.place.name}.part")

    @property
    def note(self) -> Path:
        """What it is of."""
        return self.place.with_name(f".{self.place.name}.part.json")

    def __call__(self, url: str, target: str, pooch: object = None) -> None:
        """Download, check, and move to ``target``.

        Raises
        ------
        DownloadError
            If the file cannot be had whole. What has arrived stays, to be continued.
        WrongFileError
            If it is not the published one. Nothing of it stays.
        OSError
            If it cannot be written.
        """
        with self._shown() as advance:
            for attempt in range(ATTEMPTS):
                if attempt:
                    time.sleep(PAUSE * 2 ** (attempt - 1))
                try:
                    self._receive(url, advance)
                    break
                except _CutError as error:
                    reason = str(error)
                except DownloadError as error:
                    raise DownloadError(f"{error}{self._kept(url)}") from None
            else:
                raise DownloadError(f"{reason}{self._kept(url)}")
        self._finish(target)

    def copy(self, source: Path, target: str) -> None:
        """Take the file from a folder, check it, and put it at ``target``."""
        self._forget()
        with source.open("rb") as stream, self.part.open("wb") as part:
            shutil.copyfileobj(stream, part)
        self._finish(target)

    def _finish(self, target: str) -> None:
        try:
            require_published(self.file, self.part)
        except WrongFileError:
            self._forget()
            raise
        self.part.replace(target)
        self._forget()

    def _forget(self) -> None:
        for path in (self.note, self.part):
            with suppress(FileNotFoundError):
                path.unlink()

    def _kept(self, url: str) -> str:
        size = self._arrived() if self._etag(url) else 0
        of = "" if self.file.size is None else f" of {self.file.size:,}"
        return f" ({size:,}{of} bytes have arrived; the same command goes on from there)" if size else ""

    def _arrived(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _receive(self, url: str, advance: Progress) -> None:
        """Bring the part to its end, by one request, or by two if the first one cannot be continued."""
        size, etag = self._arrived(), self._etag(url)
        if size and etag and size == self.file.size:
            return  # it had all arrived, and was stopped before it was checked
        if not (size and etag and self._continued(url, size, etag, advance)):
            self._begin(url, advance)
        if self.file.size is not None and self._arrived() < self.file.size:
            raise _CutError("the connection was cut off")

    def _etag(self, url: str) -> str:
        """The version that the part is of; empty if it cannot be continued."""
        try:
            note = json.loads(self.note.read_bytes())
            return str(note["etag"]) if note["url"] == url else ""
        except (OSError, ValueError, TypeError, KeyError):
            return ""

    def _continued(self, url: str, size: int, etag: str, advance: Progress) -> bool:
        """Ask for the rest; whether the server had it. One that sends the whole instead is taken at its word."""
        with _answer(url, {"Range": f"bytes={size}-", "If-Range": etag}) as response:
            if response.status_code == 416:
                return False
            _require_success(response)
            if response.status_code != 206:
                self._keep(response, url, advance, size=0)
                return True
            first = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if not first or int(first[1]) != size or response.headers.get("ETag", etag) != etag:
                return False
            self._keep(response, url, advance, size=size)
            return True

    def _begin(self, url: str, advance: Progress) -> None:
        with _answer(url, {}) as response:
            _require_success(response)
            self._keep(response, url, advance, size=0)

    def _keep(self, response: requests.Response, url: str, advance: Progress, size: int) -> None:
        """Write what arrives after the first ``size`` bytes."""
        most = self.file.size
        length = response.headers.get("Content-Length", "")
        if most is not None and length.isdecimal() and size + int(length) != most:
            self._forget()
            raise WrongFileError(f"expected {counted(most, 'byte')}, found {size + int(length):,}")
        etag = response.headers.get("ETag", "")
        if not size:
            self.part.unlink(missing_ok=True)
            self.note.write_text(json.dumps({"url": url, "etag": "" if etag.startswith("W/") else etag}))
        advance(size)
        with self.part.open("ab") as part:
            for chunk in _chunks(response):
                size += len(chunk)
                if most is not None and size > most:
                    part.close()
                    self._forget()
                    raise WrongFileError(f"expected {counted(most, 'byte')}, found more")
                part.write(chunk)
                advance(size)
        if length.isdecimal() and most is None and size < int(length):
            raise _CutError("the connection was cut off")

    @contextmanager
    def _shown(self) -> Iterator[Progress]:
        """A function that takes how many bytes are there; progress is shown in kilobytes."""
        total = (self.file.size or 0) // 1000
        shown: AbstractContextManager[Callable[[int], Any]] = (
            self.progress(self.file.path, total, "kB") if self.progress else nullcontext(lambda _: None)
        )
        with shown as advance:
            before = 0

            def there(size: int) -> None:
                nonlocal before
                now = size // 1000
                if now != before:
                    advance(now - before)
                    before = now

            yield there


@contextmanager
def _answer(url: str, headers: dict[str, str]) -> Iterator[requests.Response]:
    """What a server answers; what is wrong with the way to it as a line."""
    import requests

    own = {"Accept-Encoding": "identity", "User-Agent": f"kgtrec/{kgtrec_version()}"}  # bytes as they are stored
    try:
        response = requests.get(url, headers={**own, **headers}, stream=True, timeout=_TIMEOUT)
    except requests.exceptions.ReadTimeout:
        raise _CutError("no answer in time") from None
    except requests.exceptions.SSLError:
        raise DownloadError("no safe connection: its certificate was not accepted") from None
    except requests.exceptions.ConnectionError:
        raise DownloadError("no connection") from None
    except (requests.exceptions.RequestException, ValueError) as error:
        raise DownloadError(f"no answer: {error}") from None
    with response:
        yield response


def _require_success(response: requests.Response) -> None:
    if response.status_code in _LATER:
        raise _CutError(f"the server answered {response.status_code} {response.reason}")
    if response.status_code not in (200, 206):
        raise DownloadError(f"the server answered {response.status_code} {response.reason}")


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """The bytes of an answer, not decoded; a connection that breaks is told apart from a disk that is full."""
    from urllib3.exceptions import HTTPError

    pieces = response.raw.stream(_CHUNK, decode_content=False)
    while True:
        try:
            chunk = next(pieces, b"")
        except HTTPError:
            raise _CutError("the connection was cut off") from None
        if not chunk:
            return
        yield chunk

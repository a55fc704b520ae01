"""Downloads from a server of this machine: cut, changed, refused."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgtrec.data_sets.download import DownloadError, download
from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.sums import WrongFileError
from tests.data_sets_by_hand import Server, serving, sha256

BYTES = b"".join(number.to_bytes(4, "big") for number in range(50_000))
FILE = DataFile("file.bin", size=len(BYTES), sha256=sha256(BYTES))


def fetched(server: Server, folder: Path, file: DataFile = FILE) -> bytes:
    """What a download puts at its place."""
    download(f"{server.url}/file.bin", folder / "target", file)
    return (folder / "target").read_bytes()


@pytest.mark.parametrize("tells_length", [True, False])
def test_a_whole_file(tmp_path: Path, tells_length: bool):
    """One request."""
    with serving(files={"/file.bin": BYTES}, tells_length=tells_length) as server:
        assert fetched(server, tmp_path) == BYTES
    assert server.asked == ["/file.bin"]


def test_a_file_that_was_sent_in_small_pieces(tmp_path: Path):
    """However the server cuts it, progress counts every kilobyte once."""
    steps: list[int] = []

    @contextmanager
    def shown(description: str, total: int, unit: str):
        assert (description, total, unit) == ("file.bin", 200, "kB")
        yield steps.append

    for pieces in (100_000, 700):
        steps.clear()
        with serving(files={"/file.bin": BYTES}, pieces=pieces) as server:
            download(f"{server.url}/file.bin", tmp_path / "target", FILE, shown)
        assert (tmp_path / "target").read_bytes() == BYTES
        assert sum(steps) == 200
        assert min(steps) >= 0


def test_a_cut_download_is_an_error(tmp_path: Path):
    """Also where nothing is known of the file that would show it."""
    for file in (FILE, DataFile("file.bin")):
        with (
            serving(files={"/file.bin": BYTES}, cuts=[70_000]) as server,
            pytest.raises(DownloadError, match=r"^the connection was cut off$"),
        ):
            fetched(server, tmp_path, file)


def test_a_file_without_an_end_is_stopped_at_the_published_size(tmp_path: Path):
    """The server says no length."""
    endless = {"/file.bin": BYTES * 20}
    with (
        serving(files=endless, tells_length=False) as server,
        pytest.raises(WrongFileError, match="expected 200,000 bytes, found more"),
    ):
        fetched(server, tmp_path)
    assert (tmp_path / "target").stat().st_size < 300_000


@pytest.mark.parametrize(("status", "reason"), [(404, "Not Found"), (503, "Service Unavailable")])
def test_what_the_server_answers_instead(tmp_path: Path, status: int, reason: str):
    with (
        serving(statuses=[status]) as server,
        pytest.raises(DownloadError, match=rf"^the server answered {status} {reason}$"),
    ):
        fetched(server, tmp_path)
    assert len(server.asked) == 1


def test_no_connection(tmp_path: Path, monkeypatch):
    """At a port that nobody listens at, a name that nobody knows, and what is no URL."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url, message in [
        (f"http://127.0.0.1:{port}/x", r"^no connection$"),
        ("http://[/x", r"^no answer: "),
        ("http://nowhere.invalid/x", r"^no connection$"),
    ]:
        if "invalid" in url:
            monkeypatch.setattr(socket, "getaddrinfo", unknown)
        with pytest.raises(DownloadError, match=message):
            download(url, tmp_path / "target", FILE)

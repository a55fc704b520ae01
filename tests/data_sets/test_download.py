"""Downloads from a server of this machine: cut, continued, changed, refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data_sets import download as module
from kgtrec.data_sets.download import Download, DownloadError
from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.sums import WrongFileError
from tests.data_sets_by_hand import Server, serving, sha256

BYTES = b"".join(number.to_bytes(4, "big") for number in range(50_000))
FILE = DataFile("file.bin", size=len(BYTES), sha256=sha256(BYTES))


def fetched(server: Server, folder: Path, file: DataFile = FILE) -> bytes:
    """What a download puts at its target."""
    Download(file, folder / file.path)(f"{server.url}/file.bin", str(folder / "target"))
    return (folder / "target").read_bytes()


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.asked]


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_whole_file(tmp_path: Path):
    """One request; nothing but the file is left."""
    with serving(files={"/file.bin": BYTES}) as server:
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None]
    assert left(tmp_path) == ["target"]


def test_a_cut_download_goes_on_where_it_stopped(tmp_path: Path):
    """Within one call: each further request asks for the rest alone."""
    with serving(files={"/file.bin": BYTES}, cuts=[70_000, 50_000]) as server:
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None, "bytes=70000-", "bytes=120000-"]


def test_a_stopped_program_is_continued_by_the_next(tmp_path: Path):
    """What has arrived stays, and the error says how much that is."""
    with serving(files={"/file.bin": BYTES}, cuts=[40_000, 10_000, 0, 0]) as server:
        with pytest.raises(
            DownloadError, match=r"^the connection was cut off \(50,000 of 200,000 bytes have arrived; "
        ):
            fetched(server, tmp_path)
        assert left(tmp_path) == [".file.bin.part", ".file.bin.part.json"]
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server)[-1] == "bytes=50000-"
    assert left(tmp_path) == ["target"]


def test_a_server_without_ranges_sends_all_again(tmp_path: Path):
    """The whole file takes the place of what had arrived, and is not put behind it."""
    with serving(files={"/file.bin": BYTES}, cuts=[70_000], has_ranges=False) as server:
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None, "bytes=70000-"]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_etag_a_download_begins_anew(tmp_path: Path, etag: str | None):
    """Nothing says that the rest would be of the same file."""
    with serving(files={"/file.bin": BYTES}, cuts=[70_000], etag=etag) as server:
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None, None]


def test_a_changed_file_is_never_put_behind_an_old_half(tmp_path: Path):
    """Also where nothing is known of the file that would tell."""
    new = bytes(reversed(BYTES))
    unknown = DataFile("file.bin")
    with serving(files={"/file.bin": BYTES}, cuts=[70_000, 0, 0, 0]) as server:
        with pytest.raises(DownloadError, match="70,000 bytes have arrived"):
            fetched(server, tmp_path, unknown)
        server.files["/file.bin"], server.etag = new, '"two"'
        assert fetched(server, tmp_path, unknown) == new
    assert ranges(server)[-1] == "bytes=70000-"


@pytest.mark.parametrize("lies", [{"ETag": '"two"'}, {"Content-Range": "bytes 0-9/200000"}, {"Content-Range": "all"}])
def test_a_part_of_something_else_is_not_taken(tmp_path: Path, lies: dict[str, str]):
    """A server that ignores the condition of the range, or answers another range: the file is asked for whole."""
    with serving(files={"/file.bin": BYTES}, cuts=[70_000], lies=lies) as server:
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None, "bytes=70000-", None]


def test_a_part_of_another_url_is_not_continued(tmp_path: Path):
    """Such as the one of a mirror."""
    with serving(files={"/file.bin": BYTES}, cuts=[70_000, 0, 0, 0]) as one, serving(files=one.files) as two:
        with pytest.raises(DownloadError):
            fetched(one, tmp_path)
        assert fetched(two, tmp_path) == BYTES
    assert ranges(two) == [None]


def test_a_part_that_is_whole_is_only_checked(tmp_path: Path):
    """The program was stopped between the last byte and the check."""
    with serving(files={"/file.bin": BYTES}) as server:
        (tmp_path / ".file.bin.part").write_bytes(BYTES)
        (tmp_path / ".file.bin.part.json").write_text(f'{{"url": "{server.url}/file.bin", "etag": "\\"one\\""}}')
        assert fetched(server, tmp_path) == BYTES
    assert server.asked == []


def test_more_than_there_is_cannot_be_continued(tmp_path: Path):
    """A part that is longer than the file: the server has no such range, and sends the whole."""
    with serving(files={"/file.bin": BYTES}) as server:
        (tmp_path / ".file.bin.part").write_bytes(BYTES + b"more")
        (tmp_path / ".file.bin.part.json").write_text(f'{{"url": "{server.url}/file.bin", "etag": "\\"one\\""}}')
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == ["bytes=200004-", None]


@pytest.mark.parametrize("note", ["", "{}", "[]", "null", '{"url": 1}', "\x00"])
def test_a_damaged_note_means_a_new_beginning(tmp_path: Path, note: str):
    with serving(files={"/file.bin": BYTES}) as server:
        (tmp_path / ".file.bin.part").write_bytes(BYTES[:100])
        (tmp_path / ".file.bin.part.json").write_text(note)
        assert fetched(server, tmp_path) == BYTES
    assert ranges(server) == [None]


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (bytes(len(BYTES)), r"^expected SHA-256 [0-9a-f]{12}\.\.\., found [0-9a-f]{12}\.\.\.$"),
        (b"<html>log in</html>", r"^expected 200,000 bytes, found 19$"),
        (BYTES + b"!", r"^expected 200,000 bytes, found 200,001$"),
    ],
)
def test_another_file_is_refused_and_nothing_of_it_stays(tmp_path: Path, served: bytes, message: str):
    with serving(files={"/file.bin": served}) as server, pytest.raises(WrongFileError, match=message):
        fetched(server, tmp_path)
    assert left(tmp_path) == []


def test_a_file_without_an_end_is_stopped_at_the_published_size(tmp_path: Path):
    """The server says no length."""
    endless = {"/file.bin": BYTES * 20}
    with (
        serving(files=endless, tells_length=False) as server,
        pytest.raises(WrongFileError, match="expected 200,000 bytes, found more"),
    ):
        fetched(server, tmp_path)
    assert left(tmp_path) == []


def test_a_file_of_unknown_size_is_cut_where_the_server_says_so(tmp_path: Path):
    with serving(files={"/file.bin": BYTES}, cuts=[10]) as server:
        assert fetched(server, tmp_path, DataFile("file.bin")) == BYTES
    assert ranges(server) == [None, "bytes=10-"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(tmp_path: Path, status: int):
    with serving(files={"/file.bin": BYTES}, statuses=[status] * (module.ATTEMPTS - 1)) as server:
        assert fetched(server, tmp_path) == BYTES
    assert len(server.asked) == module.ATTEMPTS


def test_a_server_that_stays_busy(tmp_path: Path):
    with (
        serving(statuses=[503] * module.ATTEMPTS) as server,
        pytest.raises(DownloadError, match=r"^the server answered 503 Service Unavailable$"),
    ):
        fetched(server, tmp_path)
    assert len(server.asked) == module.ATTEMPTS


def test_a_missing_file_is_asked_for_once(tmp_path: Path):
    with serving() as server, pytest.raises(DownloadError, match=r"^the server answered 404 Not Found$"):
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
            Download(FILE, tmp_path / "file.bin")(url, str(tmp_path / "target"))
    assert left(tmp_path) == []


def test_progress_counts_every_kilobyte_once(tmp_path: Path):
    """Those that were there before, too; and it goes back where a download begins anew."""
    from contextlib import contextmanager

    steps: list[int] = []

    @contextmanager
    def shown(description: str, total: int, unit: str):
        assert (description, total, unit) == ("file.bin", 200, "kB")
        yield steps.append

    with serving(files={"/file.bin": BYTES}, cuts=[70_000], etag=None) as server:
        Download(FILE, tmp_path / "file.bin", shown)(f"{server.url}/file.bin", str(tmp_path / "target"))
    assert sum(steps) == 200
    assert min(steps) == -70


@given(cuts=st.lists(st.integers(0, 120_000), max_size=3), etag=st.sampled_from(['"one"', None]), ranged=st.booleans())
def test_however_it_is_cut_the_file_is_whole(tmp_path_factory, cuts: list[int], etag: str | None, ranged: bool):
    """A law: the bytes are those that are served, or there is an error and no file."""
    folder = tmp_path_factory.mktemp("download")
    with serving(files={"/file.bin": BYTES}, cuts=list(cuts), etag=etag, has_ranges=ranged) as server:
        assert fetched(server, folder) == BYTES
    assert left(folder) == ["target"]

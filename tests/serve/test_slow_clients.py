"""A real server, and clients that hold connections or send too much."""

from __future__ import annotations

import http.client
import multiprocessing
import resource
import socket
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import SplitResult, urlencode

import pytest

from kgtrec.formats.output.folders import GUIDELINES
from kgtrec.serve.run import most_connections, serve
from tests.serve.conftest import FRANCE, Page
from tests.serve.servers import served
from tests.serve.test_kill import Person

_FILES = 250
FRANCE_TASK = 4  # one of its candidates


def serve_with_few_files(folder: Path, told: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    serve(folder, port=0, ready=lambda site: told.send(site.url))


SPAWN = multiprocessing.get_context("spawn")


def connected(url: SplitResult, held: ExitStack, receives: int = 0) -> socket.socket:
    """A connection, which takes so many bytes at once and no more until they are read."""
    made = held.enter_context(socket.socket())
    if receives:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    made.settimeout(20)
    made.connect((url.hostname, url.port))
    return made


class Connected(Person):
    """An annotator whose browser keeps its connection."""

    def __init__(self, page: Page, url: SplitResult, name: str) -> None:
        self.connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=20)
        task = page.numbers.tasks[FRANCE_TASK - 1]
        super().__init__(name, url, page.link_of(name), page.numbers.large(f"/question/{FRANCE}"), task)

    def ask(self, method: str, path: str, **fields: str) -> tuple[int, str, bytes]:
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        headers |= {"Origin": f"http://{self.url.netloc}", "Cookie": getattr(self, "cookie", "")}
        self.connection.request(method, path, urlencode(fields) if fields else None, headers)
        answer = self.connection.getresponse()
        return answer.status, (answer.getheader("Set-Cookie") or "").partition(";")[0], answer.read()


def test_the_number_of_connections_leaves_files_for_verdicts(monkeypatch: pytest.MonkeyPatch):
    """Three files for each connection, and a hundred for all else."""
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    for limit, expected in ((400, 100), (10**6, 2_000), (20, 10), (resource.RLIM_INFINITY, 2_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert most_connections() == expected


@pytest.mark.slow
def test_who_holds_all_connections_takes_no_files_from_others(page: Page):
    """Three hundred that send nothing, where 250 files may be open: who is connected already judges on."""
    with served(SPAWN, serve_with_few_files, page.folder) as url, ExitStack() as held:
        ann = Connected(page, url, "ann")
        held.callback(ann.connection.close)
        for _ in range(300):
            connected(url, held)
        for _ in range(5):
            ann.say()
        assert len(ann.stored) == 5
    assert len(page.events()) == 5


@pytest.mark.slow
def test_who_does_not_read_answers_holds_nobody_up(page: Page):
    """Nine connections with six answers of four megabytes each that nobody reads, to a server of eight threads."""
    page.folder.joinpath(GUIDELINES).write_text(f"```\n{'x' * (4 << 20)}\n```\n")
    with served(SPAWN, serve_with_few_files, page.folder) as url, ExitStack() as held:
        ann, bob = Connected(page, url, "ann"), Connected(page, url, "bob")
        held.callback(ann.connection.close)
        held.callback(bob.connection.close)
        ask = f"GET /guidelines HTTP/1.1\r\nHost: {url.netloc}\r\nCookie: {bob.cookie}\r\n\r\n".encode()
        for _ in range(9):
            connected(url, held, 2048).sendall(ask * 6)
        for _ in range(5):
            ann.say()
        assert len(ann.stored) == 5


@pytest.mark.slow
def test_headers_without_end_are_refused(page: Page):
    """Of more than 16 KB, before anybody is looked up by them; the server goes on."""
    with served(SPAWN, serve_with_few_files, page.folder) as url, ExitStack() as held:
        for size, status in ((10_000, b"401"), (20_000, b"431"), (10_000, b"401")):
            one = connected(url, held)
            one.sendall(f"GET / HTTP/1.1\r\nHost: {url.netloc}\r\nX-Long: {'x' * size}\r\n\r\n".encode())
            assert one.recv(12).split()[1] == status

"""TLS without a proxy: by a real server, and by its terminator in front of a small application."""

from __future__ import annotations

import http.client
import queue
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from waitress.server import create_server

from kgtrec.campaign import read_judgements
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.output.folders import JUDGEMENTS
from kgtrec.serve import run as run_module
from kgtrec.serve import tls
from kgtrec.serve.run import serve
from kgtrec.serve.tls import Terminator, tls_context
from tests.campaign_folders import folder_of
from tests.serve.conftest import FRANCE, PlaceNumbers, campaign_with_roles

CERT, KEY = Path(__file__).with_name("localhost.pem"), Path(__file__).with_name("localhost.key")  # of localhost alone
OTHER_KEY = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnbDScm7nlcPpLO6w
gK10vxigJaltxRRXA8w9ui0uj6WhRANCAAQNYiI2oAdZEDfLm8CTdynaX1WdF2kM
v+d4ZNfnwXUwqrPWtsQBF0FssP5miJZlTWFi80XUbfoUQPOgAEzPv3+m
-----END PRIVATE KEY-----
"""
ENCRYPTED_KEY = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg+75ej04iRKgICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFzEYqtwHAi6sy8YhfOCAFwEgZCQ
pxehADjfw23+re1A1D5MAj1mn15kCK16YSPGVLoJ85jkpP+7zSOC3Ou+BUZ2zgov
5hyi5yyx7D2W8jSjJPgKxxwKOP7mkf4V3V3er3Kx7wThfGLpa2XWEyjla++7ZW8k
bLLjesirY7fsYQiOHarAip0pi20xBFE33V5w9Xitq9MLcGWv5D0w+kOStgc6wc8=
-----END ENCRYPTED PRIVATE KEY-----
"""


@pytest.mark.parametrize(
    ("cert", "key", "message"),
    [
        (None, "", "localhost.key: expected a PEM file with a PRIVATE KEY section, found none"),
        ("", None, "cert.pem: expected a PEM file with a CERTIFICATE section, found none"),
        (None, OTHER_KEY, "expected the key of the certificate in "),
        (None, ENCRYPTED_KEY, "expected a key without a passphrase, found an encrypted one; run openssl pkey -in "),
        (None, OTHER_KEY[:150], "expected a certificate and its key, found damaged ones ("),
    ],
    ids=["no-key", "no-certificate", "other-key", "encrypted-key", "damaged-key"],
)
def test_what_is_no_certificate_with_its_key_is_refused(tmp_path: Path, cert: str | None, key: str | None, message):
    """And nobody is asked for a passphrase."""
    own_cert, own_key = tmp_path / "cert.pem", tmp_path / "localhost.key"
    own_cert.write_text(CERT.read_text() if cert is None else cert)
    own_key.write_text(KEY.read_text() if key is None else key)
    with pytest.raises(KgtrecError) as raised:
        tls_context(own_cert, own_key)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tls_cert": CERT}, "expected --tls-key with --tls-cert: TLS needs a certificate and its key"),
        ({"tls_key": KEY}, "expected --tls-cert with --tls-key: TLS needs a certificate and its key"),
        ({"tls_cert": "none.pem", "tls_key": KEY}, "none.pem: no such file"),
        ({"tls_cert": CERT, "tls_key": "none.key"}, "none.key: no such file"),
        ({"tls_cert": CERT, "tls_key": KEY, "url": "http://judge.example.org"}, "a --url that begins with https://"),
        ({"tls_cert": CERT, "tls_key": KEY, "host": "0.0.0.0"}, "expected --url with --host 0.0.0.0"),  # noqa: S104
    ],
    ids=["no-key", "no-certificate", "certificate-missing", "key-missing", "plain-url", "no-url"],
)
def test_half_a_pair_is_refused(tmp_path: Path, options: dict[str, Any], message: str):
    """Before anything is served."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    with pytest.raises(KgtrecError, match=re.escape(message)):
        serve(folder, port=0, **options)


def test_no_version_before_tls_1_2_is_spoken():
    """And nothing but HTTP/1.1 in it."""
    assert tls_context(CERT, KEY).minimum_version == ssl.TLSVersion.TLSv1_2


# the terminator, in front of a small application


class Front:
    """A terminator, the port where clients reach it, and that of the server behind it."""

    def __init__(self, most: int) -> None:
        self.listening, self.inner = (run_module._listening("127.0.0.1", 0) for _ in range(2))
        self.terminator = Terminator(self.listening, tls_context(CERT, KEY), self.inner.getsockname(), most)
        self.port, self.inner_port = self.listening.getsockname()[1], self.inner.getsockname()[1]
        self.paths: queue.Queue[str] = queue.Queue()  # that were asked for
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.connections: dict[int, Any] = {}
        app = self.terminator.answering(self.answer)
        self.server = create_server(
            app, map=self.connections, sockets=[self.inner], threads=2, max_request_body_size=100_000
        )

    def answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """The address of who asks; so many bytes where the path is a number."""
        self.may_answer.wait(20)
        path = environ["PATH_INFO"].strip("/")
        self.paths.put(path)
        body = b"x" * int(path) if path.isdigit() else environ["REMOTE_ADDR"].encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    @contextmanager
    def running(self) -> Iterator[Front]:
        thread = threading.Thread(target=self.server.run)
        thread.start()
        try:
            with self.listening, self.inner, self.terminator:
                yield self
                with suppress(
                    OSError
                ):  # an answer may have woken the loop, which then has ended and closed the trigger
                    self.server.trigger.pull_trigger(self.end)
                thread.join()
        finally:
            self.server.task_dispatcher.shutdown()

    def end(self) -> None:
        for connection in [self.server, *self.connections.values()]:
            connection.close()

    def connected(self, held: ExitStack, address: str = "127.0.0.1") -> socket.socket:
        """A connection without TLS yet."""
        return held.enter_context(connected(self.port, address))

    def secured(self, held: ExitStack, address: str = "127.0.0.1") -> ssl.SSLSocket:
        return held.enter_context(secured(self.connected(held, address)))

    def ask(self, path: str = "", address: str = "127.0.0.1") -> bytes:
        """The body of an answer, on a connection of its own."""
        with ExitStack() as held:
            return asked(self.secured(held, address), path)


def connected(port: int, address: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0))


def secured(connection: socket.socket) -> ssl.SSLSocket:
    return ssl.create_default_context(cafile=str(CERT)).wrap_socket(connection, server_hostname="localhost")


def asked(connection: ssl.SSLSocket, path: str = "") -> bytes:
    connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.read()


@pytest.fixture
def front() -> Iterator[Front]:
    with Front(most=4).running() as found:
        yield found


def test_a_client_keeps_its_address(front: Front):
    """That of the connection, not that of the thread which passes it on."""
    assert front.ask(address="127.0.0.1") == b"127.0.0.1"
    assert front.ask(address="127.0.0.2") == b"127.0.0.2"


def test_who_comes_to_the_inner_port_is_refused(front: Front):
    """As other programs of the same machine could, without TLS."""
    connection = http.client.HTTPConnection("127.0.0.1", front.inner_port, timeout=20)
    connection.request("GET", "/")
    assert connection.getresponse().status == 403
    connection.close()
    assert front.paths.empty()


def test_a_connection_answers_several_requests_and_large_ones(front: Front):
    """Four megabytes, and what is asked after them."""
    with ExitStack() as held:
        connection = front.secured(held)
        assert asked(connection, str(4 << 20)) == b"x" * (4 << 20)
        assert asked(connection, "5") == b"xxxxx"


def test_what_is_too_long_is_told(front: Front):
    """Though the server closes the connection before it has read all of it."""
    with ExitStack() as held:
        connection = front.secured(held)
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000)
        assert connection.recv(30).startswith(b"HTTP/1.1 413")
    assert front.paths.empty()


def test_plain_http_gets_a_closed_connection(front: Front):
    """And no answer in plain text."""
    with ExitStack() as held:
        plain = front.connected(held)
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with suppress(ConnectionResetError):  # as where something is unread
            assert plain.recv(100) == b""
    assert front.ask() == b"127.0.0.1"


def test_a_handshake_that_never_ends_is_ended(front: Front, monkeypatch: pytest.MonkeyPatch):
    """And holds nobody up before."""
    monkeypatch.setattr(tls, "_HANDSHAKE", 0.3)
    with ExitStack() as held:
        silent, half = front.connected(held), front.connected(held)
        half.sendall(b"\x16\x03\x01")  # how one begins
        assert front.ask() == b"127.0.0.1"
        assert silent.recv(1) == half.recv(1) == b""


def test_more_connections_than_may_be_wait_for_others_to_end(front: Front):
    """The fifth of four is served when one of them is closed."""
    with ExitStack() as held:
        first = [front.secured(held) for _ in range(4)]
        fifth = front.connected(held)
        fifth.settimeout(0.3)
        with pytest.raises(TimeoutError):
            secured(fifth)
        first[0].close()
        assert front.ask() == b"127.0.0.1"


def test_who_leaves_after_asking_is_served_all_the_same(front: Front):
    """As a page that is closed while it sends a verdict."""
    front.may_answer.clear()
    with ExitStack() as held:
        leaving = front.secured(held)
        leaving.sendall(b"GET /leaving HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deadline = time.monotonic() + 20
        while not front.server.task_dispatcher.active_count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    front.may_answer.set()
    assert front.paths.get(timeout=20) == "leaving"


def test_who_does_not_read_an_answer_is_left(front: Front, monkeypatch: pytest.MonkeyPatch):
    """After a while, in which others are served."""
    monkeypatch.setattr(tls, "_SLOWEST", 0.3)
    with ExitStack() as held:
        raw = held.enter_context(socket.socket())
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        raw.settimeout(20)
        raw.connect(("127.0.0.1", front.port))
        lazy = held.enter_context(secured(raw))
        lazy.sendall(f"GET /{32 << 20} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert front.ask() == b"127.0.0.1"
        deadline = time.monotonic() + 20
        while front.terminator._clients:
            assert time.monotonic() < deadline
            time.sleep(0.05)


# the server


class Served:
    """kgtrec campaign serve with TLS, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = ["campaign", "serve", str(folder), "--port", "0", "--tls-cert", str(CERT), "--tls-key", str(KEY)]
        program = [sys.executable, "-m", "kgtrec", *words]
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        assert self.process.stderr
        self.links = dict(self.process.stdout.readline().strip().split(": ", 1) for _ in range(5))
        self.told = self.process.stderr.readline()
        self.port = int(re.findall("https://localhost:([0-9]+); stop with Ctrl-C", self.told)[0])

    def ask(self, method: str, path: str, cookie: str = "", address: str = "127.0.0.1", **fields: str) -> Any:
        """An answer and its body."""
        context = ssl.create_default_context(cafile=str(CERT))
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=20, context=context, source_address=(address, 0)
        )
        headers = {"Accept": "application/json", "Origin": f"https://localhost:{self.port}", "Cookie": cookie}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.request(method, path, urlencode(fields) if fields else None, headers)
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    def stop(self) -> tuple[int, str]:
        """Exit status, and what was said meanwhile."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(folder_of(campaign_with_roles(), tmp_path_factory.mktemp("tls") / "campaign"))
    yield found
    found.stop()


@pytest.mark.slow
def test_a_verdict_is_given_over_tls(server: Served):
    """The link begins with https, the cookie is sent over TLS alone, and what is stored is in the file."""
    link = server.links["ann (annotator)"]
    assert link.startswith(f"https://localhost:{server.port}/in/")
    answer, _ = server.ask("GET", link.partition(str(server.port))[2])
    cookie = answer.getheader("Set-Cookie")
    assert answer.status == 200
    assert cookie.startswith(f"__Host-kgtrec-{server.port}=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    cookie = cookie.partition(";")[0]
    numbers = PlaceNumbers(server.folder)
    path, task = numbers.large(f"/question/{FRANCE}"), numbers.tasks[3]
    _, shown = server.ask("GET", path, cookie)
    token, edition = (re.findall(f'name="{name}" value="([^"]*)"', shown)[0] for name in ("token", "edition"))
    fields = {"token": token, "edition": edition, "only": str(task), f"verdict-{task}": "unsure"}
    answer, said = server.ask("POST", path, cookie, **fields)
    assert answer.status == 200
    assert '"stored"' in said
    stored = read_judgements(server.folder / JUDGEMENTS, read_campaign(server.folder).pool)
    assert len(stored) == 1


@pytest.mark.slow
def test_wrong_links_count_for_the_address_of_who_tries_them(server: Served):
    """And not for all who come through TLS."""
    tried = [server.ask("GET", "/in/nobody", address="127.0.0.2")[0].status for _ in range(11)]
    assert tried == [403] * 10 + [429]
    assert server.ask("GET", "/in/nobody", address="127.0.0.3")[0].status == 403


@pytest.mark.slow
def test_an_address_that_a_client_names_is_not_believed(server: Served):
    """No proxy stands before it whose word would count."""
    with ExitStack() as held:
        for nth in range(11):
            connection = held.enter_context(secured(connected(server.port, "127.0.0.4")))
            host = f"Host: localhost:{server.port}\r\nX-Forwarded-For: 198.51.100.{nth}"
            connection.sendall(f"GET /in/nobody HTTP/1.1\r\n{host}\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
    assert answer.status == 429


@pytest.mark.slow
def test_sigterm_ends_it_whoever_is_connected(tmp_path: Path):
    """Who sends nothing, who has not finished the handshake, who speaks no TLS: nothing is complained of."""
    server = Served(folder_of(campaign_with_roles(), tmp_path / "campaign"))
    with ExitStack() as held:
        for _ in range(50):
            held.enter_context(connected(server.port))
        held.enter_context(connected(server.port)).sendall(b"GET / HTTP/1.1\r\n\r\n")
        idle = held.enter_context(secured(connected(server.port)))
        assert server.ask("GET", "/static/judge.css")[0].status == 200
        start = time.monotonic()
        assert server.stop() == (0, "stopped\n")
        assert time.monotonic() - start < 15
        assert idle.recv(1) == b""

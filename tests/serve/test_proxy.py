"""The page behind a proxy that speaks TLS, as docs/serve.md has it for Caddy and nginx."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from kgtrec.campaign import read_judgements
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.output.folders import JUDGEMENTS
from tests.campaign_folders import folder_of
from tests.serve.conftest import FRANCE, PlaceNumbers, campaign_with_roles

CERT, KEY = Path(__file__).with_name("localhost.pem"), Path(__file__).with_name("localhost.key")  # of localhost alone


class Proxied:
    """kgtrec campaign serve in a process of its own, and a proxy that passes on Host and the address of who asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.inner = free.getsockname()[1]
        self.proxy = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERT, KEY)
        self.proxy.socket = context.wrap_socket(self.proxy.socket, server_side=True)
        self.port = self.proxy.server_address[1]
        self.url = f"https://localhost:{self.port}"
        threading.Thread(target=self.proxy.serve_forever, args=(0.01,), daemon=True).start()
        words = ["campaign", "serve", str(folder), "--port", str(self.inner), "--url", self.url]
        program = [sys.executable, "-m", "kgtrec", *words]
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        assert self.process.stderr
        self.links = dict(self.process.stdout.readline().strip().split(": ", 1) for _ in range(5))
        self.said = self.process.stderr.readline()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        inner = self.inner

        class Handler(BaseHTTPRequestHandler):
            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = dict(self.headers.items()) | {"X-Forwarded-For": self.client_address[0]}
                connection = http.client.HTTPConnection("127.0.0.1", inner, timeout=20)
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                connection.close()

            do_GET = do_POST = pass_on  # noqa: N815  # as http.server calls them

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def ask(self, method: str, path: str, cookie: str = "", address: str = "127.0.0.1", **fields: str) -> Any:
        """An answer and its body."""
        context = ssl.create_default_context(cafile=str(CERT))
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=20, context=context, source_address=(address, 0)
        )
        headers = {"Accept": "application/json", "Origin": self.url, "Cookie": cookie}
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": "198.51.100.7"}
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
        self.proxy.shutdown()
        self.proxy.server_close()
        return self.process.returncode, said


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    found = Proxied(folder_of(campaign_with_roles(), tmp_path_factory.mktemp("proxy") / "campaign"))
    yield found
    assert found.stop() == (0, "stopped\n")


@pytest.mark.slow
def test_a_verdict_is_given_over_tls(server: Proxied):
    """The link begins with https, the cookie is sent over TLS alone, and what is stored is in the file."""
    link = server.links["ann (annotator)"]
    assert link.startswith(f"{server.url}/in/")
    assert f"served at {server.url}; " in server.said
    answer, _ = server.ask("GET", link.removeprefix(server.url))
    cookie = answer.getheader("Set-Cookie")
    assert answer.status == 200
    assert cookie.startswith(f"__Host-kgtrec-{server.port}=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    cookie = cookie.partition(";")[0]
    answer, _ = server.ask("GET", "/", cookie)
    assert (answer.status, answer.getheader("Location")) == (303, "/question")
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
def test_wrong_links_count_for_the_address_of_who_tries_them(server: Proxied):
    """And not for all who come through the proxy, nor for the address that a client itself names."""
    tried = [server.ask("GET", "/in/nobody", address="127.0.0.2")[0].status for _ in range(11)]
    assert tried == [403] * 10 + [429]
    assert server.ask("GET", "/in/nobody", address="127.0.0.3")[0].status == 403


@pytest.mark.slow
def test_who_comes_by_another_name_is_refused(server: Proxied):
    """Such as past the proxy, to the port behind it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.inner, timeout=20)
    connection.request("GET", "/in/nobody")
    assert connection.getresponse().status == 421
    connection.close()

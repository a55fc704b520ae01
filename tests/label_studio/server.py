"""A real Label Studio server on the loopback interface, and a person who is logged in there."""

from __future__ import annotations

import http.cookiejar
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = "KGTREC_LABEL_STUDIO"
PASSWORD = "only-for-this-test"  # noqa: S105
STARTING = 300  # seconds; the first start makes the database


def program() -> str:
    """The server's program; the test is skipped where there is none."""
    if named := os.environ.get(PROGRAM):
        if not Path(named).is_file():
            pytest.fail(f"no program at {named}, which {PROGRAM} names")
        return named
    if importlib.util.find_spec("label_studio") is None:
        pytest.skip(f"no Label Studio: pip install label-studio into an environment of its own, and set {PROGRAM}")
    return str(Path(sys.executable).with_name("label-studio"))


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a new server, whose database (SQLite) and files are in ``folder``.

    It is told to report nothing, and whatever it would fetch all the same meets a proxy that is not there.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nowhere = "http://127.0.0.1:9"
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "COLLECT_ANALYTICS": "0",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "0",
        "FEATURE_FLAGS_OFFLINE": "1",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1",
    }
    command = [program(), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--data-dir", str(folder)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait(server, address, folder / "server.log")
            yield address
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    for _ in range(STARTING * 2):
        if server.poll() is not None:
            break
        try:
            with _direct().open(f"{address}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the server did not start:\n" + log.read_text(errors="replace")[-3000:])


def _direct(*more: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """An opener that asks no proxy."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), *more)


class Account:
    """Somebody who has signed up at the server and is logged in."""

    def __init__(self, address: str, email: str) -> None:
        self.address, self.email = address, email
        self.cookies = http.cookiejar.CookieJar()
        self.opener = _direct(urllib.request.HTTPCookieProcessor(self.cookies))
        self.send("GET", "/user/signup/")
        form = {
            "email": email,
            "password": PASSWORD,
            "csrfmiddlewaretoken": self._token(),
            "allow_newsletters": "false",
        }
        self.send("POST", "/user/signup/", urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded")
        assert self.json("GET", "/api/current-user/whoami")["email"] == email

    def json(self, method: str, path: str, content=None):
        """What the API answers, decoded."""
        body = None if content is None else json.dumps(content).encode()
        return json.loads(self.send(method, path, body, "application/json"))

    def send(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> bytes:
        """What the server answers; an error says what it was."""
        headers = {"X-CSRFToken": self._token(), "Referer": self.address, "Content-Type": kind}
        request = urllib.request.Request(self.address + path, body, headers, method=method)  # noqa: S310 - loopback
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:2000]!r}") from None

    def _token(self) -> str:
        return next((str(cookie.value) for cookie in self.cookies if cookie.name == "csrftoken"), "")

    def annotate(self, task: int, choices=(), source=(), note=(), **more) -> int:
        """Submit an annotation, and tell its number."""
        return int(
            self.json("POST", f"/api/tasks/{task}/annotations/", {"result": result(choices, source, note), **more})[
                "id"
            ]
        )


def result(choices=(), source=(), note=()):
    """What a person entered, as the labelling page sends it."""
    filled = (
        ("verdict", "choices", "choices", choices),
        ("source", "textarea", "text", source),
        ("note", "textarea", "text", note),
    )
    return [
        {"from_name": name, "to_name": "question", "type": kind, "value": {key: list(values)}}
        for name, kind, key, values in filled
        if values
    ]

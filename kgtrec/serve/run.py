"""The page's server: one process, several threads, until it is told to stop."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from ssl import SSLContext
from typing import Any

from waitress.server import create_server

from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.serve.app import LARGEST_BODY, create_app
from kgtrec.serve.auth import is_local
from kgtrec.serve.tls import Terminator, tls_context

_THREADS = 8  # most of them wait for the disk, which stores together what came meanwhile
_LARGEST_HEADERS = 16 << 10  # bytes
_SLOWEST = 30  # seconds without a byte, after which a connection is closed
_MOST_CONNECTIONS = 2_000
_FILES_EACH = 3  # that a connection may hold open: itself, what came, and what waits to be read
_FILES_OF_TLS = 2  # that it holds open besides: where TLS ends, and from where it is passed on
_OTHER_FILES = 100  # of the campaign, of the program
_NEVER = 1 << 62  # bytes
_LOOPBACK = "127.0.0.1"


def serve(
    folder: PathLike,
    *,
    host: str = _LOOPBACK,
    port: int = 8765,
    url: str | None = None,
    tls_cert: PathLike | None = None,
    tls_key: PathLike | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the page of a campaign until the process is interrupted; answers that have begun are finished.

    Without a certificate it speaks plain HTTP, and TLS is for a proxy in front of it, which runs on the same machine.

    Parameters
    ----------
    folder : path
        Of the campaign.
    host : str
        Address to listen on.
    port : int
        0: any that is free.
    url : str, optional
        Under which people reach it. Default: that of this machine to itself, which needs a local ``host``.
    tls_cert, tls_key : path, optional
        PEM files of a certificate and its key, for TLS without a proxy. They are read once.
    ready : callable, optional
        Called with the URL before the first request is answered.

    Raises
    ------
    KgtrecError
        If it cannot listen there, nobody could reach it under its URL, or one of certificate and key is missing or is
        not that of the other.
    FormatError
        If it is not the folder of a campaign, nobody can judge in it yet, or certificate or key are none.
    """
    context = _context(tls_cert, tls_key)
    with ExitStack() as held:
        listening = held.enter_context(_listening(host, port))
        number = listening.getsockname()[1]
        aliases = [f"{name}:{number}" for name in ("localhost", _LOOPBACK, "[::1]")] if url is None else []
        if url is None and not is_local(_literal(host)):
            raise KgtrecError(
                f"expected --url with --host {host}: links and forms hold the address under which people reach the "
                "page, such as https://judge.example.org"
            )
        if url is not None and context is not None and not url.startswith("https://"):
            raise KgtrecError(f"expected a --url that begins with https:// with --tls-cert, found {url!r}")
        own = url or (
            f"http://{_literal(host) if ':' in host else _LOOPBACK}:{number}"
            if context is None
            else f"https://localhost:{number}"
        )
        app = create_app(folder, own, aliases=aliases)
        house = app.extensions["kgtrec"]
        held.callback(house.state.close)
        served: Any
        if context is None:
            served, inner, most = app, listening, most_connections()
            proxy = {"trusted_proxy": _LOOPBACK, "trusted_proxy_headers": {"x-forwarded-for"}} if house.is_https else {}
        else:
            inner, most = held.enter_context(_listening(_LOOPBACK, 0)), most_connections(_FILES_EACH + _FILES_OF_TLS)
            terminator = held.enter_context(Terminator(listening, context, inner.getsockname(), most))
            served, proxy = terminator.answering(app), {"url_scheme": "https"}
        logging.getLogger("waitress").setLevel(logging.ERROR)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that requests wait is no news
        connections: dict[int, Any] = {}
        server = create_server(
            served,
            map=connections,
            sockets=[inner],
            threads=_THREADS,
            ident=None,
            max_request_body_size=LARGEST_BODY,
            max_request_header_size=_LARGEST_HEADERS,
            channel_timeout=_SLOWEST,
            connection_limit=most if context is None else _NEVER,
            outbuf_high_watermark=_NEVER,  # or threads would wait for those who do not read their answers
            asyncore_use_poll=True,
            clear_untrusted_proxy_headers=True,
            **proxy,
        )
        try:
            with suppress(KeyboardInterrupt):
                house.state.set_url(house.url)
                ready(house.url)
                server.run()  # returns when it is interrupted
        finally:
            server.close()
            for connection in list(connections.values()):
                connection.close()


def _context(cert: PathLike | None, key: PathLike | None) -> SSLContext | None:
    if cert is not None and key is not None:
        return tls_context(cert, key)
    if cert is None and key is None:
        return None
    given, missing = ("--tls-key", "--tls-cert") if cert is None else ("--tls-cert", "--tls-key")
    raise KgtrecError(f"expected {missing} with {given}: TLS needs a certificate and its key")


def most_connections(files_each: int = _FILES_EACH) -> int:
    """How many connections there may be at once, so that files can still be opened for a verdict when all are there.

    The number of files that this process may open is raised for it as far as the system allows.

    Parameters
    ----------
    files_each : int
        That a connection may hold open.
    """
    try:
        import resource
    except ImportError:  # Windows
        return _MOST_CONNECTIONS
    wanted = _MOST_CONNECTIONS * files_each + _OTHER_FILES
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < wanted:  # less than 0: any number
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if most < 0 else min(wanted, most), most))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files < 0 else max(min(_MOST_CONNECTIONS, (files - _OTHER_FILES) // files_each), 10)


def _literal(host: str) -> str:
    """A host as addresses hold it."""
    return f"[{host}]" if ":" in host else host


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else str(error)
        raise KgtrecError(
            f"{host}:{port}: cannot be listened on ({reason}); choose another one with --host and --port"
        ) from None

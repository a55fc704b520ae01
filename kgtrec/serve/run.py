"""The page's server: one process, several threads, until it is interrupted."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from waitress.server import create_server

from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.serve.app import LARGEST_BODY, Site, create_app
from kgtrec.serve.auth import is_local

_THREADS = 8  # most of them wait for the disk, which stores together what came meanwhile
_LARGEST_HEADERS = 16 << 10  # bytes
_SLOWEST = 30  # seconds without a byte, after which a connection is closed
_MOST_CONNECTIONS = 2_000
_FILES_EACH = 3  # that a connection may hold open: itself, what came, and what waits to be read
_OTHER_FILES = 100  # of the campaign, of the program
_NEVER = 1 << 62  # bytes
_LOOPBACK = "127.0.0.1"
_TURN = 0.0005  # seconds that a thread computes, such as figures, before those who wait for the interpreter get it


def serve(
    folder: PathLike,
    *,
    host: str = _LOOPBACK,
    port: int = 8765,
    url: str | None = None,
    ready: Callable[[Site], None] = lambda _: None,
) -> None:
    """Serve the page of a campaign until the process is interrupted; answers that have begun are finished.

    It speaks plain HTTP; TLS is for a proxy in front of it, which runs on the same machine.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    host : str
        Address to listen on.
    port : int
        0: any that is free.
    url : str, optional
        Under which people reach it. Default: that of this machine to itself, which needs a local ``host``.
    ready : callable, optional
        Called with what the requests share before the first of them is answered.

    Raises
    ------
    KgtrecError
        If it cannot listen there, or nobody could reach it under its URL.
    FormatError
        If it is not the folder of a campaign, or nobody can judge in it yet.
    """
    with ExitStack() as held:
        listening = held.enter_context(_listening(host, port))
        number = listening.getsockname()[1]
        aliases = [f"{name}:{number}" for name in ("localhost", _LOOPBACK, "[::1]")] if url is None else []
        if url is None and not is_local(_literal(host)):
            raise KgtrecError(
                f"expected --url with --host {host}: links and forms hold the address under which people reach the "
                "page, such as https://judge.example.org"
            )
        own = url or f"http://{_literal(host) if ':' in host else _LOOPBACK}:{number}"
        app = create_app(folder, own, aliases=aliases)
        site = app.extensions["kgtrec"]
        held.callback(site.state.close)
        proxy = {"trusted_proxy": _LOOPBACK, "trusted_proxy_headers": {"x-forwarded-for"}} if site.is_https else {}
        logging.getLogger("waitress").setLevel(logging.ERROR)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that requests wait is no news
        sys.setswitchinterval(_TURN)
        connections: dict[int, Any] = {}
        server = create_server(
            app,
            map=connections,
            sockets=[listening],
            threads=_THREADS,
            ident=None,
            max_request_body_size=LARGEST_BODY,
            max_request_header_size=_LARGEST_HEADERS,
            channel_timeout=_SLOWEST,
            connection_limit=most_connections(),
            outbuf_high_watermark=_NEVER,  # or threads would wait for those who do not read their answers
            asyncore_use_poll=True,
            clear_untrusted_proxy_headers=True,
            **proxy,
        )
        try:
            with suppress(KeyboardInterrupt):
                site.state.set_url(site.url)
                ready(site)
                server.run()  # returns when it is interrupted
        finally:
            server.close()
            for connection in list(connections.values()):
                connection.close()


def most_connections() -> int:
    """Compute how many connections there may be at once, so that files can still be opened for a verdict.

    The number of files that this process may open is raised for it as far as the system allows.
    """
    try:
        import resource
    except ImportError:  # Windows
        return _MOST_CONNECTIONS
    wanted = _MOST_CONNECTIONS * _FILES_EACH + _OTHER_FILES
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < wanted:  # less than 0: any number
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if most < 0 else min(wanted, most), most))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files < 0 else max(min(_MOST_CONNECTIONS, (files - _OTHER_FILES) // _FILES_EACH), 10)


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

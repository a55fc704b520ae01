"""TLS in front of the page's server, by a thread of the same process: the server speaks plain HTTP to it alone."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from socket import IPPROTO_TCP, SHUT_WR, TCP_NODELAY, socket
from typing import Any, NoReturn

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import PathLike, reading

_HANDSHAKE = 10.0  # seconds that a handshake may take
_SLOWEST = 30.0  # seconds in which a client has to take some of an answer, after which its connection is closed
_GOODBYE = 2.0  # seconds for what is still on its way when a connection is closed, or the server stops
_PAUSE = 0.1  # seconds before the next attempt to accept a connection
_AT_ONCE = 1 << 16  # bytes
_Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def tls_context(cert: PathLike, key: PathLike) -> ssl.SSLContext:
    """TLS 1.2 or later, with a server's certificate.

    Parameters
    ----------
    cert : path
        PEM file of the certificate, and after it those that lead to the root.
    key : path
        PEM file of its key, without a passphrase.

    Raises
    ------
    FormatError
        If one of them cannot be read, or holds something else.
    KgtrecError
        If the key is that of another certificate.
    """

    def refuse() -> NoReturn:
        raise FormatError(
            f"expected a key without a passphrase, found an encrypted one; run openssl pkey -in {key} -out plain.key",
            path=key,
        )

    for path, what in ((cert, b"CERTIFICATE"), (key, b"PRIVATE KEY")):
        with reading(path) as stream:
            if what not in stream.read():
                raise FormatError(f"expected a PEM file with a {what.decode()} section, found none", path=path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert, key, refuse)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise KgtrecError(f"{key}: expected the key of the certificate in {cert}, found another one") from None
        raise KgtrecError(f"{cert}, {key}: expected a certificate and its key, found damaged ones ({error})") from None
    return context


class Terminator:
    """Speaks TLS with clients, and passes what they say on to a server on this machine, in plain.

    A context manager; its end waits for answers that are on their way.

    Parameters
    ----------
    listening : socket
        Where clients connect.
    context : SSLContext
        Of :func:`tls_context`.
    server : tuple of str and int
        Host and port of the server.
    most : int
        Connections at once; others wait.
    """

    def __init__(self, listening: socket, context: ssl.SSLContext, server: tuple[str, int], most: int) -> None:
        self._listening, self._context, self._server, self._most = listening, context, server, most
        self._clients: dict[int, str] = {}  # port from which a connection is passed on -> address of its client
        self._connections: set[asyncio.Task[None]] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tls", daemon=True)

    def __enter__(self) -> Terminator:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def answering(self, application: _Application) -> _Application:
        """An application to whom clients have their own addresses, and which answers nobody who came by another way."""

        def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            client = self._clients.get(int(environ["REMOTE_PORT"]))
            if client is None:
                start_response("403 Forbidden", [("Content-Type", "text/plain")])
                return [b"This server speaks TLS only.\n"]
            environ["REMOTE_ADDR"] = environ["REMOTE_HOST"] = client
            return application(environ, start_response)

        return answer

    def _work(self) -> None:
        try:
            asyncio.run(self._run())
        finally:
            self._started.set()

    async def _run(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        accepting = asyncio.create_task(self._accept())
        self._started.set()
        await self._stopped.wait()
        accepting.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=_GOODBYE)

    async def _accept(self) -> None:
        places = asyncio.Semaphore(self._most)

        def ended(connection: asyncio.Task[None]) -> None:
            self._connections.discard(connection)
            places.release()

        self._listening.setblocking(False)
        while True:
            await places.acquire()
            try:
                accepted, address = await self._loop.sock_accept(self._listening)
            except OSError:  # who wanted it is gone, or no more files can be opened
                places.release()
                await asyncio.sleep(_PAUSE)
                continue
            connection = asyncio.create_task(self._serve(accepted, address[0]))
            self._connections.add(connection)
            connection.add_done_callback(ended)

    async def _serve(self, accepted: socket, client: str) -> None:
        """One connection; what goes wrong on it concerns nobody else."""
        with suppress(OSError):  # of TLS and of too long a wait too
            accepted.setsockopt(IPPROTO_TCP, TCP_NODELAY, True)  # asyncio does not see that it is TCP
            secured = _Secured(self._context, *await asyncio.open_connection(sock=accepted, limit=_AT_ONCE))
            try:
                async with asyncio.timeout(_HANDSHAKE):
                    await secured.shake_hands()
                with socket() as inner:
                    inner.setblocking(False)
                    await self._loop.sock_connect(inner, self._server)
                    inner.setsockopt(IPPROTO_TCP, TCP_NODELAY, True)
                    port = inner.getsockname()[1]
                    self._clients[port] = client
                    try:
                        await _exchange(secured, inner, self._loop)
                    finally:
                        del self._clients[port]
            finally:
                await secured.close()


async def _exchange(secured: _Secured, inner: socket, loop: asyncio.AbstractEventLoop) -> None:
    """Pass on what client and server say, until the server has said all.

    A server that closes while something is sent to it has perhaps answered before: so the socket is read by itself,
    where a stream would end with the first error.
    """
    asked = asyncio.create_task(_pass_on(secured.read, lambda data: loop.sock_sendall(inner, data)))
    answered = asyncio.create_task(_pass_on(lambda: loop.sock_recv(inner, _AT_ONCE), secured.write))
    try:
        await asyncio.wait((asked, answered), return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():  # the client is gone, and what it asked for last is done all the same
            with suppress(OSError):
                inner.shutdown(SHUT_WR)
            await asyncio.wait((answered,), timeout=_SLOWEST)
    finally:
        asked.cancel()
        answered.cancel()
        await asyncio.gather(asked, answered, return_exceptions=True)


async def _pass_on(read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]) -> None:
    """No more is read before what was read is written, so that a slow side holds the other back."""
    while data := await read():
        await write(data)


class _Secured:
    """A client's connection, of which the contents are read and written.

    asyncio's own TLS takes 256 KiB for each connection; this takes what is on its way.
    """

    def __init__(self, context: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._came, self._goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._goes, server_side=True)

    async def shake_hands(self) -> None:
        while True:
            try:
                return self._tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._send()
            await self._receive()

    async def read(self) -> bytes:
        """Nothing at the end."""
        while True:
            try:
                return self._tls.read(_AT_ONCE)
            except ssl.SSLWantReadError:
                self._send()
            except ssl.SSLEOFError:  # without a goodbye
                return b""
            await self._receive()

    async def write(self, data: bytes) -> None:
        self._tls.write(data)
        self._send()
        async with asyncio.timeout(_SLOWEST):
            await self._writer.drain()

    async def close(self) -> None:
        """Once all is sent. What still comes is read, or it would reset the connection, and take an answer with it."""
        try:
            with suppress(ssl.SSLError):
                self._tls.unwrap()  # says goodbye, and waits for none
            self._send()
            self._writer.write_eof()
            async with asyncio.timeout(_GOODBYE):
                while await self._reader.read(_AT_ONCE):
                    pass
                self._writer.close()
                await self._writer.wait_closed()
        finally:
            self._writer.transport.abort()

    async def _receive(self) -> None:
        if data := await self._reader.read(_AT_ONCE):
            self._came.write(data)
        else:
            self._came.write_eof()

    def _send(self) -> None:
        if data := self._goes.read():
            self._writer.write(data)

"""The page's server in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Any
from urllib.parse import SplitResult, urlsplit


@contextmanager
def served(context: BaseContext, target: Callable[..., None], *arguments: Any) -> Iterator[SplitResult]:
    """The address that ``target`` sends to the connection that is its last argument; it is killed at the end."""
    told, tells = context.Pipe(duplex=False)
    server = context.Process(target=target, args=(*arguments, tells), daemon=True)
    server.start()
    tells.close()
    try:
        yield urlsplit(told.recv())
    finally:
        server.kill()
        server.join()
        told.close()

"""What takes long is computed in a process of its own: threads that share an interpreter would make verdicts wait."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from kgtrec.errors import KgtrecError

_GENTLE = 10  # lower priority than those who wait for the page
_Found = TypeVar("_Found")


def aside(function: Callable[..., _Found], *values: Any) -> _Found:
    """The value of a function, computed in a new process of lower priority.

    Parameters
    ----------
    function : callable
        At the top of a module.
    *values
        What it is called with; they and its value are sent from one process to the other.

    Raises
    ------
    KgtrecError
        If the function raises one, or its process is ended from outside.
    OSError
        If the function raises one, as on a full disk.
    RuntimeError
        If the function raises anything else; it holds the traceback.

    Examples
    --------
    >>> aside(divmod, 7, 2)
    (3, 1)
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, values), daemon=True)
    try:
        process.start()
        theirs.close()
        kind, found = ours.recv()
    except EOFError:
        raise KgtrecError(
            "the process that computes this was ended from outside; is there too little memory on the server?"
        ) from None
    finally:
        ours.close()
        process.join()
        process.close()
    if kind == "refused":
        raise KgtrecError(found)
    if kind == "system":
        raise OSError(*found)
    if kind == "failed":
        raise RuntimeError(found)
    return found  # type: ignore[no-any-return]


def _answer(connection: Connection, function: Callable[..., Any], values: tuple[Any, ...]) -> None:
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server is told, and ends this process
    with suppress(AttributeError, OSError):
        os.nice(_GENTLE)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer: tuple[str, Any]
    try:
        answer = "found", function(*values)
    except KgtrecError as error:
        answer = "refused", str(error)
    except OSError as error:
        answer = "system", (error.errno or errno.EIO, error.strerror or str(error))
    except BaseException:
        answer = "failed", traceback.format_exc()
    with suppress(BrokenPipeError):
        connection.send(answer)
    connection.close()


def _end_with_parent() -> None:
    """End this process as soon as the one that wants its value is gone, also if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

"""The workers of a cluster, as an executor of ``concurrent.futures``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from kgtrec.errors import KgtrecError, extra_text

_ANSWER = 10.0  # seconds that a scheduler has to answer
_RETRIES = 2  # of a piece that fails, by Dask; it gives those of a lost worker to others anyway


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """Connect to the workers of a Dask scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    KgtrecError
        If Dask is not installed, or nobody answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise KgtrecError(f"expected Dask for --scheduler; {extra_text('distributed')}") from None
    try:
        client = Client(address, timeout=_ANSWER)
    except (OSError, TimeoutError, ValueError) as error:
        raise KgtrecError(
            f"expected a Dask scheduler at {address}, found none that answers ({error}); start it, and give the same "
            "command again with its address"
        ) from None
    with client:
        yield client.get_executor(pure=False, retries=_RETRIES)

"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

# a worker of pytest-xdist is one of as many as there are cores; read when NumPy is imported, which is later
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# a job in the background of a shell ignores Ctrl-C, and so would the programs that tests stop by it
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples each time, for whoever wants to know whether all is well; other ones each time, to find what is not
settings.register_profile("quick", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("few", parent=settings.get_profile("quick"), max_examples=5)
settings.register_profile("thorough", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("quick")

DATA = Path(os.environ.get("KGTREC_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Workers of pytest-xdist begin with halves and take over what the other has left: neighbours share fixtures."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes that tests make may hold the time, as those of a ZIP archive do: a name of them differs between workers."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data sets and real systems, which is not part of the repository."""
    if not DATA.is_dir():
        message = f"no data folder at {DATA}; name one in KGTREC_DATA"
        if os.environ.get("KGTREC_REQUIRE_DATA"):
            pytest.fail(message)
        pytest.skip(message)
    return DATA

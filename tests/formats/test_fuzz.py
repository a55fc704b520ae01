"""Some damaged files of every format; tests/fuzz.py makes as many as there is time for."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.fuzz import formats, inputs, outcome

NAMES = list(formats(Path("none")))
COUNT = 20


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs a timer that ends a reader that hangs")
@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str):
    """Whole examples are read; of damaged ones each ends in a value or a clear error, within seconds."""
    target = formats(tmp_path)[name]()
    for example in target.examples:
        target.put(example)
        target.read()
    for number, data in inputs(target, name, 0, 0, COUNT):
        what = outcome(target, data)
        assert what in ("read", "refused"), f"python -m tests.fuzz --format {name!r} --first {number} --count 1\n{what}"

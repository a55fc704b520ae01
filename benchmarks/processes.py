"""Whole processes, timed in turn: wall and processor seconds and peak memory of each, medians and ratios.

Each runs once before, uncounted: it leaves the compiled bytecode of all modules in a folder of its own, as an
installation does, even if the environment forbids to write any beside the source.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What one run of a process took."""

    seconds: float
    peak_mb: float
    processor: float  # seconds of it and of the processes that it started


def measured(command: Sequence[str], bytecode: str | None = None) -> Cost:
    """Run a command to its end; its output is thrown away, its failure is ours. ``bytecode``: a folder for it."""
    environment = dict(os.environ)
    if bytecode is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = bytecode
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    error = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{error.decode()}")
    scale = 1024 if sys.platform != "darwin" else 1024**2  # kilobytes, but bytes on macOS
    return Cost(time.perf_counter() - start, usage.ru_maxrss / scale, usage.ru_utime + usage.ru_stime)


def compare(commands: Mapping[str, Sequence[str]], rounds: int) -> None:
    """Run all commands in turn, ``rounds`` times; print medians, and ratios to the first."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(rounds + 1):
            for name, command in commands.items():
                costs[name].append(measured(command, bytecode))
    costs = {name: own[1:] for name, own in costs.items()}
    first = next(iter(commands))
    print(f"{'':<14}{'seconds':>9}{'ratio':>8}{'processor':>11}{'ratio':>8}{'peak MB':>10}{'ratio':>8}")
    base = costs[first]
    for name, own in costs.items():
        seconds, peak = statistics.median(c.seconds for c in own), statistics.median(c.peak_mb for c in own)
        time_ratio = statistics.median(c.seconds / b.seconds for c, b in zip(own, base, strict=True))
        processor = statistics.median(c.processor for c in own)
        processor_ratio = statistics.median(c.processor / b.processor for c, b in zip(own, base, strict=True))
        memory_ratio = statistics.median(c.peak_mb / b.peak_mb for c, b in zip(own, base, strict=True))
        print(f"{name:<14}{seconds:>9.2f}{time_ratio:>8.1f}{processor:>11.2f}{processor_ratio:>8.1f}", end="")
        print(f"{peak:>10.0f}{memory_ratio:>8.1f}")

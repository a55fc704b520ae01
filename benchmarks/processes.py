"""Whole processes, timed in turn: wall seconds and peak memory of each, medians and ratios."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What one run of a process took."""

    seconds: float
    peak_mb: float
    processor: float  # seconds of it and of the processes that it started


def measured(command: Sequence[str]) -> Cost:
    """Run a command to its end; its output is thrown away, its failure is ours."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(measured(command))
    first = next(iter(commands))
    print(f"{'':<14}{'seconds':>9}{'ratio':>8}{'peak MB':>10}{'ratio':>8}")
    base = costs[first]
    for name, own in costs.items():
        seconds, peak = statistics.median(c.seconds for c in own), statistics.median(c.peak_mb for c in own)
        time_ratio = statistics.median(c.seconds / b.seconds for c, b in zip(own, base, strict=True))
        memory_ratio = statistics.median(c.peak_mb / b.peak_mb for c, b in zip(own, base, strict=True))
        print(f"{name:<14}{seconds:>9.2f}{time_ratio:>8.1f}{peak:>10.0f}{memory_ratio:>8.1f}")

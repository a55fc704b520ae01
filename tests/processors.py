"""The processors that this one can pretend to be, by what OpenBLAS and NumPy read from the environment.

python -m tests.processors prints a few environments, a line each, as env takes them: NumPy's plainest loops, the kernel
that this processor chooses with two threads, and each other kernel with one.
"""

from __future__ import annotations

import platform
from pathlib import Path

# OpenBLAS's kernels, and what a processor needs to run them
KERNELS = {"Prescott": {"pni"}, "Haswell": {"avx2", "fma"}, "SkylakeX": {"avx512f", "avx512dq", "avx512vl"}}


def kernels() -> list[str]:
    """Those that this processor can run; none where it is of another kind, or cannot be asked."""
    about = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not about.exists():
        return []
    flags = next((line for line in about.read_text().splitlines() if line.startswith("flags")), "").split()
    return [name for name, needed in KERNELS.items() if needed <= set(flags)]


def environments() -> dict[str, dict[str, str]]:
    """By name, what to set: each kernel with one and with two threads; and the oldest with NumPy's plainest loops."""
    found = {
        f"{kernel}-{threads}": {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
        for kernel in kernels()
        for threads in ("1", "2")
    }
    oldest = dict(zip(("OPENBLAS_CORETYPE",), kernels(), strict=False))
    return found | {"plainest": oldest | {"OPENBLAS_NUM_THREADS": "1"} | _without_simd()}


def _without_simd() -> dict[str, str]:
    """NumPy without the loops that it chooses by the processor: no AVX, no FMA."""
    from numpy._core import _multiarray_umath as core

    return {"NPY_DISABLE_CPU_FEATURES": ",".join(name for name in core.__cpu_dispatch__ if core.__cpu_features__[name])}


def own_kernel() -> str:
    """The one of OpenBLAS that this processor chooses."""
    from threadpoolctl import threadpool_info

    return next((each.get("architecture", "") for each in threadpool_info() if "numpy" in each["filepath"]), "")


def _few() -> list[dict[str, str]]:
    every = environments()
    others = [name for name in kernels()[1:] if name != own_kernel()]
    return [every["plainest"], {"OPENBLAS_NUM_THREADS": "2"}, *(every[f"{kernel}-1"] for kernel in others)]


if __name__ == "__main__":
    for environment in _few():
        print(*(f"{name}={value}" for name, value in environment.items()))

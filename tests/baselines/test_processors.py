"""Baselines write the same bytes on every processor, as far as this one can pretend to be another."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtrec.formats.collections import write_collection
from kgtrec.formats.triples import read_triples
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.questions import build_questions

# OpenBLAS's kernels, and what a processor needs to run them
KERNELS = {"Prescott": {"pni"}, "Haswell": {"avx2", "fma"}, "SkylakeX": {"avx512f", "avx512dq", "avx512vl"}}
# enough for a decomposition in full (100 factors of few entities) and for one of leading eigenvectors only (20)
SYSTEMS = """
import hashlib, pathlib, sys
from kgtrec.cli import main
world, out = sys.argv[1:]
for system, options in (("svd", "factors=20,100"), ("rescal", "factors=20"), ("rescal", "iterations=3")):
    folder = pathlib.Path(out, system, options)
    plain = ["--depth", "50", "--run-format", "run"]
    main(["baseline", system, world, "--out", str(folder), *plain, "--option", options])
    for path in sorted(folder.iterdir()):
        print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


@functools.cache
def kernels() -> list[str]:
    """Those that this processor has; none where it is of another kind, or cannot be asked."""
    about = Path("/proc/cpuinfo")
    if platform.machine() not in ("x86_64", "AMD64") or not about.exists():
        return []
    flags = next((line for line in about.read_text().splitlines() if line.startswith("flags")), "").split()
    return [name for name, needed in KERNELS.items() if needed <= set(flags)]


def without_numpys_own() -> dict[str, str]:
    """NumPy's loops without what it may choose by the processor: no AVX, no FMA."""
    from numpy._core import _multiarray_umath as core

    return {"NPY_DISABLE_CPU_FEATURES": " ".join(name for name in core.__cpu_dispatch__ if core.__cpu_features__[name])}


def environments() -> dict[str, dict[str, str]]:
    found = {
        f"{kernel}, {threads}": {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
        for kernel in kernels()
        for threads in ("1", "2")
    }
    oldest = {"OPENBLAS_CORETYPE": kernels()[0]} if kernels() else {}
    return found | {"NumPy without AVX": without_numpys_own() | oldest | {"OPENBLAS_NUM_THREADS": "1"}}


def written(world: Path, out: Path, environment: dict[str, str]) -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS", "NPY_", "OMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", SYSTEMS, world, out],
        env=plain | environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def worlds(tmp_path_factory, data: Path) -> dict[str, Path]:
    """The demo's world, and UMLS."""
    folder = tmp_path_factory.mktemp("worlds")
    splits = hide_facts(family_tree(200, 0).facts, hidden=0.3, density=0.25, seed=0).splits
    write_collection(folder / "demo", build_questions(splits.train, splits.valid, splits.test))
    umls = (read_triples(data / "small" / "umls" / f"{name}.tsv") for name in ("train", "valid", "test"))
    write_collection(folder / "umls", build_questions(*umls))
    return {name: folder / name for name in ("demo", "umls")}


@pytest.fixture(scope="session")
def here(worlds: dict[str, Path], tmp_path_factory) -> dict[str, str]:
    """What this processor writes by its own choice."""
    return {name: written(world, tmp_path_factory.mktemp(name), {}) for name, world in worlds.items()}


@pytest.mark.parametrize("world", ["demo", "umls"])
@pytest.mark.parametrize("environment", environments())
def test_ranks_and_runs_are_the_same_bytes_on_every_processor(environment, world, worlds, here, tmp_path):
    assert here[world].count("\n") == 8
    assert written(worlds[world], tmp_path, environments()[environment]) == here[world]


def test_the_processors_differ_indeed():
    """A plain matrix product is other bits with other kernels, or this machine has one of them only."""
    program = "import numpy, hashlib; a = numpy.random.default_rng(0).random((300, 300)); " + (
        "print(hashlib.sha256((a @ a).tobytes()).hexdigest())"
    )
    found = {
        subprocess.run([sys.executable, "-c", program], env=os.environ | {"OPENBLAS_CORETYPE": kernel},
                       text=True, capture_output=True, check=True).stdout
        for kernel in kernels()
    }  # fmt: skip
    if "openblas" not in str(np.show_config(mode="dicts")) or len(kernels()) < 2:
        pytest.skip("NumPy's matrix library is not OpenBLAS, or has one kernel here")
    assert len(found) > 1

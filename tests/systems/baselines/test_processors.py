"""Baselines write the same bytes on every processor, as far as this one can pretend to be another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtrec.cli.demo_steps import make_world
from kgtrec.collection.questions import build_questions
from kgtrec.formats.collections import write_collection
from kgtrec.formats.triples import read_triples
from tests.processors import environments, kernels

# enough for a decomposition in full (100 factors of few entities) and for one of leading eigenvectors only (20)
SYSTEMS = """
import hashlib, pathlib, sys
from kgtrec.cli import main
world, out = sys.argv[1:]
for system, options in (("svd", "factors=20,100"), ("rescal", "factors=20"), ("rescal", "iterations=3")):
    folder = pathlib.Path(out, system, options)
    plain = ["--depth", "50", "--run-format", "run"]
    main(["rank", world, "--baseline", system, "--out", str(folder), *plain, "--option", options])
    for path in sorted({*folder.glob("*.run"), *folder.glob("*.parquet")}):  # and not the record of what was written
        print(path.relative_to(out), hashlib.sha256(path.read_bytes()).hexdigest())
"""


def written(world: Path, out: Path, environment: dict[str, str]) -> list[str]:
    """Names and hashes of the files that the baselines write for a collection."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS", "NPY_", "OMP_"))}
    command = [sys.executable, "-c", SYSTEMS, world, out]
    done = subprocess.run(command, env=plain | environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="session", params=["demo", pytest.param("umls", marks=pytest.mark.slow)])
def world(request, tmp_path_factory) -> Path:
    """The demo's family tree; and UMLS."""
    folder = tmp_path_factory.mktemp("world") / request.param
    if request.param == "demo":
        splits = make_world()[1].splits
        three = splits.train, splits.valid, splits.test
    else:
        umls = request.getfixturevalue("data") / "small" / "umls"
        three = tuple(read_triples(umls / f"{name}.tsv") for name in ("train", "valid", "test"))
    write_collection(folder, build_questions(*three))
    return folder


@pytest.fixture(scope="session")
def here(world: Path, tmp_path_factory) -> list[str]:
    """What this processor writes by its own choice."""
    return written(world, tmp_path_factory.mktemp("here"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", [pytest.param(name, marks=[] if name == "plainest" else pytest.mark.long) for name in environments()]
)
def test_ranks_and_runs_are_the_same_bytes_on_every_processor(environment, world, here, tmp_path):
    assert len(here) == 8
    assert written(world, tmp_path, environments()[environment]) == here


@pytest.mark.slow
def test_the_processors_differ_indeed():
    """A plain matrix product is other bits with other kernels; else the test above would say nothing."""
    if "openblas" not in str(np.show_config(mode="dicts")) or len(kernels()) < 2:
        pytest.skip("NumPy's matrix library is not OpenBLAS, or has one kernel here")
    program = "import numpy, sys; a = numpy.random.default_rng(0).random((300, 300)); sys.stdout.buffer.write(a @ a)"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            check=True,
        ).stdout
        for kernel in kernels()
    }
    assert len(found) > 1

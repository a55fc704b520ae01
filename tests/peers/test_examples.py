"""The examples that need torch or PyKEEN run as they are, and have the numbers of other paths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection
from kgtrec.systems.registry import read_system

pytest.importorskip("torch", reason="torch is not installed; pip install kgtrec[peers]")
EXAMPLES = Path(__file__).parents[2] / "examples"


def ran(name, out):
    done = subprocess.run([sys.executable, EXAMPLES / name, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.filterwarnings("default")
def test_the_pykeen_pipeline(tmp_path):
    """The evaluator inside the pipeline, the model in memory and the folder that PyKEEN saved agree."""
    pytest.importorskip("pykeen", reason="PyKEEN is not installed; pip install kgtrec[peers]")
    from kgtrec.ranking.system import rank_system

    told = ran("pykeen_pipeline.py", tmp_path)
    collection = read_collection(tmp_path / "C")
    saved = rank_system(collection, read_system(tmp_path / "distmult", trust=True), depth=0)
    files = tmp_path / "ranks" / "distmult.ranks.parquet"
    values = [evaluate(collection, each, ["macro.MRR", "AP@20"]).values.ravel() for each in (saved, files)]
    np.testing.assert_allclose(*values, rtol=1e-9)
    assert f"macro.MRR {values[0][0]:.4f}, AP@20 {values[0][1]:.4f}" in told


def test_a_model_in_plain_pytorch(tmp_path):
    """Its glue is at most ten lines, and it has learnt something."""
    lines = (EXAMPLES / "pytorch_model.py").read_text().splitlines()
    first, last = (next(n for n, line in enumerate(lines) if text in line) for text in ("from here on", "# to here"))
    assert sum(bool(line.strip()) for line in lines[first + 1 : last]) <= 10
    told = ran("pytorch_model.py", tmp_path)
    assert float(told.split("micro.MRR")[1].split()[0]) > 0.2
    assert (tmp_path / "distmult.run.gz").exists()

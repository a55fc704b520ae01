"""PyTerrier: experiments with kgtrec's measures on a collection, without Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ir_measures import macro_MRR, micro_MRR
from tests.peers.cities import EXAMPLES, made

pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed; pip install kgtrec[peers]")
pytestmark = pytest.mark.filterwarnings("default")
NAMES = ["rules", "popularity"]


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("cities"))


@pytest.fixture(scope="module")
def frames(cities: Path):
    """Topics, qrels and runs as PyTerrier reads them."""
    runs = [pt.io.read_results(str(cities / "R" / f"{name}.run.gz")) for name in NAMES]
    return (
        pt.io.read_topics(str(cities / "T" / "queries.tsv"), "singleline"),
        pt.io.read_qrels(str(cities / "T" / "qrels.txt")),
        runs,
    )


def test_an_experiment_has_the_numbers_of_evaluate(cities: Path, frames):
    """Means over questions, of PyTerrier's own measure and of kgtrec's."""
    topics, qrels, runs = frames
    found = pt.Experiment([pt.Transformer.from_df(run) for run in runs], topics, qrels, ["map", macro_MRR], names=NAMES)
    paths = [cities / "R" / f"{name}.run.gz" for name in NAMES]
    expected = evaluate(cities / "C", paths, ["AP", "macro.MRR"]).values[:, :, 0]
    assert found["name"].tolist() == NAMES
    assert found[["map", "macro_MRR"]].to_numpy() == pytest.approx(expected, abs=1e-15)


def test_a_mean_over_answers_is_a_total_of_its_own(cities: Path, frames):
    """Evaluate asks the measure for it; an experiment, which takes means of questions, is refused."""
    topics, qrels, runs = frames
    measure = micro_MRR(candidates="listed")
    total = evaluate(cities / "C", cities / "R" / "rules.ranks.parquet", "micro.MRR").values[0, 0, 0]
    assert pt.Evaluate(runs[0], qrels, [measure]) == {str(measure): total}
    with pytest.raises(KgtrecError, match=r"micro\.MRR: expected its total from the measure's aggregator"):
        pt.Experiment([pt.Transformer.from_df(runs[0])], topics, qrels, [measure])
    values = pt.Experiment([pt.Transformer.from_df(runs[0])], topics, qrels, [measure], perquery=True)
    assert len(values) == len(topics)


def test_its_frames_are_systems_and_qrels(frames):
    """Columns qid, docno, score and label."""
    _, qrels, runs = frames
    assert evaluate(qrels, dict(zip(NAMES, runs, strict=True)), "macro.MRR").systems == tuple(NAMES)


def test_the_example_runs(tmp_path: Path):
    """With BM25 only where there is Java and Terrier."""
    pytest.importorskip("ir_datasets", reason="ir_datasets is not installed; pip install kgtrec[peers]")
    command = [sys.executable, EXAMPLES / "pyterrier_experiment.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0.8020833333333334" in done.stdout

"""ranx: its runs and qrels are kgtrec's, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run
from kgtrec.pooling.pool_runs import pool_runs
from tests.peers.cities import made

ranx = pytest.importorskip("ranx", reason="ranx is not installed; pip install kgtrec[peers]")
pytestmark = pytest.mark.filterwarnings("default")
NAMES = ["rules", "popularity"]


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("cities"))


def test_there_and_back(cities: Path):
    """Runs by to_dict keep every score and their names; qrels every grade."""
    own = [read_run(cities / "R" / f"{name}.run.gz", name=name) for name in NAMES]
    qrels = read_qrels(cities / "C" / "qrels.txt")
    runs = [ranx.Run(run.to_dict(), name=run.name) for run in own]
    judged = ranx.Qrels(qrels.to_dict())
    found = evaluate(judged, runs, ["macro.MRR", "AP@20", "nDCG@20"])
    expected = evaluate(qrels, own, ["macro.MRR", "AP@20", "nDCG@20"])
    assert found.systems == ("rules", "popularity")
    assert found.values.tolist() == expected.values.tolist()


def test_pools_of_its_runs(cities: Path):
    """A pool needs names, which its runs have."""
    collection = read_collection(cities / "C")
    own = [read_run(cities / "R" / f"{name}.run.gz", name=name) for name in NAMES]
    pool = pool_runs(collection, [ranx.Run(run.to_dict(), name=run.name) for run in own], depth=3)
    assert pool.triples.to_frame().equals(pool_runs(collection, own, depth=3).triples.to_frame())


def test_its_own_numbers_are_those_of_kgtrec_without_ties(cities: Path):
    """Of a run in which nothing ties."""
    qrels = read_qrels(cities / "C" / "qrels.txt")
    untied = {
        question: {entity: -float(place) for place, entity in enumerate(own)}
        for question, own in read_run(cities / "R" / "rules.run.gz").to_dict().items()
    }
    theirs = ranx.evaluate(ranx.Qrels(qrels.to_dict()), ranx.Run(untied), ["mrr", "map@20", "ndcg@20"])
    ours = evaluate(qrels, untied, ["RR", "AP@20", "nDCG@20"]).values[0, :, 0]
    assert list(theirs.values()) == pytest.approx(ours.tolist())

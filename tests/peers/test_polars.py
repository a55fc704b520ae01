"""polars: its data frames are kgtrec's, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgtrec
from kgtrec.data.judgements import Judgements
from kgtrec.data.pool import Pool
from kgtrec.errors import KgtrecError
from tests.peers.cities import made

polars = pytest.importorskip("polars", reason="polars is not installed; pip install kgtrec[peers]")


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("cities"))


def test_scores_are_the_same(cities: Path):
    """Of runs and qrels as polars' frames, one or several, with columns of text or categories."""
    qrels = kgtrec.read_qrels(cities / "C" / "qrels.txt")
    run = kgtrec.read_run(cities / "R" / "rules.run.gz", name="rules")
    frames = [polars.DataFrame(each.to_frame()) for each in (qrels, run)]
    expected = kgtrec.evaluate(qrels, run, ["RR", "AP"]).to_frame()
    assert kgtrec.evaluate(frames[0], {"rules": frames[1]}, ["RR", "AP"]).to_frame().equals(expected)
    categories = [each.with_columns(polars.col("query_id", "doc_id").cast(polars.Categorical)) for each in frames]
    assert kgtrec.evaluate(categories[0], {"rules": categories[1]}, ["RR", "AP"]).to_frame().equals(expected)


def test_results_are_its_frames(cities: Path):
    """Of a table of Arrow and of a frame of pandas."""
    scores = kgtrec.evaluate(cities / "C", [cities / "R" / "rules.run.gz"], ["RR", "AP"])
    found = polars.from_arrow(scores.to_table())
    assert found.columns == ["system", "measure", "value"]
    assert found.equals(polars.from_pandas(scores.to_frame()))


def test_pools_and_judgements_come_back(cities: Path):
    collection = kgtrec.read_collection(cities / "C")
    pool = kgtrec.pool_runs(collection, [kgtrec.read_run(cities / "R" / "rules.run.gz")], depth=2)
    found = Pool.from_frame(polars.from_pandas(pool.to_frame()), collection.questions)
    assert found.to_frame().equals(pool.to_frame())
    triples = polars.from_pandas(pool.to_frame()).select("head", "relation", "tail").unique(maintain_order=True)
    judged = triples.with_columns(polars.lit("ann").alias("annotator"), polars.lit("Y").alias("verdict"))
    assert len(Judgements.from_frame(judged, pool)) == len(pool)
    with pytest.raises(KgtrecError, match=r"expected triples of the pool, found \(nowhere, "):
        Judgements.from_frame(judged.with_columns(polars.lit("nowhere").alias("head")), pool)

"""A collection becomes a data set of ir_datasets by two lines, and runs of it are systems of kgtrec."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection
from tests.peers.cities import made

ir_datasets = pytest.importorskip("ir_datasets", reason="ir_datasets is not installed; pip install kgtrec[peers]")
ID = "kgtrec/cities"


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    """Registered as the documentation shows."""
    folder = made(tmp_path_factory.mktemp("cities"))
    files = (str(folder / "T" / name) for name in ("docs.tsv", "queries.tsv", "qrels.txt"))
    ir_datasets.registry.register(ID, ir_datasets.create_dataset(*files))
    return folder


def test_the_data_set_is_the_collection(cities: Path):
    """Ids, judgements and texts, in order."""
    collection, found = read_collection(cities / "C"), ir_datasets.load(ID)
    assert [query.query_id for query in found.queries_iter()] == list(collection.questions.ids)
    assert [doc.doc_id for doc in found.docs_iter()] == list(collection.entities)
    judged: dict[str, dict[str, int]] = {}
    for row in found.qrels_iter():
        judged.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    assert judged == collection.qrels.to_dict()
    assert next(iter(found.queries_iter())).text == "what city in austria"
    assert found.docs_store().get("vienna").text == "vienna"


def test_its_qrels_are_qrels(cities: Path):
    """An iterator of ir_datasets is what evaluate takes; the numbers are those of the collection."""
    run = cities / "R" / "rules.run.gz"
    names = ["macro.MRR", "AP@20"]
    found = evaluate(ir_datasets.load(ID).qrels_iter(), run, names)
    assert found.values.tolist() == evaluate(cities / "C", run, names).values.tolist()


def test_ir_measures_finds_it_by_its_id(cities: Path):
    """ir-measures takes qrels of a registered data set."""
    import ir_measures

    from kgtrec.ir_measures import micro_MRR

    measure = micro_MRR(candidates="listed")
    run = ir_measures.read_trec_run(str(cities / "R" / "rules.run.gz"))
    found = ir_measures.calc_aggregate([measure], ir_datasets.load(ID).qrels_iter(), run)
    assert found[measure] == evaluate(cities / "C", cities / "R" / "rules.ranks.parquet", "micro.MRR").values[0, 0, 0]

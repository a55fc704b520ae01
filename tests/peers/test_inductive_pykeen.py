"""Inductive collections beside PyKEEN: its NodePiece model, its evaluator, and its pipeline's mistaken filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import POLICIES_LIKE
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.system import rank_system

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("pykeen.datasets.inductive.base", reason="needs PyKEEN")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def graphs(data: Path) -> Any:
    train, own = (data / "inductive" / name for name in ("fb237_v1", "fb237_v1_ind"))
    files = train / "train.txt", own / "train.txt", own / "test.txt", own / "valid.txt"
    return datasets.DisjointInductivePathDataset(*files, create_inverse_triples=True)


@pytest.fixture(scope="module")
def nodepiece(graphs: Any) -> Any:
    """Trained for one epoch: ranks need not be good."""
    from pykeen.losses import NSSALoss
    from pykeen.models import InductiveNodePiece
    from pykeen.training import SLCWATrainingLoop

    torch.manual_seed(0)
    model = InductiveNodePiece(
        triples_factory=graphs.transductive_training,
        inference_factory=graphs.inductive_inference,
        num_tokens=5,
        embedding_dim=16,
        loss=NSSALoss(),
        random_seed=0,
    )
    loop = SLCWATrainingLoop(
        model=model, triples_factory=graphs.transductive_training, mode="training", optimizer="adam"
    )
    loop.train(graphs.transductive_training, num_epochs=1, batch_size=512, use_tqdm=False)
    return model


def of_pykeen(graphs: Any, model: Any, filters: list[Any], test: Any = None) -> tuple[Any, Any]:
    """Values, and the evaluator with its ranks."""
    from pykeen.evaluation import RankBasedEvaluator

    evaluator = RankBasedEvaluator(mode="testing", clear_on_finalize=False)
    test = graphs.inductive_testing.mapped_triples if test is None else test
    found = evaluator.evaluate(model, test, batch_size=64, additional_filter_triples=filters, use_tqdm=False)
    return found, evaluator


def test_nodepiece_of_an_inductive_data_set_has_the_ranks_of_pykeens_evaluator(graphs: Any, nodepiece: Any):
    """With inference and validation triples given to its evaluator, MRR and Hits@10 are equal to float32."""
    from kgtrec.systems.pykeen import pykeen_ranks, pykeen_system

    collection = build_questions(graphs)
    filters = [graphs.inductive_inference.mapped_triples, graphs.inductive_validation.mapped_triples]
    theirs, evaluator = of_pykeen(graphs, nodepiece, filters)
    system = pykeen_system(nodepiece, graphs.inductive_inference, mode="testing")
    ranks = rank_system(collection, system, depth=0).answer_ranks
    counted = pykeen_ranks(evaluator, graphs.inductive_testing.mapped_triples, graphs.inductive_inference)
    for found in (ranks, rank_system(collection, counted, depth=0).answer_ranks):
        values = evaluate(collection, found, ["micro.MRR", "micro.Hits@10", "micro.MR"]).values[0, :, 0]
        names = ("both.realistic.inverse_harmonic_mean_rank", "hits_at_10", "arithmetic_mean_rank")
        assert values == pytest.approx([theirs.get_metric(name) for name in names], rel=1e-5)


def test_the_filter_like_pykeen_is_that_of_its_pipeline(graphs: Any, nodepiece: Any):
    """Training numbers and validation triples, where PyKEEN does not stop; where it does, kgtrec has warned."""
    from kgtrec.systems.pykeen import pykeen_system

    filters = [graphs.transductive_training.mapped_triples, graphs.inductive_validation.mapped_triples]
    with pytest.raises(IndexError):
        of_pykeen(graphs, nodepiece, filters)
    with pytest.warns(match="IndexError at 3 of the 365 questions"):
        collection = build_questions(graphs, **POLICIES_LIKE["pykeen"], training_ids=True)
    n = graphs.inductive_inference.num_entities
    filters[0] = filters[0][(filters[0][:, [0, 2]] < n).all(dim=1)]
    theirs, _ = of_pykeen(graphs, nodepiece, filters)
    system = pykeen_system(nodepiece, graphs.inductive_inference, mode="testing")
    found = rank_system(collection, system, depth=0).answer_ranks
    values = evaluate(collection, found, ["micro.MRR", "micro.Hits@10"]).values[0, :, 0]
    assert values == pytest.approx([theirs.get_metric(name) for name in ("mrr", "hits_at_10")], rel=1e-5)


def test_a_pipelines_policies_are_those_of_its_factories(tmp_path: Path):
    """Unknown relations are dropped from the inference graph, whose entities stay; unknown entities from the test."""
    rows = {
        "train": [("a", "r", "b"), ("b", "s", "c")],
        "inference": [("x", "r", "y"), ("y", "t", "z"), ("x", "s", "y")],
        "valid": [("x", "r", "z")],
        "test": [("y", "r", "x"), ("y", "t", "x"), ("new", "r", "x")],
    }
    for name, triples in rows.items():
        (tmp_path / f"{name}.txt").write_text("".join("\t".join(row) + "\n" for row in triples))
    names = ("train", "inference", "test", "valid")
    theirs = datasets.DisjointInductivePathDataset(*(tmp_path / f"{name}.txt" for name in names))
    own = build_questions(
        rows["train"], rows["valid"], rows["test"], inference=rows["inference"], **POLICIES_LIKE["pykeen"]
    )
    assert sorted(own.entities) == sorted(theirs.inductive_inference.entity_to_id) == ["x", "y", "z"]
    assert len(own.train) == theirs.inductive_inference.num_triples == 2
    assert own.report["triples"]["test"] == theirs.inductive_testing.num_triples == 1

"""The example that exports PyKEEN checkpoints: its ranks are those of PyKEEN's own evaluator."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.openworld.curve import open_world_curve
from kgtrec.openworld.family_tree import family_tree, hide_facts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyKEEN and what it imports are not ours
    torch = pytest.importorskip("torch")
    pytest.importorskip("pykeen.models")
    from pykeen.evaluation import RankBasedEvaluator

pytestmark = pytest.mark.filterwarnings("ignore")  # those of training
EXAMPLE = Path(__file__).parents[2] / "examples" / "open_world" / "pykeen_checkpoints.py"
MODELS = ("TransE", "DistMult", "ComplEx", "RotatE")
# ours -> PyKEEN's, over answers of both sides
MEASURES = {
    "micro.MRR": "inverse_harmonic_mean_rank",
    "micro.MR": "arithmetic_mean_rank",
    "micro.Hits@1": "hits_at_1",
    "micro.Hits@3": "hits_at_3",
    "micro.Hits@10": "hits_at_10",
}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pykeen_checkpoints", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        torch.set_num_threads(1)
        yield module
    finally:
        del sys.modules[spec.name]


@pytest.fixture(scope="module")
def collection() -> Collection:
    world = hide_facts(family_tree(30, seed=3).facts, hidden=0.5, density=1.0, valid=0.0, seed=3)
    return build_questions(world.splits.train, world.splits.valid, world.splits.test)


def brief(example: ModuleType, name: str):
    """The example's own settings of a model, for seconds of training."""
    return replace(example.SETTINGS[name], dim=8, epochs=(1, 2), batch=64)


def hidden_facts(collection: Collection):
    """(n, 3) every fact to find, once, as PyKEEN wants it."""
    qrels, questions = collection.qrels, collection.questions
    asks_tail = ~questions.is_head[qrels.question]
    found = questions.triples(qrels.question[asks_tail], qrels.entity[asks_tail])
    return torch.as_tensor(np.stack([found.head, found.relation, found.tail], axis=1).astype(np.int64))


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_exported_ranks_score_as_pykeens_evaluator_scores_the_model(
    example: ModuleType, collection: Collection, tmp_path: Path, name: str, inverse: bool
):
    """Filtered by train and test, realistic ranks; all of PyKEEN's test facts are asked for from both sides."""
    settings = replace(brief(example, name), inverse=inverse)
    model, triples = example.train(name, settings, collection, tmp_path, size=7)
    mapped = hidden_facts(collection)
    assert 2 * len(mapped) == len(collection.qrels)
    evaluator = RankBasedEvaluator(filtered=True)
    theirs = evaluator.evaluate(
        model, mapped, batch_size=16, additional_filter_triples=[triples.mapped_triples], use_tqdm=False
    )
    ranks = read_answer_ranks(tmp_path / f"{name}@2.ranks.parquet")
    ours = evaluate(collection.qrels, ranks, list(MEASURES), ties="realistic", collection=collection).values[0, :, 0]
    expected = [theirs.get_metric(f"both.realistic.{metric}") for metric in MEASURES.values()]
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_checkpoints_are_named_after_epochs_and_make_families_of_a_curve(
    example: ModuleType, collection: Collection, tmp_path: Path
):
    for name in ("TransE", "DistMult"):
        example.train(name, brief(example, name), collection, tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    labels = ["DistMult@1", "DistMult@2", "TransE@1", "TransE@2"]
    assert files == [f"{label}.ranks.parquet" for label in labels]
    systems = [read_answer_ranks(tmp_path / file) for file in files]
    assert [system.name for system in systems] == labels
    curve = open_world_curve(collection, systems, "micro.MRR", densities=[0.5])
    assert curve.families == ("DistMult", "DistMult", "TransE", "TransE")
    assert curve.checkpoints.tolist() == [1, 2, 1, 2]
    assert np.isfinite(curve.sparse).all()


@pytest.mark.parametrize("name", MODELS)
def test_an_earlier_checkpoint_changes_nothing_about_a_later_one(
    example: ModuleType, collection: Collection, tmp_path: Path, name: str
):
    """Ranking between epochs draws nothing, leaves Adam's state, and a seed gives the same bytes twice."""
    for folder, epochs in (("several", (1, 2, 3)), ("last", (3,))):
        (tmp_path / folder).mkdir()
        example.train(name, replace(brief(example, name), epochs=epochs), collection, tmp_path / folder, seed=4)
    several, last = ((tmp_path / folder / f"{name}@3.ranks.parquet").read_bytes() for folder in ("several", "last"))
    assert several == last
    first = read_answer_ranks(tmp_path / "several" / f"{name}@1.ranks.parquet")
    assert not np.array_equal(first.score, read_answer_ranks(tmp_path / "last" / f"{name}@3.ranks.parquet").score)


def test_a_folder_that_has_checkpoints_of_the_model_is_refused(example: ModuleType, tmp_path: Path):
    (tmp_path / "TransE@7.ranks.parquet").touch()
    example.require_no_others(tmp_path, {"RotatE": example.SETTINGS["RotatE"]})
    with pytest.raises(KgtrecError, match=r"expected no checkpoints of TransE, found TransE@7\.ranks\.parquet"):
        example.require_no_others(tmp_path, {"TransE": example.SETTINGS["TransE"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "Transe"], "expected models among .*, found 'Transe'; did you mean TransE"),
        (["--epochs", "3", "0"], "--epochs: expected at least 1, found 0"),
        ([], "error: .*nowhere"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
):
    monkeypatch.setattr(sys, "argv", ["x", str(tmp_path / "nowhere"), str(tmp_path / "ranks"), *options])
    with pytest.raises(SystemExit, match=message) as stopped:
        example.main()
    assert "\n" not in str(stopped.value)
    assert not (tmp_path / "ranks").exists()

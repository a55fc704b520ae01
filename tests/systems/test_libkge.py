"""Checkpoints and traces of LibKGE: ranks are those of its documented scores, computed number by number."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import Factors
from kgtrec.systems.registry import adapter_of, read_system
from tests.examples import examples
from tests.systems.model_worlds import ENTITIES, RELATIONS, assert_ranked_by, exact, refused, world

D = 4


def as_complex(vector):
    return vector[: len(vector) // 2] + 1j * vector[len(vector) // 2 :]


#: name -> class, relation's numbers, further settings, score
MODELS = {
    "distmult": ("DistMult", D, {}, lambda h, r, t: (h * r * t).sum()),
    "complex": ("ComplEx", D, {}, lambda h, r, t: (as_complex(h) * as_complex(r) * as_complex(t).conj()).real.sum()),
    "rescal": ("Rescal", D * D, {}, lambda h, r, t: h @ r.reshape(D, D) @ t),
    "cp": ("CP", D // 2, {}, lambda h, r, t: (h[: D // 2] * r * t[D // 2 :]).sum()),
    "transe_l2": ("TransE", D, {"l_norm": 2.0}, lambda h, r, t: -np.sqrt(((h + r - t) ** 2).sum())),
    "transe_l1": ("TransE", D, {"l_norm": 1.0}, lambda h, r, t: -np.abs(h + r - t).sum()),
    "transe_l3": ("TransE", D, {"l_norm": 3}, lambda h, r, t: -((np.abs(h + r - t) ** 3).sum() ** (1 / 3)).round(9)),
}


def write_dictionaries(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, labels in (("entity_ids.del", ENTITIES), ("relation_ids.del", RELATIONS)):
        (folder / name).write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)))


def write_checkpoint(path, model, rng, *, reciprocal=False, state=None, options=None, **more):
    """What LibKGE saves: tensors by name, and its settings as an object of its own class."""
    torch = pytest.importorskip("torch", reason="checkpoints need torch")
    class_name, size, further, _ = MODELS[model]
    E, R = exact(rng, len(ENTITIES), D), exact(rng, len(RELATIONS) * (1 + reciprocal), size)
    base = "_base_model._" if reciprocal else "_"
    own = {f"{base}{what}_embedder._embeddings.weight": torch.tensor(a) for what, a in (("entity", E), ("relation", R))}
    settings_of = {"model": model, model: {"class_name": class_name} | further, "job": {"device": "cuda"}}
    if reciprocal:
        wrapper = "reciprocal_relations_model"
        settings_of |= {
            "model": wrapper,
            wrapper: {"class_name": "ReciprocalRelationsModel", "base_model": {"type": model} | further},
        }
    modules = {name: ModuleType(name) for name in ("kge", "kge.config")}
    config_class = type("Config", (), {"__module__": "kge.config"})
    modules["kge.config"].Config = config_class
    config = config_class()
    config.__dict__ |= {"options": settings_of if options is None else options, "folder": None, "log_prefix": None}
    checkpoint = {"type": "train", "epoch": 3, "valid_trace": [{"metric": 0.5, "hits": [0.1, None]}], "config": config}
    checkpoint |= {"model": (own if state is None else state, {}), "job_id": "x"} | more
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.modules |= modules
    try:
        torch.save(checkpoint, path)
    finally:
        for name in modules:
            del sys.modules[name]
    return E.astype(np.float64), R.astype(np.float64)


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(3))
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_are_those_of_the_documented_score(model: str, reciprocal: bool, seed: int):
    """Without LibKGE, and without its classes; reciprocal relations predict heads as tails."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as name:
        write_dictionaries(Path(name, "data"))
        path = Path(name, "trained", "checkpoint_best.pt")
        E, R = write_checkpoint(path, model, rng, reciprocal=reciprocal)
        for source in (path, path.parent):
            assert adapter_of(source).name == "libkge"
        system = read_system(path.parent, data=Path(name, "data"))
        assert system.name == "trained"
        assert isinstance(system, Factors)
        score, m = MODELS[model][3], len(RELATIONS)
        collection = world(rng)
        if not reciprocal:
            assert_ranked_by(collection, system, lambda h, r, t: score(E[h], R[r], E[t]))
            return
        tails = rank_system(collection, system, sides=["tail"]).answer_ranks
        heads = rank_system(collection, system, sides=["head"]).answer_ranks
        assert "kge" not in sys.modules
    for ranks, scored in (
        (tails, lambda own, r, other: score(E[own], R[r], E[other])),
        (heads, lambda own, r, other: score(E[own], R[r + m], E[other])),
    ):
        asked = collection.questions
        for question, entity, above, tied in zip(ranks.question, ranks.entity, ranks.above, ranks.tied, strict=True):
            own = ENTITIES.index(collection.entities[asked.anchor[question]])
            r = RELATIONS.index(asked.relations[asked.relation[question]])
            row = np.array([scored(own, r, ENTITIES.index(label)) for label in collection.entities])
            filtered = collection.filtered.entity[collection.filtered.question == question]
            answers = collection.qrels.entity[collection.qrels.question == question]
            others = np.setdiff1d(np.arange(len(row)), [*filtered, *answers])
            assert (above, tied) == ((row[others] > row[entity]).sum(), (row[others] == row[entity]).sum())


def test_the_best_checkpoint_of_a_folder_is_taken_else_the_last(tmp_path: Path):
    write_dictionaries(tmp_path)
    rng = np.random.default_rng(1)
    written = {
        epoch: write_checkpoint(tmp_path / f"checkpoint_{epoch}.pt", "distmult", rng)[0]
        for epoch in ("00005", "00010", "best")
    }
    np.testing.assert_array_equal(read_system(tmp_path).E, written["best"])
    (tmp_path / "checkpoint_best.pt").unlink()
    np.testing.assert_array_equal(read_system(tmp_path).E, written["00010"])


def test_a_packaged_model_brings_its_labels(tmp_path: Path):
    meta = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
    write_checkpoint(tmp_path / "model.pt", "complex", np.random.default_rng(2), dataset={"meta": meta})
    system = read_system(tmp_path / "model.pt")
    assert (system.name, list(system.entities), list(system.relations)) == ("model", ENTITIES, RELATIONS)


def test_names_of_tensors_of_the_first_releases_are_known(tmp_path: Path):
    torch = pytest.importorskip("torch", reason="checkpoints need torch")
    write_dictionaries(tmp_path)
    E, R = torch.ones(9, D), torch.ones(3, D)
    state = {"_entity_embedder.embeddings.weight": E, "_relation_embedder.embeddings.weight": R}
    write_checkpoint(tmp_path / "checkpoint_best.pt", "distmult", np.random.default_rng(3), state=state)
    assert read_system(tmp_path).E.shape == (9, D)


class Running:
    """A pickle of it would run a command."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_checkpoint_is_run(tmp_path: Path):
    """What is none of tensors and plain values is refused, also with --trust."""
    write_dictionaries(tmp_path)
    ran = tmp_path / "ran"
    write_checkpoint(tmp_path / "checkpoint_best.pt", "distmult", np.random.default_rng(4), extra=Running(ran))
    message = r"expected a checkpoint of LibKGE of tensors and plain values, found \w+\.mkdir, which reading could run"
    for trust in (False, True):
        refused(message, tmp_path, trust=trust)
        assert not ran.exists()


def tensors(**shapes):
    def state():
        torch = pytest.importorskip("torch", reason="checkpoints need torch")
        return {f"_{what}_embedder._embeddings.weight": torch.zeros(*shape) for what, shape in shapes.items()}

    return state


@pytest.mark.parametrize(
    ("model", "changed", "message"),
    [
        (
            "distmult",
            {"state": tensors(entity=(8, D), relation=(3, D))},
            "expected labels for the 8 entities of the model",
        ),
        ("distmult", {"state": tensors(entity=(9, D), relation=(3, D + 1))}, "expected relations of 4 numbers each"),
        ("cp", {"state": tensors(entity=(9, 3), relation=(3, 1))}, "expected relations of 1 numbers each"),
        ("rescal", {"state": tensors(entity=(9, 2), relation=(3, 2))}, "expected relations of 4 numbers each"),
        ("distmult", {"state": dict}, "found 'distmult', which is read through the package kge of LibKGE"),
        ("distmult", {"options": {"model": "conve"}}, "found 'conve', which is read through the package kge"),
        ("distmult", {"options": {}}, "expected a checkpoint of LibKGE with model and config, found something else"),
    ],
)
def test_another_checkpoint_ends_in_one_line(tmp_path: Path, model: str, changed, message: str):
    changed = {key: value() if callable(value) else value for key, value in changed.items()}
    write_dictionaries(tmp_path)
    write_checkpoint(tmp_path / "checkpoint_best.pt", model, np.random.default_rng(5), **changed)
    refused(re.escape(message), tmp_path, "libkge")


def test_a_cut_checkpoint_and_one_without_labels_are_refused(tmp_path: Path):
    path = tmp_path / "a" / "checkpoint_best.pt"
    write_checkpoint(path, "distmult", np.random.default_rng(6))
    refused(r"expected the labels of its entities in entity_ids\.del .*--data", path)
    path.write_bytes(path.read_bytes()[:-100])
    refused("expected a checkpoint of LibKGE of tensors and plain values", path, "libkge")


@pytest.fixture
def package(monkeypatch):
    """A stand-in for the package kge, with a model whose heads can be refused, as ConvE's are."""
    torch = pytest.importorskip("torch", reason="checkpoints need torch")
    modules = {name: ModuleType(name) for name in ("kge", "kge.config", "kge.dataset", "kge.model")}
    asked = {}

    class Config:
        @staticmethod
        def create_from(checkpoint):
            asked["model"] = checkpoint["config"].options["model"]
            return Config()

        def set(self, key, value):
            asked[key] = value

    class Dataset:
        @staticmethod
        def create(config, preload_data, folder):
            asked["folder"] = folder
            return Dataset()

    class KgeModel(torch.nn.Module):
        def __init__(self, state):
            super().__init__()
            self.E = torch.nn.Parameter(state["E"])
            self.R = torch.nn.Parameter(state["R"])

        @staticmethod
        def create_from(checkpoint, dataset):
            return KgeModel(checkpoint["model"][0])

        def score_sp(self, s, p):
            return self.E[s] * self.R[p] @ self.E.T + s[:, None]

        def score_po(self, p, o):
            if asked["model"] == "conve":
                raise Exception("not supported")
            return self.E[o] * self.R[p] @ self.E.T - o[:, None]

    Config.__module__ = "kge.config"
    modules["kge.config"].Config = Config
    modules["kge.dataset"].Dataset, modules["kge.model"].KgeModel = Dataset, KgeModel
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    Config.__qualname__ = "Config"
    return asked


@pytest.mark.parametrize("model", ["rotate", "conve"])
def test_another_model_is_scored_by_the_package(tmp_path: Path, package, model: str):
    """With the user's word alone; a side that it refuses cannot be asked."""
    import torch

    rng = np.random.default_rng(7)
    E, R = exact(rng, 9, D), exact(rng, 3, D)
    write_dictionaries(tmp_path)
    config = sys.modules["kge.config"].Config()
    config.options = {"model": model, model: {"class_name": "Other"}}
    state = {"E": torch.tensor(E), "R": torch.tensor(R)}
    torch.save({"type": "train", "config": config, "model": (state, {})}, tmp_path / "checkpoint_best.pt")
    refused(rf"a LibKGE model {model} is saved as a pickle.*--trust", tmp_path, data=tmp_path)
    system = read_system(tmp_path, data=tmp_path, trust=True, device="cpu")
    assert package == {"model": model, "folder": str(tmp_path), "job.device": "cpu"}
    assert system.kind == f"a LibKGE model {model}, scored by LibKGE"
    collection = world(rng)
    if model == "conve":
        assert system.score_heads is None
        assert len(rank_system(collection, system, sides=["tail"]).answer_ranks.above) > 0
        return
    assert_ranked_by(collection, system, lambda h, r, t: (E[h] * R[r] * E[t]).sum())


# traces


def line(event="example_rank", **entry):
    """A record as LibKGE writes it: YAML in flow style, keys in order."""
    values = {"batch": 0, "epoch": 3, "filter_splits": "[train, valid, test]", "job": "eval", "job_id": "1d-e"}
    values |= {"event": event, "rank": 9, "scope": "example", "split": "test", "type": "entity_ranking"} | entry
    return "{" + ", ".join(f"{key}: {values[key]}" for key in sorted(values)) + "}\n"


def write_trace(folder, triples, ranks, **changed):
    """Both sides of each triple, in the order of LibKGE, among records of other things."""
    write_dictionaries(folder)
    lines = [line(event="job_created"), line(event="eval_completed", scope="epoch", rank=1)]
    for (h, r, t), of_triple in zip(triples, ranks, strict=True):
        own = {"s": ENTITIES.index(h), "p": RELATIONS.index(r), "o": ENTITIES.index(t)}
        for task, rank in zip(("sp", "po"), of_triple, strict=True):
            lines.append(line(task=task, rank_filtered=rank, **(own | changed)))
    (folder / "trace.yaml").write_text("".join(lines))


TEST = [("e0", "r0", "e1"), ("e2", "r0", "e1"), ("e3", "r1", "e4")]


def collection_of_trace():
    train = [(ENTITIES[i], RELATIONS[i % 2], ENTITIES[(i + 3) % 9]) for i in range(9)]
    return build_questions(Triples.of(train), Triples.of([("e5", "r0", "e1")]), Triples.of(TEST))


def test_ranks_of_a_trace_are_those_of_its_triples(tmp_path: Path):
    """Tails by task sp, heads by task po; no rank is tied."""
    given_ranks = [(1, 5), (2, 6), (8, 4)]
    write_trace(tmp_path / "run", TEST, given_ranks)
    assert adapter_of(tmp_path / "run").name == "libkge-trace"
    system = read_system(tmp_path / "run")
    assert "isclose" in system.remarks[0]
    collection = collection_of_trace()
    ranks = rank_system(collection, system).answer_ranks
    found = {}
    asked = collection.questions
    for question, entity, above in zip(ranks.question, ranks.entity, ranks.above, strict=True):
        own, other = collection.entities[asked.anchor[question]], collection.entities[entity]
        found[(bool(asked.is_head[question]), *((other, own) if asked.is_head[question] else (own, other)))] = above + 1
    assert found == {
        (is_head, h, t): rank
        for (h, _, t), both in zip(TEST, given_ranks, strict=True)
        for is_head, rank in zip((False, True), both, strict=True)
    }
    assert not ranks.tied.any()


def test_the_last_evaluation_of_a_trace_is_taken(tmp_path: Path):
    write_trace(tmp_path / "a", TEST, [(3, 3)] * 3, job_id="0a")
    write_trace(tmp_path / "b", TEST, [(1, 2)] * 3)
    both = (tmp_path / "a" / "trace.yaml").read_text() + (tmp_path / "b" / "trace.yaml").read_text()
    (tmp_path / "b" / "trace.yaml").write_text(both)
    system = read_system(tmp_path / "b" / "trace.yaml")
    assert system.above.tolist() == [0, 1] * 3
    assert "1 earlier evaluations" in system.remarks[1]


def test_a_triple_without_a_rank_is_named(tmp_path: Path):
    write_trace(tmp_path, TEST[:2], [(1, 2)] * 2)
    with pytest.raises(CollectionError, match=r"found none for 2, such as .*\(e3, r1, e4\)"):
        rank_system(collection_of_trace(), read_system(tmp_path))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"s": 9}, "trace.yaml:3: expected s from 0 to 8, as there are labels, found 9"),
        ({"p": "x"}, "trace.yaml:3: expected p in each rank of an example, found none"),
        ({"rank_filtered": 0}, "trace.yaml:3: expected rank_filtered from 1 to "),
        ({"split": "valid"}, "expected ranks of test triples (event: example_rank, split: test), found 6 of other"),
        ({"event": "batch_completed"}, "split: test), found none; have LibKGE write them: kge test FOLDER"),
        ({"filter_splits": "[train, valid]"}, "test among them, found filter_splits [train, valid]"),
    ],
)
def test_another_trace_ends_in_one_line(tmp_path: Path, changed, message: str):
    write_trace(tmp_path, TEST, [(1, 2)] * 3)
    text = (tmp_path / "trace.yaml").read_text()
    for key, value in changed.items():
        text = re.sub(rf"(?<=[{{ ]){key}: (\[[^]]*\]|[^,}}]+)", f"{key}: {value}", text)
    (tmp_path / "trace.yaml").write_text(text)
    refused(re.escape(message), tmp_path, "libkge-trace")


def test_ranks_by_other_filters_are_told(tmp_path: Path):
    write_trace(tmp_path, TEST, [(1, 2)] * 3, filter_splits="[train, test]")
    assert "filtered by test, train alone" in read_system(tmp_path).remarks[1]


def test_a_trace_that_is_no_text_is_refused(tmp_path: Path):
    write_dictionaries(tmp_path)
    (tmp_path / "trace.yaml").write_bytes(b"{event: example_rank, x: \xff}\n")
    refused("expected UTF-8 text", tmp_path)

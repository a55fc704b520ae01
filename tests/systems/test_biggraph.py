"""Folders of PyTorch-BigGraph: ranks are those of its documented scores, computed number by number."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.formats.factor_folders import write_factor_folder
from kgtrec.ranking.rank import joined, rank_scores
from kgtrec.ranking.system import grid_of, rank_system
from kgtrec.systems.factor_folders import arrays_of
from kgtrec.systems.kinds import Factors
from kgtrec.systems.registry import adapter_of, read_system
from tests.examples import examples
from tests.executors import Copying
from tests.ranking.test_tiles import columns
from tests.systems.model_worlds import ENTITIES, RELATIONS, assert_ranked_by, exact, refused, scores_of, world

h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")

D = 4
SHAPES = {
    "none": {},
    "translation": {"translation": (D,)},
    "diagonal": {"diagonal": (D,)},
    "complex_diagonal": {"real": (D // 2,), "imag": (D // 2,)},
    "linear": {"linear_transformation": (D, D)},
    "affine": {"linear_transformation": (D, D), "translation": (D,)},
}
PLURALS = {"translation": "translations", "diagonal": "diagonals", "linear_transformation": "linear_transformations"}


def operated(operator, own, vector):
    """What the operator makes of one vector."""
    if operator == "complex_diagonal":
        both = (vector[: D // 2] + 1j * vector[D // 2 :]) * (own["real"] + 1j * own["imag"])
        return np.concatenate([both.real, both.imag])
    if operator == "diagonal":
        return vector * own["diagonal"]
    turned = own["linear_transformation"] @ vector if "linear_transformation" in own else vector
    return turned + own.get("translation", 0)


def compared(comparator, a, b):
    if comparator == "dot":
        return a @ b
    if comparator == "cos":
        with np.errstate(invalid="ignore"):
            return (a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)).round(9)
    return -((a - b) ** 2).sum() if comparator == "squared_l2" else -np.sqrt(((a - b) ** 2).sum())


def write_folder(folder, rng, *, operator="none", comparator="dot", dynamic=False, parts=1, **changed):
    """What torchbiggraph_train writes: E, and parameters by side and relation."""
    folder.mkdir(parents=True, exist_ok=True)
    E = exact(rng, len(ENTITIES), D)
    E[(E == 0).all(axis=1)] = 1  # an angle takes a vector that is not zero
    bounds = np.linspace(0, len(ENTITIES), parts + 1).astype(int)
    for part, (first, end) in enumerate(pairwise(bounds)):
        with h5py.File(folder / f"embeddings_all_{part}.v7.h5", "w") as file:
            file["embeddings"] = E[first:end]
        (folder / f"entity_names_all_{part}.json").write_text(json.dumps(ENTITIES[first:end]))
    with h5py.File(folder / "embeddings_all_0.v6.h5", "w") as file:
        file["embeddings"] = np.zeros((1, 1))  # of a checkpoint before
    (folder / "checkpoint_version.txt").write_text("7\n")
    sides = ("lhs", "rhs") if dynamic else ("rhs",)
    own = {}
    with h5py.File(folder / "model.v7.h5", "w") as file:
        file.create_group("model")
        for side in sides:
            values = [{name: exact(rng, *shape) for name, shape in SHAPES[operator].items()} for _ in RELATIONS]
            own[side] = values
            for name in SHAPES[operator]:
                if dynamic:
                    stored = np.stack([each[name] for each in values])
                    file[f"model/relations/0/operator/{side}/{PLURALS.get(name, name)}"] = stored
                else:
                    for number, each in enumerate(values):
                        file[f"model/relations/{number}/operator/{side}/{name}"] = each[name]
    named = ["all_edges"] if dynamic else RELATIONS
    config = {
        "entities": {"all": {"num_partitions": parts}},
        "relations": [{"name": name, "lhs": "all", "rhs": "all", "operator": operator} for name in named],
        "dynamic_relations": dynamic,
        "comparator": comparator,
        "global_emb": False,
        "dimension": D,
        "entity_path": "data/elsewhere",
    }
    (folder / "config.json").write_text(json.dumps(config | changed))
    (folder / "dynamic_rel_names.json").write_text(json.dumps(RELATIONS))
    return E.astype(np.float64), own


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("comparator", ["dot", "cos", "l2", "squared_l2"])
@pytest.mark.parametrize("operator", SHAPES)
@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_are_those_of_the_documented_score(operator: str, comparator: str, dynamic: bool, seed: int):
    """The operator is on tails; with dynamic relations it is on the anchor, of its side."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as name:
        folder = Path(name, "model")
        parts = int(rng.integers(1, 4))
        E, own = write_folder(folder, rng, operator=operator, comparator=comparator, dynamic=dynamic, parts=parts)
        assert adapter_of(folder).name == "biggraph"
        system = read_system(folder)
        collection = world(rng)

        def score(h, r, t, *, asks_head):
            if dynamic and not asks_head:
                return compared(comparator, operated(operator, own["lhs"][r], E[h]), E[t])
            return compared(comparator, E[h], operated(operator, own["rhs"][r], E[t]))

        heads, tails = (
            scores_of(collection, lambda h, r, t, side=side: score(h, r, t, asks_head=side)) for side in (True, False)
        )
        with np.errstate(invalid="ignore"):
            expected = np.where(collection.questions.is_head[:, None], heads, tails)
        assume(not np.isnan(expected).any())  # an operator made a vector zero, which has no angle
        found = rank_system(collection, system, depth=0, block=3).answer_ranks
        wanted = rank_scores(collection, expected, questions=collection, entities=collection, depth=0).answer_ranks
        np.testing.assert_array_equal(found.above, wanted.above)
        np.testing.assert_array_equal(found.tied, wanted.tied)
        able = {"dot": list(SHAPES), "cos": ["none"]}.get(comparator, ["none", "translation"])
        assert isinstance(system, Factors) == (dynamic or operator in able)
        if isinstance(system, Factors):
            assert_same_by_workers(Path(name), collection, system)


def assert_same_by_workers(folder, collection, system):
    """A factor folder of the model has the same answer ranks and runs, whoever counts them, to the last bit."""
    expected = columns(rank_system(collection, system, depth=4, block=3))
    write_factor_folder(folder / "factors" / "model", arrays_of(system))
    again = read_system(folder / "factors" / "model")
    assert columns(rank_system(collection, again, depth=4, block=3)) == expected
    grid = grid_of(collection, again, depth=4, block=3)
    grid.tiling = replace(grid.tiling, n_shards=2)
    assert columns(joined(list(grid.parts(executor=Copying(), unfinished=folder / "unfinished")))) == expected


def test_biases_global_embeddings_and_bounded_norms_are_part_of_the_score(tmp_path: Path):
    """A bias is the first number, of both sides; what is common is added; a longer vector than max_norm is cut."""
    rng = np.random.default_rng(1)
    E, own = write_folder(tmp_path, rng, operator="diagonal", bias=True, global_emb=True, max_norm=1.5)
    common = exact(rng, D)
    with h5py.File(tmp_path / "model.v7.h5", "a") as file:
        file["model/entities/all/global_embedding"] = common
    norm = np.sqrt((E**2).sum(axis=1, keepdims=True))
    E = np.where(norm > 1.5, E * 1.5 / (norm + 1e-7), E) + common

    def score(h, r, t):
        tail = E[t] * own["rhs"][r]["diagonal"]
        return (E[h][1:] @ tail[1:] + E[h][0] + tail[0]).round(9)

    assert_ranked_by(world(rng), read_system(tmp_path), score)


def test_entities_of_another_type_rank_last(tmp_path: Path):
    """Users like items: a user is no candidate for an item, and ties with other users below all items."""
    rng = np.random.default_rng(2)
    users, items = ENTITIES[:4], ENTITIES[4:]
    relations = [{"name": name, "lhs": "user", "rhs": "item", "operator": "none"} for name in RELATIONS]
    E, _ = write_folder(tmp_path, rng, relations=relations, entities={"user": {}, "item": {}})
    for kind, labels, rows in (("user", users, E[:4]), ("item", items, E[4:])):
        with h5py.File(tmp_path / f"embeddings_{kind}_0.v7.h5", "w") as file:
            file["embeddings"] = rows
        (tmp_path / f"entity_names_{kind}_0.json").write_text(json.dumps(labels))
    system = read_system(tmp_path)
    assert "another type" in system.remarks[0]

    def score(h, r, t):
        return E[h] @ E[t] if h < 4 <= t else -np.inf

    assert_ranked_by(world(rng), system, score)


def test_names_are_taken_from_the_folder_of_the_data_set(tmp_path: Path):
    write_folder(tmp_path / "model", np.random.default_rng(3))
    (tmp_path / "data").mkdir()
    (tmp_path / "model" / "entity_names_all_0.json").rename(tmp_path / "data" / "entity_names_all_0.json")
    refused("--data", tmp_path / "model")
    system = read_system(tmp_path / "model", data=tmp_path / "data")
    assert list(system.entities) == ENTITIES
    assert list(system.relations) == RELATIONS


def external_link(folder):
    (folder / "elsewhere.h5").write_bytes((folder / "embeddings_all_0.v7.h5").read_bytes())
    with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:
        file["embeddings"] = h5py.ExternalLink("elsewhere.h5", "embeddings")


def external_storage(folder):
    (folder / "bytes").write_bytes(bytes(9 * D * 4))
    with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:
        file.create_dataset("embeddings", (9, D), "f4", external=[(str(folder / "bytes"), 0, 9 * D * 4)])


def virtual(folder):
    layout = h5py.VirtualLayout((9, D), "f4")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "embeddings", (9, D))
    with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:
        file.create_virtual_dataset("embeddings", layout)


def embeddings(values, **options):
    def spoil(folder):
        with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:
            file.create_dataset("embeddings", data=values, **options)

    return spoil


def huge(folder):
    with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:
        file.create_dataset("embeddings", (10**12, 10**6), "f4", chunks=(1, 1))


def cut(folder):
    path = folder / "embeddings_all_0.v7.h5"
    path.write_bytes(path.read_bytes()[:1000])


def setting(**changed):
    def spoil(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changed))

    return spoil


ONE = {"name": "r0", "lhs": "all", "rhs": "all"}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (external_link, "embeddings"),
        (external_storage, "embeddings"),
        (virtual, "embeddings"),
        (embeddings(np.array([["a"]], "S1")), "expected numbers in embeddings, found |S1"),
        (embeddings(np.zeros((8, D))), "expected 8 names in entity_names_all_0.json"),
        (embeddings(np.zeros(D)), "dimensions"),
        (huge, "names"),
        (cut, "damaged"),
        (lambda folder: (folder / "embeddings_all_0.v7.h5").write_text("text"), "expected a whole HDF5 file"),
        (lambda folder: (folder / "embeddings_all_0.v7.h5").unlink(), "expected embeddings_all_0.v7.h5 and its other"),
        (lambda folder: (folder / "checkpoint_version.txt").write_text("x"), "expected the number of a checkpoint"),
        (setting(comparator="cosine"), "found 'cosine'"),
        (setting(relations=[ONE | {"operator": "rotate"}]), "expected an operator among none, translation"),
        (setting(relations=[{"name": "r0"}]), "expected relations with lhs and rhs, found"),
        (setting(relations=[]), "expected relations, found 0"),
        (setting(entities={"all": {"featurized": True}}), "found featurized ones"),
        (setting(max_norm=-1), "expected a number above 0 as max_norm, found -1"),
        (setting(relations=[ONE | {"operator": "linear"}]), "operator"),
        (
            lambda folder: (folder / "entity_names_all_0.json").write_text('["a", 1]'),
            "expected a list of names, found something else",
        ),
        (lambda folder: (folder / "entity_names_all_0.json").write_text(json.dumps(["a"] * 9)), "'a'"),
    ],
)
def test_a_damaged_folder_ends_in_one_line(tmp_path: Path, spoil, message: str):
    write_folder(tmp_path, np.random.default_rng(4))
    spoil(tmp_path)
    refused(re.escape(message), tmp_path, "biggraph")


def test_parameters_of_another_shape_are_refused(tmp_path: Path):
    write_folder(tmp_path, np.random.default_rng(5), operator="translation")
    with h5py.File(tmp_path / "model.v7.h5", "a") as file:
        del file["model/relations/1/operator/rhs/translation"]
        file["model/relations/1/operator/rhs/translation"] = np.zeros(D + 1)
    refused("translation", tmp_path)

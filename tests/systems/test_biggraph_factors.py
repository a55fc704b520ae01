"""Models of PyTorch-BigGraph as factors: ranked in any cut, and written as factor folders."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.errors import KgtrecError
from kgtrec.formats.collections import write_collection
from kgtrec.formats.hdf5 import Hdf5Matrix
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import Factors
from kgtrec.systems.registry import read_system
from tests.examples import examples
from tests.ranking.test_tiles import columns
from tests.systems.model_worlds import ENTITIES, RELATIONS, assert_ranked_by, exact, world
from tests.trees import tree

h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")

from tests.systems.test_biggraph import (  # noqa: E402 (which needs it too)
    SHAPES,
    D,
    assert_same_by_workers,
    compared,
    embeddings,
    operated,
    write_folder,
)


def relations_of(operators, rhs="all"):
    return [
        {"name": name, "lhs": "all", "rhs": rhs, "operator": operator}
        for name, operator in zip(RELATIONS, operators, strict=True)
    ]


@pytest.mark.parametrize("comparator", ["dot", "l2", "squared_l2"])
@pytest.mark.parametrize("operators", [["none", "translation", "none"], ["affine", "none", "affine"]])
def test_relations_without_an_operator_are_those_that_change_nothing(tmp_path, operators, comparator):
    """Beside relations that all have the same one."""
    rng = np.random.default_rng(11)
    named = [
        {"name": name, "lhs": "all", "rhs": "all", "operator": each}
        for name, each in zip(RELATIONS, operators, strict=True)
    ]
    E, own = write_folder(tmp_path / "model", rng, operator=operators[1], comparator=comparator, relations=named)
    if operators[0] != "none":
        E, own = write_folder(tmp_path / "model", rng, operator=operators[0], comparator=comparator, relations=named)
    system = read_system(tmp_path / "model")
    collection = world(rng)

    def score(h, r, t):
        return compared(comparator, E[h], operated(operators[r], own["rhs"][r] if operators[r] != "none" else {}, E[t]))

    assert_ranked_by(collection, system, score)
    assert isinstance(system, Factors) == (comparator == "dot" or "affine" not in operators)


@pytest.mark.parametrize("comparator", ["dot", "cos", "l2", "squared_l2"])
@pytest.mark.parametrize("dynamic", [False, True])
@settings(max_examples=examples(5))
@given(seed=st.integers(0, 2**32 - 1))
def test_biases_are_added_whatever_the_operator_makes_of_them(comparator, dynamic, seed):
    """The operator changes a whole vector, of which the first number is the bias."""
    rng = np.random.default_rng(seed)
    able = {"dot": list(SHAPES), "cos": ["none"]}.get(comparator, ["none", "translation"])
    operator = str(rng.choice(list(SHAPES) if dynamic else able))
    with TemporaryDirectory() as name:
        folder = Path(name, "model")
        E, own = write_folder(folder, rng, operator=operator, comparator=comparator, dynamic=dynamic, bias=True)
        assume((E[:, 1:] != 0).any(axis=1).all())
        system, collection = read_system(folder), world(rng)
        assert isinstance(system, Factors)
        n = len(collection.questions)
        expected = np.zeros((n, len(ENTITIES)))
        for row in range(n):
            is_head = bool(collection.questions.is_head[row])
            anchor = E[ENTITIES.index(collection.entities[collection.questions.anchor[row]])]
            r = RELATIONS.index(collection.relations[collection.questions.relation[row]])
            for column, label in enumerate(collection.entities):
                other = E[ENTITIES.index(label)]
                h, t = (other, anchor) if is_head else (anchor, other)
                if dynamic and not is_head:
                    h = operated(operator, own["lhs"][r], h)
                else:
                    t = operated(operator, own["rhs"][r], t)
                expected[row, column] = compared(comparator, h[1:], t[1:]) + h[0] + t[0]
        assume(not np.isnan(expected).any())
        found = rank_system(collection, system, depth=0).answer_ranks
        wanted = rank_scores(collection, expected, questions=collection, entities=collection, depth=0).answer_ranks
        if comparator != "cos":  # whose last digits differ
            np.testing.assert_array_equal(found.above, wanted.above)
            np.testing.assert_array_equal(found.tied, wanted.tied)
        np.testing.assert_allclose(found.score, wanted.score, rtol=1e-6, atol=1e-6)
        assert_same_by_workers(Path(name), collection, system)


def test_a_checkpoint_becomes_a_factor_folder_partition_by_partition(tmp_path, monkeypatch, capsys):
    """Each is a shard, of the embeddings as they are; all commands give the same files of both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(12)
    E, _ = write_folder(tmp_path / "pbg" / "model", rng, operator="diagonal", parts=3)
    write_collection("C", world(rng))
    main(["convert", "pbg/model", "factors/model", "--to", "factors"])
    assert "factors/model: biggraph, 9 entities x 4 numbers (float32)" in capsys.readouterr().err
    shards = sorted(Path("factors/model").glob("E*"))
    assert [path.name for path in shards] == ["E-00000.npy", "E-00001.npy", "E-00002.npy"]
    np.testing.assert_array_equal(np.concatenate([np.load(path) for path in shards]), E)
    main(["rank", "C", "pbg/model", "--out", "one"])
    main(["rank", "C", "factors/model", "--out", "two"])
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_partition_may_be_empty(tmp_path, is_dynamic):
    """It has no names, and no shard of its own."""
    rng = np.random.default_rng(17)
    write_folder(tmp_path / "model", rng, dynamic=is_dynamic, parts=2)
    collection = world(rng)
    expected = columns(rank_system(collection, read_system(tmp_path / "model")))
    for name in ("embeddings_all_{}.v7.h5", "entity_names_all_{}.json"):
        (tmp_path / "model" / name.format(1)).rename(tmp_path / "model" / name.format(2))
    with h5py.File(tmp_path / "model" / "embeddings_all_1.v7.h5", "w") as file:
        file["embeddings"] = np.zeros((0, D), np.float32)
    (tmp_path / "model" / "entity_names_all_1.json").write_text("[]")
    system = read_system(tmp_path / "model")
    assert columns(rank_system(collection, system)) == expected
    assert_same_by_workers(tmp_path, collection, system)


@pytest.mark.parametrize("option", [{}, {"compression": "gzip"}, {"chunks": (2, 2)}], ids=["plain", "gzip", "chunks"])
def test_embeddings_are_read_by_the_rows_that_are_asked_for(tmp_path, option):
    """Mapped where the file has them in one piece; the ranks are the same."""
    rng = np.random.default_rng(13)
    E, _ = write_folder(tmp_path, rng)
    expected = columns(rank_system(world(np.random.default_rng(1)), read_system(tmp_path)))
    embeddings(E.astype(np.float32), **option)(tmp_path)
    system = read_system(tmp_path)
    assert isinstance(system.E, np.memmap if not option else Hdf5Matrix)
    assert columns(rank_system(world(np.random.default_rng(1)), system)) == expected


def test_bounded_and_common_embeddings_are_written_as_they_are_looked_up(tmp_path):
    """In float64, so that ranks stay the same."""
    rng = np.random.default_rng(14)
    write_folder(tmp_path / "model", rng, global_emb=True, max_norm=1.5, parts=2)
    with h5py.File(tmp_path / "model" / "model.v7.h5", "a") as file:
        file["model/entities/all/global_embedding"] = exact(rng, D)
    system = read_system(tmp_path / "model")
    assert system.E.dtype == np.float64
    assert_same_by_workers(tmp_path, world(rng), system)


NO_FACTORS = {
    "an operator of tails": (
        {"operator": "linear", "comparator": "cos"},
        "(linear with cos): the operator linear changes each tail before cos compares it, so that no vector of a "
        "question holds against the entities' own (cos allows none; dynamic relations allow all)",
    ),
    "a complex one": (
        {"operator": "complex_diagonal", "comparator": "l2"},
        "(complex_diagonal with l2): the operator complex_diagonal changes each tail before l2 compares it, so that no "
        "vector of a question holds against the entities' own (l2 allows none, translation; dynamic relations allow "
        "all)",
    ),
    "several types": (
        {"relations": relations_of(["none"] * 3, rhs="item")},
        "(none with dot): its entities are of several types (all, item), and the candidates of a relation of one",
    ),
    "several operators": (
        {"operator": "affine", "relations": relations_of(["affine", "translation", "affine"])},
        "(affine, translation with dot): its relations have several operators (affine, translation), and not one for "
        "all",
    ),
}


@pytest.mark.parametrize("name", NO_FACTORS)
def test_a_model_without_factors_says_why(tmp_path, monkeypatch, capsys, name):
    """To those who want several workers or a factor folder; else it is ranked."""
    monkeypatch.chdir(tmp_path)
    options, why = NO_FACTORS[name]
    rng = np.random.default_rng(15)
    write_folder(Path("model"), rng, **options)
    if name == "several types":
        with h5py.File("model/embeddings_item_0.v7.h5", "w") as file:
            file["embeddings"] = exact(rng, 2, D)
        Path("model/entity_names_item_0.json").write_text('["tea", "jam"]')
    write_collection("C", world(rng))
    for command, wanted, way_out in (
        (
            ["rank", "C", "model", "--out", "P", "--workers", "2"],
            "a factorised model for several workers",
            "rank it without --workers and --scheduler",
        ),
        (
            ["convert", "model", "F", "--to", "factors"],
            "a model that is made of vectors",
            "kgtrec rank takes it as it is",
        ),
    ):
        with pytest.raises(SystemExit):
            main(command)
        (line,) = [each for each in capsys.readouterr().err.splitlines() if "expected" in each]
        assert f"expected {wanted}, such as an .npz archive, found a PyTorch-BigGraph model {why}; {way_out}" in line
    main(["rank", "C", "model", "--out", "ranks"])
    assert Path("ranks/model.ranks.parquet").is_file()


def test_embeddings_without_factors_must_fit_in_memory(tmp_path):
    write_folder(tmp_path, np.random.default_rng(16), relations=relations_of(["none"] * 3, rhs="item"))
    (tmp_path / "entity_names_item_0.json").write_text('["tea"]')
    with h5py.File(tmp_path / "embeddings_item_0.v7.h5", "w") as file:
        file.create_dataset("embeddings", (1, 10**15), "f4", chunks=(1, 10))
    message = "embeddings"
    with pytest.raises(KgtrecError, match=message):
        read_system(tmp_path)

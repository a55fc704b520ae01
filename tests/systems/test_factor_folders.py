"""Factor folders: written, read, converted from other sources, and ranked as these are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.factor_folders import FactorArrays, read_factor_folder, write_factor_folder
from kgtrec.ranking.system import rank_system
from kgtrec.systems import read_system
from kgtrec.systems.formulas import FORMULAS, factorised
from tests.ranking.test_tiles import columns, world
from tests.systems.model_worlds import refused
from tests.trees import tree

PARAMETERS = {
    "transe": {"p": 1.0},
    "simple": {"bound": 20.0},
    "biggraph": {"operator": "complex_diagonal", "comparator": "dot", "bias": True},
}
WIDTH = {"rescal": 16, "rotate": 2, "cp": 2}  # numbers of a relation, beside entities of four


def folder_of(rng, collection, score, *, reciprocal=False, dtype=np.float32):
    names = Vocabulary.of([collection.entities[code] for code in rng.permutation(len(collection.entities))])
    n_relations = len(collection.relations) * (1 + reciprocal)
    E, R = rng.normal(size=(len(names), 4)), rng.normal(size=(n_relations, WIDTH.get(score, 4)))
    arrays = E.astype(dtype), rng.normal(size=len(names)).astype(dtype), R.astype(dtype)
    return FactorArrays(score, PARAMETERS.get(score, {}), reciprocal, names, collection.relations, *arrays)


@pytest.mark.parametrize("score", sorted(FORMULAS))
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32), reciprocal=st.booleans(), dtype=st.sampled_from([np.float16, np.float32, np.float64])
)
def test_a_folder_is_ranked_as_its_formula(score, seed, reciprocal, dtype):
    """The vectors that were written, whatever their type, mapped and not read at once."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 5, 12)
    made = folder_of(rng, collection, score, reciprocal=reciprocal, dtype=dtype)
    with TemporaryDirectory() as name:
        write_factor_folder(Path(name, "model"), made)
        system = read_system(Path(name, "model"))
        assert isinstance(system.E, np.memmap)
        assert system.E.dtype == dtype
        found = columns(rank_system(collection, system, depth=5))
    formula = factorised("model", made)
    assert found == columns(rank_system(collection, formula, depth=5))


def test_an_archive_becomes_a_folder_and_ranks_to_the_same_bytes(tmp_path, monkeypatch, capsys):
    """And the folder again, which has vectors of questions."""
    from kgtrec.formats.collections import write_collection

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    collection = world(rng, 6, 20)
    write_collection("C", collection)
    questions = collection.questions
    np.savez(
        "model.npz",
        E=rng.normal(size=(20, 3)).astype(np.float16),
        Q=rng.normal(size=(len(questions), 3)),
        b=rng.normal(size=20),
        questions=np.stack([questions.is_head, questions.relation, questions.anchor], axis=1).astype(int),
    )
    for name, labels in (("entities", collection.entities), ("relations", collection.relations)):
        Path(f"{name}.txt").write_text("".join(f"{label}\n" for label in labels))
    main(["convert", "model.npz", "folders/model", "--to", "factors"])
    assert "folders/model: query, 20 entities x 3 numbers (float16)" in capsys.readouterr().err
    main(["rank", "C", "model.npz", "--out", "one"])
    main(["rank", "C", "folders/model", "--out", "two"])
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    main(["rank", "C", "folders/model", "--out", "three", "--workers", "2"])
    assert tree(tmp_path / "one") == tree(tmp_path / "three")


@pytest.mark.parametrize("score", ["complex", "transe", "simple"])
def test_a_folder_becomes_a_folder(tmp_path, score):
    """Whatever is made of vectors by a known formula: arrays, labels and parameters stay."""
    rng = np.random.default_rng(3)
    collection = world(rng, 4, 9)
    write_factor_folder(tmp_path / "one", folder_of(rng, collection, score, reciprocal=True))
    main(["convert", str(tmp_path / "one"), str(tmp_path / "two"), "--to", "factors"])
    one, two = (read_factor_folder(tmp_path / name) for name in ("one", "two"))
    assert (one.score, one.parameters, one.has_reciprocals) == (two.score, two.parameters, two.has_reciprocals)
    for name in ("E", "b", "R"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert list(one.entities) == list(two.entities)


def test_a_matrix_becomes_none(tmp_path, capsys):
    np.save(tmp_path / "m.npy", np.zeros((2, 2)))
    with pytest.raises(SystemExit):
        main(["convert", str(tmp_path / "m.npy"), str(tmp_path / "out"), "--to", "factors"])
    assert (
        "expected a model that is made of vectors, such as an .npz archive, found a score matrix"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()


def test_questions_that_are_no_triples_of_numbers_are_refused(tmp_path):
    rng = np.random.default_rng(5)
    made = folder_of(rng, world(rng, 4, 9), "distmult")
    asked = np.zeros((4, 2), np.int32)
    write_factor_folder(tmp_path / "model", replace(made, score="query", R=None, Q=np.zeros((4, 4)), questions=asked))
    refused("found shape", tmp_path / "model")


def _about(**changed):
    return lambda folder: (folder / "factors.json").write_text(
        json.dumps({"format": "factors", "version": 1, "score": "distmult"} | changed)
    )


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_about(format="other"), 'expected {"format": "factors"'),
        (_about(version=2), "expected factors of format version 1, found version 2; a later kgtrec wrote it"),
        (_about(score="transformer"), "expected a score among"),
        (_about(score=3), "expected a score by name"),
        (_about(reciprocal="yes"), "reciprocal as true or false"),
        (_about(p=1.0), "parameters"),
        (_about(score="transe", p="one"), "expected a number as p, found 'one'"),
        (_about(score="transe", p=True), "expected a number as p, found True"),
        (_about(score="biggraph", operator="turn", comparator="dot", bias=False), "operator among none, translation"),
        (_about(score="biggraph", operator="none", comparator=["dot"], bias=False), "comparator among dot, cos, l2"),
        (_about(score="biggraph", operator="diagonal", comparator="dot", bias=1), "true or false as bias, found 1"),
        (
            _about(score="biggraph", operator="linear", comparator="dot", bias=True),
            "expected relations of 16 numbers each",
        ),
        (
            _about(score="biggraph", operator="diagonal", comparator="cos", bias=True),
            "operator diagonal changes each tail",
        ),
        (lambda folder: np.save(folder / "R.npy", np.zeros((1, 1))), "beside"),
        (_about(score="query", p=1), "score"),
        (_about(score="transe"), "expected p for the score 'transe', found none"),
        (_about(reciprocal=True), "found shape"),
        (_about(score="rescal"), "vectors"),
        (_about(score="query"), "score"),
        (lambda folder: (folder / "R.npy").unlink(), "distmult"),
        (lambda folder: (folder / "R.npy").rename(folder / "Q.npy"), "distmult"),
        (lambda folder: (folder / "E.npy").unlink(), "distmult"),
        (lambda folder: np.save(folder / "E.npy", np.zeros((3, 4))), "one row for each entity in E.npy, 9, found"),
        (lambda folder: np.save(folder / "b.npy", np.zeros((9, 1))), "one number for each entity in b.npy, 9, found"),
        (
            lambda folder: np.save(folder / "b.npy", np.float32(1)),
            "expected one number for each entity in b.npy, 9, found",
        ),
        (lambda folder: np.save(folder / "E.npy", np.array([["a"]] * 9)), "expected numbers"),
        (lambda folder: (folder / "E.npy").write_bytes(b"\x93NUMPY"), "E.npy"),
        (lambda folder: (folder / "entities.txt").unlink(), "entities.txt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused(tmp_path, spoil, told):
    rng = np.random.default_rng(4)
    write_factor_folder(tmp_path / "model", folder_of(rng, world(rng, 4, 9), "distmult"))
    spoil(tmp_path / "model")
    with pytest.raises((FormatError, KgtrecError)) as caught:
        read_system(tmp_path / "model")
    assert told in str(caught.value)

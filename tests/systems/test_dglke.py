"""Folders of DGL-KE: ranks are those of its documented scores, computed number by number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.errors import KgtrecError
from kgtrec.formats.collections import write_collection
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import Factors
from kgtrec.systems.registry import adapter_of, read_system
from tests.examples import examples
from tests.systems.model_worlds import ENTITIES, RELATIONS, assert_ranked_by, exact, refused, world

GAMMA, HIDDEN = 12.0, 4


def as_complex(vector):
    half = len(vector) // 2
    return vector[:half] + 1j * vector[half:]


#: model -> relation's numbers, of an entity's d, and the score that DGL-KE documents
MODELS = {
    "TransE": (lambda d: d, lambda h, r, t: GAMMA - np.sqrt(((h + r - t) ** 2).sum())),
    "TransE_l2": (lambda d: d, lambda h, r, t: GAMMA - np.sqrt(((h + r - t) ** 2).sum())),
    "TransE_l1": (lambda d: d, lambda h, r, t: GAMMA - np.abs(h + r - t).sum()),
    "DistMult": (lambda d: d, lambda h, r, t: (h * r * t).sum()),
    "ComplEx": (lambda d: d, lambda h, r, t: (as_complex(h) * as_complex(r) * as_complex(t).conj()).real.sum()),
    "RESCAL": (lambda d: d * d, lambda h, r, t: h @ r.reshape(len(h), len(h)) @ t),
    "RotatE": (
        lambda d: d // 2,
        lambda h, r, t: (
            GAMMA
            - np.abs(as_complex(h) * np.exp(1j * np.pi * r / ((GAMMA + 2) / HIDDEN)) - as_complex(t)).sum().round(9)
        ),
    ),
    "SimplE": (
        lambda d: d,
        lambda h, r, t: np.clip(
            (h[: len(h) // 2] * r[: len(h) // 2] * t[len(h) // 2 :]).sum() / 2
            + (t[: len(h) // 2] * r[len(h) // 2 :] * h[len(h) // 2 :]).sum() / 2,
            -20,
            20,
        ),
    ),
}


def write_folder(folder, model, rng, **changed):
    """What dglke_train writes, and the maps of the data set beside."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = exact if model != "RotatE" else lambda rng, *shape: rng.normal(size=shape).astype(np.float32)
    d = 2 * HIDDEN if model in ("ComplEx", "RotatE", "SimplE") else HIDDEN
    E, R = draw(rng, len(ENTITIES), d), draw(rng, len(RELATIONS), MODELS.get(model, MODELS["DistMult"])[0](d))
    if model == "SimplE":
        E, R = 4 * E, R  # some scores beyond the bound
    np.save(folder / f"world_{model}_entity.npy", E)
    np.save(folder / f"world_{model}_relation.npy", R)
    config = {"model_name": model, "dataset": "world", "hidden_dim": HIDDEN, "gamma": GAMMA}
    config |= {"double_ent": d != HIDDEN, "emp_file": "entities.tsv", "rmap_file": "relations.tsv"}
    (folder / "config.json").write_text(json.dumps(config | changed))
    for what, labels in (("entities", ENTITIES), ("relations", RELATIONS)):
        (folder / f"{what}.tsv").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)))
    return E.astype(np.float64), R.astype(np.float64)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(4))
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_are_those_of_the_documented_score(model: str, seed: int):
    """Both sides, ties and all; in blocks of any size."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as name:
        folder = Path(name, f"{model}_world_0")
        E, R = write_folder(folder, model, rng)
        assert adapter_of(folder).name == "dglke"
        system = read_system(folder)
        assert system.name == f"{model}_world_0"
        score = MODELS[model][1]
        assert_ranked_by(world(rng), system, lambda h, r, t: score(E[h], R[r], E[t]))


def test_models_are_factors_and_cut_scores_are_told(tmp_path: Path):
    rng = np.random.default_rng(1)
    for model in MODELS:
        write_folder(tmp_path / model, model, rng)
    assert all(isinstance(read_system(tmp_path / model), Factors) for model in MODELS)
    assert "cut at 20 and -20" in read_system(tmp_path / "SimplE").remarks[0]


def test_a_folder_is_ranked_on_the_command_line_by_what_lies_in_it(tmp_path: Path, capsys):
    rng = np.random.default_rng(2)
    write_folder(tmp_path / "TransE_l2_world_0", "TransE_l2", rng)
    write_collection(tmp_path / "C", world(rng))
    main(["rank", str(tmp_path / "C"), str(tmp_path / "TransE_l2_world_0"), "--out", str(tmp_path / "ranks")])
    assert "a DGL-KE model (TransE_l2)" in capsys.readouterr().err
    assert (tmp_path / "ranks" / "TransE_l2_world_0.ranks.parquet").is_file()


def test_maps_are_taken_from_the_folder_of_the_data_set(tmp_path: Path):
    """DGL-KE writes them there; built-in data sets call them .dict."""
    write_folder(tmp_path / "model", "DistMult", np.random.default_rng(3), emp_file="entities.dict")
    (tmp_path / "data").mkdir()
    (tmp_path / "model" / "entities.tsv").rename(tmp_path / "data" / "entities.dict")
    refused("--data", tmp_path / "model")
    assert list(read_system(tmp_path / "model", data=tmp_path / "data").entities) == ENTITIES


def save(name, array):
    return lambda folder: np.save(folder / name, array, allow_pickle=True)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (save("world_DistMult_entity.npy", np.array([{}], object)), "Python objects in dtype"),
        (save("world_DistMult_entity.npy", np.zeros((9, 4), int)), "expected decimal numbers, found int64"),
        (save("world_DistMult_entity.npy", np.zeros((8, 4), "f4")), "expected labels for the 8 entities of the model"),
        (save("world_DistMult_relation.npy", np.zeros((3, 5), "f4")), "expected relations of 4 numbers each beside"),
        (
            lambda folder: (folder / "world_DistMult_entity.npy").write_bytes(
                (folder / "world_DistMult_entity.npy").read_bytes()[:-1]
            ),
            "found other or cut-off data",
        ),
        (lambda folder: (folder / "world_DistMult_relation.npy").unlink(), "embeddings"),
        (
            lambda folder: (folder / "config.json").write_text('{"model_name": "TransR"}'),
            "expected a model among TransE, TransE_l1",
        ),
        (lambda folder: (folder / "config.json").write_text("[1]"), "expected the settings of dglke_train"),
        (lambda folder: (folder / "config.json").write_text("{"), "expected JSON, found something else"),
        (lambda folder: (folder / "entities.tsv").write_text("0\ta\n0\tb\n"), "expected each number once, found 0"),
        (lambda folder: (folder / "entities.tsv").write_text("0\ta\n1\n"), "expected a number and its label"),
    ],
)
def test_a_damaged_folder_ends_in_one_line(tmp_path: Path, spoil, message: str):
    write_folder(tmp_path, "DistMult", np.random.default_rng(4))
    spoil(tmp_path)
    refused(re.escape(message), tmp_path, "dglke")


def test_a_score_that_is_no_number_is_named_with_its_question(tmp_path: Path):
    rng = np.random.default_rng(5)
    E, _ = write_folder(tmp_path, "TransE_l1", rng)
    E[3, 1] = np.nan
    np.save(tmp_path / "world_TransE_l1_entity.npy", E)
    with pytest.raises(KgtrecError, match="NaN"):
        rank_system(world(rng), read_system(tmp_path))


@pytest.mark.parametrize("value", [None, -3, "12", True])
def test_rotate_needs_its_settings(tmp_path: Path, value):
    write_folder(tmp_path, "RotatE", np.random.default_rng(6), gamma=value)
    refused("expected a number above 0 as gamma", tmp_path)

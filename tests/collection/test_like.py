"""``kgtrec questions --like``: the policies of other frameworks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import POLICIES_LIKE, Triples
from kgtrec.formats.collections import read_collection

TRAIN = [("a", "r", "b"), ("b", "r", "c"), ("a", "r", "b"), ("a", "s", "c")]
VALID = [("c", "r", "a"), ("new", "r", "a"), ("c", "r", "a")]
TEST = [("a", "r", "c"), ("a", "r", "c"), ("b", "t", "a"), ("b", "r", "other"), ("c", "s", "b"), ("a", "r", "b")]


@pytest.fixture
def splits(tmp_path: Path) -> list[str]:
    paths = []
    for name, rows in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (tmp_path / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
        paths.append(str(tmp_path / f"{name}.tsv"))
    return paths


def options_of(folder: Path) -> dict[str, str]:
    options = json.loads((folder / "manifest.json").read_text())["command"]
    return {name: options[name] for name in POLICIES_LIKE["pykeen"]}


def test_like_pykeen_leaves_out_what_train_lacks(tmp_path: Path, splits: list[str]):
    main(["questions", *splits, "--out", str(tmp_path / "C"), "--like", "pykeen"])
    collection = read_collection(tmp_path / "C")
    assert sorted(collection.entities) == ["a", "b", "c"]
    assert options_of(tmp_path / "C") == POLICIES_LIKE["pykeen"]
    assert len(collection.qrels) == 6  # a r c, c s b and the leaked a r b, from both sides


def test_an_explicit_option_wins(tmp_path: Path, splits: list[str]):
    """Also one that says the usual default."""
    main(["questions", *splits, "--out", str(tmp_path / "C"), "--like", "pykeen", "--unseen-entities", "keep"])
    assert options_of(tmp_path / "C") == POLICIES_LIKE["pykeen"] | {"unseen_entities": "keep"}
    assert "other" in list(read_collection(tmp_path / "C").entities)


def test_pykeen_leaves_2924_of_3134_test_triples_of_wn18rr(data: Path, tmp_path: Path, capsys):
    main(["questions", str(data / "wn18rr"), "--out", str(tmp_path / "C"), "--like", "pykeen"])
    report = capsys.readouterr().out
    assert "triples read      86,835  3,034  3,134" in report
    assert "triples used      86,835  2,824  2,924" in report


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore")
def test_answers_are_the_test_triples_that_pykeens_factory_has(seed: int):
    """Repeated rows, unseen entities and unseen relations among them."""
    factories = pytest.importorskip("pykeen.triples", reason="needs PyKEEN")
    rng = np.random.default_rng(seed)
    splits = [
        [
            (f"e{h}", f"r{r}", f"e{t}")
            for h, r, t in np.column_stack(
                [rng.integers(0, n, size), rng.integers(0, m, size), rng.integers(0, n, size)]
            )
        ]
        for size, n, m in ((60, 14, 3), (40, 16, 4), (40, 16, 4))
    ]
    training, validation, testing = (np.array(split, str) for split in splits)
    train = factories.TriplesFactory.from_labeled_triples(training)
    mapped = {"entity_to_id": train.entity_to_id, "relation_to_id": train.relation_to_id}
    valid, test = (factories.TriplesFactory.from_labeled_triples(rows, **mapped) for rows in (validation, testing))
    assert len(test.mapped_triples) < len(testing)

    collection = build_questions(*map(Triples.of, splits), **POLICIES_LIKE["pykeen"])
    assert sorted(collection.entities) == sorted(train.entity_to_id)
    assert len(collection.train) == len(train.mapped_triples)
    assert collection.report["triples"]["valid"] == len(valid.mapped_triples)
    labelled = {tuple(row) for row in test.label_triples(test.mapped_triples).tolist()}
    questions, qrels = collection.questions, collection.qrels
    for side in (False, True):
        rows = questions.is_head[qrels.question] == side
        found = questions.triples(qrels.question[rows], qrels.entity[rows])
        answers = {
            (questions.entities[h], questions.relations[r], questions.entities[t])
            for h, r, t in zip(found.head, found.relation, found.tail, strict=True)
        }
        assert answers == labelled

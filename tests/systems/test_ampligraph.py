"""The script for AmpliGraph's environment: what it computes with numpy, on a stand-in for a model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.collections import write_collection
from kgtrec.systems.registry import read_system
from tests.systems.model_worlds import ENTITIES, RELATIONS, assert_ranked_by, exact, world

SCRIPT = Path(__file__).parents[2] / "examples" / "ampligraph_to_npz.py"
spec = importlib.util.spec_from_file_location("ampligraph_to_npz", SCRIPT)
assert spec is not None
assert spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


class Model:
    """What the script calls of AmpliGraph's ScoringBasedEmbeddingModel."""

    def __init__(self, scoring_type, E, R):
        self.scoring_type, self.E, self.R = scoring_type, E, R

    def get_count(self, kind):
        return len(self.E if kind == "e" else self.R)

    def get_indexes(self, numbers, kind, order):
        assert order == "ind2raw"
        return np.array(ENTITIES if kind == "e" else RELATIONS)[numbers]

    def get_embeddings(self, labels, kind):
        known, values = (ENTITIES, self.E) if kind == "e" else (RELATIONS, self.R)
        return values[[known.index(label) for label in labels]]


def as_complex(vector):
    return vector[: len(vector) // 2] + 1j * vector[len(vector) // 2 :]


def complex_score(h, r, t):
    return (as_complex(h) * as_complex(r) * as_complex(t).conj()).real.sum()


SCORES = {
    "DistMult": lambda h, r, t: (h * r * t).sum(),
    "ComplEx": complex_score,
    "HolE": lambda h, r, t: 2 / (len(h) // 2) * complex_score(h, r, t),
    "TransE": lambda h, r, t: -np.abs(h + r - t).sum(),
}


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("scoring", SCORES)
def test_ranks_are_those_of_the_documented_score(tmp_path: Path, scoring: str, ids: bool):
    """From the collection's folder alone, with labels or with ids."""
    rng = np.random.default_rng(len(scoring))
    E, R = exact(rng, len(ENTITIES), 4), exact(rng, len(RELATIONS), 4)
    plain = world(rng)
    questions = plain.questions
    collection = plain
    if ids:
        tails = ~questions.is_head[plain.qrels.question]
        test = questions.triples(plain.qrels.question[tails], plain.qrels.entity[tails])
        collection = build_questions(plain.train, Triples.of([]), test, ids=True)
    write_collection(tmp_path / "C", collection)
    written = script.export(Model(scoring, E, R), tmp_path / "C", tmp_path / "out", "trained")
    assert written.name == ("trained.npy" if scoring == "TransE" else "trained.npz")
    E, R, score = E.astype(np.float64), R.astype(np.float64), SCORES[scoring]
    if not ids:
        assert_ranked_by(collection, read_system(written), lambda h, r, t: score(E[h], R[r], E[t]))
        return
    from kgtrec.ranking.system import rank_system

    names = list(collection.labels)
    ranks = rank_system(collection, read_system(written)).answer_ranks
    rows = np.array(
        [
            [
                score(
                    E[ENTITIES.index(other if is_head else own)],
                    R[RELATIONS.index(kind)],
                    E[ENTITIES.index(own if is_head else other)],
                )
                for other in names
            ]
            for is_head, kind, own in zip(
                collection.questions.is_head,
                [collection.relations[code] for code in collection.questions.relation],
                [names[code] for code in collection.questions.anchor],
                strict=True,
            )
        ]
    )
    from kgtrec.ranking.rank import rank_scores

    wanted = rank_scores(collection, rows, questions=collection, entities=collection).answer_ranks
    np.testing.assert_array_equal(ranks.above, wanted.above)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_blocks_of_distances_are_those_of_the_whole(seed: int, numbers_at_a_time: int):
    rng = np.random.default_rng(seed)
    E, R = exact(rng, 5, 4), exact(rng, 2, 4)
    numbers = np.column_stack([rng.integers(0, 2, 7), rng.integers(0, 2, 7), rng.integers(0, 5, 7)])
    whole = np.concatenate(list(script.distances(E, R, numbers)))
    script.BLOCK, before = numbers_at_a_time, script.BLOCK
    try:
        parts = np.concatenate(list(script.distances(E, R, numbers)))
    finally:
        script.BLOCK = before
    np.testing.assert_array_equal(parts, whole)


def test_what_the_model_lacks_ends_in_one_line(tmp_path: Path):
    train = Triples.of([("e0", "r0", "e1"), ("e0", "new", "else")])
    write_collection(tmp_path / "C", build_questions(train, Triples.of([]), Triples.of([("else", "new", "e0")])))
    model = Model("DistMult", np.zeros((9, 4)), np.zeros((3, 4)))
    with pytest.raises(SystemExit, match="found 2 labels that"):
        script.export(model, tmp_path / "C", tmp_path / "out", "trained")
    with pytest.raises(SystemExit, match="found RotatE"):
        script.export(Model("RotatE", model.E, model.R), tmp_path / "C", tmp_path / "out", "trained")
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit, match="usage: python ampligraph_to_npz"):
        script.main([])

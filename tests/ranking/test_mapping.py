"""Scores of a model's own entities as those of a collection."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.ranking.system import rank_model

SCORES = np.array([1, 0, 1])  # of ann, bob and jam; the model has not seen tea


@pytest.fixture
def collection():
    train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    return build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))


def ranked(collection, convert):
    def scores(anchors, relations):
        return convert(np.tile(SCORES, (len(anchors), 1)))

    with pytest.warns(KgtrecWarning, match="what it does not know ranks last"):
        return rank_model(
            collection, scores, scores, entities=["ann", "bob", "jam"], relations=["likes"], unknown_entities="last"
        )


@pytest.mark.parametrize(
    "convert", [np.asarray, np.ndarray.tolist, *(lambda s, t=t: s.astype(t) for t in ("bool", "uint8", "f2", "f8"))]
)
def test_unknown_entities_are_last_in_scores_of_any_type(collection, convert):
    """Truth values and whole numbers have no minus infinity of their own."""
    found = ranked(collection, convert)
    ids, names = collection.questions.ids, collection.entities
    lists = {"head0": [], "tail0": []}
    for question, entity in zip(found.run.question, found.run.entity, strict=True):
        lists[ids[question]].append(names[entity])
    assert {name: each[-1] for name, each in lists.items()} == {"head0": "tea", "tail0": "bob"}
    assert found.answer_ranks.above.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (pd.DataFrame, r"system:.*to_numpy"),
        (lambda scores: np.ma.masked_equal(scores, 1), r"system:.*found masked"),
        (lambda scores: [[1.0], [1.0, 2.0]], r"system:.*converts"),
        (lambda scores: scores + 2**60, r"system:.*integer"),
        (lambda scores: scores.T, r"system:.*scores"),
    ],
)
def test_other_scores_are_refused(collection, convert, message):
    """With one line, which names the system."""
    with pytest.raises(KgtrecError, match=message):
        ranked(collection, convert)


def test_a_block_is_a_whole_number_of_questions(collection):
    """From 1 on."""

    def scores(anchors, relations):
        return np.zeros((len(anchors), 4))

    names = {"entities": list(collection.entities), "relations": ["likes"]}
    for block in (0, 1.5):
        with pytest.raises(KgtrecError, match=f"block.* found {block}"):
            rank_model(collection, scores, scores, block=block, **names)

"""What the runs and train say of a pool's triples: each feature by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kgtrec.campaign.features import triple_features
from kgtrec.collection.questions import build_questions
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.pool import Pool
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of, pool_of

TRAIN = [("ann", "likes", "tea"), ("ann", "likes", "jam"), ("bob", "likes", "tea"), ("rye", "has", "ann")]


def made(rows) -> tuple[Campaign, object]:
    """A campaign with contributions (tail, run, rank, question) for triples (ann, likes, tail), or (rye's) heads."""
    collection = build_questions(
        Triples.of(TRAIN), Triples.of([]), Triples.of([("ann", "likes", "rye"), ("bob", "likes", "rye")])
    )
    frame = pd.DataFrame(rows, columns=["head", "relation", "tail", "question", "run", "rank"])
    pool = Pool.from_frame(frame, collection.questions)
    who = people_of(("ann", "annotator", True))
    none = Assignments.none(who.names)
    return Campaign(pool, collection.qrels, Automatic.none(len(pool)), who, none, judgements_of([])), collection


ROWS = [
    ("ann", "likes", "bob", "tail0", "a", 2),
    ("ann", "likes", "bob", "tail0", "b", 4),
    ("tea", "likes", "rye", "head0", "c", 1),
]


def test_every_feature_by_hand():
    """Of (ann, likes, bob), in a tail question of two of three runs; and of (tea, likes, rye), in a head question."""
    campaign, collection = made(ROWS)
    got = triple_features(campaign, collection, {"a": "x", "b": "x", "c": ""})
    assert [campaign.pool.triples.labels_at(row)[0] for row in (0, 1)] == ["ann", "tea"]
    log1p = np.log1p
    expected = {
        "best rank": [-1, 0],
        "share of runs": [2 / 3, 1 / 3],
        "share of families": [1 / 2, 1 / 2],
        "more than one family": [0, 0],
        "best rank in the head question": [-np.log2(5), 0],
        "share of runs in the head question": [0, 1 / 3],
        "mean reciprocal rank in the head question": [0, 1 / 3],
        "the head question is asked": [0, 1],
        "known answers of the head question": [0, log1p(2)],
        "best rank in the tail question": [-1, -np.log2(5)],
        "share of runs in the tail question": [2 / 3, 0],
        "mean reciprocal rank in the tail question": [0.25, 0],
        "the tail question is asked": [1, 0],
        "known answers of the tail question": [log1p(1), 0],
        "tails per head of the relation": [log1p(1.5), log1p(1.5)],
        "heads per tail of the relation": [log1p(1.5), log1p(1.5)],
        "train facts of the relation": [log1p(3), log1p(3)],
        "train facts of the head": [log1p(3), log1p(2)],
        "train facts of the tail": [log1p(1), log1p(1)],
        "tails of the head and relation": [log1p(2), 0],
        "heads of the relation and tail": [0, 0],
        "a train fact links head and tail": [0, 0],
    }
    assert {name: values.tolist() for name, values in got.items()} == {
        name: pytest.approx(values) for name, values in expected.items()
    }


def test_a_fact_in_the_other_direction_links_them():
    """(rye, has, ann) links ann and rye."""
    campaign, collection = made([*ROWS, ("rye", "likes", "rye", "head0", "c", 2)])
    got = triple_features(campaign, collection)["a train fact links head and tail"]
    assert got.tolist() == [0, 0, 0]
    swapped, _ = made([("ann", "likes", "rye", "tail0", "a", 1)])
    assert triple_features(swapped, collection)["a train fact links head and tail"].tolist() == [1]


def test_without_families_each_run_is_one():
    """Two runs that agree are two families."""
    campaign, collection = made(ROWS)
    assert triple_features(campaign, collection)["more than one family"].tolist() == [1, 0]


def test_a_pool_of_another_collection():
    """Is refused with the label that the collection lacks."""
    campaign, collection = made(ROWS)
    from dataclasses import replace

    other = replace(campaign, pool=pool_of([1]))
    with pytest.raises(CollectionError, match="'e0', which it lacks"):
        triple_features(other, collection)

"""The report of a pool: counts by hand, as text and as JSON."""

from __future__ import annotations

import json

import numpy as np

from kgtrec.data.campaign import Automatic
from kgtrec.pooling.pool_runs import pool_runs
from kgtrec.pooling.summary import summarise_pool
from kgtrec.report.show import shown
from tests.pooling.test_pool_runs import ranked, world_of


def test_a_pool_of_two_runs():
    """e2 e3 and e3 e4: three triples, one in common; head0 has nothing."""
    world = world_of({"a": ranked("e2", "e3"), "b": ranked("e3", "e4")})
    pool = pool_runs(world.collection, world.runs())
    found = summarise_pool(pool, {"a": "one"}, Automatic(np.array([-1, 0, -1], np.int8), ("head type",)))
    assert found["ranks"]["new"].to_pylist() == [2, 1]
    assert found["agreement"]["triples"].to_pylist() == [2, 1]
    assert found["overlap"]["triples"].to_pylist() == [2, 1, 1, 2]
    text = shown(found, "table")
    lines = [line.split() for line in text.splitlines()]
    assert ["a", "one", "2", "1", "50.0%"] in lines
    assert ["head", "type", "1"] in lines
    assert ["for", "people", "to", "judge", "2"] in lines
    read = json.loads(shown(found, "json"))
    assert read["runs"][0] == {"run": "a", "family": "one", "triples": 2, "unique": 1, "share": 0.5}
    size = {row["what"]: row["count"] for row in read["size"]}
    assert [size[what] for what in ("triples", "contributions", "questions", "questions with nothing pooled")] == [
        3,
        4,
        2,
        1,
    ]
    assert [size[f"triples a question, {which}"] for which in ("min", "median", "max")] == [0, 1.5, 3]


def test_the_runs_of_an_empty_pool():
    """Everything is 0, and nothing is divided by it."""
    world = world_of({"a": ranked("e1")})
    found = summarise_pool(pool_runs(world.collection, world.runs()))
    assert found["size"]["count"].to_pylist() == [0, 0, 2, 2, 0, 0, 0]
    assert "a    -             0               0   0.0%\n" in shown(found, "table")

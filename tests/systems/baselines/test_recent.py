"""The baselines of facts with a time: worked by hand, equal to loops, and whatever the order of the facts."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples, steps_of
from kgtrec.errors import KgtrecError
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.systems.baselines import baseline, baseline_blocks, fit_baseline

_quads = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("rs"), st.sampled_from("abcd"), st.integers(0, 9).map(str)),
    min_size=1,
    max_size=25,
)


def collection_of(*splits):
    return build_questions(*map(Triples.of, splits))


def scores_of(collection, name="recent", decay=1.0001, **options):
    """Question -> entity -> score, without those that are tied below all others."""
    found, never = {}, -decay * (steps_of(collection.relations).max() + 2) - 1
    for rows, block in baseline_blocks(name, collection, decay=decay, **options):
        for row, scores in zip(rows.tolist(), block, strict=True):
            labels = zip(collection.entities, scores.tolist(), strict=True)
            found[collection.questions.ids[row]] = {label: score for label, score in labels if score > never}
    return found


def test_recent_answers_by_hand():
    """At time 5: rome was at 1 and 3, log2(2^-4 + 2^-2); oslo at 4; what is at 5 or later is not known."""
    train = [
        ("ann", "in", "rome", "1"),
        ("ann", "in", "rome", "3"),
        ("ann", "in", "oslo", "4"),
        ("ann", "at", "x", "4"),
    ]
    collection = collection_of(
        train, [("ann", "in", "bonn", "5")], [("ann", "in", "riga", "5"), ("ann", "in", "x", "6")]
    )
    multi, single = (scores_of(collection, name, decay=1) for name in ("recent", "recent-single-step"))
    assert multi["tail0"] == single["tail0"] == {"rome": pytest.approx(math.log2(5 / 16)), "oslo": -1}
    assert multi["tail1"] == {"rome": pytest.approx(math.log2(5 / 32)), "oslo": -2, "bonn": -1}
    assert single["tail1"] == {**multi["tail1"], "riga": -1}


def test_recent_answers_of_the_relation_are_below_those_of_the_question():
    """With ``unseen=frequent`` an answer that the relation had twice is above one it had once, and both below 1."""
    train = [
        ("ann", "in", "rome", "1"),
        ("bob", "in", "oslo", "1"),
        ("cid", "in", "oslo", "2"),
        ("cid", "in", "bonn", "1"),
    ]
    found = scores_of(collection_of(train, [], [("ann", "in", "oslo", "3")]), unseen="frequent")["tail0"]
    assert sorted(found, key=found.get) == ["bonn", "oslo", "rome"]
    assert found["bonn"] < found["oslo"] < -2.5 < found["rome"] == pytest.approx(-2.0002)


@given(
    _quads, _quads, _quads, st.sampled_from([0, 0.1, 1, 1.0001, 3]), st.sampled_from(["recent", "recent-single-step"])
)
def test_recent_equals_loops_over_the_facts(train, valid, test, decay, name):
    """The strict form of the recurrency baseline, up to a function of the question and a logarithm."""
    collection = collection_of(train, valid, test)
    facts = {*train, *valid, *(test if name.endswith("step") else ())}
    earliest = min(int(fact[3]) for fact in [*train, *valid, *test])
    steps = math.gcd(*(int(fact[3]) - earliest for fact in [*train, *valid, *test])) or 1
    found = scores_of(collection, name, decay=decay)
    for row in collection.questions.to_frame().itertuples():
        relation, _, time = row.relation.partition(" @ ")
        expected = defaultdict(float)
        for head, own, tail, when in facts:
            anchor, answer = (tail, head) if row.side == "head" else (head, tail)
            if own == relation and anchor == row.anchor and int(when) < int(time):
                expected[answer] += 2 ** (decay * (int(when) - int(time)) / steps)
        assert found[row.question] == pytest.approx(
            {key: math.log2(total) for key, total in expected.items()}, abs=1e-12
        )


@given(_quads, _quads, st.randoms(use_true_random=False))
def test_recent_does_not_depend_on_the_order_or_on_repeated_facts(train, test, random):
    """The same bytes of scores for facts in another order, some of them twice."""
    other = [*train, train[0]]
    random.shuffle(other)
    assert scores_of(collection_of(train, [], test)) == scores_of(collection_of(other, [], test))


def test_recent_survives_files(tmp_path):
    """Facts of valid are kept where facts have a time, and only there."""
    quads = [("ann", "in", "rome", "1")], [("ann", "in", "oslo", "2")], [("ann", "in", "bonn", "3")]
    collection = collection_of(*quads)
    write_collection(tmp_path / "C", collection)
    assert scores_of(read_collection(tmp_path / "C")) == scores_of(collection)
    assert list(scores_of(collection)["tail0"]) == ["rome", "oslo"]
    static = collection_of(*([quad[:3] for quad in split] for split in quads))
    assert static.held is None
    with pytest.raises(KgtrecError, match="expected facts with a time"):
        list(baseline_blocks("recent", static))


def test_times_far_apart_and_long_histories_keep_their_order():
    """Scores are finite and in order after a million steps, and after a thousand occurrences."""
    train = [("a", "r", f"e{row}", str(row * 100_000)) for row in range(10)]
    train += [("b", "r", "x", str(time)) for time in range(1000)] + [("b", "r", "y", "1000")]
    collection = collection_of(train, [], [("a", "r", "e0", "1000001"), ("b", "r", "x", "1000001")])
    found = scores_of(collection)
    assert sorted(found["tail0"], key=found["tail0"].get) == [f"e{row}" for row in range(10)]
    assert found["tail1"]["y"] > found["tail1"]["x"]
    assert np.isfinite(list(found["tail1"].values())).all()
    model = fit_baseline("recent", baseline("recent").facts(collection), decay=0)
    counted = model.scores(collection.questions, np.array([3]))[0]
    assert counted[collection.entities.encode(["x"])[0]] == pytest.approx(math.log2(1000))


@given(_quads, _quads, st.sampled_from(["tied", "frequent"]))
def test_scores_of_a_question_do_not_depend_on_others_in_its_block(train, test, unseen):
    """The same bits alone and among all; finite, and in a new array."""
    collection = collection_of(train, [], test)
    model = fit_baseline("recent", baseline("recent").facts(collection), unseen=unseen)
    rows = np.arange(len(collection.questions))
    whole = model.scores(collection.questions, rows)
    assert np.isfinite(whole).all()
    alone = [model.scores(collection.questions, rows[row : row + 1]) for row in rows]
    assert np.concatenate(alone).tobytes() == whole.tobytes()

"""Questions, pools and judgements of labels, and back."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.judgements import Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

ASKED = pd.DataFrame(
    {"question": ["q1", "q2"], "side": ["tail", "head"], "relation": ["likes", "likes"], "anchor": ["ann", "tea"]}
)
QUESTIONS = Questions.from_frame(ASKED, entities=Vocabulary.of(["ann", "bob", "tea", "rye"]))
PUT_IN = pd.DataFrame(
    {
        "head": ["ann", "bob", "ann"],
        "relation": ["likes"] * 3,
        "tail": ["rye", "tea", "rye"],
        "question": ["q1", "q2", "q1"],
        "run": ["b", "a", "a"],
        "rank": [2, 1, 3],
    }
)
POOL = Pool.from_frame(PUT_IN, QUESTIONS)
SAID = pd.DataFrame(
    {
        "head": ["ann", "bob"],
        "relation": ["likes"] * 2,
        "tail": ["rye", "tea"],
        "annotator": ["eve", "eve"],
        "verdict": ["Y", "unsure"],
    }
)


def test_questions_come_back():
    pd.testing.assert_frame_equal(QUESTIONS.to_frame(), ASKED)


@given(st.permutations(range(3)))
def test_a_pool_does_not_depend_on_the_order_of_rows(order):
    """And comes back in its own order, with the probability of each triple."""
    whole = pd.concat([PUT_IN, pd.DataFrame({"probability": [0.5, 1.0, 0.5]})], axis=1)
    pool = Pool.from_frame(whole.iloc[list(order)], QUESTIONS)
    assert pool.runs == ("a", "b")
    shown = pool.to_frame()
    assert shown["head"].tolist() == ["ann", "ann", "bob"]
    assert shown["run"].tolist() == ["a", "b", "a"]
    assert shown["rank"].tolist() == [3, 2, 1]
    assert shown["probability"].tolist() == [0.5, 0.5, 1.0]
    assert pool.depth.tolist() == [2, 1]


def test_judgements_stand_on_the_triples_that_they_name():
    """Role, source, note and time have defaults."""
    said = Judgements.from_frame(SAID, POOL)
    at = Judgements.from_frame(SAID.assign(time="2026-11-21T20:00:00Z"), POOL)  # of a verdict, not of a fact
    assert at.triple.tolist() == said.triple.tolist()
    assert set(at.time.to_pylist()) == {"2026-11-21T20:00:00Z"}
    assert POOL.triples.take(said.triple).decoded("head").to_pylist() == ["ann", "bob"]
    assert (said.verdict.tolist(), said.role.tolist(), said.source.to_pylist()) == ([1, 2], [0, 0], ["", ""])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Questions.from_frame(ASKED.assign(side=["tail", "left"])), "head or tail"),
        (lambda: Questions.from_frame(ASKED.assign(question="q")), "question once"),
        (lambda: Questions.from_frame(ASKED.assign(side="tail", anchor="ann")), "'q2' again"),
        (lambda: Questions.from_frame(ASKED, entities=Vocabulary.of(["ann"])), "'anchor', found 'tea'"),
        (lambda: Pool.from_frame(PUT_IN.assign(question="q1"), QUESTIONS), "found another in row 1, for 'q1'"),
        (lambda: Pool.from_frame(PUT_IN.assign(rank=0), QUESTIONS), "'rank'"),
        (lambda: Pool.from_frame(PUT_IN.assign(probability=[1, 1, 0.5]), QUESTIONS), "one probability"),
        (lambda: Pool.from_frame(PUT_IN.drop(columns="run"), QUESTIONS), "column 'run'"),
        (lambda: Judgements.from_frame(SAID.assign(tail="tea"), POOL), "ann, likes, tea"),
        (lambda: Judgements.from_frame(SAID.assign(verdict="yes"), POOL), "'verdict', found 'yes'"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(KgtrecError, match=message):
        make()
